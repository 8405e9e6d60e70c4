//===- Scalar.h - One value in the storage of a dtype ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PLAN_SCALAR_H
#define HEDDLE_RUNTIME_PLAN_SCALAR_H

#include "runtime/plan/Plan.h"

#include <array>

namespace heddle::runtime {

/// One element in the first dtypeSize() bytes; the other bytes are zero.
using ScalarBytes = std::array<char, 8>;

/// Rounds `value` to `dtype` (to nearest, ties to even). BadInput if an integer
/// dtype cannot hold it exactly; i1 takes 0 and 1.
llvm::Error encodeScalar(DType dtype, double value, ScalarBytes &bytes);

/// The same for a scalar of a plan, which may have to be positive.
llvm::Error encodeScalar(const PlanBuffer &buffer, double value,
                         ScalarBytes &bytes);

/// Eight bytes of elements that all are `value`, for a fill. `dtype` must hold
/// `value`.
uint64_t fillPattern(DType dtype, double value);

/// The value of the element at `bytes`.
double decodeScalar(DType dtype, const void *bytes);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PLAN_SCALAR_H
