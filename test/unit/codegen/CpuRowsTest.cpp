//===- CpuRowsTest.cpp - `rows` sweeps on the cpu target ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuHarness.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace heddle::test;

namespace {

const std::vector<std::pair<int64_t, int64_t>> shapes = {
    {1, 1},   {3, 5},    {4, 31},   {9, 256}, {17, 257}, {2, 33},
    {0, 10},  {5, 1000}, {7, 0},    {0, 0},   {9000, 1}, {2500, 3},
    {90, 64}, {70, 65},  {5, 2048}, {5, 2049}};

struct Matrices {
  std::vector<Tensor<float>> tensors;
  std::vector<Member> members;
  template <class Make> explicit Matrices(Make make) {
    for (auto [rows, columns] : shapes) {
      tensors.emplace_back(rows * columns, tensors.size() % 4);
      for (float &x : tensors.back())
        x = make();
      members.push_back(tensors.back().matrix(rows, columns));
    }
  }
};

struct Vectors {
  std::vector<Tensor<float>> tensors;
  std::vector<Member> members;
  explicit Vectors(bool ofRows) {
    for (auto [rows, columns] : shapes) {
      tensors.emplace_back(ofRows ? rows : columns, tensors.size() % 3);
      for (float &x : tensors.back())
        x = randomIn(-1, 1);
      members.push_back(tensors.back().vector());
    }
  }
};

float add(float a, float b) { return a + b; }
float most(float a, float b) { return b > a ? b : a; }

/// The threads of the group that processes a row, and the rows of a tile. Every
/// program here holds rows of up to 2048 columns, and has a tile of 4 rows. The
/// programs that are compared with tileOf() reduce columns, so a tile of held
/// rows has 8192 elements.
int64_t lanesOf(int64_t columns) {
  int64_t lanes = 1;
  while (lanes < 256 && 8 * lanes < columns)
    lanes *= 2;
  return lanes;
}

/// The thread of the group that has column `j`: four adjacent columns have one
/// if the number of columns is a multiple of four.
int64_t laneOf(int64_t j, int64_t columns) {
  return (columns % 4 == 0 ? j / 4 : j) % lanesOf(columns);
}

int64_t tileOf(int64_t columns) {
  if (columns > 2048)
    return 4;
  int64_t rows = 8192;
  for (int64_t wide = 1; wide < columns; wide *= 2)
    rows /= 2;
  return std::max<int64_t>(rows, 4);
}

/// The order in which the values of a row are combined.
template <class Combine>
float rowOrder(const std::vector<float> &row, float neutral, Combine combine) {
  int64_t columns = row.size(), lanes = lanesOf(columns);
  std::vector<float> x(std::max<int64_t>(lanes, 32), neutral);
  for (int64_t j = 0; j < columns; ++j)
    x[laneOf(j, columns)] = combine(x[laneOf(j, columns)], row[j]);
  return blockOrder(x, combine);
}

/// The order in which the values of a column are combined: down the rows of
/// each group, over the groups of each warp, over the warps, then over the
/// tiles.
template <class Value>
float columnOrder(int64_t rows, int64_t columns, Value value) {
  int64_t tile = tileOf(columns), groups = 256 / lanesOf(columns);
  int64_t ofWarp = 32 / std::min<int64_t>(32, lanesOf(columns));
  std::vector<float> partials;
  for (int64_t first = 0; first < rows; first += tile) {
    std::vector<float> x(groups, 0.0f);
    for (int64_t r = first; r < std::min(rows, first + tile); ++r)
      x[(r - first) % groups] += value(r);
    for (int64_t o = ofWarp / 2; o; o /= 2)
      for (int64_t g = 0; g < groups; ++g)
        if (g % (2 * o) < o)
          x[g] = x[g] + x[g + o];
    float sum = x[0];
    for (int64_t g = ofWarp; g < groups; g += ofWarp)
      sum = sum + x[g];
    partials.push_back(sum);
  }
  for (size_t step = 1; step < partials.size(); step *= 2)
    for (size_t k = 0; k + step < partials.size(); k += 2 * step)
      partials[k] = partials[k] + partials[k + step];
  return partials.empty() ? 0 : partials[0];
}

const char *softmax = R"(
!mat = !foreach.list<tensor<?x?xf32>>
!vec = !foreach.list<tensor<?xf32>>
fused.program @k(%x: !mat) -> (!mat, !vec, !vec)
    attributes {buffers = [
      #fused.buffer<"y", result, !mat>,
      #fused.buffer<"rows", result, !vec>,
      #fused.buffer<"columns", result, !vec>]} {
  %y, %r, %c = fused.sweep
      schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [4],
                               reason = "">
      name "softmax" result_buffers [1, 2, 3]
      (%v = %x[i, j] : !mat) -> (!mat, !vec, !vec) {
    %m = fused.reduce max row %v : f32
    %d = arith.subf %v, %m : f32
    %e = math.exp %d : f32
    %s = fused.reduce add row %e : f32
    %p = arith.divf %e, %s : f32
    %col = fused.reduce add column %p : f32
    %l = math.log %s : f32
    %lse = arith.addf %m, %l : f32
    fused.yield %p, %lse, %col : f32, f32, f32
  }
  fused.yield %y, %r, %c : !mat, !vec, !vec
})";

// With exp2 of small integers every operation but the division is exact, so the
// result depends only on the order, not on the last bits of the exponential.
TEST(CpuRows, SoftmaxAndColumnSums) {
  std::string text = softmax;
  text.replace(text.find("math.exp "), 8, "math.exp2");
  text.replace(text.find("math.log "), 8, "math.log2");
  CpuHarness harness(text);
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Matrices x([] { return std::floor(randomIn(-9, 9)); });
  Matrices y([] { return 7; });
  Vectors rowValues(true), columnValues(false);
  harness.bindList(0, x.members);
  harness.bindList(1, y.members);
  harness.bindList(2, rowValues.members);
  harness.bindList(3, columnValues.members);
  harness.run();
  for (size_t k = 0; k < shapes.size(); ++k) {
    auto [rows, columns] = shapes[k];
    auto at = [&](int64_t i, int64_t j) {
      return x.tensors[k][i * columns + j];
    };
    for (int64_t i = 0; i < rows; ++i) {
      std::vector<float> row;
      for (int64_t j = 0; j < columns; ++j)
        row.push_back(at(i, j));
      float m = rowOrder(row, -INFINITY, most);
      for (float &v : row)
        v = std::exp2(v - m);
      float s = rowOrder(row, 0.0f, add);
      for (int64_t j = 0; j < columns; ++j) {
        float expected = row[j] / s;
        ASSERT_EQ(y.tensors[k][i * columns + j], expected);
      }
      if (columns)
        ASSERT_EQ(rowValues.tensors[k][i], m + std::log2(s));
    }
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(columnValues.tensors[k][j],
                columnOrder(rows, columns, [&, columns = columns](int64_t i) {
                  return y.tensors[k][i * columns + j];
                }));
    EXPECT_TRUE(y.tensors[k].guardHolds() &&
                rowValues.tensors[k].guardHolds() &&
                columnValues.tensors[k].guardHolds());
  }
}

TEST(CpuRows, SoftmaxOfAnything) {
  CpuHarness harness(softmax);
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Matrices x([] { return randomIn(-30, 30); });
  Matrices y([] { return 7; });
  Vectors rowValues(true), columnValues(false);
  harness.bindList(0, x.members);
  harness.bindList(1, y.members);
  harness.bindList(2, rowValues.members);
  harness.bindList(3, columnValues.members);
  harness.run();
  for (size_t k = 0; k < shapes.size(); ++k) {
    auto [rows, columns] = shapes[k];
    for (int64_t i = 0; i < rows; ++i) {
      double s = 0;
      for (int64_t j = 0; j < columns; ++j)
        s += std::exp(static_cast<double>(x.tensors[k][i * columns + j]));
      for (int64_t j = 0; j < columns; ++j)
        ASSERT_NEAR(
            y.tensors[k][i * columns + j],
            std::exp(static_cast<double>(x.tensors[k][i * columns + j])) / s,
            1e-6);
      if (columns)
        ASSERT_NEAR(rowValues.tensors[k][i], std::log(s), 1e-5);
    }
  }
}

// Hints change no bit, not even a shift that is a row value or is not finite.
TEST(CpuRows, HintsChangeNothing) {
  const std::string with[] = {" shift %shift", " shift %other sharing %r"};
  std::string text = R"(
!mat = !foreach.list<tensor<?x?xf32>>
!vec = !foreach.list<tensor<?xf32>>
fused.program @k(%x: !mat, %u: !vec, %v: !vec) -> (!vec, !vec)
    attributes {buffers = [
      #fused.buffer<"rows", result, !vec>,
      #fused.buffer<"columns", result, !vec>]} {
  %r, %c = fused.sweep
      schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [4],
                               reason = "">
      name "balance" result_buffers [3, 4]
      (%a = %x[i, j] : !mat, %p = %u[i] : !vec, %q = %v[j] : !vec)
      -> (!vec, !vec) {
    %zero = arith.constant 0.0 : f32
    %most = fused.reduce max row %a : f32
    %over = arith.divf %most, %zero : f32
    %shift = arith.subf %p, %over : f32
    %other = arith.subf %zero, %q : f32
    %xr = arith.addf %a, %q : f32
    %r = fused.reduce logsumexp row %xr{0} : f32
    %pr = arith.subf %p, %r : f32
    %xc = arith.addf %a, %pr : f32
    %c = fused.reduce logsumexp column %xc{1} : f32
    fused.yield %r, %c : f32, f32
  }
  fused.yield %r, %c : !vec, !vec
})";
  auto replace = [](std::string in, const std::string &what,
                    const std::string &by) {
    return in.replace(in.find(what), what.size(), by);
  };
  Matrices x([] { return randomIn(-30, 30); });
  Vectors u(true), v(false);
  std::vector<Vectors> results;
  for (bool hints : {false, true}) {
    std::string hinted = text;
    for (int k = 0; k < 2; ++k)
      hinted = replace(hinted, "{" + std::to_string(k) + "}",
                       hints ? with[k] : std::string());
    CpuHarness harness(hinted);
    ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
    Vectors rowValues(true), columnValues(false);
    harness.bindList(0, x.members);
    harness.bindList(1, u.members);
    harness.bindList(2, v.members);
    harness.bindList(3, rowValues.members);
    harness.bindList(4, columnValues.members);
    harness.run();
    results.push_back(std::move(rowValues));
    results.push_back(std::move(columnValues));
  }
  for (size_t k = 0; k < shapes.size(); ++k)
    for (int side : {0, 1}) {
      auto &plain = results[side].tensors[k];
      auto &hinted = results[2 + side].tensors[k];
      ASSERT_EQ(plain.size(), hinted.size());
      EXPECT_EQ(0, std::memcmp(plain.begin(), hinted.begin(),
                               plain.size() * sizeof(float)));
    }
}

// Every reduction of matrix values to rows, columns, members and the list, with
// row and column operands and values computed from the sums.
TEST(CpuRows, EveryLevel) {
  CpuHarness harness(R"(
!mat = !foreach.list<tensor<?x?xf32>>
!vec = !foreach.list<tensor<?xf32>>
!one = !foreach.list<tensor<f32>>
!num = tensor<f32>
fused.program @k(%x: !mat, %u: !vec, %v: !vec {foreach.donate = 0 : i64},
                %w: !one {foreach.donate = 1 : i64})
    -> (!vec, !one, !one, !one, !one, !num, !vec)
    attributes {buffers = [
      #fused.buffer<"rowsum", result, !one>,
      #fused.buffer<"colsum", result, !one>,
      #fused.buffer<"count", result, !one>,
      #fused.buffer<"total", result, !num>,
      #fused.buffer<"scaled", result, !vec>]} {
  %v1, %w1, %rs, %cs, %n, %t, %uu = fused.sweep
      schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [4],
                               reason = "">
      name "levels"
                  result_buffers [2, 3, 4, 5, 6, 7, 8]
      (%a = %x[i, j] : !mat, %b = %u[i] : !vec, %c = %v[j] : !vec,
       %d = %w : !one) -> (!vec, !one, !one, !one, !one, !num, !vec) {
    %ab = arith.mulf %a, %b : f32
    %abc = arith.mulf %ab, %c : f32
    %col = fused.reduce add column %ab : f32
    %mem = fused.reduce add member %abc : f32
    %rowsum = fused.reduce add member %b : f32
    %cc = arith.addf %c, %d : f32
    %colsum = fused.reduce add member %cc : f32
    %one = arith.constant 1.0 : f32
    %n = fused.reduce add member %one from row : f32
    %total = fused.reduce max list %abc : f32
    %norm = arith.divf %col, %mem : f32
    %next = arith.addf %norm, %c : f32
    %w1 = arith.addf %d, %mem : f32
    %ud = arith.mulf %b, %d : f32
    fused.yield %next, %w1, %rowsum, %colsum, %n, %total, %ud
      : f32, f32, f32, f32, f32, f32, f32
  }
  fused.yield %v1, %w1, %rs, %cs, %n, %t, %uu
    : !vec, !one, !one, !one, !one, !num, !vec
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Matrices x([] { return randomIn(-1, 1); });
  Vectors u(true), v(false), v0(v), scaled(true);
  std::vector<float> w, rowSums(shapes.size(), 7), columnSums(rowSums),
      counts(rowSums);
  for (size_t k = 0; k < shapes.size(); ++k)
    w.push_back(randomIn(-1, 1));
  std::vector<float> w0 = w;
  float total = 7;
  v.members.clear();
  for (auto &tensor : v.tensors)
    v.members.push_back(tensor.vector());
  auto members = [](std::vector<float> &values) {
    std::vector<Member> result;
    for (float &value : values)
      result.push_back({&value});
    return result;
  };
  harness.bindList(0, x.members);
  harness.bindList(1, u.members);
  harness.bindList(2, v.members);
  harness.bindList(3, members(w));
  harness.bindList(4, members(rowSums));
  harness.bindList(5, members(columnSums));
  harness.bindList(6, members(counts));
  harness.bindScalar(7, &total);
  harness.bindList(8, scaled.members);
  harness.run();
  float largest = -INFINITY;
  for (size_t k = 0; k < shapes.size(); ++k) {
    auto [rows, columns] = shapes[k];
    auto ab = [&, columns = columns](int64_t i, int64_t j) {
      return x.tensors[k][i * columns + j] * u.tensors[k][i];
    };
    // Threads keep their columns from row to row of a tile, and the first
    // thread of a group adds its row values.
    int64_t lanes = lanesOf(columns), tile = tileOf(columns);
    std::vector<float> tiles, rowTiles, columnTiles;
    for (int64_t first = 0; first == 0 || first < rows; first += tile) {
      std::vector<float> t(256, 0.0f), c(256, 0.0f), down(256, 0.0f);
      for (int64_t i = first; i < std::min(rows, first + tile); ++i) {
        int64_t thread = (i - first) * lanes % 256;
        for (int64_t j = 0; j < columns; ++j) {
          float value = ab(i, j) * v0.tensors[k][j];
          largest = std::max(largest, value);
          t[thread + laneOf(j, columns)] += value;
        }
        down[thread] += u.tensors[k][i];
      }
      for (int64_t j = 0; j < columns && first == 0; ++j)
        c[j % 256] += v0.tensors[k][j] + w0[k];
      tiles.push_back(blockOrder(t, add));
      rowTiles.push_back(blockOrder(down, add));
      columnTiles.push_back(blockOrder(c, add));
    }
    float member = spreadOrder(tiles, 0.0f, add);
    ASSERT_EQ(w[k], w0[k] + member) << k;
    ASSERT_EQ(rowSums[k], spreadOrder(rowTiles, 0.0f, add)) << k;
    ASSERT_EQ(columnSums[k], spreadOrder(columnTiles, 0.0f, add)) << k;
    ASSERT_EQ(counts[k], rows) << k;
    for (int64_t j = 0; j < columns; ++j) {
      float column =
          columnOrder(rows, columns, [&](int64_t i) { return ab(i, j); });
      volatile float norm = column / member;
      float expected = norm + v0.tensors[k][j], found = v.tensors[k][j];
      ASSERT_TRUE(found == expected || (found != found && expected != expected))
          << k << ' ' << j;
    }
    for (int64_t i = 0; i < rows; ++i)
      ASSERT_EQ(scaled.tensors[k][i], u.tensors[k][i] * w0[k]);
    EXPECT_TRUE(v.tensors[k].guardHolds() && scaled.tensors[k].guardHolds());
  }
  EXPECT_EQ(total, largest);
}

TEST(CpuRows, KindsOfRowsAndColumns) {
  CpuHarness harness(R"(
!mat = !foreach.list<tensor<?x?xf32>>
!vec = !foreach.list<tensor<?xf32>>
!at = !foreach.list<tensor<?xi64>>
!flag = !foreach.list<tensor<?xi1>>
fused.program @k(%x: !mat) -> (!vec, !at, !vec, !vec, !at, !vec, !flag, !flag)
    attributes {buffers = [
      #fused.buffer<"rm", result, !vec>,
      #fused.buffer<"ra", result, !at>,
      #fused.buffer<"rl", result, !vec>,
      #fused.buffer<"cm", result, !vec>,
      #fused.buffer<"ca", result, !at>,
      #fused.buffer<"cl", result, !vec>,
      #fused.buffer<"any", result, !flag>,
      #fused.buffer<"all", result, !flag>]} {
  %rm, %ra, %rl, %cm, %ca, %cl, %any, %all = fused.sweep
      schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [4],
                               reason = "">
      name "kinds"
                  result_buffers [1, 2, 3, 4, 5, 6, 7, 8]
      (%a = %x[i, j] : !mat)
      -> (!vec, !at, !vec, !vec, !at, !vec, !flag, !flag) {
    %rm, %ra = fused.reduce argmax row %a : f32
    %rl = fused.reduce logsumexp row %a : f32
    %cm, %ca = fused.reduce argmax column %a : f32
    %cl = fused.reduce logsumexp column %a : f32
    %zero = arith.constant 0.0 : f32
    %p = arith.cmpf ogt, %a, %zero : f32
    %any = fused.reduce any row %p : i1
    %all = fused.reduce all column %p : i1
    fused.yield %rm, %ra, %rl, %cm, %ca, %cl, %any, %all
      : f32, i64, f32, f32, i64, f32, i1, i1
  }
  fused.yield %rm, %ra, %rl, %cm, %ca, %cl, %any, %all
    : !vec, !at, !vec, !vec, !at, !vec, !flag, !flag
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Matrices x([] { return std::floor(randomIn(-2, 4)); });
  Vectors rm(true), rl(true), cm(false), cl(false);
  std::vector<Tensor<int64_t>> ra, ca;
  std::vector<Tensor<uint8_t>> any, all;
  std::vector<Member> raM, caM, anyM, allM;
  for (auto [rows, columns] : shapes) {
    ra.emplace_back(rows);
    ca.emplace_back(columns);
    any.emplace_back(rows);
    all.emplace_back(columns);
  }
  for (size_t k = 0; k < shapes.size(); ++k) {
    raM.push_back(ra[k].vector());
    caM.push_back(ca[k].vector());
    anyM.push_back(any[k].vector());
    allM.push_back(all[k].vector());
  }
  int buffer = 0;
  for (auto &list : {x.members, rm.members, raM, rl.members, cm.members, caM,
                     cl.members, anyM, allM})
    harness.bindList(buffer++, list);
  harness.run();
  for (size_t k = 0; k < shapes.size(); ++k) {
    auto [rows, columns] = shapes[k];
    auto check = [&](int64_t count, auto at, float value, int64_t position,
                     float sum, bool some, bool every, uint8_t flag,
                     bool isAny) {
      int64_t best = count ? 0 : -1;
      double total = 0;
      for (int64_t e = 0; e < count; ++e) {
        if (at(e) > at(best))
          best = e;
        total += std::exp(static_cast<double>(at(e)));
        some |= at(e) > 0;
        every &= at(e) > 0;
      }
      EXPECT_EQ(position, best);
      EXPECT_EQ(value, count ? at(best) : -INFINITY);
      if (count)
        EXPECT_NEAR(sum, std::log(total), 1e-5);
      else
        EXPECT_EQ(sum, -INFINITY);
      EXPECT_EQ(flag, isAny ? some : every);
    };
    for (int64_t i = 0; i < rows; ++i)
      check(
          columns,
          [&, columns = columns](int64_t j) {
            return x.tensors[k][i * columns + j];
          },
          rm.tensors[k][i], ra[k][i], rl.tensors[k][i], false, true, any[k][i],
          true);
    for (int64_t j = 0; j < columns; ++j)
      check(
          rows,
          [&, columns = columns](int64_t i) {
            return x.tensors[k][i * columns + j];
          },
          cm.tensors[k][j], ca[k][j], cl.tensors[k][j], false, true, all[k][j],
          false);
  }
}

// Twice the row replaces the row, although a later traversal reads it again.
TEST(CpuRows, InPlace) {
  CpuHarness harness(R"(
!mat = !foreach.list<tensor<?x?xf32>>
fused.program @k(%x: !mat {foreach.donate = 0 : i64}) -> (!mat, !mat)
    attributes {buffers = [#fused.buffer<"q", result, !mat>]} {
  %y, %z = fused.sweep
      schedule #fused.schedule<rows, threads = 256, vector = [4], tile = [4],
                               reason = "">
      name "double" result_buffers [0, 1]
      (%a = %x[i, j] : !mat) -> (!mat, !mat) {
    %two = arith.addf %a, %a : f32
    %s = fused.reduce add row %two : f32
    %n = fused.reduce max row %two : f32
    %m = arith.addf %s, %n : f32
    %q = arith.divf %a, %m : f32
    fused.yield %two, %q : f32, f32
  }
  fused.yield %y, %z : !mat, !mat
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Matrices x([] { return randomIn(-1, 1); }), before(x);
  Matrices q([] { return 7; });
  x.members.clear();
  for (size_t k = 0; k < shapes.size(); ++k)
    x.members.push_back(x.tensors[k].matrix(shapes[k].first, shapes[k].second));
  harness.bindList(0, x.members);
  harness.bindList(1, q.members);
  harness.run();
  for (size_t k = 0; k < shapes.size(); ++k) {
    auto [rows, columns] = shapes[k];
    for (int64_t i = 0; i < rows; ++i) {
      std::vector<float> row;
      for (int64_t j = 0; j < columns; ++j)
        row.push_back(2 * before.tensors[k][i * columns + j]);
      float m = rowOrder(row, 0.0f, add) + rowOrder(row, -INFINITY, most);
      for (int64_t j = 0; j < columns; ++j) {
        ASSERT_EQ(x.tensors[k][i * columns + j], row[j]);
        ASSERT_EQ(q.tensors[k][i * columns + j], row[j] / 2 / m);
      }
    }
  }
}

} // namespace
