//===- FusedMergeReductions.cpp - one exponential for rows and columns ----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vertical fusion has put reductions of one matrix into one sweep, which reads
// it once. Of two logsumexp over rows and columns the dear part is left, the
// exponential of every element.
//
//===----------------------------------------------------------------------===//

#include "dialect/Exponents.h"
#include "passes/Fusion.h"
#include "passes/Passes.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDMERGEREDUCTIONS
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;

namespace {
struct FusedMergeReductions
    : heddle::impl::FusedMergeReductionsBase<FusedMergeReductions> {
  using FusedMergeReductionsBase::FusedMergeReductionsBase;

  void runOnOperation() override {
    getOperation().walk([&](SweepOp sweep) {
      for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
        mergeSegment(sweep, s);
    });
  }

  void mergeSegment(SweepOp sweep, unsigned segment);
  bool merge(fused::ReduceOp rows, fused::ReduceOp columns,
             const Levels &levels);
};
} // namespace

/// Lets `columns` use the exponentials of `rows`, if it may.
bool FusedMergeReductions::merge(fused::ReduceOp rows, fused::ReduceOp columns,
                                 const Levels &levels) {
  auto refuse = [&](StringRef why) {
    ++numRefused;
    if (remarks)
      mlir::emitRemark(columns.getLoc())
          << quoted(columns.getResult(0)) << " and "
          << quoted(rows.getResult(0))
          << " take an exponential each per element: " << why;
    return false;
  };
  auto x = decompose(rows.getValue(), levels);
  auto y = decompose(columns.getValue(), levels);
  if (rows.getValue().getType() != columns.getValue().getType() || failed(x) ||
      failed(y) || !sameElementTerms(*x, *y))
    return refuse("their arguments differ by more than values of rows and of "
                  "columns");
  if (!rows.getAbout())
    return refuse("those of the rows have no guess to be taken about");
  columns.getSharingMutable().assign(rows.getResult(0));
  ++numShared;
  if (remarks)
    mlir::emitRemark(columns.getLoc())
        << quoted(columns.getResult(0)) << " shares the exponentials of "
        << quoted(rows.getResult(0))
        << ": one exponential per element instead of two";
  return true;
}

void FusedMergeReductions::mergeSegment(SweepOp sweep, unsigned segment) {
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
          rows, [&](fused::ReduceOp row) { return merge(row, op, *levels); });
  }
}
