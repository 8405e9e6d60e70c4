//===- PanelTests.cpp - Loops with the panel schedule ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Log-domain matrix balancing, compared with double precision on the host.
// Covers every size class, a change of size class on one graph, stopping and
// captures.
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"

#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr const char *kBalance = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flag = !foreach.list<tensor<i1>>
!iteration = !foreach.list<tensor<i32>>
func.func @balance(%L: !mats, %row_log: !list, %column_log: !list, %row_start: !list, %column_start: !list,
                   %limit: tensor<i32> {foreach.default = 6 : i32}, %tol: tensor<f64> {foreach.default = -1.0 : f64})
    -> (!list, !list, !each, !iteration) {
  %row_u, %column_v, %error, %iterations = foreach.while (%u = %row_start, %v = %column_start : !list) upto %limit
      -> (!list, !list, !each, !iteration) {
    %row = foreach.reduce logsumexp along j (%l = %L[i, j] : !mats, %v = %v[j] : !list) -> !list {
      %x = arith.addf %l, %v : f32
      foreach.yield %x : f32
    }
    %u1 = foreach.map (%a = %row_log, %row = %row : !list) -> !list {
      %x = arith.subf %a, %row : f32
      foreach.yield %x : f32
    }
    %column = foreach.reduce logsumexp along i (%l = %L[i, j] : !mats, %u = %u1[i] : !list) -> !list {
      %x = arith.addf %l, %u : f32
      foreach.yield %x : f32
    }
    %v1 = foreach.map (%b = %column_log, %column = %column : !list) -> !list {
      %x = arith.subf %b, %column : f32
      foreach.yield %x : f32
    }
    %error = foreach.reduce max along i (%u = %u, %u1 = %u1 : !list) -> !each {
      %d = arith.subf %u1, %u : f32
      %x = math.absf %d : f32
      foreach.yield %x : f32
    }
    %more = foreach.map (%e = %error : !each, %t = %tol as f32 : tensor<f64>) -> !flag {
      %x = arith.cmpf ogt, %e, %t : f32
      foreach.yield %x : i1
    }
    foreach.yield %u1, %v1, %error while %more : !list, !list, !each while !flag
  }
  return %row_u, %column_v, %error, %iterations : !list, !list, !each, !iteration
})mlir";

Extents extentsIn(const std::string &list, const Member &member) {
  if (list == "L")
    return member.extents;
  if (list.rfind("row", 0) == 0)
    return {member.extents[0]};
  if (list.rfind("column", 0) == 0)
    return {member.extents[1]};
  return {};
}

/// Entries between -`range` and 0. With a larger `range`, more sums are unsafe.
std::function<std::optional<double>(const std::string &, const Member &,
                                    int64_t)>
valuesOf(double range) {
  return [=](const std::string &list, const Member &member,
             int64_t element) -> std::optional<double> {
    if (list == "L") {
      uint64_t bits = (element + 1) * 0x9e3779b97f4a7c15u + member.key;
      return -range * static_cast<double>((bits ^ bits >> 29) % 1024) / 1024;
    }
    if (list == "row_log" || list == "column_log")
      return -std::log(static_cast<float>(extentsIn(list, member)[0]));
    if (list == "row_start" || list == "column_start")
      return 0;
    return std::nullopt;
  };
}

double logSum(const std::vector<double> &x) {
  double most = -INFINITY, sum = 0;
  for (double value : x)
    most = std::max(most, value);
  for (double value : x)
    sum += std::exp(value - most);
  return most + std::log(sum);
}

