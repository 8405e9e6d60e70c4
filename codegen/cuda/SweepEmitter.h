//===- SweepEmitter.h - what all schedules print the same way ---*- C++ -*-===//
//
// A schedule walks the domain of a sweep; what it computes on the way is
// printed here, from the operations of the IR. Derived classes are the
// schedules.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_SWEEPEMITTER_H
#define HEDDLE_CODEGEN_CUDA_SWEEPEMITTER_H

#include "codegen/SweepLayout.h"
#include "codegen/cuda/Scalars.h"
#include "dialect/FusedLevels.h"
#include "mlir/Support/IndentedOstream.h"

namespace heddle::cuda {

/// Names by which the parts of a sweep are called in the text; shared by its
/// segments.
struct SweepNames {
  std::string sweep;                           // prefix of all that follows
  llvm::SmallVector<std::string> scalars;      // addresses of device scalars
  llvm::SmallVector<std::string> scratch;      // addresses of scratch areas
  llvm::SmallVector<std::string> scratchTypes; // their element types
  /// `heddle_table table, const double *lr, ...` and `table, lr, ...`.
  std::string parameters, arguments;
  /// Template parameters of all functions: whether scalar arguments come by
  /// value, and whether what is replaced passes by the cache.
  std::string templateHead = "template <bool ByValue, bool Passing>\n";
  /// Whether a launch before (behind) this one may overlap with it.
  bool hasPrevious = false, hasNext = false;
};

/// `heddle::add<double>`, and the type of the state it keeps.
std::string kindOf(fused::ReduceOp op);
std::string stateOf(fused::ReduceOp op);

class SegmentEmitter {
public:
  SegmentEmitter(mlir::raw_indented_ostream &os, fused::SweepOp sweep,
                 const SweepLayout &layout, const SweepNames &names,
                 const Buffers &buffers, unsigned segment);
  virtual ~SegmentEmitter() = default;

  /// Prints the device function that computes one tile of the segment.
  mlir::LogicalResult emit();

  /// `step_walk` of kernel `step`, of the segment where there are several.
  std::string functionName(llvm::StringRef part) const;

protected:
  using OpSet = llvm::DenseSet<mlir::Operation *>;
  using Filter = llvm::function_ref<bool(mlir::Operation *)>;

  /// Every function has a scope of its own.
  void newScope();
  /// Prints the walk over the tile, from its operands to its last store.
  virtual mlir::LogicalResult emitWalk() = 0;

  /// The condition under which the walk need not ask what is there and aligned;
  /// empty where there is no such form.
  virtual std::string wholeTile() { return {}; }
  /// The parameter of the walk that has its value.
  virtual llvm::StringRef wholeName() const { return "whole"; }

  /// Prints what runs in the block that finishes a member last, and the list.
  mlir::LogicalResult emitEnd();

  /// Declares the values of the operations for which `wanted` holds, in order;
  /// constants and unnamed values used once are printed where they are used.
  mlir::LogicalResult declareOps(Filter wanted);

  /// The expression of a value in the current scope.
  Expression expression(mlir::Value value);
  std::string text(mlir::Value value) { return expression(value).text; }

  /// Declares the member and list scalars that the body is bound to.
  void
  declareScalarInputs(llvm::function_ref<bool(mlir::Value)> wanted = nullptr);
  void declarePointers(llvm::function_ref<bool(unsigned)> wanted = nullptr);
  /// What the slot is called: lengths and strides by the operand before them.
  std::string nameOfSlot(const OperandSlot &slot) const;
  static bool isNumberOfOperand(const OperandSlot &slot) {
    return slot.index == kLength || slot.index == kStride;
  }
  mlir::LogicalResult declareAhead();

