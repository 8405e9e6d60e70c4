//===- Outliner.h - a function becomes a program ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of foreach-outline-sweeps, which share one state. Each part is in a
// file of its own.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_OUTLINER_H
#define HEDDLE_PASSES_OUTLINER_H

#include "cmake/LlvmStatistics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "passes/Domains.h"

namespace heddle::fused {

class SweepBuilder;

class Outliner {
public:
  Outliner(mlir::func::FuncOp function, mlir::Pass::Statistic &sweeps,
           mlir::Pass::Statistic &epilogueMaps)
      : function(function), context(function.getContext()), numSweeps(sweeps),
        numEpilogueMaps(epilogueMaps) {}
  mlir::LogicalResult run();

private:
  // Operations become sweeps and loops (OutlineOps.cpp).
  mlir::LogicalResult lowerBlock(mlir::Block &from, mlir::Block &to);
  mlir::LogicalResult lowerWhile(foreach::WhileOp op, mlir::OpBuilder &builder);
  void lowerMap(foreach::MapOp op, mlir::OpBuilder &builder);
  mlir::LogicalResult lowerReduce(foreach::ReduceOp op,
                                  mlir::OpBuilder &builder);
  void lowerMean(foreach::ReduceOp op, mlir::OpBuilder &builder,
                 SweepBuilder &parts, mlir::Value value, Level level,
                 LevelAttr from);
  void lowerRecord(foreach::RecordOp op, mlir::OpBuilder &builder);
  void mapResults(mlir::Operation *from, mlir::ValueRange to);

  // Loops carry all values that they return (OutlineLoops.cpp).
  mlir::LogicalResult carryAll(mlir::Block &block);
  mlir::FailureOr<LoopOp> carryAll(LoopOp loop);
  mlir::FailureOr<mlir::Value> initial(mlir::OpBuilder &builder, LoopOp loop,
                                       const Shape &shape, mlir::Type type,
                                       mlir::TypedAttr constant,
                                       llvm::StringRef name);
  mlir::Value initialVector(mlir::OpBuilder &builder, LoopOp loop,
                            const Domains &domains, const Shape &shape,
                            mlir::Type type, mlir::TypedAttr constant,
                            llvm::StringRef name);
  llvm::SmallVector<std::pair<mlir::Value, int32_t>>
  spanningOperands(mlir::OpBuilder &builder, LoopOp loop,
                   const Domains &domains, const Shape &shape);

  // The operation that computes a result writes its buffer (OutlineYields.cpp).
  void ownYields(mlir::Block &block);
  mlir::Value copyOf(mlir::Value value, mlir::OpBuilder &builder);

  // Maps over device scalars move into sweeps (OutlineScalars.cpp).
  mlir::LogicalResult moveToEpilogues(mlir::Block &block);
  mlir::Operation *latestSource(foreach::MapOp map, mlir::Block &block);
  void findBodies();
  bool isRepeatedOften(foreach::MapOp map);
  void appendToEpilogue(SweepOp sweep, llvm::ArrayRef<foreach::MapOp> maps);
  mlir::LogicalResult bindUniform(mlir::Block &block);
  SweepOp inlineUniform(SweepOp sweep);
  mlir::LogicalResult materialize(mlir::Block &block);
  mlir::FailureOr<SweepOp> emptySweep(mlir::Operation *before);
  using Bind = llvm::function_ref<mlir::Value(
      mlir::Value operand, mlir::Type bound, llvm::StringRef name)>;
  /// The clones in one body of the operations of maps over device scalars.
  using Clones = llvm::DenseMap<mlir::Operation *, mlir::Operation *>;
  mlir::Value cloneUniform(mlir::OpBuilder &builder, mlir::Value result,
                           Bind bind, Clones &clones);

  /// The flags of members in the loop of `block`, under which its sweeps run;
  /// null if there are none.
  mlir::Value activeAround(mlir::Block *block);

  mlir::func::FuncOp function;
  mlir::MLIRContext *context;
  mlir::Pass::Statistic &numSweeps, &numEpilogueMaps;
  ProgramOp program;
  mlir::IRMapping values;
  /// For each map over device scalars that has not moved yet, the last
  /// operation of its block that it needs, or null.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> latestSources;
  /// For each map over device scalars: the maps that it needs, with itself, up
  /// to a number; and two sweeps whose bodies need it.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>>
      slices;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *, 2>>
      bodies;
};

} // namespace heddle::fused

#endif // HEDDLE_PASSES_OUTLINER_H
