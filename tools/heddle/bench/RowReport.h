//===- RowReport.h - the report of the benchmark of rows --------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables, and JSON with the conditions of the measurement.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_ROWREPORT_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_ROWREPORT_H

#include "Rows.h"
#include "llvm/Support/JSON.h"

namespace heddle::bench {

llvm::json::Object toJSON(const RowReport &report, const Device &device);
void print(const RowReport &report, const Device &device);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_ROWREPORT_H