  std::string storedExpression(mlir::Value value, mlir::Type storage);
  /// The trip whose entry an operand at `index` is.
  std::string tripOf(int32_t index) const;
  /// The number of the trip of the loop around.
  virtual std::string tripText() const {
    return "*" + names.scalars[*layout.trip];
  }
  std::string accumulator(fused::ReduceOp op) { return accumulators[op]; }
  void declareAccumulators(Filter wanted);
  /// A name for what belongs to `op`, by the name of its result.
  std::string freshFor(fused::ReduceOp op, llvm::StringRef what);
  /// Declares what `op` gives, of which `state` is complete.
  void declareReduced(fused::ReduceOp op, llvm::StringRef state);
  /// Whether an operand is bound to an argument for which `toSuch` holds.
  bool isBound(unsigned slot,
               llvm::function_ref<bool(mlir::Value)> toSuch) const;
  void storePartials();
  /// Where the launch before this one may still run: whatever it writes is read
  /// after this.
  void waitForPrevious();
  /// Whether a block counts itself before its work is done: nothing of what it
  /// stores is needed at the member's end.
  bool arrivesEarly() const {
    return fused::SweepOp(sweep).getLaunchAttr().getArrivals()[segment] ==
           fused::Arrival::early;
  }
  void arriveEarly();
  /// Whether a scalar from before the sweep is wanted in the walk.
  bool isUsedInWalk(mlir::Value value) const;
  /// What is complete only after the sweep is written at the member's end, all
  /// else in the walk.
  static bool isWrittenAtEnd(int32_t index) {
    return isMemberIndex(index) || index == kJ;
  }

  /// The type of result `number` of the segment.
  mlir::Type resultType(unsigned number) const { return resultTypes[number]; }
  bool isElement(mlir::Operation *op) const;
  /// Reductions of this segment, in order.
  llvm::SmallVector<fused::ReduceOp> reductions;

  mlir::raw_indented_ostream &os;
  fused::SweepOp sweep;
  const SweepLayout &layout;
  const SweepNames &names;
  const Buffers &buffers;
  unsigned segment;
  const SegmentLayout &slots;
  mlir::Block &body;
  fused::Levels levels;
  llvm::SmallVector<mlir::Type> resultTypes;
  fused::ScheduleKind schedule;
  Scope scope;
  llvm::SmallVector<std::string> pointers; // one per operand slot
  llvm::DenseMap<mlir::Operation *, std::string> accumulators;
  std::string stale; // whether values computed ahead had to be computed anew

  /// Where blocks share a tile (SharedRows.cpp): what rows and columns leave
  /// behind, and the block that sees to it.
  virtual mlir::LogicalResult emitCounts() { return mlir::failure(); }
  std::string shareOfBlock();
  mlir::LogicalResult emitCountFunction();
  void emitEndOfShares();
  /// What elements are computed from, and what is counted.
  llvm::DenseSet<mlir::Value> usedByElements;

  void storeMemberResults();
  /// The statement that stores `value` where `pointer` leads, or `record`, that
  /// which keeps the value of a trip.
  virtual std::string storeOfMember(llvm::StringRef pointer,
                                    llvm::StringRef value) const {
    return ("*" + pointer + " = " + value).str();
  }
  virtual std::string recordOfMember(llvm::StringRef record) const {
    return record.str();
  }

private:
  mlir::LogicalResult emitMemberValues();
  void emitAheadOfNextStep();
  void storeListStates();
  void findUsedAtEnd();
  bool isUsedAtEnd(mlir::Value value) const {
    return usedAtEnd.contains(value);
  }
  llvm::DenseSet<mlir::Value> usedAtEnd;
  bool lost = false;
  /// The same of an operand's address.
  bool isUsedAtEnd(unsigned slot) const;
  bool isUsedInWalk(unsigned slot) const;
  bool hasWholeForm = false;
  mlir::LogicalResult emitWalkFunction();
  void emitMeetFunction();
  mlir::LogicalResult emitEndFunction();
  void emitTileFunction();
  void beginFunction(llvm::StringRef part, llvm::StringRef type);
  void endFunction();
  bool waitsAtOnce() const;
  std::string callOf(llvm::StringRef part);
};

/// One tile of consecutive elements, a few of them per thread at a time.
class StreamEmitter : public SegmentEmitter {
public:
  using SegmentEmitter::SegmentEmitter;

private:
  mlir::LogicalResult emitWalk() override;
  std::string wholeTile() override;
  llvm::StringRef wholeName() const override {
    return repeats() > 1 ? "aligned" : "whole";
  }
  /// Template arguments that say how this segment's elements are laid out.
  std::string access(bool passing) const;
  bool isReduced(fused::ReduceOp op) const;
  bool reducesElements() const;
  bool writesElements() const;
  void loadElements(bool allRounds);
  mlir::LogicalResult emitRound(bool allRounds);
  mlir::LogicalResult emitRounds();
  void combineElements(bool allRounds);

