//===- Traffic.h - bytes that sweeps and kernels move -----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes read and written for each element of each domain. Fusion is decided by
// them and `heddle explain` prints them with the floor that they imply.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_TRAFFIC_H
#define HEDDLE_PASSES_TRAFFIC_H

#include "passes/Domains.h"

namespace heddle::fused {

/// Bytes moved for each element of one domain, once a step or once a trip of a
/// loop. Device scalars move no bytes that count.
struct Traffic {
  Shape shape;
  /// An argument of the kernel that has this shape, or -1.
  int argument = -1;
  /// Moved in every trip of a loop.
  bool perTrip = false;
  int64_t read = 0;
  int64_t written = 0;

  int64_t rank() const { return shape.extents.size(); }
  int64_t bytes() const { return read + written; }
};
using TrafficList = llvm::SmallVector<Traffic>;

/// What one sweep moves, by domain: an operand that is bound more than once is
/// read once.
TrafficList trafficOf(SweepOp sweep, const Domains &domains);
TrafficList trafficOf(KernelOp kernel, const Domains &domains);
TrafficList trafficOf(KernelOp kernel);

/// Adds (or with `sign` -1, subtracts) `from` to `to`.
void addTraffic(TrafficList &to, const TrafficList &from, int sign = 1);

/// One number to compare: bytes for each element of a domain of rank 2 outweigh
/// those of rank 1, and these a member's.
int64_t weigh(const TrafficList &traffic);

/// "16 B per element of 'param'", for remarks and reports.
std::string describe(const TrafficList &traffic, KernelOp kernel);

/// The attribute of a kernel that keeps its traffic before fusion.
inline constexpr llvm::StringLiteral kTrafficBefore = "fused.traffic_before";
mlir::ArrayAttr trafficAttr(mlir::MLIRContext *context,
                            const TrafficList &traffic);
/// What `fused.traffic_before` says; empty where a kernel has none.
TrafficList trafficBefore(KernelOp kernel);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_TRAFFIC_H
