//===- PanelEmitter.h - prints a panel loop ---------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the loop around one sweep as one launch (docs/lowering.md, Panel
// loops): a namespace with the types that the phases of an iteration share and
// a device function for each phase, and the entry that calls these functions.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_PANELEMITTER_H
#define HEDDLE_CODEGEN_CUDA_PANELEMITTER_H

#include "codegen/cuda/SweepEmitter.h"
#include "codegen/layout/KernelSignature.h"
#include "dialect/Exponents.h"

namespace heddle::cuda {

/// The reduction over rows whose exponentials `column` shares, or null.
inline mlir::Operation *sharedBy(fused::ReduceOp column) {
  mlir::Value shared = column.getSharing();
  return shared ? shared.getDefiningOp() : nullptr;
}

/// Collects output whose place in the source is not known yet, and names the
/// scalar arguments as fields of the parameters.
struct PanelBuffer {
  PanelBuffer(const SweepLayout &layout, const Buffers &buffers);
  std::string take();

  SweepNames panelNames;
  std::string printed;
  llvm::raw_string_ostream stream{printed};
  mlir::raw_indented_ostream buffer{stream};
};

class PanelEmitter : private PanelBuffer, public SegmentEmitter {
public:
  PanelEmitter(fused::SweepOp sweep, const SweepLayout &layout,
               const Buffers &buffers, const PanelLayout &panel);

  /// Prints the loop to `os`.
  mlir::LogicalResult emitLoop(mlir::raw_ostream &os);

private:
  mlir::LogicalResult emitWalk() override { return mlir::success(); }
  std::string currentIteration() const override {
    return prefix("loop.iteration");
  }
  std::string storeOfMember(llvm::StringRef pointer,
                            llvm::StringRef value) const override {
    return ("heddle::publish(" + pointer + ", " + value + ")").str();
  }
  std::string recordOfMember(llvm::StringRef record) const override {
    return ("if (threadIdx.x == 0)\n  " + record).str();
  }

  //===--------------------------------------------------------------------===//
  // The values that phases share (PanelEmitter.cpp)
  //===--------------------------------------------------------------------===//

  /// A sum of exponentials of elements, over rows or over columns: the terms of
  /// the exponent, and the fields that hold them. The shift is part of the row
  /// term, or of the column term of a sum over columns.
  struct Exponential {
    fused::ReduceOp reduce;
    fused::Exponent exponent;
    llvm::SmallVector<std::string> factors; // of its element terms
    /// Names of arrays: `shift` and `rowTerm` of the block, by row;
    /// `columnTerm` of a thread, by column; `kept` of a thread, by row and
    /// column. The terms are in base 2.
    std::string shift, rowTerm, columnTerm, kept;
    bool isOfRows() const {
      return fused::ReduceOp(reduce).getLevel() == fused::Level::row;
    }
  };
  Exponential &exponentialOf(mlir::Operation *reduce);
  /// The exponentials that `column` sums: those of a reduction over rows, or
  /// its own.
  Exponential &powersOf(fused::ReduceOp column) {
    mlir::Operation *shared = sharedBy(column);
    return exponentialOf(shared ? shared : column.getOperation());
  }
  auto exponentialsOfRows() {
    return llvm::make_filter_range(
        exponentials, [](const Exponential &sum) { return sum.isOfRows(); });
  }
  bool hasExponentialsOfRows() { return !exponentialsOfRows().empty(); }
  bool isOverColumns(fused::ReduceOp op) const {
    return levels.countedBy(op) == fused::Level::column;
  }
  /// Whether exp of the row terms of `column`'s exponent is inversely
  /// proportional to the row's sum of exponentials. The scale of a row is then
  /// a quotient by that sum.
  bool isNormalized(fused::ReduceOp column);
  /// Finds the row and column values that elements need, before and after the
  /// row is reduced.
  void findElementValues();
  llvm::SmallVector<mlir::Value> rootsOfRowResults();
  llvm::SetVector<mlir::Value> rowInputsOfResults();
  void nameFields();