  /// Rounds of `threads * vector` elements in a tile.
  int64_t repeats() const {
    return slots.tile / (layout.threads * slots.vector);
  }
  llvm::SmallVector<std::string> outputs; // one per result, "" if none
};

/// A panel of rows, one row at a time, columns spread over the threads.
class RowsEmitter : public SegmentEmitter {
public:
  using SegmentEmitter::SegmentEmitter;

private:
  mlir::LogicalResult emitWalk() override;
  void assignPhases();
  /// Prints what is done with the elements of a row in one pass over them.
  mlir::LogicalResult emitPhase(unsigned phase);
  mlir::LogicalResult emitElements(unsigned phase);
  mlir::LogicalResult emitColumns();
  /// Where rows have nothing of their own (RowsDown.cpp).
  mlir::LogicalResult emitDownWalk();
  /// Arguments and operations of some levels.
  struct Slice {
    llvm::SmallVector<mlir::BlockArgument> inputs;
    OpSet ops;
  };
  Slice sliceOf(llvm::ArrayRef<mlir::Value> roots,
                llvm::ArrayRef<fused::Level> wanted = {
                    fused::Level::element, fused::Level::column}) const;
  static size_t wordsOf(llvm::ArrayRef<mlir::BlockArgument> inputs);
  /// The columns that a thread takes at a time, of which some operands are
  /// asked for while those before are at work.
  struct Batch {
    llvm::SmallVector<mlir::BlockArgument> inputs;
    int size;
    std::string k, loop, ask; // the loop's head, a function's name
    llvm::DenseMap<mlir::Value, std::string> asked; // arrays
  };
  Batch declareBatch(llvm::ArrayRef<mlir::BlockArgument> inputs, int size);
  std::string nthColumn(llvm::StringRef first, const Batch &batch) const;
  void emitAsk(const Batch &batch, llvm::StringRef parameter,
               llvm::StringRef column, llvm::StringRef there);
  void takeAsked(const Batch &batch, llvm::StringRef next);
  std::string elementOf(int slot, const llvm::Twine &column) const;
  std::string loadOf(mlir::BlockArgument argument,
                     const llvm::Twine &column) const;
  mlir::LogicalResult declareSlice(const Slice &slice);
  void declareRowInputs();
  void storeRow();
  /// Where blocks share a tile (SharedRows.cpp).
  std::string firstColumn; // of those that blocks take at a time
  std::string beforeRow, mostBefore, part;
  void declareBeforeRows();
  mlir::LogicalResult emitSharedWalk();
  mlir::LogicalResult emitCounts() override;
  Slice rowsBehind(llvm::ArrayRef<mlir::Value> roots,
                   const Slice &elements) const;
  void declareHeld(mlir::BlockArgument argument);
  void loadRows(const Slice &rows, llvm::StringRef count,
                llvm::StringRef first = "");
  void loadBatch(const Slice &elements);
  void beginSharedRows();
  void beginSharedColumns();
  void declarePart();
  std::string declarePartOf(int slot);
  bool isOfPhase(fused::ReduceOp op, unsigned phase) const;
  /// Which of what is reduced an element is.
  static std::string positionOf(fused::ReduceOp op);
  /// Results that are written element by element.
  bool isElementResult(unsigned result) const;

  llvm::DenseMap<mlir::Value, unsigned> phases;
  unsigned lastPhase = 0;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_SWEEPEMITTER_H
