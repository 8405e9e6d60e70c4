//===- RmspropTest.cpp - rmsprop against plain loops ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops are written from torch's documentation, for every combination of
// options, 100 steps each.
//
//===----------------------------------------------------------------------===//

#include "OptimizerCheck.h"

#include <cmath>

using namespace heddle::test;

namespace {

void check(bool centered, bool momentum, bool decay, bool maximize,
           Storage storage) {
  std::string text = std::string("rmsprop:lr=0.01,alpha=0.9,eps=1e-3,dtype=") +
                     nameOfStorage(storage);
  std::map<std::string, double> initial = {{"square_avg", 0}};
  if (centered) {
    text += ",centered=true";
    initial["grad_avg"] = 0;
  }
  if (momentum) {
    text += ",momentum=0.8";
    initial["momentum_buffer"] = 0;
  }
  text += decay ? ",weight_decay=0.05" : "";
  text += maximize ? ",maximize=true" : "";
  auto step = [=](int, Element &x) {
    double g = (maximize ? -x.g : x.g) + (decay ? 0.05 * x.p : 0);
    double &v = x.state["square_avg"], &m = x.state["grad_avg"];
    double &buffer = x.state["momentum_buffer"];
    v = 0.9 * v + 0.1 * g * g;
    m = 0.9 * m + 0.1 * g;
    double direction = g / (std::sqrt(centered ? v - m * m : v) + 1e-3);
    buffer = 0.8 * buffer + direction;
    x.p -= 0.01 * (momentum ? buffer : direction);
  };
  checkOptimizer(text, storage, initial, /*countsSteps=*/true, step);
}

void checkAll(Storage storage) {
  for (int bits = 0; bits < 16; ++bits)
    check(bits & 1, bits & 2, bits & 4, bits & 8, storage);
}

TEST(Rmsprop, EveryOptionInDouble) { checkAll(Storage::f64); }
TEST(Rmsprop, Single) {
  check(false, false, true, false, Storage::f32);
  check(false, true, true, true, Storage::f32);
}

/// The counter belongs to the step of its tensor, though no formula reads it.
TEST(Rmsprop, InactiveMembersKeepTheirStateAndCounter) {
  Context context;
  Runner runner = Runner::library(context, "rmsprop");
  runner.set("param", {{1}, {2}});
  runner.set("grad", {{}, {1}});
  runner.set("square_avg", {{0.5}, {0}});
  runner.setEach("step", {4, 4});
  runner.inactive["grad"] = {true, false};
  ASSERT_TRUE(succeeded(runner.step())) << context.message;
  EXPECT_EQ(runner.number("param", 0), 1);
  EXPECT_EQ(runner.number("square_avg", 0), 0.5);
  EXPECT_EQ(runner.number("step", 0), 4);
  EXPECT_EQ(runner.number("step", 1), 5);
}

} // namespace