  //===--------------------------------------------------------------------===//
  // Types (PanelTypes.cpp)
  //===--------------------------------------------------------------------===//

  /// A struct whose fields are named while functions are printed.
  struct Struct {
    Scope scope;
    std::vector<std::pair<std::string, std::string>>
        fields; // declaration, name
    /// Adds the field `type name` with `suffix`, such as
    /// "[heddle::buffered_rows]", and returns its name.
    std::string add(llvm::StringRef type, llvm::StringRef wanted,
                    llvm::StringRef suffix = "");
  };
  void print(llvm::StringRef comment, llvm::StringRef name,
             const Struct &fields);
  void printAccessor(llvm::StringRef type, llvm::StringRef name);
  void nameParameters();
  void nameOperands();
  void nameResidents();
  void emitTypes();
  std::string partsOf(fused::ReduceOp op) { return parts[op]; }
  std::string scratch(fused::ReduceOp owner, PanelScratchPer per) const;
  std::string computed(fused::ReduceOp op) const;
  /// The type of the parts of `op`, and the reduction kind that combines them:
  /// parts of sums of exponentials about a shift, or of shared exponentials,
  /// are plain sums.
  std::string partType(fused::ReduceOp op) const;
  std::string partKind(fused::ReduceOp op) const;

  //===--------------------------------------------------------------------===//
  // Scalars (PanelScalars.cpp)
  //===--------------------------------------------------------------------===//

  /// Whether `value` is the same in every iteration.
  bool isOfLoop(mlir::Value value);
  llvm::SmallVector<mlir::Value> scalarsOfElements(bool ofLoop);
  void nameScalars();
  void keepMemberScalars();
  mlir::LogicalResult emitScalars(bool ofLoop);
  bool waitsLate();
  /// The types and names of the scalars that a function takes if it is not
  /// inlined.
  using Arguments = llvm::SmallVector<std::pair<std::string, std::string>>;
  Arguments scalarsReached(llvm::ArrayRef<mlir::Value> roots,
                           llvm::ArrayRef<Exponential *> sums);
  /// The name of `field`, or in a function that is not inlined, of the argument
  /// that replaces it.
  std::string prefix(llvm::StringRef field) const;

  //===--------------------------------------------------------------------===//
  // Phases (PanelPhases.cpp, PanelRows.cpp, PanelColumns.cpp)
  //===--------------------------------------------------------------------===//

  void emitLoadMember();
  mlir::LogicalResult emitRowValues();
  void emitColumnInputs();
  mlir::LogicalResult emitColumnValues();
  void emitBroadcast();
  mlir::LogicalResult emitOverColumns();
  mlir::LogicalResult emitReducePhase();
  mlir::LogicalResult emitAccumulatePhase();
  void emitCombineGroups();
  mlir::LogicalResult emitRowResults();
  mlir::LogicalResult emitPanels();
  void emitWait();
  std::string declareColumnResult(int slot, mlir::Value value);
  mlir::LogicalResult emitColumns();
  mlir::LogicalResult emitMember();
  void emitResident();
  void emitEntry();
  llvm::SmallVector<mlir::Value> valuesOfColumns(const Exponential &sum);
  std::string columnTermOf(const Exponential &sum);
  bool hasMemberPartsOfColumns();
  llvm::SmallVector<mlir::Value> rootsOfMember();
  /// Opens a loop over the rows that a thread group processes together.
  void openRows();
  llvm::SetVector<mlir::Value> rowsUsedBy(llvm::ArrayRef<mlir::Value> roots);

  //===--------------------------------------------------------------------===//
  // Fallbacks (PanelFallback.cpp), inactive columns (PanelInactive.cpp)
  //===--------------------------------------------------------------------===//

