//===- SweepFunctions.h - the functions of a sweep --------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the three functions of docs/plan.md, and their parts for each segment.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_SWEEPFUNCTIONS_H
#define HEDDLE_CODEGEN_CPU_SWEEPFUNCTIONS_H

#include "codegen/cpu/SegmentEmitter.h"

namespace heddle::cpu {

/// Emits a tile of a `stream` sweep.
void emitStreamTile(SweepContext &context, const Segment &segment,
                    llvm::Value *descriptor, llvm::Value *index,
                    llvm::Value *arguments);

/// Emits a tile of a `rows` sweep.
void emitRowsTile(SweepContext &context, const Segment &segment,
                  llvm::Value *descriptor, llvm::Value *index,
                  llvm::Value *arguments);

/// Emits the end of a member, after all its tiles.
void emitMemberEnd(SweepContext &context, const Segment &segment,
                   llvm::Value *descriptor, llvm::Value *arguments);

/// Emits the end of the list, after all members.
void emitListEnd(SweepContext &context, llvm::ArrayRef<Segment> segments,
                 llvm::Value *members, llvm::Value *count,
                 llvm::Value *arguments);

/// The functions that a sweep has; a function without work is not emitted.
struct SweepFunctions {
  bool tile = false, member = false, epilogue = false;
};

/// Emits `<name>_tile`, `<name>_member` and `<name>_epilogue`; fails after a
/// diagnostic.
mlir::FailureOr<SweepFunctions> emitSweep(Ir &ir, fused::SweepOp sweep,
                                          const SweepLayout &layout);

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_SWEEPFUNCTIONS_H
