//===- SweepEmitter.h - common parts of all schedules -----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule visits the domain of a sweep; this class prints the values that
// are computed there, from the operations of the IR. Each derived class is a
// schedule.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_SWEEPEMITTER_H
#define HEDDLE_CODEGEN_CUDA_SWEEPEMITTER_H

#include "codegen/cuda/DeviceFunctions.h"
#include "codegen/cuda/Scalars.h"
#include "codegen/layout/RowsForm.h"
#include "codegen/layout/SweepLayout.h"
#include "dialect/FusedLevels.h"
#include "mlir/Support/IndentedOstream.h"

namespace heddle::cuda {

/// The names of a sweep's parts in the source, which its segments share.
struct SweepNames {
  std::string sweep; // prefix of all names below
  /// The structure that holds the arguments of the sweep's kernels, its fields
  /// in the order of the plan, and whether it is a template over `ByValue`,
  /// which says how scalar arguments are passed.
  struct Field {
    std::string type, name; // the type ends in a space or an asterisk
    std::string typeFor(llvm::StringRef byValue) const;
  };
  std::string params;
  llvm::SmallVector<Field> fields;
  bool isTemplate = false;
  llvm::SmallVector<std::string> scalars;      // addresses of device scalars
  llvm::SmallVector<std::string> scratch;      // addresses of scratch areas
  llvm::SmallVector<std::string> scratchTypes; // their element types
  /// For scratch areas of precomputed scalars, the function that computes them.
  llvm::SmallVector<std::string> precompute;
  /// Whether the previous (next) launch may overlap with this one.
  bool hasPrevious = false, hasNext = false;
  /// The functions printed so far; null in a panel loop.
  DeviceFunctions *functions = nullptr;

  /// The structure's type as a parameter of a device function.
  std::string paramsType() const {
    return params + (isTemplate ? "<ByValue>" : "");
  }
  /// The type of a member descriptor, which is the same in all segments.
  std::string memberType(const SweepLayout &layout) const;
};

/// The fields of a segment's tile descriptor, one for each operand slot.
llvm::SmallVector<std::string> fieldNames(const SegmentLayout &segment,
                                          const Buffers &buffers);

/// The conversion of the expression `text` from type `from` to type `to`.
std::string converted(llvm::StringRef text, mlir::Type from, mlir::Type to);

/// The reduction kind of `op`, such as `heddle::add<double>`, and the type of
/// its state.
std::string kindOf(fused::ReduceOp op);
std::string stateOf(fused::ReduceOp op);

class SegmentEmitter {
public:
  SegmentEmitter(mlir::raw_indented_ostream &os, fused::SweepOp sweep,
                 const SweepLayout &layout, const SweepNames &names,
                 const Buffers &buffers, unsigned segment);
  virtual ~SegmentEmitter() = default;

  /// Prints the device functions that process one tile of the segment.
  mlir::LogicalResult emit();

  /// Prints the device function that ends a member of the segment, for a launch
  /// of its own. Call emit() before.
  mlir::LogicalResult emitEndOfOwnLaunch();

  /// The name of a function of the segment, such as `sweep_walk` or, with
  /// several segments, `sweep_walk_0`.
  std::string functionName(llvm::StringRef part) const;

protected:
  using OpSet = llvm::DenseSet<mlir::Operation *>;
  using Filter = llvm::function_ref<bool(mlir::Operation *)>;

  /// Prints the functions that the traversal calls.
  virtual mlir::LogicalResult emitElementFunction() { return mlir::success(); }
  /// Begins a function, and its scope.
  void beginFunction();
  /// Begins a scope; every function has its own.
  void newScope();
  /// Prints the traversal of the tile, from its loads to its last store.
  virtual mlir::LogicalResult emitWalk() = 0;
  /// Prints the traversal of a tile whose rows are held (HeldRows.cpp).
  virtual mlir::LogicalResult emitHeldWalk() { return mlir::failure(); }

  /// The condition under which the traversal accesses elements as vectors, and
  /// the name of its parameter; empty without vectors. The condition is a
  /// parameter of the function, so that the compiler loads operand by operand.
  virtual std::string vectorCondition() { return {}; }
  virtual llvm::StringRef vectorFlag() const { return {}; }

