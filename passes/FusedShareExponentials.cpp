//===- FusedShareExponentials.cpp - one exponential for rows and columns --===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After vertical fusion, one sweep reads the matrix once for both reductions.
// The exponential of each element is then the expensive part.
//
//===----------------------------------------------------------------------===//

#include "dialect/Exponents.h"
#include "passes/Fusion.h"
#include "passes/Passes.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDSHAREEXPONENTIALS
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;

namespace {
struct FusedShareExponentials
    : heddle::impl::FusedShareExponentialsBase<FusedShareExponentials> {
  using FusedShareExponentialsBase::FusedShareExponentialsBase;

  void runOnOperation() override {
    getOperation().walk([&](SweepOp sweep) {
      for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
        markSegment(sweep, s);
    });
  }

  void markSegment(SweepOp sweep, unsigned segment);
  bool share(fused::ReduceOp rows, fused::ReduceOp columns,
             const Levels &levels);
};
} // namespace

/// Sets `sharing` of `columns` to `rows`, if that is legal.
bool FusedShareExponentials::share(fused::ReduceOp rows,
                                   fused::ReduceOp columns,
                                   const Levels &levels) {
  auto refuse = [&](StringRef why) {
    ++numRefused;
    if (remarks)
      mlir::emitRemark(columns.getLoc())
          << quoted(columns.getResult(0)) << " and "
          << quoted(rows.getResult(0))
          << " compute one exponential each per element: " << why;
    return false;
  };
  auto x = decompose(rows.getValue(), levels);
  auto y = decompose(columns.getValue(), levels);
  if (rows.getValue().getType() != columns.getValue().getType() || failed(x) ||
      failed(y) || !sameElementTerms(*x, *y))
    return refuse("their operands differ by more than row and column values");
  if (!rows.getShift())
    return refuse("the reduction over rows has no shift");
  columns.getSharingMutable().assign(rows.getResult(0));
  ++numShared;
  if (remarks)
    mlir::emitRemark(columns.getLoc())
        << quoted(columns.getResult(0)) << " shares the exponentials of "
        << quoted(rows.getResult(0))
        << ": one exponential per element instead of two";
  return true;
}

void FusedShareExponentials::markSegment(SweepOp sweep, unsigned segment) {
  auto levels = Levels::infer(sweep, segment);
  if (failed(levels))
    return;
  SmallVector<fused::ReduceOp> rows;
  for (auto op : sweep.getSegmentBlock(segment).getOps<fused::ReduceOp>()) {
    if (op.getKind() != ReduceKind::logsumexp ||
        levels->of(op.getValue()).level != Level::element)
      continue;
    if (op.getLevel() == Level::row)
      rows.push_back(op);
    else if (op.getLevel() == Level::column && !op.getSharing())
      (void)llvm::any_of(
          rows, [&](fused::ReduceOp row) { return share(row, op, *levels); });
  }
}
