//===- ClipTest.cpp - norms and clipping against plain loops --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Also composed with an optimizer, and over several families of lists.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include <cmath>

using namespace heddle::test;

namespace {

double normOf(const std::vector<Vector> &list) {
  long double sum = 0;
  for (const Vector &member : list)
    for (double x : member)
      sum += static_cast<long double>(x) * x;
  return static_cast<double>(std::sqrt(sum));
}

std::vector<Vector> scaled(std::vector<Vector> list, double factor,
                           Storage storage) {
  for (Vector &member : list)
    for (double &x : member)
      x = store(storage, x * factor);
  return list;
}

TEST(GlobalNorm, RaggedLists) {
  Context context;
  std::mt19937_64 random(5);
  auto g = raggedList(random);
  Runner runner = Runner::library(context, "global_norm:dtype=f64");
  runner.set("grad", g);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_NEAR(runner.number("norm"), normOf(g), 1e-14 * normOf(g));
}

TEST(GlobalNorm, SeveralFamilies) {
  Context context;
  Runner runner = Runner::library(context, "global_norm:dtype=f32/bf16/f64");
  runner.set("grad_f32", {{3}});
  runner.set("grad_bf16", {{4}, {}});
  runner.set("grad_f64", {{12}});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("norm"), 13);
}

TEST(GlobalNorm, OfNothingIsZero) {
  Context context;
  Runner runner = Runner::library(context, "global_norm");
  runner.set("grad", {});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("norm"), 0);
}

TEST(Clip, ScalesDownButNeverUp) {
  Context context;
  std::mt19937_64 random(5);
  auto g = scaled(raggedList(random), 1, Storage::f32);
  for (double maxNorm : {0.5, 1e4}) {
    Runner runner = Runner::library(context, "clip_by_global_norm");
    runner.set("grad", g);
    runner.setScalar("max_norm", maxNorm);
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
    double norm = normOf(g), factor = std::min(maxNorm / (norm + 1e-6), 1.0);
    EXPECT_NEAR(runner.number("norm"), norm, 1e-14 * norm);
    expectNear(runner["grad"], scaled(g, factor, Storage::f32), Storage::f32,
               "grad");
  }
}

TEST(Clip, NaNAndInfinityAffectEveryGradient) {
  Context context;
  Runner runner = Runner::library(context, "clip_by_global_norm");
  runner.set("grad", {{1, NAN}, {2}});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_TRUE(std::isnan(runner.number("norm")));
  EXPECT_TRUE(std::isnan(runner.number("grad", 1)));

  runner.set("grad", {{1, INFINITY}, {2}});
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("norm"), INFINITY);
  EXPECT_EQ(runner.member("grad", 0)[0], 0);
  EXPECT_TRUE(std::isnan(runner.member("grad", 0)[1]));
  EXPECT_EQ(runner.number("grad", 1), 0);
}

TEST(Clip, InactiveMembersDoNotCount) {
  Context context;
  Runner runner = Runner::library(context, "clip_by_global_norm");
  runner.set("grad", {{3}, {100}, {4}});
  runner.inactive["grad"] = {false, true, false};
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("norm"), 5);
  EXPECT_EQ(runner.number("grad", 1), 100);
}

TEST(Clip, BeforeSgd) {
  Context context;
  std::mt19937_64 random(9);
  auto p = raggedList(random), g = raggedList(random);
  Runner runner =
      Runner::library(context, "clip_by_global_norm:dtype=f64+sgd:lr=0.5");
  runner.set("param", p);
  runner.set("grad", g);
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  double factor = std::min(1 / (normOf(g) + 1e-6), 1.0);
  auto expected = p;
  for (size_t m = 0; m < p.size(); ++m)
    for (size_t k = 0; k < p[m].size(); ++k)
      expected[m][k] -= 0.5 * (g[m][k] * factor);
  expectNear(runner["param"], expected, Storage::f64, "param");
  // The gradients themselves do not change.
  expectNear(runner["grad"], g, Storage::f64, "grad");
}

} // namespace
