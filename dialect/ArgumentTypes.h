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

/// Checks that the arguments of a function are lists and device scalars.
mlir::LogicalResult verifyArgumentTypes(mlir::FunctionOpInterface function);

} // namespace heddle::foreach

#endif // HEDDLE_DIALECT_ARGUMENTTYPES_H
