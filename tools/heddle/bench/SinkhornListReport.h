//===- SinkhornListReport.h - the report about lists ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table, and JSON with the conditions of the measurement.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNLISTREPORT_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNLISTREPORT_H

#include "SinkhornLists.h"
#include "llvm/Support/JSON.h"

namespace heddle::bench {

llvm::json::Object toJSON(const SinkhornListReport &report,
                          const Device &device);
void print(const SinkhornListReport &report, const Device &device);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNLISTREPORT_H
