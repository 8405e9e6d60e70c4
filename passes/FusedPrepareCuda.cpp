//===- FusedPrepareCuda.cpp - names of sweeps and order of bodies ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions and types in the CUDA source have these names.
//
//===----------------------------------------------------------------------===//

#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "passes/Fusion.h"
#include "passes/Passes.h"
#include "passes/Scalars.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDPREPARECUDA
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// A C identifier similar to `original`; `otherwise` if no character can be
/// kept.
static std::string identifier(StringRef original, StringRef otherwise) {
  constexpr size_t longest = 60;
  std::string name;
  for (char c : original.take_front(longest))
    name += llvm::isAlnum(c) ? c : '_';
  // C++ reserves leading underscores, and digits begin a number.
  StringRef trimmed = StringRef(name).ltrim('_').rtrim('_');
  if (trimmed.empty())
    return otherwise.str();
  if (llvm::isDigit(trimmed.front()) || isCppKeyword(trimmed))
    return (otherwise + "_" + trimmed).str();
  return trimmed.str();
}

static void nameAll(ProgramOp program) {
  SmallVector<Operation *> ops;
  program.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<SweepOp, LoopOp>(op))
      ops.push_back(op);
  });
  std::string base = identifier(program.getName(), "program");
  unsigned sweeps = llvm::count_if(ops, llvm::IsaPred<SweepOp>);
  UniqueNames names(/*first=*/2);
  for (Operation *op : ops) {
    std::string name = base;
    if (isa<LoopOp>(op))
      name += "_loop";
    else if (sweeps > 1)
      name += "_" + identifier(mainName(op), "sweep");
    auto attr = StringAttr::get(op->getContext(), names.unique(name));
    if (auto sweep = dyn_cast<SweepOp>(op))
      sweep.setNameAttr(attr);
    else
      cast<LoopOp>(op).setNameAttr(attr);
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Orders a body: constants; list values; member values; element, row and
/// column values in their original order; values complete only after the sweep.
static void orderSegment(SweepOp sweep, unsigned segment) {
  auto levels = Levels::infer(sweep, segment);
  if (failed(levels))
    return;
  Block &body = sweep.getSegmentBlock(segment);
  SmallVector<Operation *> stages[5];
  for (Operation &op : body.without_terminator()) {
    LevelOf of = op.getNumResults() ? levels->of(op.getResult(0)) : LevelOf();
    unsigned stage = op.hasTrait<OpTrait::ConstantLike>() ? 0
                     : of.after                           ? 4
                     : of.level == Level::list            ? 1
                     : of.level == Level::member          ? 2
                                                          : 3;
    stages[stage].push_back(&op);
  }
  for (auto &stage : stages)
    for (Operation *op : stage)
      op->moveBefore(body.getTerminator());
}

namespace {
struct FusedPrepareCuda : heddle::impl::FusedPrepareCudaBase<FusedPrepareCuda> {
  void runOnOperation() override {
    getOperation().walk([](SweepOp sweep) {
      cleanBodies(sweep);
      for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
        orderSegment(sweep, s);
    });
    nameAll(getOperation());
  }
};
} // namespace
