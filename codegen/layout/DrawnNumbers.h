//===- DrawnNumbers.h - random numbers of consecutive elements --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides which random numbers a thread of a stream sweep draws for all of its
// elements at once. Consecutive elements share a block of the generator, so
// this takes a fraction of the work. The registers of a thread depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_DRAWNNUMBERS_H
#define HEDDLE_CODEGEN_LAYOUT_DRAWNNUMBERS_H

#include "dialect/FusedLevels.h"

namespace heddle {

/// Whether the position of the number is that of the element, and elements of a
/// member differ in nothing else.
bool isDrawn(foreach::RandomOp op, const fused::Levels &levels);

/// Whether a position is used only by drawn numbers; it is then not computed.
bool isPositionOfDrawn(mlir::Operation *op, const fused::Levels &levels);

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_DRAWNNUMBERS_H
