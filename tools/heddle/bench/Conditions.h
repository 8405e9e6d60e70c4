//===- Conditions.h - the conditions of a measurement -----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every report names the GPU, the versions and the copy bandwidth of the run.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_CONDITIONS_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_CONDITIONS_H

#include "Device.h"
#include "llvm/Support/JSON.h"

namespace heddle::bench {

llvm::json::Object conditionsOf(const Device &device, double copyBandwidth);
/// Prints the conditions on one line.
void printConditions(const Device &device, double copyBandwidth);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_CONDITIONS_H
