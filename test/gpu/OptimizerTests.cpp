//===- OptimizerTests.cpp - Optimizers on cuda and on cpu -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The standard programs over lists of uneven sizes, for every element type,
// with each list misaligned in turn. Hyperparameters change between steps. Both
// targets compute the same bits and write nothing but results. Scalars take
// effect in stream order.
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"

#include <algorithm>
#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

/// The initial state, the hyperparameters of groups, and gradients with
/// infinities and NaN in one member of five.
std::optional<double> optimizerValue(const std::string &list,
                                     const Member &member, int64_t element) {
  auto is = [&](const char *name) { return list.rfind(name, 0) == 0; };
  double key = static_cast<double>(member.key % 4);
  if (is("step"))
    return key;
  if (is("lr"))
    return 1e-3 * (1 + key);
  if (is("beta1") || list == "momentum")
    return 0.9 - 0.05 * key;
  if (is("beta2"))
    return 0.999 - 0.01 * key;
  if (is("eps"))
    return 1e-8;
  if (is("weight_decay"))
    return 0.01 * key;
  if (is("grad") && member.key % 5 == 3) {
    const double special[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-41, 6e-8, 0};
    if (element < 7)
      return special[element];
  }
  return std::nullopt;
}

Problem ragged() {
  Problem problem;
  problem.members = vectors(raggedSizes());
  problem.value = optimizerValue;
  std::vector<Member> others(problem.members.rbegin(),
                             problem.members.rend() - 2);
  for (Member &member : others)
    member.key += 100;
  problem.families["_bf16"] = others;
  return problem;
}

struct OptimizerTest : testing::TestWithParam<const char *> {
  Image before;

  /// Runs five steps and changes hyperparameters between them.
  Image fiveSteps(const std::string &target, const Problem &problem) {
    Trial run(GetParam(), target, problem);
    auto set = [&](const std::string &name, double value) {
      if (run.hasScalar(name))
        run.set(name, value);
    };
    run.step();
    set("lr", 0.01);
    run.step();
    set("beta1", 0.8);
    set("momentum", 0.75);
    run.overwrite("beta1", 0.85); // if the program has groups
    if (run.hasScalar("beta1"))
      EXPECT_EQ(run.graph().readScalar("beta1", run.stream()).value(), 0.8);
    run.step();
    run.bindScalar("lr", 0.02);
    run.step();
    run.unbindScalar("lr");
    set("beta2", 0.99);
    run.step();
    Image after = run.read();
    before = run.before();
    expectUntouched(before, after);
    EXPECT_FALSE(before.bytes == after.bytes);
    return after;
  }

  std::vector<std::string> lists() {
    std::vector<std::string> names;
    for (const heddle_buffer_info &info :
         compiled(GetParam(), "cpu").arguments())
      if (info.is_list)
        names.emplace_back(info.name);
    return names;
  }

  /// Runs a problem on both targets and compares with `expected`.
  void check(const Problem &problem, const Image &expected) {
    for (const std::string &target : targets()) {
      SCOPED_TRACE(target);
      expectSameMembers(expected, fiveSteps(target, problem));
    }
  }
};

TEST_P(OptimizerTest, TargetsAgree) {
  Problem problem = ragged();
  Image expected = fiveSteps("cpu", problem);
  check(problem, expected);
  int shift = 0;
  for (const std::string &list : lists()) {
    SCOPED_TRACE(list + " misaligned");
    Problem one = ragged();
    one.misaligned[list] = 1 + shift++ % 7;
    check(one, expected);
    if (HasFailure())
      break;
    problem.misaligned[list] = one.misaligned[list];
  }
  SCOPED_TRACE("every list misaligned");
  check(problem, expected);
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST_P(OptimizerTest, SkipsInactiveMembers) {
  Problem problem = ragged();
  Image expected = fiveSteps("cpu", problem);
  for (size_t index : {1, 3, 8, 10}) {
    problem.members[index].inactive = true;
    problem.families["_bf16"][index].inactive = true;
  }
  check(problem, expected);
  for (Member &member : problem.members)
    member.inactive = true;
  for (Member &member : problem.families["_bf16"])
    member.inactive = true;
  for (const std::string &target : targets()) {
    Trial run(GetParam(), target, problem);
    run.step(3);
    expectEqual(run.before(), run.read());
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

const char *const kOptimizers[] = {
    "adamw",
    "adamw:dtype=f64",
    "adamw:dtype=bf16",
    "adamw:dtype=f16",
    "adamw:dtype=f32/bf16",
    "adamw:groups=true",
    "adamw:dtype=f32/bf16,groups=true",
    "sgd:momentum=0.9,weight_decay=0.1",
    "sgd:momentum=0.9,dtype=f64",
    "sgd:momentum=0.9,nesterov=true,dtype=bf16",
    "sgd:momentum=0.9,dampening=0.1,dtype=f16",
    "sgd:momentum=0.9,dtype=f32/bf16",
    "sgd:momentum=0.9,groups=true",
    "adam:amsgrad=true",
    "adam:amsgrad=true,dtype=f64",
    "adam:amsgrad=true,dtype=bf16",
    "adam:amsgrad=true,weight_decay=0.1,dtype=f16",
    "adam:amsgrad=true,dtype=f32/bf16",
    "adam:amsgrad=true,groups=true",
};

std::string nameOf(const testing::TestParamInfo<const char *> &info) {
  std::string name = info.param;
  for (char &c : name)
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Programs, OptimizerTest,
                         testing::ValuesIn(kOptimizers), nameOf);

//===----------------------------------------------------------------------===//
// Scalars and streams
//===----------------------------------------------------------------------===//

TEST(ScalarTest, FollowTheStream) {
  Problem problem = ragged();
  for (int64_t size : {3000000, 17, 500000})
    problem.members.push_back({50 + problem.members.size(), {size}});
  for (const char *program : {"adamw", "sgd:momentum=0.9"})
    for (const std::string &target : targets()) {
      SCOPED_TRACE(target + " " + program);
      auto steps = [&](bool wait) {
        Trial run(program, target, problem);
        for (int step = 0; step < 20; ++step) {
          run.set("lr", 1e-3 * (step + 1));
          if (run.hasScalar("beta1"))
            run.set("beta1", 0.9 - 0.01 * step);
          run.step();
          if (wait)
            run.read();
        }
        Image after = run.read();
        expectUntouched(run.before(), after);
        return after;
      };
      expectSame(steps(true), steps(false));
    }
  HEDDLE_SKIP_WITHOUT_GPU();
}

} // namespace
