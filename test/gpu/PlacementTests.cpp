//===- PlacementTests.cpp - The same bits at every position ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bits of a member do not depend on other members, its position, its
// address, the run, or a rebinding of buffers. New pointers and new models
// compile nothing.
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"
#include "Programs.h"

#include <algorithm>

using namespace heddle;
using namespace heddle::test;

namespace {

std::optional<double> startOfState(const std::string &list,
                                   const Member &member, int64_t) {
  if (list.rfind("step", 0) == 0)
    return static_cast<double>(member.key % 3);
  return std::nullopt;
}

Problem problemOf(const std::string &program, std::vector<Member> members) {
  Problem problem;
  problem.members = std::move(members);
  problem.value = startOfState;
  if (program == kSoftmax)
    problem.extentsIn = softmaxExtents;
  return problem;
}

std::vector<Member> membersFor(const std::string &program) {
  if (program != kSoftmax)
    return vectors(raggedSizes());
  std::vector<Member> members;
  for (const Extents &extents : std::vector<Extents>{
           {1, 1}, {33, 129}, {0, 4}, {4, 0}, {257, 64}, {3, 5001}, {40, 7}})
    members.push_back({members.size(), extents});
  return members;
}

struct PlacementTest : testing::TestWithParam<const char *> {
  Image after(const std::string &target, const Problem &problem,
              int steps = 3) {
    Trial run(GetParam(), target, problem);
    run.step(steps);
    Image image = run.read();
    expectUntouched(run.before(), image);
    return image;
  }
};

TEST_P(PlacementTest, AloneAndInAnyList) {
  std::vector<Member> members = membersFor(GetParam());
  for (const std::string &target : targets()) {
    SCOPED_TRACE(target);
    Image together = after(target, problemOf(GetParam(), members));
    for (const Member &member : members)
      expectSameMembers(together,
                        after(target, problemOf(GetParam(), {member})));
    // In another order, between other members, at other addresses.
    std::vector<Member> shuffled;
    for (size_t index = 0; index < members.size(); ++index) {
      shuffled.push_back(members[index * 5 % members.size()]);
      Member other = members[index * 3 % members.size()];
      other.key += 1000 + index;
      shuffled.push_back(other);
    }
    Problem elsewhere = problemOf(GetParam(), shuffled);
    int shift = 0;
    for (const heddle_buffer_info &info :
         compiled(GetParam(), target).arguments())
      elsewhere.misaligned[info.name] = ++shift % 5;
    expectSameMembers(together, after(target, elsewhere));
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST_P(PlacementTest, FromRunToRun) {
  for (const std::string &target : targets()) {
    Problem problem = problemOf(GetParam(), membersFor(GetParam()));
    Image first = after(target, problem);
    for (int run = 1; run < 3; ++run)
      expectSame(first, after(target, problem));
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST_P(PlacementTest, Rebound) {
  for (const std::string &target : targets()) {
    SCOPED_TRACE(target);
    Problem problem = problemOf(GetParam(), membersFor(GetParam()));
    Trial one(GetParam(), target, problem), two(GetParam(), target, problem);
    one.step(2);
    Image expected = one.read();
    uint64_t compilations = statistic("compilations"),
             instantiations = statistic("graph_instantiations");

    // The same model at other addresses, and back.
    two.bind(one.graph());
    one.step(2);
    one.read();
    expectSame(expected, two.read());
    one.bind(one.graph());
    one.step(1);
    Image third = one.read();
    Trial fresh(GetParam(), target, problem);
    fresh.bind(one.graph());
    one.step(3);
    one.read();
    expectSame(third, fresh.read());
    EXPECT_EQ(statistic("graph_instantiations"), instantiations);

    // Another model in the same graph, and in another graph of the executable.
    std::vector<Member> members = membersFor(GetParam());
    members.erase(members.begin() + 1);
    for (uint64_t key = 500; key < 640; ++key) {
      members.push_back(members[key % 5]);
      members.back().key = key;
    }
    Trial larger(GetParam(), target, problemOf(GetParam(), members));
    larger.bind(one.graph());
    one.step(1);
    one.read();
    Trial own(GetParam(), target, problemOf(GetParam(), members));
    own.step(1);
    expectSame(own.read(), larger.read());
    EXPECT_EQ(statistic("compilations"), compilations);
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

const char *const kPrograms[] = {
    "adamw",
    "adamw:groups=true,dtype=bf16",
    "sgd:momentum=0.9,dtype=bf16",
    "adam:amsgrad=true,dtype=f64",
    kSoftmax,
};
// In these programs, a member depends on its whole list.
const char *const kOverLists[] = {"clip_by_global_norm+adamw",
                                  "global_norm:dtype=bf16"};

std::string nameOf(const testing::TestParamInfo<const char *> &info) {
  if (info.param == kSoftmax)
    return "softmax";
  std::string name = info.param;
  for (char &c : name)
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Programs, PlacementTest, testing::ValuesIn(kPrograms),
                         nameOf);

TEST(ListPlacementTest, FromRunToRun) {
  for (const char *program : kOverLists)
    for (const std::string &target : targets()) {
      Problem problem = problemOf(program, vectors(raggedSizes()));
      std::optional<Image> first;
      for (int repetition = 0; repetition < 3; ++repetition) {
        Trial run(program, target, problem);
        run.step(3);
        Image image = run.read();
        if (first)
          expectSame(*first, image);
        first = image;
      }
    }
  HEDDLE_SKIP_WITHOUT_GPU();
}

} // namespace
