//===- PanelEmitter.h - a loop whose blocks keep panels of rows -*- C++ -*-===//
//
// Prints the loop around one sweep as one cooperative launch (docs/lowering.md,
// Panels).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_PANELEMITTER_H
#define HEDDLE_CODEGEN_CUDA_PANELEMITTER_H

#include "codegen/KernelSignature.h"
#include "codegen/cuda/SweepEmitter.h"
#include "dialect/Exponents.h"

namespace heddle::cuda {

/// The reduction of rows whose exponentials `column` shares, or null.
inline mlir::Operation *sharedBy(fused::ReduceOp column) {
  mlir::Value shared = column.getSharing();
  return shared ? shared.getDefiningOp() : nullptr;
}

class PanelEmitter : public SegmentEmitter {
public:
  PanelEmitter(mlir::raw_indented_ostream &os, fused::SweepOp sweep,
               const SweepLayout &layout, const SweepNames &names,
               const Buffers &buffers, const PanelLayout &panel);

  /// Prints the entry that runs the loop.
  mlir::LogicalResult emitLoop();

private:
  mlir::LogicalResult emitWalk() override { return mlir::success(); }
  std::string tripText() const override { return "trip"; }
  std::string storeOfMember(llvm::StringRef pointer,
                            llvm::StringRef value) const override {
    return ("heddle::hand_on(" + pointer + ", " + value + ")").str();
  }
  std::string recordOfMember(llvm::StringRef record) const override {
    return ("if (threadIdx.x == 0)\n  " + record).str();
  }

  /// A sum of exponentials of elements, over rows or over columns: the
  /// argument's parts, and the names of what is kept of them. What it is taken
  /// about is in the part of rows, or of columns.
  struct Exponential {
    fused::ReduceOp reduce;
    fused::Exponent exponent;
    llvm::SmallVector<std::string> factors; // of its terms of elements
    std::string guess, rowPart, columnPart; // arrays, the parts in base 2
    std::string kept; // the exponentials of a thread's columns
    bool isOfRows() const {
      return fused::ReduceOp(reduce).getLevel() == fused::Level::row;
    }
  };
  Exponential &exponentialOf(mlir::Operation *reduce);
  /// The exponentials that `column` sums up: a row's, or its own.
  Exponential &powersOf(fused::ReduceOp column) {
    mlir::Operation *shared = sharedBy(column);
    return exponentialOf(shared ? shared : column.getOperation());
  }
  auto exponentialsOfRows() {
    return llvm::make_filter_range(
        exponentials, [](const Exponential &sum) { return sum.isOfRows(); });
  }
  bool hasExponentialsOfRows() { return !exponentialsOfRows().empty(); }

  /// Prints what `roots` are computed from and is not in scope, in order.
  mlir::LogicalResult declareNeeded(llvm::ArrayRef<mlir::Value> roots);
  /// The arguments of level `level` that `roots` are computed from and that are
  /// not in scope.
  llvm::SetVector<mlir::Value> inputsOf(llvm::ArrayRef<mlir::Value> roots,
                                        fused::Level level);
  llvm::SetVector<mlir::Value> rowsMetBy(llvm::ArrayRef<mlir::Value> roots);
  void open(const llvm::Twine &line);
  void close(llvm::StringRef end = "}");
  /// A floating-point literal that reads back as `value`.
  static std::string number(double value);
  std::string sumOf(llvm::ArrayRef<fused::Term> terms, llvm::StringRef type);
  llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<fused::Term> terms);
  void declareInput(mlir::Value argument, const llvm::Twine &at,
                    llvm::StringRef unless = "");
  unsigned slotOf(mlir::Value argument) const;
  std::string computed(fused::ReduceOp op) const;
  /// What parts of `op` are, and how they are combined: where exponentials are
  /// summed up about a guess, or shared, plain sums.
  std::string partType(fused::ReduceOp op) const;
  std::string partKind(fused::ReduceOp op) const;
  bool isOverColumns(fused::ReduceOp op) const {
    return levels.countedBy(op) == fused::Level::column;
  }
  std::string argumentInBaseTwo(const Exponential &sum,
                                const llvm::Twine &base);

  std::string scratch(fused::ReduceOp owner, PanelScratchPer per) const;
  void declareKept();
  void emitTeamBegins();
  void emitTeamEnds();
  std::string partsOf(fused::ReduceOp op) const;
  void declareOwnParts(fused::ReduceOp column);
  void declareRowArrays();
  bool isOfLoop(mlir::Value value);
  llvm::SmallVector<mlir::Value> scalarsOfWalk(bool ofLoop);
  mlir::LogicalResult emitScalars(bool ofLoop);
  bool waitsLate();
  void emitMeetValues();
  void emitMore();
  llvm::SmallVector<mlir::Value> valuesOfColumns(const Exponential &sum);
  std::string columnPartOf(const Exponential &sum);
  void loadColumns();
  void declareTells();
  void emitFound(llvm::StringRef function);
  mlir::LogicalResult emitColumnParts();
  mlir::LogicalResult emitOverColumns();
  mlir::LogicalResult emitPanels();
  mlir::LogicalResult emitRowValues();
  void openRows();
  mlir::LogicalResult emitFirstPass();
  mlir::LogicalResult emitSecondPass();
  mlir::LogicalResult emitRepair(Exponential &sum);
  mlir::LogicalResult emitRowResults();
  mlir::FailureOr<std::string> declareIdle(fused::ReduceOp column);
  mlir::LogicalResult emitColumns();
  mlir::LogicalResult emitExactColumns(fused::ReduceOp column);
  mlir::LogicalResult emitMember();
  llvm::SmallVector<mlir::Value> rootsOfMember();
  void keepMemberScalars();
  /// Whether exp of what `column`'s exponents have of their row falls as the
  /// sum of the row's exponentials, whose reciprocal is then its scale.
  bool isNormalized(fused::ReduceOp column);
  mlir::LogicalResult declareRowsAfter(llvm::ArrayRef<mlir::Value> roots);
  /// Row values that the walk over elements needs, before and after rows are
  /// reduced.
  void findWalkValues();
  llvm::SmallVector<mlir::Value> rootsOfResults();
  llvm::SetVector<mlir::Value> rowsOfResults();

  const PanelLayout &panel;
  /// What is in scope at the beginning of a trip: functions for what is rare
  /// are printed where they are called, so that nothing is kept for them.
  Scope tripScope;
  llvm::SmallVector<std::string> scratchNames;
  /// What a team keeps of operand slots, and of scratch memory.
  llvm::MapVector<unsigned, std::string> keptLists, keptScratch;
  /// Scalars that are kept for the end of a trip.
  llvm::MapVector<mlir::Value, std::string> memberScalars;
  const fused::PanelAnalysis &passes;
  std::vector<Exponential> exponentials;
  llvm::SetVector<mlir::Value>
      rowValues;                       // of the first pass, one thread's work
  llvm::SetVector<mlir::Value> scales; // row values of the second
  llvm::SetVector<mlir::Value> columnValues; // arguments, kept by each thread
  llvm::SetVector<mlir::Value> loadedColumns;
  llvm::DenseMap<mlir::Value, std::string> loadedNames, columnArrays, rowArrays,
      keptArrays;
  llvm::DenseMap<mlir::Operation *, std::string> rowSums, ofWarps, columnSums,
      numerators; // of the scales of normalized columns, arrays
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_PANELEMITTER_H
