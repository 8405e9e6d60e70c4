//===- DrawnNumbers.cpp - random numbers of consecutive elements ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/DrawnNumbers.h"

using namespace mlir;

namespace heddle {

bool isDrawn(foreach::RandomOp op, const fused::Levels &levels) {
  using fused::Level;
  return op.getPosition().getDefiningOp<foreach::IndexOp>() &&
         levels.of(op.getPosition()).level == Level::element &&
         llvm::all_of(op->getOperands().drop_back(), [&](Value operand) {
           return levels.of(operand).level <= Level::member;
         });
}

bool isPositionOfDrawn(Operation *op, const fused::Levels &levels) {
  return isa<foreach::IndexOp>(op) && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           auto random = dyn_cast<foreach::RandomOp>(user);
           return random && isDrawn(random, levels);
         });
}

} // namespace heddle
