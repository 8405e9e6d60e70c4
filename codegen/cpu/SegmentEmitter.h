//===- SegmentEmitter.h - code over a segment of a sweep --------*- C++ -*-===//
//
// What the functions of a sweep share: how rows of a table, operands, scalars
// and scratch areas are reached, and how values of the body are computed at a
// position of the domain.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_SEGMENTEMITTER_H
#define HEDDLE_CODEGEN_CPU_SEGMENTEMITTER_H

#include "codegen/KernelSignature.h"
#include "codegen/cpu/Reduction.h"
#include "codegen/cpu/Segment.h"

namespace heddle::cpu {

/// Where in an operand an element lies, for each way to index it (Index of
/// Bindings.h).
struct Position {
  llvm::Value *index[kTrip + 1] = {};
};

/// What all functions of a sweep are emitted from.
struct SweepContext {
  Ir &ir;
  fused::SweepOp sweep;
  const SweepLayout &layout;
  KernelSignature signature;
  /// Set when a diagnostic was emitted; what was built is then of no use.
  bool failed = false;

  /// Byte offset of the field `columns` of a row, of `count` (or `first`), and
  /// size of a row.
  int64_t columnsOffset() const { return 8 * layout.pointers; }
  int64_t countOffset() const {
    return columnsOffset() + (layout.rank == 2 ? 16 : 0);
  }
  int64_t rowBytes() const { return llvm::alignTo(countOffset() + 24, 16); }
};

class SegmentEmitter {
public:
  /// `row` is null where there is none: in `finish`.
  SegmentEmitter(SweepContext &context, const Segment &segment,
                 llvm::Value *row, llvm::Value *arguments);

protected:
  /// Fields of a row: of 8 bytes, and of 4 bytes as i64.
  llvm::Value *wideField(int64_t offset, const llvm::Twine &name);
  llvm::Value *field(int64_t offset, const llvm::Twine &name);
  llvm::Value *argument(int64_t position, const llvm::Twine &name);
  llvm::Value *scalar(int slot);
  llvm::Value *scratch(int slot);
  /// The states of a reduction that are kept `per` tile, column or member.
  llvm::Value *scratch(const SegmentReduction &reduction, ScratchPer per);
  llvm::Value *members();

  /// Whether the flag of `where` holds; null if there is none.
  llvm::Value *flag();

  Reduction reductionOf(const SegmentReduction &reduction);
  void setResults(const SegmentReduction &reduction, Reduction &states,
                  const State &state);

  llvm::Value *get(mlir::Value value) const { return values.lookup(value); }
  void set(mlir::Value value, llvm::Value *computed) {
    values[value] = computed;
  }
  /// Computes the values of `needed` that stand in the body, in its order,
  /// where `filter` holds; those at hand already are computed anew.
  void compute(const Segment::Values &needed, const Position &at,
               llvm::function_ref<bool(mlir::Value)> filter = nullptr);
  void store(const SegmentResult &result, const Position &at);
  void storeScalar(int slot, mlir::Type from, llvm::Value *value);
  llvm::Value *loadScalar(int slot, mlir::Type to);

  /// Marks an access of a scratch area as one that meets no operand.
  std::function<void(llvm::Instruction *)> scratchTag(int slot);

  SweepContext &context;
  Ir &ir;
  llvm::IRBuilder<> &b;
  const SweepLayout &layout;
  const Segment &segment;
  const SegmentLayout &slots;
  llvm::Value *row, *arguments;

  void emitOp(mlir::Operation &op);

private:
  llvm::Value *loadArgument(mlir::BlockArgument argument, const Position &at);
  llvm::Value *addressOf(int slot, const Position &at);
  llvm::Value *addressOfEntry(int slot);
  /// The number of the trip, as i64, and the length of the vector at `slot`.
  llvm::Value *trip();
  llvm::Value *lengthOf(int slot);
  /// Elements from one row to the next of the matrix at `slot`.
  llvm::Value *strideOf(int slot);
  void makeScopes();
  void tag(llvm::Instruction *access, int scope);

  llvm::DenseMap<mlir::Value, llvm::Value *> values;
  llvm::SmallVector<llvm::Value *> operands; // addresses, by slot
  llvm::SmallVector<llvm::MDNode *> scopes, others;
  llvm::DenseMap<int, int> scopeOfBuffer;
};

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_SEGMENTEMITTER_H
