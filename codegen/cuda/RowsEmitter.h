//===- RowsEmitter.h - tiles of rows ----------------------------*- C++ -*-===//
//
// The schedule of sweeps over rows and columns. Rows that several blocks share
// are in SharedRows.cpp, columns without rows in RowsDown.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_ROWSEMITTER_H
#define HEDDLE_CODEGEN_CUDA_ROWSEMITTER_H

#include "codegen/cuda/SweepEmitter.h"

namespace heddle::cuda {

/// A tile of rows, one row at a time, columns spread over the threads.
class RowsEmitter : public SegmentEmitter {
public:
  using SegmentEmitter::SegmentEmitter;

  /// Blocks that should fit a multiprocessor.
  static int minimumBlocks(fused::SweepOp sweep, const SweepLayout &layout);

private:
  mlir::LogicalResult emitWalk() override;
  /// Words that a thread loads at a time.
  static constexpr size_t kMostAsked = 16;
  /// Columns that a thread processes at a time: each takes `words`, all
  /// together at most `most`.
  static int batchOf(size_t words, size_t most = kMostAsked);
  void assignPhases();
  /// Prints one traversal of the elements of a row.
  mlir::LogicalResult emitPhase(unsigned phase);
  mlir::LogicalResult emitElements(unsigned phase);
  mlir::LogicalResult emitColumns();
  /// Where there are no values of rows (RowsDown.cpp).
  static bool goesDown(const SegmentLayout &layout, fused::SweepOp sweep,
                       unsigned segment);
  static bool goesDown(fused::SweepOp sweep, const SweepLayout &layout);
  static int downBlocks(fused::SweepOp sweep);
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
  /// The columns that a thread processes at a time, some of whose operands are
  /// loaded while the columns before are processed.
  struct Batch {
    llvm::SmallVector<mlir::BlockArgument> inputs;
    int size;
    std::string k, loop, prefetch; // the loop's head, a function's name
    llvm::DenseMap<mlir::Value, std::string> loaded; // arrays
  };
  Batch declareBatch(llvm::ArrayRef<mlir::BlockArgument> inputs, int size);
  std::string nthColumn(llvm::StringRef first, const Batch &batch) const;
  void emitPrefetch(const Batch &batch, llvm::StringRef parameter,
                    llvm::StringRef column, llvm::StringRef there);
  void takePrefetched(const Batch &batch, llvm::StringRef next);
  std::string elementOf(int slot, const llvm::Twine &column) const;
  std::string loadOf(mlir::BlockArgument argument,
                     const llvm::Twine &column) const;
  mlir::LogicalResult declareSlice(const Slice &slice);
  void declareRowInputs();
  void storeRow();
  /// Where blocks share a tile (SharedRows.cpp).
  static int sharedBlocks(fused::SweepOp sweep, const SweepLayout &layout);
  std::string firstColumn; // of those that a block processes at a time
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
  /// The position of an element among the reduced ones.
  static std::string positionOf(fused::ReduceOp op);
  /// Results that are written element by element.
  bool isElementResult(unsigned result) const;

  llvm::DenseMap<mlir::Value, unsigned> phases;
  unsigned lastPhase = 0;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_ROWSEMITTER_H
