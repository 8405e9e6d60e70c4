//===- SgdTest.cpp - sgd against plain loops ------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops are written from the published rule, for every combination of
// options, 100 steps each.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

using namespace heddle::test;

namespace {

struct Rule {
  double momentum = 0, dampening = 0, weightDecay = 0;
  bool nesterov = false, maximize = false;
};

void sgdStep(const Rule &rule, int t, Vector &p, const Vector &grad,
             Vector &buffer, Storage storage) {
  for (size_t k = 0; k < p.size(); ++k) {
    double g = rule.maximize ? -grad[k] : grad[k];
    g += rule.weightDecay * p[k];
    if (rule.momentum != 0) {
      // The first step copies the gradient, undamped.
      double b =
          t == 1 ? g : rule.momentum * buffer[k] + (1 - rule.dampening) * g;
      buffer[k] = store(storage, b);
      g = rule.nesterov ? g + rule.momentum * b : b;
    }
    p[k] = store(storage, p[k] - 0.01 * g);
  }
}

void check(const Rule &rule, Storage storage) {
  std::string text = std::string("sgd:lr=0.01,dtype=") + nameOfStorage(storage);
  text += rule.momentum != 0 ? ",momentum=0.9" : "";
  text += rule.dampening != 0 ? ",dampening=0.3" : "";
  text += rule.weightDecay != 0 ? ",weight_decay=0.05" : "";
  text += rule.nesterov ? ",nesterov=true" : "";
  text += rule.maximize ? ",maximize=true" : "";
  SCOPED_TRACE(text);
  Context context;
  Runner runner = Runner::library(context, text);
  std::mt19937_64 random(11);
  auto p = raggedList(random);
  for (Vector &member : p)
    for (double &x : member)
      x = store(storage, x);
  auto buffer = zerosLike(p);
  runner.set("param", p);
  if (rule.momentum != 0)
    runner.set("momentum_buffer", buffer);
  if (rule.dampening != 0)
    runner.setEach("step", Vector(p.size(), 0.0));
  for (int t = 1; t <= 100; ++t) {
    auto g = raggedList(random);
    for (Vector &member : g)
      for (double &x : member)
        x = store(storage, x);
    runner.set("grad", g);
    ASSERT_TRUE(succeeded(runner.step())) << context.message;
    for (size_t k = 0; k < p.size(); ++k)
      sgdStep(rule, t, p[k], g[k], buffer[k], storage);
  }
  expectNear(runner["param"], p, storage, "param");
  if (rule.momentum != 0)
    expectNear(runner["momentum_buffer"], buffer, storage, "momentum_buffer");
}

void checkAll(Storage storage) {
  for (double momentum : {0.0, 0.9})
    for (double dampening : {0.0, 0.3})
      for (double weightDecay : {0.0, 0.05})
        for (bool nesterov : {false, true})
          for (bool maximize : {false, true}) {
            if (dampening != 0 && (momentum == 0 || nesterov))
              continue; // refused, see LibraryTest.cpp
            if (nesterov && momentum == 0)
              continue;
            check({momentum, dampening, weightDecay, nesterov, maximize},
                  storage);
          }
}

TEST(Sgd, EveryOptionInDouble) { checkAll(Storage::f64); }
TEST(Sgd, EveryOptionInSingle) { checkAll(Storage::f32); }
TEST(Sgd, EveryOptionInBFloat) { checkAll(Storage::bf16); }
TEST(Sgd, EveryOptionInHalf) { checkAll(Storage::f16); }

TEST(Sgd, InactiveMembersKeepTheirBuffer) {
  Context context;
  Runner runner =
      Runner::library(context, "sgd:momentum=0.9,dampening=0.1,lr=1");
  runner.set("param", {{1}, {2}});
  runner.set("grad", {{1}, {1}});
  runner.set("momentum_buffer", {{0}, {0}});
  runner.setEach("step", {0, 0});
  runner.inactive["grad"] = {true, false};
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("param", 0), 1);
  EXPECT_EQ(runner.number("param", 1), 1);
  // The first step of the first member comes later, and is undamped, too.
  runner.inactive.clear();
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("param", 0), 0);
  EXPECT_EQ(runner.number("momentum_buffer", 0), 1);
  EXPECT_NEAR(runner.number("momentum_buffer", 1), 1.8, 1e-6);
}

} // namespace
