//===- IntegerValue.h - the number of an integer attribute ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_INTEGERVALUE_H
#define HEDDLE_DIALECT_INTEGERVALUE_H

#include "mlir/IR/BuiltinAttributes.h"

namespace heddle::foreach {

/// The number of `attribute`. A flag is 0 or 1: as a signed number of one bit,
/// true would be -1.
inline double numberOf(mlir::IntegerAttr attribute) {
  llvm::APInt value = attribute.getValue();
  return value.getBitWidth() == 1 ? value.getZExtValue() != 0
                                  : static_cast<double>(value.getSExtValue());
}

} // namespace heddle::foreach

#endif // HEDDLE_DIALECT_INTEGERVALUE_H
