//===- RowTests.cpp - Reductions over rows and columns --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The softmax of every row and the sums of the columns, for matrices of many
// shapes, compared with double precision on the host.
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"
#include "Programs.h"

#include <chrono>
#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

std::vector<Member> matrices() {
  std::vector<Member> members;
  for (const Extents &extents : std::vector<Extents>{{1, 1},
                                                     {0, 5},
                                                     {5, 0},
                                                     {0, 0},
                                                     {1, 7},
                                                     {7, 1},
                                                     {15, 31},
                                                     {16, 32},
                                                     {17, 33},
                                                     {33, 129},
                                                     {257, 255},
                                                     {100, 1000},
                                                     {3, 5001},
                                                     {4099, 3}})
    members.push_back({members.size(), extents});
  return members;
}

/// Whether a float32 value is close to a double.
testing::AssertionResult near(double expected, double found, double tolerance) {
  if (expected == found || std::fabs(expected - found) <=
                               tolerance * std::max(1.0, std::fabs(expected)))
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "expected " << expected << ", found " << found;
}

void expectSoftmax(const Image &image) {
  const Place &place = image.place("x");
  for (size_t member = 0; member < place.members.size(); ++member) {
    SCOPED_TRACE("member " + std::to_string(member));
    int64_t rows = place.extents[member][0], columns = place.extents[member][1];
    std::vector<double> x = image.values("x", member),
                        logSum = image.values("log_sum", member),
                        share = image.values("share", member),
                        column = image.values("column", member);
    std::vector<double> sums(columns);
    for (int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (int64_t j = 0; j < columns; ++j)
        sum += std::exp(x[row * columns + j]);
      ASSERT_TRUE(near(std::log(sum), logSum[row], 2e-6)) << "row " << row;
      for (int64_t j = 0; j < columns; ++j) {
        double exact = std::exp(x[row * columns + j]) / sum;
        ASSERT_TRUE(near(1, share[row * columns + j] / exact, 4e-6));
        sums[j] += exact;
      }
    }
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_TRUE(near(sums[j], column[j], 4e-6)) << "column " << j;
  }
}

TEST(RowTest, SoftmaxThenColumns) {
  for (const std::string &target : targets())
    for (int shift : {0, 1, 3}) {
      SCOPED_TRACE(target);
      Problem problem;
      problem.members = matrices();
      problem.extentsIn = softmaxExtents;
      problem.misaligned = {
          {"x", shift}, {"share", shift / 2}, {"column", shift}};
      Trial run(kSoftmax, target, problem);
      run.step(2);
      Image after = run.read();
      expectUntouched(run.before(), after);
      expectSoftmax(after);
    }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST(RowTest, EachShapeAlone) {
  for (const std::string &target : targets())
    for (const Member &member : matrices()) {
      SCOPED_TRACE(target);
      Problem problem;
      problem.members = {member};
      problem.extentsIn = softmaxExtents;
      Trial run(kSoftmax, target, problem);
      run.step();
      Image after = run.read();
      expectUntouched(run.before(), after);
      expectSoftmax(after);
    }
  HEDDLE_SKIP_WITHOUT_GPU();
}

// Without wide rows, another entry runs. It gives the same bits.
TEST(RowTest, BitsDoNotDependOnWiderRows) {
  for (const std::string &target : targets()) {
    SCOPED_TRACE(target);
    Problem narrow, all;
    for (const Member &member : matrices())
      if (member.extents[1] <= 2048)
        narrow.members.push_back({narrow.members.size(), member.extents});
    for (int64_t columns : {8, 64, 100, 1024, 2047, 2048})
      narrow.members.push_back({narrow.members.size(), {37, columns}});
    all.members = narrow.members;
    all.members.push_back({all.members.size(), {2, 70001}});
    std::vector<Image> images;
    for (Problem *problem : {&narrow, &all}) {
      problem->extentsIn = softmaxExtents;
      Trial run(kSoftmax, target, *problem);
      run.step();
      images.push_back(run.read());
    }
    for (size_t m = 0; m < narrow.members.size(); ++m)
      for (const char *list : {"share", "log_sum", "column"})
        EXPECT_EQ(images[0].values(list, m), images[1].values(list, m))
            << list << ", member " << m;
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

// A row of a million columns needs the blocks of the whole device: one block
// takes two milliseconds for it, all of them 20 us. In f64 it has 245 parts;
// the blocks of the entry for held rows, which cannot run, are too few for
// them.
TEST(RowTest, BlocksDivideWideRows) {
  HEDDLE_SKIP_WITHOUT_GPU();
  Problem problem;
  problem.members = {{0, {1, 1'000'000}}};
  problem.extentsIn = softmaxExtents;
  constexpr const char *program = R"mlir(
!mats = !foreach.list<tensor<?x?xf64>>
!list = !foreach.list<tensor<?xf64>>
func.func @shares(%x: !mats) -> (!mats, !list) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f64
  }
  %log_sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !list) -> !list {
    %d = arith.subf %x, %m : f64
    %e = math.exp %d : f64
    foreach.yield %e : f64
  }
  %share = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %log_sum[i] : !list) -> !mats {
    %d = arith.subf %x, %m : f64
    %e = math.exp %d : f64
    %y = arith.divf %e, %s : f64
    foreach.yield %y : f64
  }
  return %share, %log_sum : !mats, !list
})mlir";
  Trial run(program, "cuda", problem);
  run.step(2);
  double least = 1;
  for (int k = 0; k < 5; ++k) {
    auto start = std::chrono::steady_clock::now();
    run.step(10);
    std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - start;
    least = std::min(least, taken.count() / 10);
  }
  EXPECT_LT(least, 400e-6);
}