  /// Prints the statements of the last block of a member.
  mlir::LogicalResult emitEnd();

  /// The expression of a scalar operation.
  virtual std::optional<Expression> printOp(mlir::Operation *op);
  /// The extent of the member along `axis`, and the position of the current
  /// element, row or column.
  virtual Expression extentAlong(foreach::Axis axis) const;
  virtual Expression positionAlong(foreach::Axis axis) const;
  /// Declares, in order, the values of the operations for which `wanted` holds.
  /// Constants, and values that Inlining.h selects, are printed where they are
  /// used.
  mlir::LogicalResult declareOps(Filter wanted);
  /// Declared variables, to which these values are assigned.
  llvm::DenseMap<mlir::Value, std::string> homes;
  /// Prints the statement that computes `result`, and gives it an identifier.
  void declareResult(mlir::Value result, llvm::StringRef text);

  /// The expression of a value in the current scope.
  Expression expression(mlir::Value value);
  std::string text(mlir::Value value) { return expression(value).text; }

  /// Declares the member scalars and device scalars that are operands of the
  /// body.
  void
  declareScalarInputs(llvm::function_ref<bool(mlir::Value)> wanted = nullptr);
  /// The name of the slot; lengths and strides have the name of the operand
  /// before them.
  std::string nameOfSlot(const OperandSlot &slot) const;
  static bool isLengthOrStride(const OperandSlot &slot) {
    return slot.index == kLength || slot.index == kStride;
  }
  /// Declares the precomputed scalars. If they are stale, they are computed.
  mlir::LogicalResult declarePrecomputed();
  /// The type of a tile descriptor of the segment.
  std::string tileType() const;

  std::string storedExpression(mlir::Value value, mlir::Type storage);
  /// The expression of the iteration that the iteration index `index` selects.
  std::string iterationOf(int32_t index) const;
  /// The expression of the current iteration of the loop around the sweep.
  virtual std::string currentIteration() const {
    return "*" + names.scalars[*layout.iteration];
  }
  void declareAccumulators(Filter wanted);
  /// A fresh name made of the name of `op` and a suffix.
  std::string freshFor(fused::ReduceOp op, llvm::StringRef suffix);
  /// Declares the results of `op` from its complete state `state`.
  void declareReduced(fused::ReduceOp op, llvm::StringRef state);
  /// Prints the statement that combines a value at `position` into its
  /// reduction.
  void accumulate(fused::ReduceOp op, const llvm::Twine &position);
  void storePartials(bool perThread = false);
  std::string isFirstThread() const;
  /// Prints the wait for the previous launch, if it may still run; reads of its
  /// results follow.
  void waitForDependency();
  /// Whether a block arrives before its work is done, because the end of the
  /// member needs none of its stores.
  bool arrivesEarly() const {
    return fused::SweepOp(sweep).getLaunchAttr().getArrivals()[segment] ==
           fused::Arrival::early;
  }
  void arriveEarly();
  /// Whether blocks of tiles end members; otherwise a launch of its own does.
  bool tilesEndMembers() const {
    return slots.endsMembers &&
           fused::SweepOp(sweep).getLaunchAttr().getArrivals()[segment] !=
               fused::Arrival::own_launch;
  }
  /// Whether the traversal uses a value.
  bool isUsedInWalk(mlir::Value value) const {
    return usedInWalk.contains(value);
  }
  /// Whether only hints use a value. The traversal ignores such values.
  bool isOnlyHinted(mlir::Value value) const { return hinted.contains(value); }
  /// Whether a result is written at the end of the member, because it is
  /// complete only after the sweep; the traversal writes all others.
  static bool isWrittenAtEnd(int32_t index) {
    return isMemberIndex(index) || index == kJ;
  }

  bool isElement(mlir::Operation *op) const;
  bool isInlined(mlir::Operation *op) const { return inlined.contains(op); }
  /// The reductions of this segment, in order.
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
  Scope scope;
  llvm::SmallVector<std::string> pointers; // one per operand slot: addresses
  llvm::DenseMap<mlir::Operation *, std::string> accumulators;
  std::string stale; // whether precomputed scalars had to be recomputed

