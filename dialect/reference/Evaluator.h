//===- Evaluator.h - the state of an evaluation -----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the operations of a function in order, each over whole lists. The
// operations are in EvaluateMap.cpp, EvaluateReduce.cpp and
// EvaluateControl.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_EVALUATOR_H
#define HEDDLE_DIALECT_REFERENCE_EVALUATOR_H

#include "dialect/Foreach.h"
#include "dialect/reference/BoundOperands.h"
#include "dialect/reference/Families.h"
#include "dialect/reference/Interpreter.h"
#include "dialect/reference/RunReduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

#include <memory>
#include <vector>

namespace heddle::reference {

/// One flag for each member.
using Flags = std::vector<bool>;

/// The values of a function while its operations are evaluated.
class Evaluator {
public:
  Evaluator(mlir::func::FuncOp function, const InterpretOptions &options)
      : function(function), options(options), families(function) {}

  mlir::FailureOr<std::vector<Value>> run(std::vector<Value> arguments);

private:
  mlir::LogicalResult checkArgument(unsigned number, Value &value);
  void markInactive(unsigned number, const Value &value);

  mlir::LogicalResult evaluate(mlir::Block &block);
  mlir::LogicalResult evaluate(mlir::Operation &op);
  mlir::LogicalResult evaluate(foreach::MapOp op);
  mlir::LogicalResult evaluate(foreach::ReduceOp op);
  mlir::LogicalResult evaluate(foreach::WhileOp op);
  mlir::LogicalResult evaluate(foreach::RecordOp op);
  mlir::LogicalResult evaluate(foreach::IfOp op);
  mlir::LogicalResult evaluate(mlir::arith::ConstantOp op);
  void reduceRuns(foreach::ReduceOp op, BoundOperands &operands, Body &body,
                  RunReduction &reduction, size_t member, size_t members,
                  const Domain &domain, Values &results);
  void allocate(Tensor &tensor, int64_t size);
  void freeUnused(mlir::Operation &op);

  Values valuesOf(mlir::ValueRange values) {
    Values found;
    for (mlir::Value value : values)
      found.push_back(environment.lookup(value));
    return found;
  }
  void define(mlir::Value value, std::shared_ptr<Value> data) {
    environment[value] = std::move(data);
  }
  bool isInactive(mlir::Value list, size_t member) {
    auto flags = inactive.find(families.of(list));
    return flags != inactive.end() && member < flags->second.size() &&
           flags->second[member];
  }
  /// Whether an operation with these operands skips a member.
  bool isSkipped(mlir::ValueRange operands, size_t member) {
    for (mlir::Value operand : operands)
      if (foreach::isList(operand.getType()))
        return isInactive(operand, member);
    return false;
  }

  mlir::func::FuncOp function;
  const InterpretOptions &options;
  Families families;
  llvm::DenseMap<const void *, Flags> inactive;
  llvm::DenseMap<mlir::Value, std::shared_ptr<Value>> environment;
  int64_t iteration = 0; // the iteration of the innermost loop
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_EVALUATOR_H
