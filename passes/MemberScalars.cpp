//===- MemberScalars.cpp - work of a thread besides its elements ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every thread loads the scalars of its member, compares the operands of the
// precomputed ones word by word, and computes others, some of them in double.
// docs/notes/2026-11-27-scalars-of-a-thread.md has the measurements.
//
//===----------------------------------------------------------------------===//

#include "passes/MemberScalars.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::fused {

/// The most work that threads with one round have time for: AdamW has 8, with a
/// schedule 10, with hyperparameters for each group 15; NAdam 14, ASGD 15,
/// LaProp 16. A division counts as many operations.
static constexpr int64_t kWork = 10, kDivision = 16;

static int64_t words(Value value) {
  return llvm::divideCeil(value.getType().getIntOrFloatBitWidth(), 32);
}

/// Whether the math of precomputed scalars is long: two powers are not, a
/// schedule of the learning rate is. Threads that call it have fewer registers
/// for elements.
static bool isLong(PrecomputeOp op) {
  constexpr int mostShort = 16;
  return llvm::count_if(op.getBody().front(), [](Operation &each) {
           return !isa<arith::ConstantOp>(each);
         }) > mostShort;
}

bool hasManyMemberScalars(SweepOp sweep, unsigned segment) {
  if (llvm::any_of(sweep.getSegmentBlock(segment).getOps<PrecomputeOp>(),
                   isLong))
    return true;
  auto levels = Levels::infer(sweep, segment);
  if (failed(levels))
    return false;
  int64_t work = 0;
  for (auto op : sweep.getSegmentBlock(segment).getOps<PrecomputeOp>())
    for (Value input : op.getInputs())
      work += words(input);
  for (Value value : backwardSlice(elementResults(sweep, segment))) {
    LevelOf of = levels->of(value);
    Operation *op = value.getDefiningOp();
    if (of.after || of.level != Level::member)
      continue;
    if (!op)
      work += words(value);
    else if (value.getType().isF64() && !isa<PrecomputeOp>(op))
      work += isa<arith::DivFOp, math::SqrtOp>(op) ? kDivision : 1;
  }
  return work > kWork;
}

} // namespace heddle::fused
