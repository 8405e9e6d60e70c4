//===- LoopTests.cpp - Loops that run on the device -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iterates x = 0.5 x + b to its fixed point, with one flag for all members and
// with one flag per member. Covers zero iterations, the iteration limit, small
// lists (one cooperative launch), large lists (a conditional WHILE node), and
// captures by the caller.
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"

#include <algorithm>
#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

constexpr const char *kTogether = R"mlir(
!list = !foreach.list<tensor<?xf32>>
func.func @settle(%x0: !list, %b: !list, %limit: tensor<i32> {foreach.default = 100 : i32},
                  %tol: tensor<f64> {foreach.default = 1.0e-3 : f64}) -> (!list, tensor<f32>, tensor<i32>) {
  %x, %change, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, tensor<f32>, tensor<i32>) {
    %x1 = foreach.map (%x = %x, %b = %b : !list) -> !list {
      %half = arith.constant 0.5 : f32
      %h = arith.mulf %half, %x : f32
      %x1 = arith.addf %h, %b : f32
      foreach.yield %x1 : f32
    }
    %change = foreach.reduce max along list (%x = %x, %x1 = %x1 : !list) -> tensor<f32> {
      %d = arith.subf %x1, %x : f32
      %size = math.absf %d : f32
      foreach.yield %size : f32
    }
    %more = foreach.map (%c = %change : tensor<f32>, %t = %tol as f32 : tensor<f64>) -> tensor<i1> {
      %more = arith.cmpf oge, %c, %t : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %change while %more : !list, tensor<f32> while tensor<i1>
  }
  return %x, %change, %iterations : !list, tensor<f32>, tensor<i32>
})mlir";

constexpr const char *kEach = R"mlir(
!list = !foreach.list<tensor<?xf32>>
!each = !foreach.list<tensor<f32>>
!flags = !foreach.list<tensor<i1>>
!counts = !foreach.list<tensor<i32>>
func.func @settle_each(%x0: !list, %b: !list, %limit: tensor<i32> {foreach.default = 100 : i32},
                       %tol: tensor<f64> {foreach.default = 1.0e-3 : f64}) -> (!list, !each, !counts) {
  %x, %change, %iterations = foreach.while (%x = %x0 : !list) upto %limit -> (!list, !each, !counts) {
    %x1 = foreach.map (%x = %x, %b = %b : !list) -> !list {
      %half = arith.constant 0.5 : f32
      %h = arith.mulf %half, %x : f32
      %x1 = arith.addf %h, %b : f32
      foreach.yield %x1 : f32
    }
    %change = foreach.reduce max along i (%x = %x, %x1 = %x1 : !list) -> !each {
      %d = arith.subf %x1, %x : f32
      %size = math.absf %d : f32
      foreach.yield %size : f32
    }
    %more = foreach.map (%c = %change : !each, %t = %tol as f32 : tensor<f64>) -> !flags {
      %more = arith.cmpf oge, %c, %t : f32
      foreach.yield %more : i1
    }
    foreach.yield %x1, %change while %more : !list, !each while !flags
  }
  return %x, %change, %iterations : !list, !each, !counts
})mlir";

/// Members whose distances to their fixed points differ by powers of two.
std::optional<double> loopValue(const std::string &list, const Member &member,
                                int64_t element) {
  double size = std::ldexp(1, static_cast<int>(member.key % 9));
  if (list == "x0")
    return size * (1 + static_cast<double>(element % 7) / 8);
  if (list == "b")
    return size * (static_cast<double>(element % 5) - 2) / 4;
  return std::nullopt;
}

Extents loopExtents(const std::string &list, const Member &member) {
  return list == "x0" || list == "b" || list == "x" ? member.extents
                                                    : Extents();
}

Problem smallProblem() {
  Problem problem;
  problem.members = vectors({7, 1, 300, 8192, 8193, 40000, 3, 1000, 2});
  problem.members[6].inactive = true;
  problem.extentsIn = loopExtents;
  problem.value = loopValue;
  return problem;
}

/// More tiles than one cooperative launch can hold.
Problem largeProblem() {
  Problem problem = smallProblem();
  for (uint64_t key = 100; key < 9200; ++key)
    problem.members.push_back({key, {static_cast<int64_t>(1 + key % 11)}});
  return problem;
}

/// The results of the same loop on the host.
struct Fixed {
  std::vector<std::vector<float>> x;
  std::vector<float> change;
  std::vector<int> iterations;
};