  /// For row tiles that several blocks share (SharedRows.cpp): one of the
  /// blocks reduces the values of rows and columns.
  virtual mlir::LogicalResult emitCounts() { return mlir::failure(); }
  /// For the same tiles: prints the traversal of elements as vectors, and sets
  /// the condition under which they are vectors of several (SharedVectors.cpp).
  virtual mlir::LogicalResult emitVectors() { return mlir::failure(); }
  std::string whenVectors;
  /// The batches of a walk that goes across columns (RowsAcross.cpp), for many
  /// rows and for few; empty for any other walk.
  llvm::SmallVector<DownBatch, 2> across;
  /// The condition under which threads have adjacent columns (columns.cuh);
  /// empty if they never have. If it is not, the walk has a parameter for it.
  std::string whenAdjacent;
  std::string blockOfTile();
  std::string columnRanges(llvm::StringRef name);
  /// Begins a loop over the columns of the tile, or over those that the block
  /// has; declares the loop's variable `column`. Returns the k-th column of a
  /// thread from there on, as many columns apart as the block has threads.
  std::string beginColumnLoop(llvm::StringRef column, int64_t step,
                              llvm::StringRef first = "threadIdx.x");
  mlir::LogicalResult emitCountFunction();
  void emitEndOfSharedTile();

  void storeMemberResults();
  /// The statement that stores `value` at `pointer`, or executes `record`,
  /// which stores the value of an iteration.
  virtual std::string storeOfMember(llvm::StringRef pointer,
                                    llvm::StringRef value) const {
    return ("*" + pointer + " = " + value).str();
  }
  virtual std::string recordOfMember(llvm::StringRef record) const {
    return record.str();
  }

private:
  mlir::LogicalResult emitMemberValues();
  bool reducesAtEnd(mlir::Operation *op);
  int64_t columnsAtOnce();
  void beginColumnsAtOnce(int64_t atOnce);
  void loadColumnsAtEnd(llvm::StringRef first, llvm::StringRef nth,
                        int64_t atOnce);
  mlir::LogicalResult emitColumnsAtEnd();
  mlir::LogicalResult emitValuesOfColumns();
  void emitPrecomputeForNextStep();
  mlir::Value replacementOfScalar(int slot) const;
  void declareOfEpilogue(mlir::Value value);
  void storeListStates();
  void findUsedAtEnd();
  bool isUsedAtEnd(mlir::Value value) const {
    return usedAtEnd.contains(value);
  }
  llvm::DenseSet<mlir::Value> usedAtEnd;
  void findUsedInWalk(bool shared);
  bool isUseInWalk(mlir::OpOperand &use) const;
  /// The values that the traversal uses; if blocks share a tile, the values
  /// from which elements are computed.
  llvm::DenseSet<mlir::Value> usedInWalk;
  llvm::DenseSet<mlir::Value> hinted;
  llvm::DenseSet<mlir::Operation *> inlined;
  bool lost = false;
  mlir::LogicalResult checkLost();
  mlir::LogicalResult emitWalkFunction();
  mlir::LogicalResult emitHeldFunction();
  mlir::LogicalResult emitVectorFunction();
  void emitBranches(
      llvm::StringRef condition, llvm::StringRef part,
      llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> constants,
      bool mayBeAdjacent = true);
  void emitHeldBranches(const llvm::Twine &condition, int64_t items,
                        int64_t sure, int64_t lanes = 0);
  std::string callOfNarrow(int64_t items, int64_t sure) const;
  void emitNarrowForms();
  void emitWarpForms();
  void emitHeldOfShared();
  void emitFormOfPartsAlone(llvm::StringRef condition, bool clusters,
                            bool adjacentParts);
  void emitPartForms(bool adjacentParts);
  void emitHeldTile();
  void emitWalkCall();
  void emitVectorCall();
  void emitWideTile();
  std::string firstTile() const;
  void emitCombineFunction();
  mlir::LogicalResult emitEndFunction();
  void emitProcessFunction();
  void emitSkippedTile();
  void endFunction(llvm::StringRef comment, llvm::StringRef type,
                   llvm::StringRef part);
  bool waitsAtOnce() const;
  std::string callOf(llvm::StringRef part,
                     llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>>
                         replaced = {}) const;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_SWEEPEMITTER_H
