//===- SinkhornReport.h - the report of the Sinkhorn benchmark --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables, and JSON with the conditions of the measurement.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNREPORT_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNREPORT_H

#include "Sinkhorn.h"
#include "llvm/Support/JSON.h"

namespace heddle::bench {

llvm::json::Object toJSON(const SinkhornReport &report, const Device &device);
void print(const SinkhornReport &report, const Device &device);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNREPORT_H
