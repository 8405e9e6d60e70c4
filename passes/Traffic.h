//===- Traffic.h - bytes that sweeps and programs move ----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes read and written per element of each domain. Vertical fusion orders
// merges by them; `heddle explain` prints them with the resulting floor.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_TRAFFIC_H
#define HEDDLE_PASSES_TRAFFIC_H

#include "codegen/layout/Buffers.h"
#include "passes/Domains.h"

namespace heddle::fused {

/// Bytes moved per element of one domain, in each step or in each iteration of
/// a loop. Device scalars do not count.
struct Traffic {
  Shape shape;
  /// An argument of the program with this shape, or -1.
  int argument = -1;
  /// Without such an argument: for each extent, an argument that has it, and
  /// the dimension there.
  llvm::SmallVector<std::pair<unsigned, unsigned>, 2> sides;
  /// Whether the bytes move in every iteration of a loop.
  bool perIteration = false;
  int64_t read = 0;
  int64_t written = 0;

  int64_t rank() const { return shape.extents.size(); }
  int64_t bytes() const { return read + written; }
  /// Finds the arguments that have the shape or its extents.
  void findArguments(const Domains &domains);
};
using TrafficList = llvm::SmallVector<Traffic>;

/// The bytes that a sweep or program moves, by domain. An operand that a sweep
/// binds more than once is read once.
TrafficList trafficOf(SweepOp sweep, const Domains &domains);
TrafficList trafficOf(ProgramOp program, const Domains &domains);

/// A value that is copied to another buffer, because no order of reads and
/// writes allows it to be computed there.
struct CopiedValue {
  mlir::Value value;
  /// The name of the argument, carried value, flag or result whose buffer the
  /// copy writes.
  std::string to;
  bool perIteration = false;
};
/// The copies of a program whose values have buffers.
llvm::SmallVector<CopiedValue> copiesOf(ProgramOp program,
                                        const Buffers &buffers);
/// The bytes that these copies move.
TrafficList trafficOf(llvm::ArrayRef<CopiedValue> copies,
                      const Domains &domains);

/// Adds (or with `sign` -1, subtracts) `from` to `to`.
void addTraffic(TrafficList &to, const TrafficList &from, int sign = 1);

/// A weight by which traffic is compared: bytes per element of a domain of rank
/// 2 outweigh bytes of rank 1, and these outweigh bytes of rank 0.
int64_t weigh(const TrafficList &traffic);

/// A description such as "16 B per element of 'param'".
std::string describe(const TrafficList &traffic, ProgramOp program);

/// `traffic` as the attribute `traffic` of a program.
mlir::ArrayAttr trafficAttr(mlir::MLIRContext *context,
                            const TrafficList &traffic);
/// The traffic before fusion, from the attribute `traffic`; empty if the
/// program has none.
TrafficList trafficBefore(ProgramOp program);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_TRAFFIC_H