  mlir::LogicalResult emitRowFallback(Exponential &sum);
  mlir::LogicalResult emitColumnFallback(fused::ReduceOp column);
  /// Begins a function that is not inlined and takes everything it uses by
  /// value. Returns the beginning of a call, up to the arguments after
  /// `arguments`.
  std::string beginFallback(llvm::StringRef comment, llvm::StringRef name,
                            const Arguments &arguments,
                            const llvm::Twine &parameters);
  void endFallback();
  mlir::FailureOr<std::string> declareInactive(fused::ReduceOp column);

  //===--------------------------------------------------------------------===//
  // Statements (PanelPrint.cpp)
  //===--------------------------------------------------------------------===//

  /// Begins a function of the namespace, in a scope of its own.
  void beginFunction(llvm::StringRef comment, const llvm::Twine &head);
  /// Ends the function, which takes only the parameters that it uses.
  void endFunction();
  /// The call of a function, whose arguments have the names of its parameters.
  std::string callOf(llvm::StringRef function) {
    return callsOf.lookup(function);
  }
  void open(const llvm::Twine &line);
  void close(llvm::StringRef end = "}");
  Expression extentAlong(foreach::Axis axis) const override;
  /// Declares, in order, the values from which `roots` are computed and that
  /// are not in scope.
  mlir::LogicalResult declareNeeded(llvm::ArrayRef<mlir::Value> roots);
  /// The arguments of level `level` from which `roots` are computed and that
  /// are not in scope.
  llvm::SetVector<mlir::Value> inputsOf(llvm::ArrayRef<mlir::Value> roots,
                                        fused::Level level);
  void declareInput(mlir::Value argument, const llvm::Twine &at,
                    llvm::StringRef there = "");
  /// Declares the row values from which `roots` are computed; reductions of the
  /// row are in scope.
  mlir::LogicalResult declareRowsAfter(llvm::ArrayRef<mlir::Value> roots);
  unsigned slotOf(mlir::Value argument) const;
  /// A floating-point literal that reads back as `value`.
  static std::string number(double value);
  std::string sumOf(llvm::ArrayRef<fused::Term> terms, llvm::StringRef type);
  llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<fused::Term> terms);
  std::string argumentInBaseTwo(const Exponential &sum,
                                const llvm::Twine &base);

  const PanelLayout &panel;
  const fused::PanelAnalysis &analysis;
  std::string entry, space; // the entry, and the namespace of its functions
  /// Names of the namespace and of its functions' parameters.
  Scope globals;
  std::vector<Exponential> exponentials;
  /// Row values of the reduce phase, each computed by one thread; row values of
  /// the accumulate phase; column values, which each thread keeps; the
  /// arguments from which column values are computed.
  llvm::SetVector<mlir::Value> rowValues, scales, columnValues, columnInputs;
  llvm::DenseMap<mlir::Value, std::string> rowArrays, columnArrays, inputArrays,
      keptArrays;
  llvm::DenseMap<mlir::Operation *, std::string> rowSums, reductionsOfRows,
      columnSums, parts, fallbacks, calls, memberParts,
      numerators; // of the scales in normalized columns
  llvm::SmallVector<std::string> scratchNames;
  /// Operand slots and scratch areas that stay in shared memory, by index.
  llvm::MapVector<unsigned, std::string> residentOperands, residentScratch;
  /// Scalars of the loop and of an iteration, in the order in which they are
  /// computed; scalars that the end of an iteration needs, in shared memory.
  llvm::MapVector<mlir::Value, std::string> scalarFields, memberScalars;
  Struct parameters, operands, residents, blockValues, scalars, rowReductions,
      inputs, columns, elements, sums, memberSums;
  /// The functions printed so far, callees first; the comment and head of the
  /// function being printed; the calls of functions.
  std::string functions, functionComment, functionHead;
  llvm::StringMap<std::string> callsOf;
  /// Whether a function that is not inlined is being printed.
  bool isOutlined = false;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_PANELEMITTER_H
