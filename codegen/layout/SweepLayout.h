//===- SweepLayout.h - operands and scratch areas of a sweep ----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operand slots, device scalars and scratch areas of a sweep, for all
// targets and the plan (docs/plan.md). KernelSignature.h has their order among
// the arguments of a kernel.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_SWEEPLAYOUT_H
#define HEDDLE_CODEGEN_LAYOUT_SWEEPLAYOUT_H

#include "codegen/layout/Buffers.h"
#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"
#include "runtime/plan/Plan.h"

namespace heddle {

/// The index of the slot for the length of a vector that is bound at an
/// iteration index. This slot follows the slot of the vector.
inline constexpr int32_t kLength = kFirst + 1;
/// The index of the slot for the row stride of a matrix that is visited by
/// rows. This slot follows the slot of the matrix.
inline constexpr int32_t kStride = kLength + 1;

/// An operand slot in the descriptors of a segment: one buffer at one index. An
/// operand that is updated in place has one slot that is read and written.
struct OperandSlot {
  int buffer;
  int32_t index; // Index of Bindings.h, kLength or kStride
  mlir::Type storage;
  bool read = false, written = false;
};

/// A device scalar that the sweep reads or writes.
struct ScalarSlot {
  int buffer;
  mlir::Type storage;
  bool read = false, written = false;
  /// Whether this is a by-value scalar: an argument that the program never
  /// writes. It is passed by value or by address (`heddle::scalar_argument`).
  bool isByValue = false;
};

/// A scratch area has one value per tile, per member, per column of each tile,
/// or in total; or one ticket per tile and block of the tile. If blocks divide
/// wide rows, a reduction has two places per block of a tile, for exchanges in
/// turn; each word of a state has a number beside it.
enum class ScratchPer { tile, member, tileColumn, once, ticket, rowPart };

/// A scratch area, and the operation for which it exists.
struct ScratchSlot {
  ScratchPer per;
  int64_t bytes;
  bool zero;
  mlir::Operation *owner; // a fused.reduce or fused.precompute; for tickets,
                          // the segment's first fused.reduce over columns; for
                          // barriers and in total, the sweep
};

struct SegmentLayout {
  llvm::SmallVector<OperandSlot> operands;
  /// For each input: its operand slot, or -1 - (scalar slot).
  llvm::SmallVector<int> inputs;
  /// For each result: its operand slot; for a device scalar, -1 - (scalar
  /// slot); kNowhere for a result that is never read.
  llvm::SmallVector<int> results;
  /// Elements or rows of a tile, and the vector width.
  int64_t tile, vector;
  /// The columns of a tile that one block processes if blocks share it; 0: all.
  int64_t columns = 0;
  /// The held rows (RowsForm.h).
  runtime::HeldRows held;
  /// Whether work remains when all tiles of a member are complete (the end of
  /// the member, which its last block executes), and whether this work uses
  /// partials or results of the tiles and must wait for their stores.
  bool endsMembers = false, endsAfterStores = false;
  /// The scratch slot of the tickets by which tiles combine their columns; -1
  /// if no columns are reduced.
  int tickets = -1;
  static constexpr int kNowhere = INT_MIN;
};

struct SweepLayout {
  static mlir::FailureOr<SweepLayout> compute(fused::SweepOp sweep,
                                              const Buffers &buffers);

  llvm::SmallVector<SegmentLayout> segments;
  llvm::SmallVector<ScalarSlot> scalars;
  llvm::SmallVector<ScratchSlot> scratch;
  /// Scalar slots of the inputs and results of the epilogue.
  llvm::SmallVector<int> epilogueInputs, epilogueResults;
  /// The flag of `where`: a scalar slot, or for flags of members, an operand
  /// slot per segment.
  std::optional<int> whereScalar;
  llvm::SmallVector<int> whereOperand;
  /// The scalar slot of the iteration, if the sweep uses it.
  std::optional<int> iteration;
  /// The operand slots whose addresses an entry can take as distances: the
  /// elements of lists that the program only reads, in a `stream` sweep.
  llvm::SmallVector<int, 2> distanceSlots;
  int64_t rank;     // 2 if matrices are visited by rows, otherwise 0 or 1
  int64_t pointers; // operand slots of a descriptor
  int64_t threads;
  /// `columns` of the segments whose tiles blocks share. One block processes
  /// the whole tile of a segment with `columns` 0.
  int64_t columns = 0;
  /// The columns that a block takes at a time if blocks divide the columns of
  /// every tile, from the traversal to the end of the member; 0: they do not
  /// (RowsForm.h).
  int64_t columnRange = 0;
  /// Whether wide rows have parts, so that several blocks may divide them
  /// (RowsForm.h).
  bool rowParts = false;
  /// Whether blocks that divide a row hold their parts in registers.
  bool heldParts = false;
  /// Whether a block may have several parts of a row that blocks divide
  /// (hasSeveralParts).
  bool severalParts = false;
  /// Whether very wide rows have longer parts, of which blocks hold some
  /// columns in shared memory (holdsLongParts).
  bool longParts = false;
  /// The most columns of a row that has one part.
  int64_t wholeColumns = runtime::kPartColumns;
  /// The words that a thread holds for a column, whether a block holds rows of
  /// up to kPartItems columns for each thread, the entries for held rows, and
  /// those in which a warp has each row (RowsForm.h).
  int64_t heldWords = 0;
  bool holdsWideRows = false;
  llvm::SmallVector<int64_t> heldEntries, warpEntries;
  /// The rows that a group of threads loads before it processes them: rows of
  /// one column, other narrow rows, those of up to kBlockColumns columns, and
  /// wider ones (RowsForm.h).
  int64_t singleRows = 1, narrowRows = 1, shortRows = 1, wideRows = 1;
  /// Whether the sweep only reduces rows (RowsForm.h).
  bool onlyReducesRows = false;
  std::string name;

  void addScratch(ScratchSlot slot);
  /// The position in `scratch` of the area of `owner`; -1 if there is none.
  int scratchOf(mlir::Operation *owner, ScratchPer per) const;
  /// Whether work remains when all members are complete (the end of the list),
  /// and whether members have an end of their own.
  bool endsList = false, membersHaveEnds = false;

private:
  llvm::DenseMap<std::pair<mlir::Operation *, int>, int> scratchNumbers;
};

/// Bytes of an element as stored; an i1 takes one byte.
int64_t storageBytes(mlir::Type type);

/// Bytes of the state of a reduction of `kind` over values of `type`: logsumexp
/// has a maximum and a sum, argmax a value and its position.
int64_t stateBytes(fused::ReduceKind kind, mlir::Type type);

/// The layout of a member's precomputed scalars: a 4-byte `valid`, then the
/// operands and results of `fused.precompute`, each aligned to its size.
struct PrecomputeLayout {
  explicit PrecomputeLayout(fused::PrecomputeOp op);
  llvm::SmallVector<int64_t> inputs, results; // byte offsets
  int64_t bytes;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_SWEEPLAYOUT_H
