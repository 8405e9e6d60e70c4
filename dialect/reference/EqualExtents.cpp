//===- EqualExtents.cpp - dimensions that have equal extents --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/EqualExtents.h"
#include "dialect/Bindings.h"
#include "dialect/Foreach.h"

using namespace mlir;
using heddle::foreach::Axis;
using heddle::foreach::isList;
using heddle::foreach::rankOf;

namespace heddle::reference {

EqualExtents::EqualExtents(func::FuncOp function) {
  function.walk([&](Operation *op) { join(op); });
  if (function.isExternal())
    return;
  Operation *end = function.getBody().front().getTerminator();
  for (BlockArgument argument : function.getArguments())
    if (auto result = function.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), foreach::kDonateAttr))
      join(argument, end->getOperand(result.getInt()));
}

/// Joins a dimension with `extent`, or sets `extent` if it has no dimension.
void EqualExtents::join(Extent &extent, mlir::Value list, unsigned dimension) {
  Dimension next{list.getAsOpaquePointer(), dimension};
  if (extent)
    classes.unionSets(*extent, next);
  extent = next;
}

void EqualExtents::join(mlir::Value a, mlir::Value b) {
  if (!isList(a.getType()) || !isList(b.getType()))
    return;
  for (unsigned k = 0; k < std::min(rankOf(a.getType()), rankOf(b.getType()));
       ++k) {
    Extent extent;
    join(extent, a, k);
    join(extent, b, k);
  }
}

void EqualExtents::joinDomain(ValueRange operands, ArrayRef<int32_t> indices,
                              Extent &rows, Extent &columns) {
  for (auto [operand, index] : llvm::zip(operands, indices)) {
    if (index == kI || index == kIJ)
      join(rows, operand, 0);
    if (index == kJ || index == kIJ)
      join(columns, operand, index == kIJ);
  }
}

void EqualExtents::join(Operation *op) {
  Extent rows, columns;
  if (auto map = dyn_cast<foreach::MapOp>(op)) {
    joinDomain(map.getInputs(), map.getIndices(), rows, columns);
    for (mlir::Value result : map.getResults()) {
      int64_t rank = rankOf(result.getType());
      if (rank > 0)
        join(rows, result, 0);
      if (rank == 2)
        join(columns, result, 1);
    }
  } else if (auto reduce = dyn_cast<foreach::ReduceOp>(op)) {
    joinDomain(reduce.getInputs(), reduce.getIndices(), rows, columns);
    for (mlir::Value result : reduce.getResults())
      if (rankOf(result.getType()) == 1)
        join(reduce.getAxis() == Axis::i ? columns : rows, result, 0);
  } else if (auto record = dyn_cast<foreach::RecordOp>(op)) {
    join(record.getInto(), record.getResult());
  } else if (auto loop = dyn_cast<foreach::WhileOp>(op)) {
    for (auto [k, init] : llvm::enumerate(loop.getInits())) {
      join(init, loop.getBody().getArgument(k));
      join(init, loop.getYield().getValues()[k]);
    }
    for (auto [value, result] :
         llvm::zip(loop.getYield().getValues(), op->getResults()))
      join(value, result);
  } else if (auto branch = dyn_cast<foreach::IfOp>(op)) {
    for (auto [k, result] : llvm::enumerate(op->getResults())) {
      join(result, branch.getYield().getValues()[k]);
      join(result, branch.getOtherwise()[k]);
    }
  }
}

} // namespace heddle::reference