Fixed settled(const Problem &problem, int limit, float tol, bool each) {
  Fixed fixed;
  size_t members = problem.members.size();
  fixed.change.assign(members, INFINITY);
  fixed.iterations.assign(members, 0);
  std::vector<bool> running;
  for (const Member &member : problem.members) {
    fixed.x.emplace_back();
    for (int64_t element = 0; element < member.extents[0]; ++element)
      fixed.x.back().push_back(
          static_cast<float>(*loopValue("x0", member, element)));
    running.push_back(!member.inactive);
  }
  for (int iteration = 0; iteration < limit; ++iteration) {
    float largest = -INFINITY;
    bool any = false;
    for (size_t m = 0; m < members; ++m) {
      if (!running[m])
        continue;
      float change = -INFINITY;
      for (size_t element = 0; element < fixed.x[m].size(); ++element) {
        float &x = fixed.x[m][element];
        float next = 0.5f * x + static_cast<float>(
                                    *loopValue("b", problem.members[m],
                                               static_cast<int64_t>(element)));
        change = std::max(change, std::fabs(next - x));
        x = next;
      }
      fixed.change[m] = change;
      ++fixed.iterations[m];
      largest = std::max(largest, change);
      if (each)
        running[m] = change >= tol;
      any = any || running[m];
    }
    if (each ? !any : !(largest >= tol))
      break;
  }
  if (!each) {
    // One change and one iteration count for all members.
    float largest = INFINITY;
    int iterations = 0;
    for (size_t m = 0; m < members; ++m)
      if (fixed.iterations[m]) {
        largest =
            iterations ? std::max(largest, fixed.change[m]) : fixed.change[m];
        iterations = fixed.iterations[m];
      }
    fixed.change.assign(1, largest);
    fixed.iterations.assign(1, iterations);
  }
  return fixed;
}

void expectSettled(const Problem &problem, const Fixed &expected,
                   const Image &found, bool each) {
  for (size_t m = 0; m < problem.members.size(); ++m) {
    if (problem.members[m].inactive)
      continue;
    std::vector<double> x = found.values("x", m);
    ASSERT_TRUE(std::equal(x.begin(), x.end(), expected.x[m].begin(),
                           expected.x[m].end()))
        << "x, member " << m;
    if (!each && m > 0)
      continue;
    ASSERT_EQ(found.values("change", m)[0], expected.change[m]) << m;
    ASSERT_EQ(found.values("iterations", m)[0], expected.iterations[m]) << m;
  }
}

struct LoopTest : testing::TestWithParam<bool> {
  const char *program() const { return GetParam() ? kEach : kTogether; }

  void check(const Problem &problem) {
    for (const std::string &target : targets()) {
      SCOPED_TRACE(target);
      Trial run(program(), target, problem);
      for (int limit : {100, 0, 1, 5, 100}) {
        SCOPED_TRACE(limit);
        run.set("limit", limit);
        run.step(2);
        Image after = run.read();
        expectUntouched(run.before(), after);
        expectSettled(problem, settled(problem, limit, 1e-3f, GetParam()),
                      after, GetParam());
      }
      run.set("tol", 0.25);
      run.step();
      expectSettled(problem, settled(problem, 100, 0.25f, GetParam()),
                    run.read(), GetParam());
    }
  }

  /// Captures a replay and launches the captured graph twice.
  void capture(const Problem &problem) {
    const CudaDriver &driver = *CudaDriver::get();
    Trial run(program(), "cuda", problem);
    ASSERT_TRUE(succeeded(run.graph().prepare(run.stream())));
    Image before = run.read();
    ASSERT_EQ(driver.cuStreamBeginCapture(driver.stream,
                                          CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              CUDA_SUCCESS);
    EXPECT_TRUE(succeeded(run.graph().replay(run.stream())));
    EXPECT_TRUE(refused(run.graph().setScalar("limit", 3, run.stream()),
                        "before the capture"));
    CUgraph captured = nullptr;
    CUgraphExec executable = nullptr;
    ASSERT_EQ(driver.cuStreamEndCapture(driver.stream, &captured),
              CUDA_SUCCESS);
    expectEqual(before, run.read());
    ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, captured, 0),
              CUDA_SUCCESS);
    for (int limit : {100, 3}) {
      run.set("limit", limit);
      for (int launch = 0; launch < 2; ++launch)
        ASSERT_EQ(driver.cuGraphLaunch(executable, driver.stream),
                  CUDA_SUCCESS);
      Image after = run.read();
      expectUntouched(run.before(), after);
      expectSettled(problem, settled(problem, limit, 1e-3f, GetParam()), after,
                    GetParam());
    }
    EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
  }
};

TEST_P(LoopTest, Small) {
  check(smallProblem());
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST_P(LoopTest, Large) {
  check(largeProblem());
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST_P(LoopTest, FromSmallToLargeAndBack) {
  for (const std::string &target : targets()) {
    Problem small = smallProblem(), large = largeProblem();
    Trial one(program(), target, small), two(program(), target, large);
    for (int turn = 0; turn < 2; ++turn) {
      two.bind(one.graph());
      one.step();
      one.read();
      expectSettled(large, settled(large, 100, 1e-3f, GetParam()), two.read(),
                    GetParam());
      one.bind(one.graph());
      one.step();
      expectSettled(small, settled(small, 100, 1e-3f, GetParam()), one.read(),
                    GetParam());
    }
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST_P(LoopTest, AllMembersInactive) {
  for (const std::string &target : targets()) {
    Problem problem = smallProblem();
    for (Member &member : problem.members)
      member.inactive = true;
    Trial run(program(), target, problem);
    run.step(2);
    Image after = run.read();
    expectUntouched(run.before(), after);
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST_P(LoopTest, InACapture) {
  HEDDLE_SKIP_WITHOUT_GPU();
  capture(smallProblem());
  capture(largeProblem());
}

INSTANTIATE_TEST_SUITE_P(Flags, LoopTest, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &info) {
                           return info.param ? "Each" : "Together";
                         });

} // namespace
