//===- BranchlessMath.cpp - when divisions have no branches ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/BranchlessMath.h"
#include "codegen/layout/DrawnNumbers.h"
#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle {

/// A segment has branchless forms if it divides or takes a root at least once
/// for this number of bytes; more if a thread has its elements in rounds, which
/// wait for slow divisions one after the other. Measured on an H200.
static constexpr int64_t kBytesPerDivision = 8, kBytesPerDivisionOfRounds = 10;

bool hasBranchlessForm(Operation *op) {
  return isa<arith::DivFOp, mlir::math::SqrtOp>(op) &&
         op->getResult(0).getType().isF32();
}

/// The bytes of a segment for each division that make branchless forms faster.
static int64_t bytesPerDivision(fused::SweepOp sweep, unsigned segment) {
  auto schedule = sweep.getScheduleAttr();
  bool rounds = schedule.getKind() == fused::ScheduleKind::stream &&
                schedule.getTile()[segment] >
                    schedule.getThreads() * schedule.getVector()[segment];
  return rounds ? kBytesPerDivisionOfRounds : kBytesPerDivision;
}

bool usesBranchlessMath(fused::SweepOp sweep, unsigned segment) {
  auto levels = fused::Levels::infer(sweep, segment);
  SmallVector<int64_t> sizes = elementSizes(sweep, segment).all();
  if (failed(levels))
    return false;
  int64_t divisions = 0;
  for (Operation &op : sweep.getSegmentBlock(segment).without_terminator()) {
    // The function of an element does not take its position.
    if (isa<foreach::IndexOp>(op) && !isPositionOfDrawn(&op, *levels))
      return false;
    // An element is reduced once.
    if (auto reduce = dyn_cast<fused::ReduceOp>(op);
        reduce && levels->countedBy(reduce) > Level::member &&
        !levels->reducesCompleteColumns(reduce))
      return false;
    divisions += hasBranchlessForm(&op) &&
                 levels->of(op.getResult(0)).level == Level::element;
  }
  return divisions &&
         divisions * bytesPerDivision(sweep, segment) >= llvm::sum_of(sizes);
}

bool dividesByShared(Operation *op, const fused::Levels &levels) {
  if (!isa<arith::DivFOp>(op) || !hasBranchlessForm(op))
    return false;
  Level by = levels.of(op->getOperand(1)).level;
  return levels.of(op->getOperand(0)).level == Level::element &&
         by != Level::element && by != Level::column;
}

bool usesBranchlessRows(fused::SweepOp sweep, unsigned segment) {
  auto levels = fused::Levels::infer(sweep, segment);
  if (failed(levels) || sweep.getDomainRank(segment) != 2)
    return false;
  int64_t divisions = 0, shared = 0;
  for (Operation &op : sweep.getSegmentBlock(segment).without_terminator())
    if (hasBranchlessForm(&op) &&
        levels->of(op.getResult(0)).level == Level::element) {
      ++divisions;
      shared += dividesByShared(&op, *levels);
    }
  return divisions > shared &&
         divisions * kBytesPerDivision >=
             llvm::sum_of(elementSizes(sweep, segment).all());
}

} // namespace heddle
