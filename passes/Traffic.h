//===- Traffic.h - bytes that sweeps and programs move ----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes read and written for each element of each domain. Fusion decides by
// them; `heddle explain` prints them with the floor that they imply.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_TRAFFIC_H
#define HEDDLE_PASSES_TRAFFIC_H

#include "passes/Domains.h"

namespace heddle::fused {

/// Bytes moved for each element of one domain, in each step or in each
/// iteration of a loop. Device scalars do not count.
struct Traffic {
  Shape shape;
  /// An argument of the program that has this shape, or -1.
  int argument = -1;
  /// Moved in every iteration of a loop.
  bool perIteration = false;
  int64_t read = 0;
  int64_t written = 0;

  int64_t rank() const { return shape.extents.size(); }
  int64_t bytes() const { return read + written; }
};
using TrafficList = llvm::SmallVector<Traffic>;

/// The bytes that one sweep moves, by domain. An operand that is bound more
/// than once is read once.
TrafficList trafficOf(SweepOp sweep, const Domains &domains);
TrafficList trafficOf(ProgramOp program, const Domains &domains);
TrafficList trafficOf(ProgramOp program);

/// Adds (or with `sign` -1, subtracts) `from` to `to`.
void addTraffic(TrafficList &to, const TrafficList &from, int sign = 1);

/// A number by which traffic compares: bytes for each element of a domain of
/// rank 2 outweigh those of rank 1, and these outweigh those of a member.
int64_t weigh(const TrafficList &traffic);

/// "16 B per element of 'param'", for remarks and reports.
std::string describe(const TrafficList &traffic, ProgramOp program);

/// `traffic` as an attribute, which a program keeps of its form before fusion.
mlir::ArrayAttr trafficAttr(mlir::MLIRContext *context,
                            const TrafficList &traffic);
/// The attribute `traffic` of a program; empty if it has none.
TrafficList trafficBefore(ProgramOp program);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_TRAFFIC_H
