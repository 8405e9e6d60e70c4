//===- ProblemList.h - transport problems on the device ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list of problems with uniform costs in [0, 1) and equal weights. Each kind
// of list has one allocation with 16-byte aligned members.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_PROBLEMLIST_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_PROBLEMLIST_H

#include "../ShapesFile.h"
#include "Problem.h"

namespace heddle::bench {

class ProblemList {
public:
  /// Every shape of `model` is a problem: rows, columns.
  static llvm::Expected<ProblemList>
  create(Device &device, const cli::Model &model, runtime::DType dtype);

  const TransportLists &lists() const { return tensors; }
  size_t size() const { return tensors.costs.size(); }
  int64_t rows(size_t member) const { return tensors.costs[member].extents[0]; }
  int64_t columns(size_t member) const {
    return tensors.costs[member].extents[1];
  }
  /// Whether all problems have the same extents.
  bool isUniform() const;
  /// The bytes of all matrices.
  static double bytes(const cli::Model &model, runtime::DType dtype);

private:
  TransportLists tensors;
  std::vector<runtime::DeviceMemory> memory;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_PROBLEMLIST_H
