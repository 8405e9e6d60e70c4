//===- ClipTests.cpp - Clipping to a global norm --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program of three kernels. Compares the norm with a sum on the host in
// higher precision, and covers empty lists, inactive members and NaN.
//
//===----------------------------------------------------------------------===//

#include "ProgramHarness.h"

#include <algorithm>
#include <cmath>

using namespace heddle;
using namespace heddle::test;

namespace {

const char *const kPrograms[] = {"clip_by_global_norm+adamw",
                                 "clip_by_global_norm:dtype=f64+adamw",
                                 "clip_by_global_norm+adamw:dtype=bf16",
                                 "clip_by_global_norm+adamw:dtype=f32/bf16"};

Problem clipProblem() {
  Problem problem;
  problem.members = vectors(raggedSizes());
  problem.members.push_back({20, {1000003}});
  problem.value = [](const std::string &list, const Member &,
                     int64_t) -> std::optional<double> {
    if (list.rfind("step", 0) == 0)
      return 0;
    return std::nullopt;
  };
  return problem;
}

/// The norm of all gradients.
double normOf(const Image &image) {
  long double sum = 0;
  for (const Place &place : *image.places)
    for (size_t member = 0; member < place.counts.size(); ++member)
      if (place.name.rfind("grad", 0) == 0 && !place.members[member].inactive)
        for (double x : image.values(place.name, member))
          sum += static_cast<long double>(x) * x;
  return static_cast<double>(std::sqrt(sum));
}

size_t occurrences(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(ClipTest, ThreeKernels) {
  for (const std::string &target : targets()) {
    std::string plan = compiled(kPrograms[0], target).plan().value();
    EXPECT_EQ(occurrences(plan, "\"kind\": \"kernel\"") +
                  occurrences(plan, "\"kind\":\"kernel\""),
              3u);
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST(ClipTest, NormAndBits) {
  for (const char *program : kPrograms) {
    SCOPED_TRACE(program);
    std::optional<Image> expected;
    for (const std::string &target : targets())
      for (int repetition = 0; repetition < 3; ++repetition) {
        SCOPED_TRACE(target);
        Problem problem = clipProblem();
        problem.members[7].inactive = true;
        Trial run(program, target, problem);
        run.step(2);
        run.set("max_norm", 1e9); // no clipping
        run.step();
        Image after = run.read();
        expectUntouched(run.before(), after);
        double norm = after.values("norm")[0], exact = normOf(after);
        EXPECT_LE(std::fabs(norm - exact), 1e-12 * exact)
            << norm << " and " << exact;
        if (expected)
          expectSame(*expected, after);
        else
          expected = after;
      }
  }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST(ClipTest, NothingToClip) {
  for (const char *program : kPrograms)
    for (const std::string &target : targets()) {
      SCOPED_TRACE(target + " " + program);
      for (const std::vector<int64_t> &sizes :
           std::vector<std::vector<int64_t>>{{}, {0}, {0, 0, 0}}) {
        Problem problem = clipProblem();
        problem.members = vectors(sizes);
        Trial run(program, target, problem);
        run.step(2);
        EXPECT_EQ(run.read().values("norm")[0], 0);
      }
      Problem problem = clipProblem();
      for (Member &member : problem.members)
        member.inactive = true;
      Trial run(program, target, problem);
      run.step(2);
      Image after = run.read();
      expectUntouched(run.before(), after);
      EXPECT_EQ(after.values("norm")[0], 0);
    }
  HEDDLE_SKIP_WITHOUT_GPU();
}

TEST(ClipTest, NanPropagatesToAllMembers) {
  for (const char *program : kPrograms)
    for (const std::string &target : targets()) {
      SCOPED_TRACE(target + " " + program);
      Problem problem = clipProblem();
      auto value = problem.value;
      problem.value = [&](const std::string &list, const Member &member,
                          int64_t element) -> std::optional<double> {
        if (list.rfind("grad", 0) == 0 && member.key == 8 && element == 1022)
          return NAN;
        return value(list, member, element);
      };
      Trial run(program, target, problem);
      run.step();
      Image after = run.read();
      expectUntouched(run.before(), after);
      EXPECT_TRUE(std::isnan(after.values("norm")[0]));
      for (const Place &place : *after.places)
        for (size_t member = 0; member < place.counts.size(); ++member)
          if (place.written && place.isList &&
              place.name.rfind("step", 0) != 0) {
            std::vector<double> values = after.values(place.name, member);
            EXPECT_TRUE(std::ranges::all_of(
                values, [](double x) { return std::isnan(x); }))
                << place.name << ", member " << member;
          }
    }
  HEDDLE_SKIP_WITHOUT_GPU();
}

} // namespace
