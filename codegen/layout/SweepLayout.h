//===- SweepLayout.h - operands and scratch areas of a sweep ----*- C++ -*-===//
//
// The operand slots in the descriptors of a table, the device scalars and the
// scratch areas of a sweep, for all targets and the plan (docs/plan.md). Their
// order among the arguments of a kernel is in KernelSignature.h.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_SWEEPLAYOUT_H
#define HEDDLE_CODEGEN_LAYOUT_SWEEPLAYOUT_H

#include "codegen/layout/Buffers.h"
#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"

namespace heddle {

/// The index of the slot after that of a vector that is bound at an iteration:
/// it holds the length of the vector.
inline constexpr int32_t kLength = kFirst + 1;
/// The index of the slot after that of a matrix that is traversed by rows: it
/// holds the number of elements from one row to the next.
inline constexpr int32_t kStride = kLength + 1;

/// An operand slot in the descriptors of a segment: one buffer at one index. An
/// operand that is updated in place has one slot, which is read and written.
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
  /// Whether it is an argument that the program never writes: it is passed by
  /// value or by the address of the caller's memory
  /// (`heddle::scalar_argument`).
  bool isNumber = false;
};

/// What a scratch area has one value for. Tickets are counters by which the
/// tiles of a member synchronize, one for each tile.
enum class ScratchPer { tile, member, tileColumn, once, ticket };

/// A scratch area, and the operation it belongs to.
struct ScratchSlot {
  ScratchPer per;
  int64_t bytes;
  bool zero;
  mlir::Operation *owner; // a fused.reduce or fused.precompute, or of tickets
                          // the segment's first fused.reduce over columns
};

struct SegmentLayout {
  llvm::SmallVector<OperandSlot> operands;
  /// For each input: its operand slot, or -1 - (scalar slot).
  llvm::SmallVector<int> inputs;
  /// For each result: its operand slot; for a scalar -1 - (scalar slot); or
  /// kNowhere if it is never read.
  llvm::SmallVector<int> results;
  /// Elements or rows in a tile, and elements or columns that a thread
  /// processes at a time.
  int64_t tile, vector;
  /// Columns of a tile that one of the blocks that share it processes; 0: all.
  int64_t columns = 0;
  /// Whether the member has an end, which runs after all of its tiles, and
  /// whether the end uses partial results of the tiles, so that it waits for
  /// their stores.
  bool endsMembers = false, endsAfterStores = false;
  /// The scratch slot of the tickets by which groups of tiles combine their
  /// columns; -1 if no columns are reduced.
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
  /// The flag of `where`: an operand slot in every segment, or a scalar slot.
  std::optional<int> whereScalar;
  llvm::SmallVector<int> whereOperand; // one per segment, if per member
  /// The scalar slot of the number of the iteration, if the sweep uses it.
  std::optional<int> iteration;
  int64_t rank;     // 1 (or 0) or 2: whether rows have columns
  int64_t pointers; // operand slots in a row
  int64_t threads;
  /// The columns of its segments. If blocks share tiles, one of them processes
  /// the whole of a tile whose segment has no columns.
  int64_t columns = 0;
  std::string name;

  void addScratch(ScratchSlot slot);
  /// Position in `scratch` of the area of `owner` with one value `per` tile,
  /// member or other.
  int scratchOf(mlir::Operation *owner, ScratchPer per) const;
  /// Whether the list has an end, which runs after all of its members.
  bool endsList = false;

private:
  llvm::DenseMap<std::pair<mlir::Operation *, int>, int> scratchNumbers;
};

/// Bytes of an element as stored; i1 takes one.
int64_t storageBytes(mlir::Type type);

/// Bytes of the running state of a reduction of `kind` over values of `type`:
/// logsumexp keeps a maximum and a sum, argmax a value and its position.
int64_t stateBytes(fused::ReduceKind kind, mlir::Type type);

/// The layout of a member's precomputed values: a 4-byte `valid`, then the
/// operands and results of `fused.precompute`, each aligned to its size.
struct PrecomputeLayout {
  explicit PrecomputeLayout(fused::PrecomputeOp op);
  llvm::SmallVector<int64_t> inputs, results; // byte offsets
  int64_t bytes;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_SWEEPLAYOUT_H
