//===- ArgumentTypes.h - the types of a program's arguments -----*- C++ -*-===//
//-*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's functions take arguments of any type; the operations of foreach check
// only those that they use.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_ARGUMENTTYPES_H
#define HEDDLE_DIALECT_ARGUMENTTYPES_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace heddle::foreach {

/// An error about argument `k` of `function`, at its place in the text. The
/// message begins with the name of the argument.
mlir::InFlightDiagnostic emitArgumentError(mlir::FunctionOpInterface function,
                                           unsigned k);

/// "argument 'x'", or "argument #0" if the argument has no name.
std::string describeArgument(mlir::FunctionOpInterface function, unsigned k);

/// Checks that the arguments of a function are lists and device scalars.
mlir::LogicalResult verifyArgumentTypes(mlir::FunctionOpInterface function);

} // namespace heddle::foreach

#endif // HEDDLE_DIALECT_ARGUMENTTYPES_H