/// Compares with `limit` iterations in double precision for every member. The
/// reductions over columns multiply the entries by `columnFactor`.
void expectBalanced(const Image &image, int limit, double range,
                    double columnFactor = 1) {
  const Place &place = image.place("L");
  for (size_t m = 0; m < place.members.size(); ++m) {
    SCOPED_TRACE("member " + std::to_string(m));
    int64_t rows = place.extents[m][0], columns = place.extents[m][1];
    std::vector<double> L = image.values("L", m), u(rows), v(columns);
    double a = image.values("row_log", m)[0],
           b = image.values("column_log", m)[0];
    for (int iteration = 0; iteration < limit; ++iteration) {
      for (int64_t i = 0; i < rows; ++i) {
        std::vector<double> x(columns);
        for (int64_t j = 0; j < columns; ++j)
          x[j] = L[i * columns + j] + v[j];
        u[i] = a - logSum(x);
      }
      for (int64_t j = 0; j < columns; ++j) {
        std::vector<double> x(rows);
        for (int64_t i = 0; i < rows; ++i)
          x[i] = columnFactor * L[i * columns + j] + u[i];
        v[j] = b - logSum(x);
      }
    }
    std::vector<double> foundU = image.values("row_u", m),
                        foundV = image.values("column_v", m);
    double allowed = 2e-6 * std::max(10.0, range);
    for (int64_t i = 0; i < rows; ++i)
      ASSERT_NEAR(u[i], foundU[i], allowed) << "u, row " << i;
    for (int64_t j = 0; j < columns; ++j)
      ASSERT_NEAR(v[j], foundV[j], allowed) << "v, column " << j;
    ASSERT_EQ(image.values("iterations", m)[0], limit);
  }
}

Problem problemOf(const std::vector<Extents> &shapes, double range) {
  Problem problem;
  for (const Extents &extents : shapes)
    problem.members.push_back({problem.members.size(), extents});
  problem.extentsIn = extentsIn;
  problem.value = valuesOf(range);
  return problem;
}

TEST(PanelTest, EverySizeClass) {
  for (const std::string &target : targets())
    for (const Extents &shape : std::vector<Extents>{{1, 1},
                                                     {7, 1},
                                                     {1, 300},
                                                     {51, 61},
                                                     {300, 301},
                                                     {501, 601},
                                                     {140, 2501},
                                                     {135, 6001},
                                                     {67, 12001},
                                                     {33, 30001}})
      for (double range : {4.0, 300.0}) {
        SCOPED_TRACE(target + ", " + std::to_string(shape[0]) + "x" +
                     std::to_string(shape[1]));
        Problem problem = problemOf({shape}, range);
        Trial run(kBalance, target, problem);
        run.set("limit", 3);
        run.step(2);
        Image after = run.read();
        expectUntouched(run.before(), after);
        expectBalanced(after, 3, range);
      }
  HEDDLE_SKIP_WITHOUT_GPU();
}

