//===- Families.cpp - lists that have the same members --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Families.h"
#include "dialect/Foreach.h"

using namespace mlir;
using heddle::foreach::isList;

namespace heddle::reference {

void Families::join(mlir::Value a, mlir::Value b) {
  if (a && b && isList(a.getType()) && isList(b.getType()))
    classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
}

void Families::joinAll(ValueRange values) {
  mlir::Value first;
  for (mlir::Value value : values)
    if (isList(value.getType())) {
      join(first, value);
      first = value;
    }
}

void Families::join(Operation *op) {
  if (isa<foreach::MapOp, foreach::ReduceOp, foreach::RecordOp>(op)) {
    SmallVector<mlir::Value> values(op->getOperands());
    llvm::append_range(values, op->getResults());
    return joinAll(values);
  }
  if (auto loop = dyn_cast<foreach::WhileOp>(op)) {
    auto yield = loop.getYield();
    for (auto [k, init] : llvm::enumerate(loop.getInits()))
      join(init, loop.getBody().getArgument(k));
    for (auto [k, init] : llvm::enumerate(loop.getInits()))
      join(init, yield.getValues()[k]);
    for (auto [value, result] : llvm::zip(yield.getValues(), op->getResults()))
      join(value, result);
    // If the flag is a list, all carried lists have its members.
    if (yield.getMore() && isList(yield.getMore().getType())) {
      SmallVector<mlir::Value> values(yield.getValues());
      values.push_back(yield.getMore());
      values.push_back(op->getResults().back());
      joinAll(values);
    }
    return;
  }
  if (auto branch = dyn_cast<foreach::IfOp>(op))
    for (auto [k, result] : llvm::enumerate(op->getResults())) {
      join(result, branch.getYield().getValues()[k]);
      join(result, branch.getOtherwise()[k]);
    }
}

} // namespace heddle::reference