/// Compares a program in `type` whose blocks exchange the states of a row
/// twice, on all targets.
void compareShares(const std::string &type, const std::vector<Extents> &list) {
  std::string program = R"mlir(
!real = REAL
!mats = !foreach.list<tensor<?x?x!real>>
!list = !foreach.list<tensor<?x!real>>
func.func @shares(%x: !mats {foreach.donate = 0 : i64}) -> (!mats, !list) {
  %most = foreach.reduce max along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : !real
  }
  %log_sum = foreach.reduce add along j (%x = %x[i, j] : !mats, %m = %most[i] : !list) -> !list {
    %d = arith.subf %x, %m : !real
    foreach.yield %d : !real
  }
  %share = foreach.map (%x = %x[i, j] : !mats, %m = %most[i], %s = %log_sum[i] : !list) -> !mats {
    %d = arith.subf %x, %m : !real
    %y = arith.divf %d, %s : !real
    foreach.yield %y : !real
  }
  return %share, %log_sum : !mats, !list
})mlir";
  program.replace(program.find("REAL"), 4, type);
  std::vector<Image> images;
  for (const std::string &target : targets()) {
    Problem problem;
    for (const Extents &extents : list)
      problem.members.push_back({problem.members.size(), extents});
    problem.extentsIn = softmaxExtents;
    Trial run(program.c_str(), target, problem);
    run.step(3);
    images.push_back(run.read());
    for (size_t m = 0; m < problem.members.size(); ++m)
      for (const char *name : {"x", "log_sum"})
        EXPECT_EQ(images[0].values(name, m), images.back().values(name, m))
            << target << ": " << name << ", member " << m;
  }
}

