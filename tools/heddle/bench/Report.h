//===- Report.h - the report of the optimizer benchmark ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables, and JSON with the conditions of the measurement.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_REPORT_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_REPORT_H

#include "Optimizers.h"
#include "llvm/Support/JSON.h"

namespace heddle::bench {

llvm::json::Object toJSON(const OptimizerReport &report, const Device &device);
void print(const OptimizerReport &report, const Device &device);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_REPORT_H
