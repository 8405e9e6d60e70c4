//===- CpuReduceTest.cpp - `stream` reductions on the cpu target ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuHarness.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <type_traits>

using namespace heddle::test;

namespace {

const std::vector<int64_t> sizes = {1,    0,    3,    5,    31,     64,   1023,
                                    1024, 1025, 4096, 4097, 300000, 12289};

/// Members with random elements, their memory and their bindings.
template <class T> struct Data {
  std::vector<std::vector<T>> values;
  std::vector<Tensor<T>> tensors;
  std::vector<Member> members;

  template <class Make> Data(const std::vector<int64_t> &sizes, Make make) {
    for (int64_t size : sizes) {
      auto &list = values.emplace_back();
      for (int64_t k = 0; k < size; ++k)
        list.push_back(make());
    }
    for (auto &list : values)
      tensors.emplace_back(list);
    for (auto &tensor : tensors)
      members.push_back(tensor.vector());
  }
};

struct Scalars {
  explicit Scalars(size_t count, size_t bytes) : bytes(bytes) {
    memory.assign(count * bytes, 0x5a);
  }
  std::vector<Member> members() {
    std::vector<Member> result;
    for (size_t k = 0; k < memory.size() / bytes; ++k)
      result.push_back({memory.data() + k * bytes});
    return result;
  }
  template <class T> T at(size_t k) {
    T value;
    std::memcpy(&value, memory.data() + k * bytes, sizeof(T));
    return value;
  }
  size_t bytes;
  std::vector<char> memory;
};

// The norm of a list, and the clip factor: the values before and after the sum
// are computed in the same sweep.
TEST(CpuReduce, NormBitForBit) {
  CpuHarness harness(R"(
!list = !foreach.list<tensor<?xf32>>
!num = tensor<f64>
fused.program @k(%grad: !list, %max: !num) -> (!num, !num)
    attributes {buffers = [
      #fused.buffer<"norm", result, !num>,
      #fused.buffer<"clip", result, !num>]} {
  %sum, %norm, %clip = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [4096], reason = "">
      name "norm" result_buffers [-1, 2, 3]
      (%g = %grad as f64 : !list) -> (!num) {
    %gg = arith.mulf %g, %g : f64
    %sum = fused.reduce add list %gg : f64
    fused.yield %sum : f64
  } epilogue [%s : f64] (%m = %max : !num) -> (!num, !num) {
    %n = math.sqrt %s : f64
    %r = arith.divf %m, %n : f64
    %one = arith.constant 1.0 : f64
    %c = arith.minimumf %r, %one : f64
    fused.yield %n, %c : f64, f64
  }
  fused.yield %norm, %clip : !num, !num
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  std::vector<int64_t> many = sizes;
  for (int k = 0; k < 300; ++k)
    many.push_back(k);
  Data<float> grad(many, [] { return randomIn(-1, 1); });
  double max = 10, norm, clip;
  harness.bindList(0, grad.members);
  harness.bindScalar(1, &max);
  harness.bindScalar(2, &norm);
  harness.bindScalar(3, &clip);
  harness.run();
  auto add = [](double a, double b) { return a + b; };
  std::vector<double> partials;
  for (auto &list : grad.values) {
    std::vector<double> squares;
    for (float x : list)
      squares.push_back(static_cast<double>(x) * x);
    llvm::append_range(partials, tilePartials(squares, 4, 4096, 0.0, add));
  }
  double sum = listOrder(partials, 0.0, add);
  EXPECT_EQ(norm, std::sqrt(sum));
  EXPECT_EQ(clip, std::min(1.0, max / std::sqrt(sum)));
}

TEST(CpuReduce, NormOfNothing) {
  CpuHarness harness(R"(
!list = !foreach.list<tensor<?xf32>>
!num = tensor<f32>
fused.program @k(%grad: !list) -> (!num)
    attributes {buffers = [#fused.buffer<"s", result, !num>]} {
  %sum = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [4096], reason = "">
      name "sum" result_buffers [1]
      (%g = %grad : !list) -> (!num) {
    %sum = fused.reduce add list %g : f32
    fused.yield %sum : f32
  }
  fused.yield %sum : !num
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  float sum = 7;
  harness.bindList(0, {});
  harness.bindScalar(1, &sum);
  harness.run();
  EXPECT_EQ(sum, 0);
}

/// Reductions of one kind to the member and to the list; the elements are
/// stored as `element` and combined as `computed`.
struct Kinds {
  std::string text;
  Kinds(const std::string &element, const std::string &computed,
        const std::string &kind, int vector, int tile) {
    std::string list = listType(element), one = listType(computed, 0),
                num = "tensor<" + computed + ">";
    text =
        "fused.program @k(%x: " + list + ") -> (" + one + ", " + num +
        ") attributes {buffers = [#fused.buffer<\"m\", result, " + one +
        ">, #fused.buffer<\"l\", result, " + num +
        ">]} {\n%m, %l = fused.sweep" + stream("reduce", "1, 2", vector, tile) +
        "(%v = %x" + (element == computed ? "" : " as " + computed) + " : " +
        list + ") -> (" + one + ", " + num + ") {\n%a = fused.reduce " + kind +
        " member %v : " + computed + "\n%b = fused.reduce " + kind +
        " list %v : " + computed + "\nfused.yield %a, %b : " + computed + ", " +
        computed + "\n}\nfused.yield %m, %l : " + one + ", " + num + "\n}";
  }
};

template <class T, class Combine>
void ordered(const std::string &element, const std::string &kind, int vector,
             T neutral, Combine combine, const Data<T> &data) {
  CpuHarness harness(Kinds(element, element, kind, vector, 1024 * 4).text);
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Scalars members(data.members.size(), 8);
  T list;
  std::memset(&list, 0x77, sizeof(T));
  harness.bindList(0, data.members);
  harness.bindList(1, members.members());
  harness.bindScalar(2, &list);
  harness.run();
  std::vector<T> all;
  for (size_t k = 0; k < data.values.size(); ++k) {
    T expected = streamOrder(data.values[k], vector, 4096, neutral, combine);
    T found = members.at<T>(k);
    EXPECT_EQ(std::memcmp(&found, &expected, sizeof(T)), 0)
        << kind << ' ' << element << ' ' << k << ": " << +found << " not "
        << +expected;
    llvm::append_range(
        all, tilePartials(data.values[k], vector, 4096, neutral, combine));
  }
  T expected = listOrder(all, neutral, combine);
  EXPECT_EQ(std::memcmp(&list, &expected, sizeof(T)), 0)
      << kind << ' ' << element;
}

/// The type in which T is computed: integers wrap, which is undefined for
/// signed types of C++.
template <class T>
using Wrapping =
    typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>,
                                std::type_identity<T>>::type;
template <class T> T sum(T a, T b) { return Wrapping<T>(a) + Wrapping<T>(b); }
template <class T> T product(T a, T b) {
  return Wrapping<T>(a) * Wrapping<T>(b);
}
template <class T> T least(T a, T b) { return b < a ? b : a; }
template <class T> T most(T a, T b) { return b > a ? b : a; }

template <class T> void floatsInOrder(const std::string &element, int vector) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  Data<T> data(sizes, [] { return randomIn(-1, 1); });
  Data<T> near1(sizes, [] { return randomIn(0.99, 1.01); });
  ordered<T>(element, "add", vector, 0, sum<T>, data);
  ordered<T>(element, "mul", vector, 1, product<T>, near1);
  ordered<T>(element, "min", vector, infinity, least<T>, data);
  ordered<T>(element, "max", vector, -infinity, most<T>, data);
}
TEST(CpuReduce, KindsOfF32) { floatsInOrder<float>("f32", 4); }
TEST(CpuReduce, KindsOfF64) { floatsInOrder<double>("f64", 4); }

template <class T>
void integersInOrder(const std::string &element, int vector) {
  using L = std::numeric_limits<T>;
  Data<T> data(sizes, [] { return static_cast<T>(randomIn(-120, 120)); });
  ordered<T>(element, "add", vector, 0, sum<T>, data);
  ordered<T>(element, "mul", vector, 1, product<T>, data);
  ordered<T>(element, "min", vector, L::max(), least<T>, data);
  ordered<T>(element, "max", vector, L::min(), most<T>, data);
}
TEST(CpuReduce, KindsOfI32) { integersInOrder<int32_t>("i32", 4); }
TEST(CpuReduce, KindsOfI64) { integersInOrder<int64_t>("i64", 4); }

TEST(CpuReduce, AnyAndAll) {
  auto any = [](uint8_t a, uint8_t b) -> uint8_t { return a | b; };
  auto all = [](uint8_t a, uint8_t b) -> uint8_t { return a & b; };
  std::vector<int64_t> lengths = {0, 1, 5, 300, 5000, 5000};
  for (double rate : {0.0, 0.001, 0.999, 1.0}) {
    Data<uint8_t> flags(lengths, [&] { return randomIn(0, 1) < rate; });
    ordered<uint8_t>("i1", "any", 16, 0, any, flags);
    ordered<uint8_t>("i1", "all", 16, 1, all, flags);
  }
}

TEST(CpuReduce, MaximumKeepsNan) {
  Data<float> data({5000, 3, 2000}, [] { return randomIn(-1, 1); });
  data.tensors[0][4321] = NAN;
  CpuHarness harness(Kinds("f32", "f32", "max", 4, 1024).text);
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Scalars members(3, 8);
  float list = 0;
  harness.bindList(0, data.members);
  harness.bindList(1, members.members());
  harness.bindScalar(2, &list);
  harness.run();
  EXPECT_TRUE(std::isnan(members.at<float>(0)));
  EXPECT_FALSE(std::isnan(members.at<float>(1)));
  EXPECT_TRUE(std::isnan(list));
}

TEST(CpuReduce, Logsumexp) {
  Data<float> data(sizes, [] { return randomIn(-50, 80); });
  for (int64_t k = 0; k < data.tensors[5].size(); ++k)
    data.values[5][k] = data.tensors[5][k] = -INFINITY;
  data.values[6][500] = data.tensors[6][500] = -INFINITY;
  data.values[7][77] = data.tensors[7][77] = INFINITY;
  CpuHarness harness(Kinds("f32", "f64", "logsumexp", 4, 1024).text);
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Scalars members(sizes.size(), 8);
  double list = 0;
  harness.bindList(0, data.members);
  harness.bindList(1, members.members());
  harness.bindScalar(2, &list);
  harness.run();
  for (size_t k = 0; k < sizes.size(); ++k) {
    double sum = 0;
    for (float x : data.values[k])
      sum += std::exp(static_cast<double>(x));
    double found = members.at<double>(k);
    if (std::isinf(sum) || sum == 0)
      EXPECT_EQ(found, std::log(sum)) << k;
    else
      EXPECT_NEAR(found, std::log(sum), 1e-12) << k;
  }
  EXPECT_EQ(list, INFINITY);
}

static void extremes(const std::string &kind) {
  bool isMinimum = kind == "argmin";
  CpuHarness harness(R"(
!list = !foreach.list<tensor<?xf32>>
!one = !foreach.list<tensor<f32>>
!at = !foreach.list<tensor<i64>>
fused.program @k(%x: !list) -> (!one, !at)
    attributes {buffers = [#fused.buffer<"m", result, !one>,
                                 #fused.buffer<"i", result, !at>]} {
  %m, %i = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [1024], reason = "">
      name "most" result_buffers [1, 2]
      (%v = %x : !list) -> (!one, !at) {
    %a, %b = fused.reduce )" +
                     kind + R"( member %v : f32
    fused.yield %a, %b : f32, i64
  }
  fused.yield %m, %i : !one, !at
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  // Few distinct values, to test that the first of many equal values wins.
  Data<float> data(sizes, [] { return std::floor(randomIn(-3, 3)); });
  for (auto &x : data.tensors[5])
    x = isMinimum ? INFINITY : -INFINITY;
  data.tensors[6][800] = data.tensors[6][900] = NAN;
  Scalars most(sizes.size(), 4), at(sizes.size(), 8);
  harness.bindList(0, data.members);
  harness.bindList(1, most.members());
  harness.bindList(2, at.members());
  harness.run();
  for (size_t k = 0; k < sizes.size(); ++k) {
    int64_t expected = sizes[k] ? 0 : -1;
    auto &x = data.tensors[k];
    for (int64_t e = 1; e < x.size(); ++e)
      if ((isMinimum ? x[e] < x[expected] : x[e] > x[expected]) ||
          (x[e] != x[e] && x[expected] == x[expected]))
        expected = e;
    EXPECT_EQ(at.at<int64_t>(k), expected) << k;
    float value = most.at<float>(k);
    if (expected < 0)
      EXPECT_EQ(value, isMinimum ? INFINITY : -INFINITY);
    else
      EXPECT_EQ(std::memcmp(&value, &x[expected], 4), 0) << k;
  }
}
TEST(CpuReduce, Argmax) { extremes("argmax"); }
TEST(CpuReduce, Argmin) { extremes("argmin"); }

// Stores elements, takes two sums, and writes values computed from the sum of a
// member in place of a member operand; one reduction counts elements.
TEST(CpuReduce, MapAndMemberValues) {
  CpuHarness harness(R"(
!list = !foreach.list<tensor<?xbf16>>
!one = !foreach.list<tensor<f32>>
!num = tensor<f32>
fused.program @k(%x: !list {foreach.donate = 0 : i64},
                %state: !one {foreach.donate = 1 : i64}, %scale: !num)
    -> (!list, !one, !num, !num)
    attributes {buffers = [
      #fused.buffer<"total", result, !num>,
      #fused.buffer<"most", result, !num>]} {
  %y, %s, %total, %most = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [8],
                               tile = [2048], reason = "">
      name "both" result_buffers [0, 1, 3, 4]
      (%v = %x as f32 : !list, %st = %state : !one, %sc = %scale : !num)
      -> (!list, !one, !num, !num) {
    %w = arith.mulf %v, %sc : f32
    %sum = fused.reduce add member %w : f32
    %one = arith.constant 1.0 : f32
    %n = fused.reduce add member %one from element : f32
    %mean = arith.divf %sum, %n : f32
    %next = arith.addf %st, %mean : f32
    %total = fused.reduce add list %next : f32
    %most = fused.reduce max list %st : f32
    fused.yield %w, %next, %total, %most : f32, f32, f32, f32
  }
  fused.yield %y, %s, %total, %most : !list, !one, !num, !num
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  std::vector<int64_t> lengths = {1, 7, 100, 2048, 2049, 70001};
  // Small integers, which are exact in bf16, as are their halves.
  Data<float> data(lengths, [] { return std::floor(randomIn(-8, 8)); });
  auto bits = [](float x) {
    uint32_t b;
    std::memcpy(&b, &x, 4);
    return static_cast<uint16_t>(b >> 16);
  };
  std::vector<Tensor<uint16_t>> x;
  std::vector<Member> members;
  for (auto &list : data.values) {
    x.emplace_back(list.size());
    for (size_t k = 0; k < list.size(); ++k)
      x.back()[k] = bits(list[k]);
  }
  for (auto &tensor : x)
    members.push_back(tensor.vector());
  std::vector<float> state = {1, 9, 3, 4, 5, 6}, before = state;
  std::vector<Member> states;
  for (float &s : state)
    states.push_back({&s});
  float scale = 0.5, total = 0, most = 0;
  harness.bindList(0, members);
  harness.bindList(1, states);
  harness.bindScalar(2, &scale);
  harness.bindScalar(3, &total);
  harness.bindScalar(4, &most);
  harness.run();
  std::vector<float> nexts;
  for (size_t m = 0; m < lengths.size(); ++m) {
    std::vector<float> scaled;
    for (int64_t k = 0; k < lengths[m]; ++k) {
      scaled.push_back(data.values[m][k] * scale);
      ASSERT_EQ(x[m][k], bits(scaled.back()));
    }
    float sum = streamOrder(scaled, 8, 2048, 0.0f, ::sum<float>);
    volatile float mean = sum / lengths[m];
    EXPECT_EQ(state[m], before[m] + mean) << m;
    nexts.push_back(state[m]);
  }
  EXPECT_EQ(total, spreadOrder(nexts, 0.0f, ::sum<float>));
  EXPECT_EQ(most, 9);
}

// Two segments reduce to one list value each, and the epilogue combines these.
TEST(CpuReduce, EpilogueCombinesSegments) {
  CpuHarness harness(R"(
!f = !foreach.list<tensor<?xf32>>
!d = !foreach.list<tensor<?xf64>>
!num = tensor<f64>
fused.program @k(%a: !f, %b: !d) -> !num
    attributes {buffers = [#fused.buffer<"n", result, !num>]} {
  %s, %t, %n = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4, 4],
                               tile = [4096, 4096], reason = "">
      name "norms" result_buffers [-1, -1, 2]
      (%p = %a as f64 : !f) -> !num {
    %s = fused.reduce add list %p : f64
    fused.yield %s : f64
  } and (%p = %b : !d) -> !num {
    %s = fused.reduce add list %p : f64
    fused.yield %s : f64
  } epilogue [%s : f64, %t : f64] () -> !num {
    %n = arith.subf %s, %t : f64
    fused.yield %n : f64
  }
  fused.yield %n : !num
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Data<float> a({3, 5000, 200000}, [] { return randomIn(-1, 1); });
  Data<double> c({9000, 17, 0, 300000}, [] { return randomIn(-1, 1); });
  a.members[1].active = false;
  double found = 0;
  harness.bindList(0, a.members);
  harness.bindList(1, c.members);
  harness.bindScalar(2, &found);
  harness.run();
  auto addTiles = [](std::vector<double> &to, auto &values) {
    llvm::append_range(
        to, tilePartials(std::vector<double>(values.begin(), values.end()), 4,
                         4096, 0.0, sum<double>));
  };
  auto over = [](const std::vector<double> &tiles) {
    return listOrder(tiles, 0.0, sum<double>);
  };
  // The order of a segment does not depend on the segments before it.
  std::vector<double> x, y;
  addTiles(x, a.values[0]);
  addTiles(x, a.values[2]);
  for (auto &values : c.values)
    addTiles(y, values);
  EXPECT_EQ(found, over(x) - over(y));
}

// Member scalars alone: a domain of rank 0.
TEST(CpuReduce, MemberScalars) {
  CpuHarness harness(R"(
!one = !foreach.list<tensor<f32>>
fused.program @k(%a: !one {foreach.donate = 0 : i64})
    -> (!one, tensor<f32>, tensor<i64>)
    attributes {buffers = [
      #fused.buffer<"m", result, tensor<f32>>,
      #fused.buffer<"i", result, tensor<i64>>]} {
  %b, %m, %i = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [1],
                               tile = [1], reason = "">
      name "scalars" result_buffers [0, 1, 2]
      (%x = %a : !one) -> (!one, tensor<f32>, tensor<i64>) {
    %y = arith.addf %x, %x : f32
    %m, %i = fused.reduce argmax list %y : f32
    fused.yield %y, %m, %i : f32, f32, i64
  }
  fused.yield %b, %m, %i : !one, tensor<f32>, tensor<i64>
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  std::vector<float> a(700);
  std::vector<Member> members;
  for (size_t k = 0; k < a.size(); ++k) {
    a[k] = k % 500 == 123 ? 9 : 1;
    members.push_back({&a[k]});
  }
  float most = 0;
  int64_t at = -2;
  harness.bindList(0, members);
  harness.bindScalar(1, &most);
  harness.bindScalar(2, &at);
  harness.run();
  EXPECT_EQ(a[0], 2);
  EXPECT_EQ(most, 18);
  EXPECT_EQ(at, 123);
}

// A matrix without row and column values.
TEST(CpuReduce, MatrixAsAStream) {
  CpuHarness harness(R"(
!mat = !foreach.list<tensor<?x?xf32>>
fused.program @k(%a: !mat {foreach.donate = 0 : i64}) -> (!mat, tensor<f64>)
    attributes {buffers = [
      #fused.buffer<"s", result, tensor<f64>>]} {
  %b, %s = fused.sweep
      schedule #fused.schedule<stream, threads = 256, vector = [4],
                               tile = [1024], reason = "">
      name "matrix" result_buffers [0, 1]
      (%x = %a[i, j] : !mat) -> (!mat, tensor<f64>) {
    %y = arith.addf %x, %x : f32
    %w = arith.extf %y : f32 to f64
    %s = fused.reduce add list %w : f64
    fused.yield %y, %s : f32, f64
  }
  fused.yield %b, %s : !mat, tensor<f64>
})");
  ASSERT_TRUE(harness.compile()) << harness.diagnostics << harness.error;
  Tensor<float> x(3000 * 7);
  for (float &value : x)
    value = 1;
  double found = 0;
  harness.bindList(0, {x.matrix(3000, 7)});
  harness.bindScalar(1, &found);
  harness.run();
  EXPECT_EQ(found, 2 * 3000 * 7);
  EXPECT_EQ(x[3000 * 7 - 1], 2);
  EXPECT_TRUE(x.guardHolds());
}

// More members than threads.
TEST(CpuReduce, ManyMembers) {
  std::vector<int64_t> lengths(3000, 3);
  Data<float> data(lengths, [] { return randomIn(-1, 1); });
  ordered<float>("f32", "add", 4, 0.0f, sum<float>, data);
}

} // namespace
