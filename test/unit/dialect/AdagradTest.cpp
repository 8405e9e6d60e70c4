//===- AdagradTest.cpp - adagrad against a plain loop ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop is written from torch's documentation, for every combination of
// options, 100 steps each.
//
//===----------------------------------------------------------------------===//

#include "OptimizerCheck.h"

#include <cmath>

using namespace heddle::test;

namespace {

void check(bool lrDecay, bool decay, bool initial, bool maximize,
           Storage storage) {
  std::string text =
      std::string("adagrad:lr=0.1,eps=1e-6,dtype=") + nameOfStorage(storage);
  text += lrDecay ? ",lr_decay=0.125" : "";
  text += decay ? ",weight_decay=0.05" : "";
  text += initial ? ",initial_accumulator_value=0.5" : "";
  text += maximize ? ",maximize=true" : "";
  auto step = [=](int t, Element &x) {
    double g = (maximize ? -x.g : x.g) + (decay ? 0.05 * x.p : 0);
    double &total = x.state["sum"];
    total += g * g;
    double rate = 0.1 / (1 + (t - 1) * (lrDecay ? 0.125 : 0));
    x.p -= rate * g / (std::sqrt(total) + 1e-6);
  };
  checkOptimizer(text, storage, {{"sum", initial ? 0.5 : 0}},
                 /*countsSteps=*/true, step);
}

void checkAll(Storage storage) {
  for (int bits = 0; bits < 16; ++bits)
    check(bits & 1, bits & 2, bits & 4, bits & 8, storage);
}

TEST(Adagrad, EveryOptionInDouble) { checkAll(Storage::f64); }
TEST(Adagrad, Single) { check(true, true, true, true, Storage::f32); }

TEST(Adagrad, InitialValueOfTheSum) {
  Context context;
  Runner runner =
      Runner::library(context, "adagrad:initial_accumulator_value=0.25");
  for (mlir::BlockArgument argument : runner.function.getArguments())
    if (heddle::nameOf(argument) == "sum")
      EXPECT_EQ(runner.function
                    .getArgAttrOfType<mlir::FloatAttr>(
                        argument.getArgNumber(), heddle::foreach::kInitialAttr)
                    .getValueAsDouble(),
                0.25);
}

} // namespace
