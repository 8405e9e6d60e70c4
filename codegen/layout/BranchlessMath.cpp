//===- BranchlessMath.cpp - when divisions have no branches ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/BranchlessMath.h"
#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle {

/// The bytes that memory moves while a multiprocessor divides once with a
/// branch, measured on an H200.
static constexpr int64_t kBytesPerDivision = 8;

bool hasBranchlessForm(Operation *op) {
  return isa<arith::DivFOp, math::SqrtOp>(op) &&
         op->getResult(0).getType().isF32();
}

bool usesBranchlessMath(fused::SweepOp sweep, const SegmentLayout &layout,
                        unsigned segment) {
  if (sweep.getScheduleAttr().getKind() != fused::ScheduleKind::stream)
    return false;
  auto levels = fused::Levels::infer(sweep, segment);
  if (failed(levels))
    return false;
  int64_t divisions = 0, bytes = 0;
  for (Operation &op : sweep.getSegmentBlock(segment).without_terminator()) {
    // An element is reduced once.
    if (auto reduce = dyn_cast<fused::ReduceOp>(op))
      if (levels->countedBy(reduce) > Level::member)
        return false;
    divisions += hasBranchlessForm(&op) &&
                 levels->of(op.getResult(0)).level == Level::element;
  }
  for (const OperandSlot &slot : layout.operands)
    if (slot.index == kI)
      bytes += storageBytes(slot.storage) * (slot.read + slot.written);
  return divisions && divisions * kBytesPerDivision >= bytes;
}

} // namespace heddle
