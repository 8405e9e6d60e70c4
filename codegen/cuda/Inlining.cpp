//===- Inlining.cpp - values printed where they are used ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The width of a line is an estimate, with names of average length.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Inlining.h"
#include "dialect/Fused.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace heddle::cuda {

/// The width of an expression: a line of 100 columns, less a declaration.
static constexpr int kColumns = 72;
static constexpr int kName = 8, kOperator = 3, kCall = 14;

/// Whether the user of `use` prints the operand once, where it is always
/// evaluated.
static bool isPrintedOnce(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<arith::SelectOp>(user))
    return use.getOperandNumber() == 0;
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::MaximumFOp, arith::MinimumFOp, arith::AddIOp, arith::SubIOp,
             arith::MulIOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
             math::PowFOp, math::FPowIOp, math::FmaOp>(user) ||
         (user->getNumOperands() == 1 && !isa<math::AbsIOp>(user));
}

/// Whether `op` may be printed as part of its user's expression. `next` is the
/// operation after it that is not a constant.
static bool isCandidate(Operation &op, Operation *next) {
  if (op.getNumResults() != 1 || !op.getResult(0).hasOneUse() ||
      isa<fused::ReduceOp, fused::PrecomputeOp, fused::RecordOp,
          foreach::ExtentOp, foreach::IndexOp>(op))
    return false;
  OpOperand &use = *op.getResult(0).use_begin();
  Operation *user = use.getOwner();
  if (user->getNumResults() != 1 || user->getBlock() != op.getBlock() ||
      isa<fused::ReduceOp, fused::PrecomputeOp, fused::RecordOp>(user) ||
      !isPrintedOnce(use))
    return false;
  StringRef own = nameOf(op.getResult(0));
  if (own.empty())
    return true;
  // Named values keep their place in the order of evaluation, which affects the
  // number of registers.
  return next == user && own == nameOf(user->getResult(0));
}

llvm::DenseSet<Operation *> inlinedOps(Block &block) {
  llvm::DenseSet<Operation *> inlined;
  llvm::DenseMap<Operation *, int> columns;
  llvm::DenseMap<Operation *, Operation *> next;
  Operation *last = nullptr;
  for (Operation &op : llvm::reverse(block)) {
    next[&op] = last;
    if (!isa<arith::ConstantOp>(op))
      last = &op;
  }
  for (Operation &op : block.without_terminator()) {
    int width = isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
                    arith::AddIOp, arith::SubIOp, arith::MulIOp>(op)
                    ? kOperator
                    : kCall;
    SmallVector<Operation *> parts;
    for (Value operand : op.getOperands()) {
      Operation *part = operand.getDefiningOp();
      bool isInlined = part && inlined.contains(part);
      width += isInlined ? columns.lookup(part) : kName;
      if (isInlined)
        parts.push_back(part);
    }
    // Parts that do not fit get lines of their own, the longest first.
    llvm::sort(parts, [&](Operation *a, Operation *b) {
      int first = columns.lookup(a), second = columns.lookup(b);
      return first != second ? first > second : a->isBeforeInBlock(b);
    });
    for (Operation *part : parts) {
      if (width <= kColumns)
        break;
      width += kName - columns.lookup(part);
      inlined.erase(part);
    }
    columns[&op] = width;
    if (isCandidate(op, next.lookup(&op)))
      inlined.insert(&op);
  }
  return inlined;
}

} // namespace heddle::cuda