// Rows whose blocks are a cluster, of 2 to 16 blocks, if all rows of the list
// have parts, and rows of more parts, whose blocks are none. All have the bits
// of the cpu target, and the blocks of a cluster do not depend on the step
// before.
TEST(RowTest, ClustersHaveTheBitsOfTheCpu) {
  for (int64_t widest : {16385, 24576, 50257, 128256, 131072, 131073, 300001}) {
    SCOPED_TRACE(widest);
    compareShares("f32", {{70, widest}, {0, 20000}, {5, 16385}});
    compareShares(
        "f32",
        {{70, widest}, {0, 20000}, {3, 16384}, {5, 16385}, {9, 100}, {2, 0}});
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

// Rows of any number of parts, in the entry that has these alone.
TEST(RowTest, PartsOfDoublesHaveTheBitsOfTheCpu) {
  for (int64_t widest : {8193, 50257, 131073, 1000001, 1 << 20}) {
    SCOPED_TRACE(widest);
    compareShares("f64", {{70, widest}, {0, 20000}, {3, 8193}, {5, 12288}});
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

// Elements of 16 bits, which threads access as vectors of two, four and eight
// adjacent columns, if all matrices of a tile are aligned.
TEST(RowTest, ColumnsOf16BitsHaveTheBitsOfTheCpu) {
  const std::string types = R"mlir(
!mats = !foreach.list<tensor<?x?xbf16>>
!list = !foreach.list<tensor<?xf32>>
)mlir";
  const std::string maps = types + R"mlir(
func.func @maps(%x: !mats {foreach.donate = 0 : i64}, %g: !mats, %mean: !list, %col: !list) -> !mats {
  %y = foreach.map (%x = %x[i, j] as f32, %g = %g[i, j] as f32 : !mats, %m = %mean[i], %c = %col[j] : !list) -> !mats {
    %a = arith.mulf %g, %m : f32
    %b = arith.mulf %a, %c : f32
    %y = arith.subf %x, %b : f32
    foreach.yield %y : f32
  }
  return %y : !mats
})mlir",
                    rows = types + R"mlir(
func.func @rows(%x: !mats {foreach.donate = 0 : i64}, %mean: !list) -> !mats {
  %y = foreach.map (%x = %x[i, j] as f32 : !mats, %m = %mean[i] : !list) -> !mats {
    %y = arith.mulf %x, %m : f32
    foreach.yield %y : f32
  }
  return %y : !mats
})mlir",
                    sums = types + R"mlir(
func.func @sums(%x: !mats, %g: !mats) -> !list {
  %sum = foreach.reduce add along i (%x = %x[i, j] as f32, %g = %g[i, j] as f32 : !mats) -> !list {
    %y = arith.mulf %x, %g : f32
    foreach.yield %y : f32
  }
  return %sum : !list
})mlir";
  auto compare = [](const std::string &program, const char *result,
                    std::map<std::string, int> misaligned) {
    std::vector<Image> images;
    for (const std::string &target : targets()) {
      Problem problem;
      for (const Extents &extents : std::vector<Extents>{{70, 65540},
                                                         {37, 4100},
                                                         {9, 2050},
                                                         {5, 2049},
                                                         {0, 3000},
                                                         {33, 1026},
                                                         {6, 257},
                                                         {4, 258},
                                                         {16, 64}})
        problem.members.push_back({problem.members.size(), extents});
      problem.extentsIn = [](const std::string &list, const Member &member) {
        return list == "x" || list == "g"
                   ? member.extents
                   : Extents{member.extents[list == "mean" ? 0 : 1]};
      };
      problem.misaligned = misaligned;
      Trial run(program, target, problem);
      run.step(3);
      images.push_back(run.read());
      expectUntouched(run.before(), images.back());
      for (size_t m = 0; m < problem.members.size(); ++m)
        EXPECT_EQ(images[0].values(result, m), images.back().values(result, m))
            << target << ", member " << m;
    }
  };
  for (auto [x, g] : {std::pair{0, 0}, {2, 2}, {4, 8}, {1, 1}, {2, 3}}) {
    SCOPED_TRACE(testing::Message() << x << " and " << g);
    compare(maps, "x", {{"x", x}, {"g", g}, {"col", x}});
    compare(rows, "x", {{"x", 4 * x}});
    compare(sums, "sum", {{"x", x}, {"g", g}});
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

// Tall matrices, whose tiles are combined in groups of groups.
TEST(RowTest, LongColumns) {
  constexpr const char *program = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
func.func @columns(%x: !mats) -> (!list, !list) {
  %column = foreach.reduce logsumexp along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %column_most = foreach.reduce max along i (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  return %column, %column_most : !list, !list
})mlir";
  for (const std::string &target : targets()) {
    SCOPED_TRACE(target);
    Problem problem;
    for (const Extents &extents : std::vector<Extents>{{20011, 33},
                                                       {1, 9},
                                                       {5000, 700},
                                                       {129, 2049},
                                                       {101, 65537},
                                                       {0, 5},
                                                       {1040, 1},
                                                       {16, 300}})
      problem.members.push_back({problem.members.size(), extents});
    problem.extentsIn = [](const std::string &list, const Member &member) {
      return list == "x" ? member.extents : Extents{member.extents[1]};
    };
    Trial run(program, target, problem);
    run.step(3);
    Image after = run.read();
    expectUntouched(run.before(), after);
    for (size_t m = 0; m < problem.members.size(); ++m) {
      int64_t rows = problem.members[m].extents[0],
              columns = problem.members[m].extents[1];
      std::vector<double> x = after.values("x", m),
                          column = after.values("column", m),
                          most = after.values("column_most", m);
      for (int64_t j = 0; j < columns; ++j) {
        double largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < rows; ++i) {
          largest = std::max(largest, x[i * columns + j]);
          sum += std::exp(x[i * columns + j]);
        }
        ASSERT_EQ(most[j], largest) << "member " << m << ", column " << j;
        if (rows)
          ASSERT_TRUE(near(std::log(sum), column[j], 4e-6))
              << "member " << m << ", column " << j;
        else
          ASSERT_EQ(column[j], -INFINITY);
      }
    }
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

// Rows and columns are reduced in one traversal that stores no shares.
TEST(RowTest, ColumnsAlone) {
  std::string program = kSoftmax;
  auto replace = [&](const std::string &from, const std::string &to) {
    size_t at = program.rfind(from);
    ASSERT_NE(at, std::string::npos);
    program.replace(at, from.size(), to);
  };
  replace("return %log_sum, %share, %column : !list, !mats, !list",
          "return %column : !list");
  replace("-> (!list, !mats, !list) {", "-> !list {");
  for (const std::string &target : targets()) {
    SCOPED_TRACE(target);
    Problem problem;
    problem.members = matrices();
    problem.extentsIn = softmaxExtents;
    Trial all(kSoftmax, target, problem), alone(program, target, problem);
    all.step();
    alone.step();
    Image expected = all.read(), found = alone.read();
    expectUntouched(alone.before(), found);
    for (size_t member = 0; member < problem.members.size(); ++member)
      EXPECT_EQ(expected.values("column", member),
                found.values("column", member))
          << member;
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

} // namespace
