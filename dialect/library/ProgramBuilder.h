//===- ProgramBuilder.h - building a program --------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds the entry function of a program, with arguments and results, its maps,
// reductions and loops, and their bodies.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_PROGRAMBUILDER_H
#define HEDDLE_DIALECT_LIBRARY_PROGRAMBUILDER_H

#include "dialect/Bindings.h"
#include "dialect/library/Expression.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace heddle::library {

class ProgramBuilder {
public:
  ProgramBuilder(mlir::MLIRContext *context, llvm::StringRef name);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Type f32() { return builder.getF32Type(); }
  mlir::Type f64() { return builder.getF64Type(); }

  /// A list argument; `initial` is the value of its elements before the first
  /// step.
  mlir::Value list(llvm::StringRef name, int64_t rank, mlir::Type elementType,
                   std::optional<double> initial = {});
  /// A device scalar of f64 with its default.
  mlir::Value scalar(llvm::StringRef name, double value);
  /// A device scalar of f32 with its default.
  mlir::Value single(llvm::StringRef name, double value);
  /// Makes the caller set a scalar to finite numbers above 0 only.
  void keepPositive(mlir::Value scalar);
  /// A device scalar of an integer type with its default.
  mlir::Value count(llvm::StringRef name, int64_t value, unsigned width = 32);

  /// In a loop: the carried vector `into` with a new entry for this iteration.
  mlir::Value record(mlir::Value value, mlir::Value into, llvm::StringRef name);

  /// Makes `value` the next result; `replaced` is the argument it replaces.
  void result(mlir::Value value, mlir::Value replaced = {});

  mlir::OwningOpRef<mlir::ModuleOp> finish();

private:
  mlir::Value argument(llvm::StringRef name, mlir::Type type);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::NamedAttrList> attributes;
  llvm::SmallVector<mlir::Value> results;
};

/// The body of a `foreach.map` or `foreach.reduce`. Operands are bound in the
/// order of the calls of `read`.
class Body {
public:
  explicit Body(ProgramBuilder &program);

  /// Binds `operand` under `name`, converted to `type`.
  Scalar read(mlir::Value operand, llvm::StringRef name, mlir::Type type);
  /// The same, at `index`.
  Scalar read(mlir::Value operand, Index index, llvm::StringRef name,
              mlir::Type type);

  /// A constant of a float or integer type.
  Scalar constant(double number, mlir::Type type, llvm::StringRef name);

  /// One result of the map, of type `stored`.
  void write(Scalar value, mlir::Type stored, llvm::StringRef name);

  /// Sets the shift of a logsumexp: an estimate of its result.
  void shift(Scalar value);

  /// Makes the map; its results are in the order of the calls of `write`.
  llvm::SmallVector<mlir::Value> map();

  /// Makes the reduction of the value that was written.
  mlir::Value reduce(foreach::ReduceKind kind, foreach::Axis axis);
  /// The position of the largest value.
  mlir::Value argmax(foreach::Axis axis, llvm::StringRef name);

private:
  void end();

  mlir::OpBuilder &outside;
  mlir::OpBuilder inside;
  mlir::Region region;
  llvm::SmallVector<mlir::Value> operands, yielded;
  llvm::SmallVector<int32_t> indices;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<std::string> names;
};

/// A `foreach.while`. Its region contains all operations that are built between
/// the constructor and `upto`.
class Loop {
public:
  explicit Loop(ProgramBuilder &program);

  /// Adds a carried value; returns its value at the start of an iteration.
  mlir::Value carry(mlir::Value init, llvm::StringRef name);

  /// Yields a value of the iteration: first the carried values in order, then
  /// further values. `name` is the name of the loop's result.
  void yield(mlir::Value value, llvm::StringRef name);

  /// Ends the region. The last result of the loop is the number of iterations.
  llvm::SmallVector<mlir::Value> upto(mlir::Value limit, mlir::Value more,
                                      llvm::StringRef iterations);

private:
  mlir::OpBuilder &builder;
  mlir::OpBuilder::InsertPoint before;
  mlir::Region region;
  llvm::SmallVector<mlir::Value> inits, yielded;
  llvm::SmallVector<std::string> names;
};

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_PROGRAMBUILDER_H
