//===- SegmentEmitter.h - code for a segment of a sweep ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the code that the functions of a sweep share: access to descriptors,
// operands, scalars and scratch areas, and the values of the body at a position
// of the domain.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_SEGMENTEMITTER_H
#define HEDDLE_CODEGEN_CPU_SEGMENTEMITTER_H

#include "codegen/cpu/AliasScopes.h"
#include "codegen/cpu/Reduction.h"
#include "codegen/cpu/Segment.h"
#include "codegen/layout/KernelSignature.h"

namespace heddle::cpu {

/// The position of an element in an operand, for each Index of Bindings.h.
struct Position {
  llvm::Value *index[kIteration + 1] = {};
};

/// The input of all functions of a sweep.
struct SweepContext {
  Ir &ir;
  fused::SweepOp sweep;
  const SweepLayout &layout;
  KernelSignature signature;
  /// Set after a diagnostic; the emitted code is then invalid.
  bool failed = false;

  /// Byte offsets of the fields `columns` and `count` (or `first`) of a
  /// descriptor, and its size.
  int64_t columnsOffset() const { return 8 * layout.pointers; }
  int64_t countOffset() const {
    return columnsOffset() + (layout.rank == 2 ? 16 : 0);
  }
  int64_t descriptorBytes() const {
    return llvm::alignTo(countOffset() + 24, 16);
  }
};

class SegmentEmitter {
public:
  /// `descriptor` is null in the epilogue, which has none.
  SegmentEmitter(SweepContext &context, const Segment &segment,
                 llvm::Value *descriptor, llvm::Value *arguments);

protected:
  /// Loads a field of the descriptor: of 8 bytes, or of 4 bytes, extended to
  /// i64.
  llvm::Value *wideField(int64_t offset, const llvm::Twine &name);
  llvm::Value *field(int64_t offset, const llvm::Twine &name);
  llvm::Value *argument(int64_t position, const llvm::Twine &name);
  llvm::Value *scalar(int slot);
  llvm::Value *scratch(int slot);
  /// The states of a reduction, one for each tile, column or member (`per`).
  llvm::Value *scratch(const SegmentReduction &reduction, ScratchPer per);
  llvm::Value *members();

  /// Whether the flag of `where` holds; null without a flag.
  llvm::Value *flag();

  Reduction reductionOf(const SegmentReduction &reduction);
  void setResults(const SegmentReduction &reduction, Reduction &states,
                  const State &state);

  llvm::Value *get(mlir::Value value) const { return values.lookup(value); }
  void set(mlir::Value value, llvm::Value *computed) {
    values[value] = computed;
  }
  /// Computes, in order, the values of `needed` that the body defines and for
  /// which `filter` holds; values that were computed before are recomputed.
  void compute(const Segment::Values &needed, const Position &at,
               llvm::function_ref<bool(mlir::Value)> filter = nullptr);
  void store(const SegmentResult &result, const Position &at);
  void storeScalar(int slot, mlir::Type from, llvm::Value *value);
  llvm::Value *loadScalar(int slot, mlir::Type to);

  /// Marks an access to a scratch area as not aliasing any operand.
  std::function<void(llvm::Instruction *)> scratchTag(int slot);

  SweepContext &context;
  Ir &ir;
  llvm::IRBuilder<> &b;
  const SweepLayout &layout;
  const Segment &segment;
  const SegmentLayout &slots;
  llvm::Value *descriptor, *arguments;

  void emitOp(mlir::Operation &op);

  /// Whether the descriptor is that of the member, not of a tile.
  bool ofMember = false;

private:
  llvm::Value *extentAlong(foreach::Axis axis);
  llvm::Value *positionAlong(foreach::Axis axis);
  /// The position for which values are computed, and the loop position of the
  /// first element or row of a tile.
  const Position *current = nullptr;

  llvm::Value *loadArgument(mlir::BlockArgument argument, const Position &at);
  llvm::Value *addressOf(int slot, const Position &at);
  llvm::Value *addressOfEntry(int slot);
  /// The iteration, as i64, and the length of the vector at `slot`.
  llvm::Value *iteration();
  llvm::Value *lengthOf(int slot);
  /// The distance in elements between the rows of the matrix at `slot`.
  llvm::Value *strideOf(int slot);
  /// Marks an access to the memory with this number: a scratch slot, or a
  /// buffer.
  void tag(llvm::Instruction *access, int memory);
  int memoryOf(const OperandSlot &operand) const {
    return layout.scratch.size() + memoryOfBuffer.lookup(operand.buffer);
  }

  llvm::DenseMap<mlir::Value, llvm::Value *> values;
  llvm::SmallVector<llvm::Value *> operands; // addresses, by slot
  llvm::DenseMap<int, int> memoryOfBuffer;
  AliasScopes aliasScopes;
};

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_SEGMENTEMITTER_H