// Columns that do not share exponentials with rows compute their own.
TEST(PanelTest, ColumnsWithOtherExponents) {
  std::string program = kBalance;
  const std::string from = "%x = arith.addf %l, %u : f32";
  program.replace(program.find(from), from.size(), R"mlir(
      %more = arith.constant 1.5 : f32
      %y = arith.mulf %l, %more : f32
      %x = arith.addf %y, %u : f32)mlir");
  for (const std::string &target : targets())
    for (const std::vector<Extents> &shapes :
         std::vector<std::vector<Extents>>{{{1, 1}},
                                           {{501, 601}},
                                           {{140, 2501}},
                                           {{67, 12001}},
                                           {{51, 61}, {200, 33}, {3, 700}}})
      for (double range : {4.0, 300.0}) {
        SCOPED_TRACE(target + ", " + std::to_string(shapes[0][1]));
        Problem problem = problemOf(shapes, range);
        Trial run(program, target, problem);
        run.set("limit", 3);
        run.step(2);
        Image after = run.read();
        expectUntouched(run.before(), after);
        expectBalanced(after, 3, 1.5 * range, 1.5);
      }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST(PanelTest, MembersOfDifferentShapes) {
  for (const std::string &target : targets())
    for (int shift : {0, 1, 3}) {
      SCOPED_TRACE(target);
      Problem problem =
          problemOf({{51, 61}, {200, 33}, {3, 700}, {129, 1}, {1, 77}}, 20);
      problem.misaligned = {{"L", shift}};
      Trial run(kBalance, target, problem);
      run.step();
      expectBalanced(run.read(), 6, 20);
    }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST(PanelTest, StopsAndStartsAgain) {
  for (const std::string &target : targets()) {
    SCOPED_TRACE(target);
    Problem problem = problemOf({{51, 61}, {300, 500}}, 4);
    Trial run(kBalance, target, problem);
    for (int limit : {6, 0, 1, 6}) {
      run.set("limit", limit);
      run.step();
      if (limit)
        expectBalanced(run.read(), limit, 4);
    }
    run.set("limit", 100);
    run.set("tol", 1e-3);
    run.step();
    Image after = run.read();
    for (size_t m = 0; m < 2; ++m) {
      EXPECT_LE(after.values("error", m)[0], 1e-3);
      EXPECT_LT(after.values("iterations", m)[0], 100);
    }
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

// The changes of columns stop the loop, with those of rows or alone.
TEST(PanelTest, StopsByColumns) {
  auto replaced = [](std::string text, const std::string &from,
                     const std::string &to) {
    return text.replace(text.find(from), from.size(), to);
  };
  std::string alone =
      replaced(kBalance, "max along i (%u = %u, %u1 = %u1 : !list)",
               "max along member (%u = %v, %u1 = %v1 : !list)");
  std::string both = replaced(
      alone, "%error = foreach.reduce",
      R"mlir(%largest = foreach.reduce max along i (%u = %u1 : !list) -> !each {
      foreach.yield %u : f32
    }
    %error = foreach.reduce)mlir");
  both = replaced(both, "(%e = %error : !each,",
                  "(%e = %error, %m = %largest : !each,");
  both = replaced(both, "%x = arith.cmpf ogt, %e, %t : f32",
                  R"mlir(%far = arith.cmpf ogt, %e, %t : f32
      %known = arith.cmpf oeq, %m, %m : f32
      %x = arith.andi %far, %known : i1)mlir");
  for (const std::string &target : targets())
    for (const std::string &program : {alone, both})
      for (const std::vector<Extents> &shapes :
           std::vector<std::vector<Extents>>{{{1, 1}},
                                             {{51, 61}},
                                             {{300, 301}},
                                             {{501, 601}},
                                             {{140, 2501}},
                                             {{33, 30001}},
                                             {{51, 61}, {200, 33}, {3, 700}}}) {
        SCOPED_TRACE(target + ", " + std::to_string(shapes[0][1]));
        Trial run(program, target, problemOf(shapes, 4));
        run.set("limit", 2);
        run.step();
        Image before = run.read();
        expectBalanced(before, 2, 4);
        run.set("limit", 3);
        run.step();
        Image after = run.read();
        expectBalanced(after, 3, 4);
        for (size_t m = 0; m < shapes.size(); ++m) {
          std::vector<double> v = after.values("column_v", m),
                              old = before.values("column_v", m);
          double most = 0;
          for (size_t j = 0; j < v.size(); ++j)
            most = std::max(most, std::abs(v[j] - old[j]));
          EXPECT_NEAR(after.values("error", m)[0], most, 1e-6);
        }
        run.set("limit", 100);
        run.set("tol", 1e-3);
        run.step(2);
        Image stopped = run.read();
        for (size_t m = 0; m < shapes.size(); ++m) {
          EXPECT_LE(stopped.values("error", m)[0], 1e-3);
          EXPECT_LT(stopped.values("iterations", m)[0], 100);
        }
      }
  HEDDLE_SKIP_WITHOUT_GPU();
}

// Another size class and another grid on the same graph.
TEST(PanelTest, FromNarrowToWideAndBack) {
  for (const std::string &target : targets()) {
    SCOPED_TRACE(target);
    Trial narrow(kBalance, target, problemOf({{51, 61}}, 4)),
        wide(kBalance, target, problemOf({{200, 6001}}, 4));
    for (int turn = 0; turn < 2; ++turn) {
      wide.bind(narrow.graph());
      narrow.step();
      narrow.read();
      expectBalanced(wide.read(), 6, 4);
      narrow.bind(narrow.graph());
      narrow.step();
      expectBalanced(narrow.read(), 6, 4);
    }
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST(PanelTest, InACapture) {
  HEDDLE_SKIP_WITHOUT_GPU();
  const CudaDriver &driver = *CudaDriver::get();
  Trial run(kBalance, "cuda", problemOf({{501, 601}}, 4));
  ASSERT_TRUE(succeeded(run.graph().prepare(run.stream())));
  ASSERT_EQ(driver.cuStreamBeginCapture(driver.stream,
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            CUDA_SUCCESS);
  EXPECT_TRUE(succeeded(run.graph().replay(run.stream())));
  CUgraph captured = nullptr;
  CUgraphExec executable = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(driver.stream, &captured), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, captured, 0),
            CUDA_SUCCESS);
  for (int limit : {6, 2}) {
    run.set("limit", limit);
    ASSERT_EQ(driver.cuGraphLaunch(executable, driver.stream), CUDA_SUCCESS);
    expectBalanced(run.read(), limit, 4);
  }
  EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
}

} // namespace
