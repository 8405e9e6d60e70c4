//===- ScalarOps.h - the scalar operations that a body may hold -*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The properties of scalar operations that do not depend on a target. The
// table is ScalarOps.def, which the interpreter and the targets read too.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_SCALAROPS_H
#define HEDDLE_DIALECT_SCALAROPS_H

#include "mlir/IR/Operation.h"

namespace heddle {

/// The cost of an operation in a thread; see ScalarOps.def.
enum class ScalarCost { cheap, slowInDouble, slow };

/// How far a faithful evaluation of an operation may be off, in units in the
/// last place of its result; see ScalarOps.def.
namespace accuracy {
inline constexpr double exact = 0, nearest = 1;
inline constexpr double ulps(double count) { return count; }
} // namespace accuracy

/// An operation of the table that has operands.
struct ScalarOp {
  mlir::TypeID id;
  llvm::StringRef name;
  ScalarCost cost;
  /// Units in the last place; 0 if every faithful evaluation is the same.
  double accuracy;
};

/// The operations of the table that have operands.
llvm::ArrayRef<ScalarOp> scalarOps();

/// The entry of `op`, or null.
const ScalarOp *findScalarOp(mlir::Operation *op);

/// The names of the operations of `dialect` that the table has, without their
/// dialect: `absf, absi, ...`; empty for another dialect.
std::string namesOfScalarOps(llvm::StringRef dialect);

/// Whether `op` is a scalar operation of arith, math or foreach that every
/// target implements.
bool isScalarOp(mlir::Operation *op);

/// Why an operation of arith or math that is called `name`, such as
/// `math.absf`, is not permitted; empty if the table has it, or for other
/// dialects.
std::string whyNotScalar(llvm::StringRef name);

/// Emits the error that `op` is not a scalar operation, which `place` requires,
/// with the operations of its dialect that are.
mlir::LogicalResult emitNotScalar(mlir::Operation &op, llvm::StringRef place);

} // namespace heddle

#endif // HEDDLE_DIALECT_SCALAROPS_H
