//===- BranchlessMath.h - when divisions have no branches -------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides in which segments divisions and square roots of elements have the
// forms of codegen/device/branchless.cuh. The registers of a thread depend on
// it too.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_BRANCHLESSMATH_H
#define HEDDLE_CODEGEN_LAYOUT_BRANCHLESSMATH_H

#include "dialect/FusedLevels.h"

namespace heddle {

/// Whether `op` is a division or a square root with a branchless form.
bool hasBranchlessForm(mlir::Operation *op);

/// Whether the elements of a segment of a stream sweep are computed without
/// branches: they are only mapped, so a thread can compute them again, and
/// divisions and square roots take as long as memory accesses.
bool usesBranchlessMath(fused::SweepOp sweep, unsigned segment);

/// Whether `op` divides an element by a value of the row or the member. Rows in
/// registers share the inverse of such a value.
bool dividesByShared(mlir::Operation *op, const fused::Levels &levels);

/// Whether the elements of a segment of a `rows` sweep are computed without
/// branches: divisions and square roots take as long as memory accesses, and
/// sharing inverses is not enough.
bool usesBranchlessRows(fused::SweepOp sweep, unsigned segment);

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_BRANCHLESSMATH_H
