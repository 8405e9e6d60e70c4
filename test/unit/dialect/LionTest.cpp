//===- LionTest.cpp - lion against a plain loop ---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop is written from the published rule, for every combination of
// options, 100 steps each.
//
//===----------------------------------------------------------------------===//

#include "OptimizerCheck.h"

using namespace heddle::test;

namespace {

void check(bool decay, bool maximize, Storage storage) {
  std::string text = std::string("lion:lr=0.01,beta1=0.75,beta2=0.875,dtype=") +
                     nameOfStorage(storage);
  text += decay ? ",weight_decay=0.05" : "";
  text += maximize ? ",maximize=true" : "";
  auto step = [=](int, Element &x) {
    double g = maximize ? -x.g : x.g, &m = x.state["exp_avg"];
    double direction = 0.75 * m + 0.25 * g;
    x.p *= decay ? 1 - 0.01 * 0.05 : 1;
    x.p -= direction > 0 ? 0.01 : direction < 0 ? -0.01 : 0;
    m = 0.875 * m + 0.125 * g;
  };
  checkOptimizer(text, storage, {{"exp_avg", 0}}, /*countsSteps=*/false, step);
}

TEST(Lion, EveryOption) {
  for (bool decay : {false, true})
    for (bool maximize : {false, true})
      check(decay, maximize, Storage::f64);
}

} // namespace
