//===- RowsEmitter.h - the rows schedule ------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schedule of sweeps with row or column values. HeldRows.cpp prints rows in
// registers and HeldLoads.cpp their loads, SharedRows.cpp and SharedVectors.cpp
// row tiles that several blocks share, RowsDown.cpp wide rows of sweeps without
// row values, RowsAcross.cpp wide rows whose columns are reduced, too,
// RowsBranchless.cpp divisions and roots without branches.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_ROWSEMITTER_H
#define HEDDLE_CODEGEN_CUDA_ROWSEMITTER_H

#include "codegen/cuda/SweepEmitter.h"
#include "llvm/ADT/MapVector.h"

namespace heddle::cuda {

/// Whether two elements of a type fill a register.
bool isHalf(mlir::Type type);

/// Prints a row tile: row after row, with the columns spread over the threads.
class RowsEmitter : public SegmentEmitter {
public:
  using SegmentEmitter::SegmentEmitter;

private:
  mlir::LogicalResult emitWalk() override;
  mlir::LogicalResult declareMemberValues();
  Expression positionAlong(foreach::Axis axis) const override;
  void assignPhases();
  /// Prints one traversal of a row.
  mlir::LogicalResult emitPhase(unsigned phase);
  mlir::LogicalResult declareRowOps(unsigned phase);
  bool computesRowsAfterLoads();
  /// Whether the function that is printed has a form in which threads have
  /// adjacent columns of rows, as the order of their reductions asks.
  bool hasAdjacentForm() const {
    return !slots.columns && (!goesDown || isAcross);
  }
  void loadColumns(mlir::BlockArgument argument, llvm::StringRef to,
                   llvm::StringRef type, llvm::StringRef items,
                   const llvm::Twine &columns, llvm::StringRef first = "");
  /// The objects that store the elements of a row for each result.
  llvm::DenseMap<int, std::string> writers;
  void declareWriters(llvm::ArrayRef<unsigned> written,
                      llvm::StringRef columns);
  void writeElements(llvm::ArrayRef<unsigned> written, llvm::StringRef number,
                     llvm::StringRef isThere);
  void storeElements(llvm::ArrayRef<unsigned> written);
  void printBatchUses(llvm::ArrayRef<fused::ReduceOp> reduced);
  mlir::LogicalResult emitElements(unsigned phase);
  mlir::LogicalResult emitColumns();
  /// Whether `op` reduces column values from before the sweep.
  bool reducesColumnsBefore(fused::ReduceOp op) const {
    return levels.countedBy(op) == fused::Level::column &&
           !levels.reducesCompleteColumns(op);
  }
  // Rows with parts.
  std::string parts; // a variable
  void declareParts(llvm::StringRef isNarrow = "");
  llvm::SmallVector<fused::ReduceOp> completeRows(unsigned phase) const;
  std::string sentStates(fused::ReduceOp op) const;
  void exchangeParts(unsigned phase);
  /// Arguments and operations of some levels.
  struct Slice {
    llvm::SmallVector<mlir::BlockArgument> inputs;
    OpSet ops;
  };
  // Sweeps without row values (RowsDown.cpp).
  bool goesDown = false; // whether threads go down the columns of wide rows
  bool isAcross = false; // whether they go across columns, too
  mlir::LogicalResult emitDownWalk();
  DownBatch batchOf(const Slice &elements, unsigned rowWords,
                    DownBatch batch = {}) const;
  std::string haveVectors(int64_t columns) const;
  void findAdjacent(int64_t columns);
  static std::string columnsOfRow(mlir::Type storage,
                                  const llvm::Twine &columns);
  void declareDownGroup(llvm::StringRef end);
  // Sweeps with row and column values (RowsAcross.cpp).
  bool goesAcross() const;
  mlir::LogicalResult emitAcrossWalk();
  void beginAcrossColumns(const Slice &elements);
  mlir::LogicalResult emitAcrossRows();
  Slice sliceOf(llvm::ArrayRef<mlir::Value> roots,
                llvm::ArrayRef<fused::Level> wanted = {
                    fused::Level::element, fused::Level::column}) const;
  static size_t wordsOf(llvm::ArrayRef<mlir::BlockArgument> inputs);
  /// The columns that a thread processes at a time. Some of their operands are
  /// loaded while the previous columns are processed.
  struct Batch {
    llvm::SmallVector<mlir::BlockArgument> inputs;
    int size;
    std::string k, loop;  // the variable and the head of the loop
    std::string first;    // a variable: the number of the batch's first column
    std::string prefetch; // the name of a function
    llvm::DenseMap<mlir::Value, std::string> loaded; // arrays
  };
  Batch declareBatch(llvm::ArrayRef<mlir::BlockArgument> inputs, int size);
  void emitPrefetch(const Batch &batch, llvm::StringRef columns);
  void takePrefetched(const Batch &batch, llvm::StringRef next);
  std::string rowOf(int slot) const;
  std::string pointerToRow(int slot) const;
  std::string elementOf(int slot, const llvm::Twine &column) const;
  std::string loadOf(mlir::BlockArgument argument,
                     const llvm::Twine &column) const;
  mlir::LogicalResult declareSlice(const Slice &slice);
  // Elements without branches (RowsBranchless.cpp).
  std::string math, allExact; // variables; empty where branches are allowed
  bool isBranchless(const Slice &slice) const;
  llvm::SmallVector<mlir::Value>
  valuesIn(const Slice &slice, llvm::ArrayRef<mlir::Value> values) const;
  void declareArrays(llvm::ArrayRef<mlir::Value> values,
                     llvm::StringRef extents, llvm::StringRef index);
  void bindArrays(llvm::ArrayRef<mlir::Value> values);
  mlir::LogicalResult
  emitBranchless(llvm::function_ref<mlir::LogicalResult()> compute);
  mlir::LogicalResult computeElement(const Slice &slice,
                                     llvm::StringRef isUsed = "");
  // Sweeps that only reduce rows (RowsReduced.cpp).
  void loadReduced(mlir::BlockArgument argument, llvm::StringRef first);
  mlir::LogicalResult emitReducedParts(fused::ReduceOp op, const Slice &slice);
  void declareRowInputs();
  bool replacesRows() const;
  void storeRow();
  // Rows that several blocks share (SharedRows.cpp).
  std::string firstColumn; // of the columns that a block processes at a time
  std::string beforeRow, mostBefore, part;
  void declareBeforeRows();
  mlir::LogicalResult emitSharedWalk();
  mlir::LogicalResult printShared(const Slice &rows, const Slice &elements,
                                  bool stores);
  mlir::LogicalResult printLoaded(
      const Slice &rows, const Slice &elements, llvm::StringRef extents,
      llvm::StringRef index,
      llvm::function_ref<mlir::LogicalResult(const Slice &, const Slice &,
                                             bool stores)>
          print);
  mlir::LogicalResult emitCounts() override;
  Slice rowsBehind(llvm::ArrayRef<mlir::Value> roots,
                   const Slice &elements) const;
  bool isStoredColumns(mlir::BlockArgument argument) const;
  std::string declareHeld(mlir::BlockArgument argument);
  void loadRows(const Slice &rows, llvm::StringRef count,
                llvm::StringRef first = "");
  void loadBatch(const Slice &elements);
  void beginSharedRows();
  void beginSharedColumns();
  void declarePart();
  std::string declarePartOf(int slot);
  // The same, if their elements are vectors (SharedVectors.cpp).
  std::string vectors, firstTurn, turn; // variables
  std::string items, turns;             // constants
  mlir::LogicalResult emitVectors() override;
  void beginTurns();
  std::string vectorOf(int slot) const;
  std::string vectorType(mlir::Type storage) const;
  void loadTurns(const Slice &rows, const Slice &elements);
  mlir::LogicalResult printTurns(const Slice &rows, const Slice &elements,
                                 bool stores);
  // Rows in registers (HeldRows.cpp).
  std::string group, firstRow, nthRow; // variables
  std::string heldItems, rowsAtOnce;   // constants
  /// Whether the sweep has entries in which a warp has each row.
  bool hasWarpForms() const;
  std::string present; // of the columns of a thread; see declarePresent()
  /// The variables that point to the current row of each matrix.
  llvm::DenseMap<int, std::string> rowPointers;
  /// The arrays of the states of columns.
  llvm::DenseMap<mlir::Operation *, std::string> columnStates;
  /// The values of elements that a phase keeps for later phases.
  llvm::DenseSet<mlir::Value> heldValues;
  struct ElementWork {
    llvm::SmallVector<fused::ReduceOp> reduced;
    llvm::SmallVector<unsigned> written;
    llvm::SmallVector<mlir::Value> roots;
  };
  mlir::LogicalResult emitHeldWalk() override;
  ElementWork workOf(unsigned phase);
  unsigned storingPhase(unsigned result);
  bool isPrintedSlow(mlir::Operation *op) const;
  void beginHeldItems();
  void declarePresent();
  std::string hasHeldColumn() const;
  void declareHeldColumn();
  void beginHeldColumns();
  void declareGroup();
  void beginRowsAtOnce();
  void beginHeldRows(bool loads);
  llvm::SmallVector<std::pair<std::string, std::string>> declareUnits();
  void endHeldRows();
  void declareRowPointers(llvm::function_ref<bool(const OperandSlot &)> wanted);
  llvm::SmallVector<mlir::BlockArgument>
  argumentsOf(fused::Level level,
              llvm::ArrayRef<mlir::BlockArgument> arguments) const;
  // Loads of rows in registers (HeldLoads.cpp).
  /// The arrays of elements as they are stored: those of all operands that stay
  /// so, and those that are converted when several rows are loaded.
  struct HeldArrays {
    llvm::DenseMap<mlir::Value, std::string> stored, storedFirst;
  };
  mlir::Type storageOf(mlir::BlockArgument argument) const;
  std::string loadedColumns(mlir::Type storage) const;
  std::string heldRowOf(mlir::BlockArgument argument);
  std::string declareStored(mlir::BlockArgument argument);
  HeldArrays declareHeldArrays(llvm::ArrayRef<mlir::BlockArgument> ofElements,
                               llvm::ArrayRef<mlir::BlockArgument> ofRows);
  void loadAdjacent(mlir::BlockArgument argument, const HeldArrays &arrays);
  void loadHeldElements(llvm::ArrayRef<mlir::BlockArgument> ofElements,
                        const HeldArrays &arrays);
  void loadHeld(llvm::ArrayRef<mlir::BlockArgument> ofElements,
                llvm::ArrayRef<mlir::BlockArgument> ofRows);
  std::string longItems() const;
  std::string replacedBy(llvm::ArrayRef<mlir::Value> kept, const Slice &slice,
                         const ElementWork &work, unsigned phase);
  void declareChains(llvm::function_ref<bool(mlir::Operation *)> wanted);
  void combineHeldRow(fused::ReduceOp op);
  mlir::LogicalResult emitHeldElements(unsigned phase);
  /// The objects that divide elements by values of the row, in the order of
  /// their declarations. Empty where divisions are printed as they are.
  llvm::MapVector<mlir::Value, std::string> divisors;
  void declareDivisors(const Slice &slice);
  std::optional<Expression> printOp(mlir::Operation *op) override;
  mlir::LogicalResult printHeldElements(const ElementWork &work,
                                        const Slice &slice);
  void printHeldUses(const ElementWork &work);
  mlir::LogicalResult emitHeldRow();
  void storeHeldRow();
  void storeHeldColumns();
  bool isOfPhase(fused::ReduceOp op, unsigned phase) const;
  /// The position of an element among the elements that `op` reduces.
  std::string positionOf(fused::ReduceOp op) const;
  /// Whether a result is written element by element.
  bool isElementResult(unsigned result) const;

  llvm::DenseMap<mlir::Value, unsigned> phases;
  unsigned lastPhase = 0;
  /// The last phase that traverses the elements.
  unsigned lastOfElements = 0;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_ROWSEMITTER_H
