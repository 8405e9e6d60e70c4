//===- SweepLayout.h - what a sweep is called with --------------*- C++ -*-===//
//
// The calling convention shared by the CUDA emitter, the cpu target and the
// plan: operand slots of the rows of a table, scalar buffers, scratch areas,
// and the order of a node's arguments (docs/plan.md).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_SWEEPLAYOUT_H
#define HEDDLE_CODEGEN_SWEEPLAYOUT_H

#include "codegen/Buffers.h"
#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"

namespace heddle {

/// The index of the slot behind that of a vector which is addressed by a trip:
/// it holds the vector's length.
inline constexpr int32_t kLength = kFirst + 1;
/// The index of the slot behind that of a matrix which is walked by rows: it
/// holds the number of elements from one row to the next.
inline constexpr int32_t kStride = kLength + 1;

/// A pointer slot in the rows of a segment: one buffer at one index. An operand
/// that is updated in place is one slot, read and written.
struct OperandSlot {
  int buffer;
  int32_t index; // Index of Bindings.h, or one of the above
  mlir::Type storage;
  bool read = false, written = false;
};

/// A device scalar that the sweep reads or writes.
struct ScalarSlot {
  int buffer;
  mlir::Type storage;
  bool read = false, written = false;
  /// An argument that nothing in the kernel writes: it travels by value, or as
  /// the address of the caller's own (`heddle::number`).
  bool isNumber = false;
};

/// What an area has one value of. Tickets are words on which a member's tiles
/// meet, one for each of them.
enum class ScratchPer { tile, member, tileColumn, once, ticket };

/// A scratch area, and the operation it belongs to.
struct ScratchSlot {
  ScratchPer per;
  int64_t bytes;
  bool zero;
  mlir::Operation *owner; // a fused.reduce or fused.ahead, or of tickets the
                          // segment's first fused.reduce over columns
};

struct SegmentLayout {
  llvm::SmallVector<OperandSlot> operands;
  /// For each input: its operand slot, or -1 - (scalar slot).
  llvm::SmallVector<int> inputs;
  /// For each result: its operand slot; for a scalar -1 - (scalar slot); or
  /// kNowhere where nobody reads it.
  llvm::SmallVector<int> results;
  /// Elements or rows in a tile, and elements or columns that a thread takes at
  /// a time.
  int64_t tile, vector;
  /// Columns that a block takes of a tile, others taking the others; 0: all.
  int64_t columns = 0;
  /// Whether something is left to do when a member's tiles are all done, and
  /// whether that needs what the tiles computed (their partials), so that it
  /// waits for their stores.
  bool endsMembers = false, endsAfterStores = false;
  /// The scratch slot of the tickets of tiles that meet in groups, to combine
  /// what they have of the columns; -1: there are no columns.
  int tickets = -1;
  static constexpr int kNowhere = INT_MIN;
};

struct SweepLayout {
  static mlir::FailureOr<SweepLayout> compute(fused::SweepOp sweep,
                                              const Buffers &buffers);

  /// The arguments of a node that runs this sweep, in order: its table, then
  /// `scalars`, then `scratch`.
  llvm::SmallVector<SegmentLayout> segments;
  llvm::SmallVector<ScalarSlot> scalars;
  llvm::SmallVector<ScratchSlot> scratch;
  /// Scalar slots of the inputs and results of `finish`.
  llvm::SmallVector<int> finishInputs, finishResults;
  /// The flag of `where`: an operand slot in every segment, or a scalar slot.
  std::optional<int> whereScalar;
  llvm::SmallVector<int> whereOperand; // one per segment, if per member
  /// The scalar slot of the number of the trip, where the sweep depends on it.
  std::optional<int> trip;
  int64_t rank;     // 1 (or 0) or 2: whether rows have columns
  int64_t pointers; // operand slots in a row
  int64_t threads;
  /// Those of its segments; where blocks share tiles, one of them takes all of
  /// a tile whose segment has none.
  int64_t columns = 0;
  std::string name;

  /// Position in `scratch` of the area of `owner` that is kept `per`.
  int scratchOf(mlir::Operation *owner, ScratchPer per) const;
  /// Whether something is computed when the whole list is complete.
  bool endsList = false;
};

/// Bytes of an element as stored; i1 takes one.
int64_t storageBytes(mlir::Type type);

/// Bytes of the running state of a reduction of `kind` over values of `type`:
/// logsumexp keeps a maximum and a sum, argmax a value and its position.
int64_t stateBytes(fused::ReduceKind kind, mlir::Type type);

/// Layout of a member's entry of `fused.ahead`: a 4-byte `valid`, then operands
/// and results, each aligned to its size.
struct AheadLayout {
  explicit AheadLayout(fused::AheadOp op);
  llvm::SmallVector<int64_t> inputs, results; // byte offsets
  int64_t bytes;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_SWEEPLAYOUT_H
