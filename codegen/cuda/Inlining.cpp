//===- Inlining.cpp - values printed where they are used ------------------===//
//
// A line's width is estimated: every name is taken to be of average length.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Inlining.h"
#include "dialect/Fused.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace heddle::cuda {

/// Columns of an expression: of a line of 100, less its declaration.
static constexpr int kColumns = 72;
static constexpr int kName = 8, kOperator = 3, kCall = 14;

/// Whether `user` prints its operand once, and where it is always evaluated.
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
/// operation behind it that is no constant.
static bool isCandidate(Operation &op, Operation *next) {
  if (op.getNumResults() != 1 || !op.getResult(0).hasOneUse() ||
      isa<fused::ReduceOp, fused::PrecomputeOp, fused::RecordOp>(op))
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
  // Named values keep their place in the order of evaluation, which decides on
  // registers.
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
    // What does not fit has a line of its own, the longest part first.
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
