//===- TensorRanges.h - ranges of the elements of tensors -------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranges that bounded arithmetic stores with the elements of a member.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_TENSORRANGES_H
#define HEDDLE_DIALECT_REFERENCE_TENSORRANGES_H

#include "dialect/reference/Interpreter.h"
#include "dialect/reference/Ranges.h"

namespace heddle::reference {

/// The range of element `k`.
Range rangeOf(const Tensor &tensor, size_t k);

/// Removes the ranges of a member if all its elements are exact.
void forgetExactRanges(Tensor &tensor);

/// Gives the elements of `tensor` the range of all values.
void forgetValues(mlir::Type storage, Tensor &tensor);

/// Stores element 0 of `from` as element `at` of `to`.
void storeElement(mlir::Type storage, const Tensor &from, Tensor &to,
                  int64_t at);

/// `value`, whose elements may also be those of `other`.
Value hullOf(const Value &value, const Value &other);

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_TENSORRANGES_H
