//===- SweepFunctions.h - the functions of a sweep --------------*- C++ -*-===//
//
// The parts of the three functions of docs/plan.md, each over one segment, and
// the functions themselves.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_SWEEPFUNCTIONS_H
#define HEDDLE_CODEGEN_CPU_SWEEPFUNCTIONS_H

#include "codegen/cpu/SegmentEmitter.h"

namespace heddle::cpu {

/// A tile of a stream sweep.
void emitStreamTile(SweepContext &context, const Segment &segment,
                    llvm::Value *row, llvm::Value *index,
                    llvm::Value *arguments);

/// A tile of a rows sweep.
void emitRowsTile(SweepContext &context, const Segment &segment,
                  llvm::Value *row, llvm::Value *index, llvm::Value *arguments);

/// The end of a member, after all its tiles.
void emitMemberEnd(SweepContext &context, const Segment &segment,
                   llvm::Value *row, llvm::Value *arguments);

/// The end of the list, after all members.
void emitListEnd(SweepContext &context, llvm::ArrayRef<Segment> segments,
                 llvm::Value *members, llvm::Value *count,
                 llvm::Value *arguments);

/// The functions that a sweep has; the others would be empty.
struct SweepFunctions {
  bool tile = false, member = false, epilogue = false;
};

/// Emits `<name>_tile`, `<name>_member` and `<name>_epilogue`. Fails after a
/// diagnostic.
mlir::FailureOr<SweepFunctions> emitSweep(Ir &ir, fused::SweepOp sweep,
                                          const SweepLayout &layout);

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_SWEEPFUNCTIONS_H
