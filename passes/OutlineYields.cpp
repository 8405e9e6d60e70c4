//===- OutlineYields.cpp - values that buffers must hold ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sweep copies a value if several results are this value, or if no operation
// of the block computes it.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "passes/Outliner.h"
#include "passes/SweepBuilder.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::computeType;
using heddle::foreach::isList;
using heddle::foreach::storageType;

/// Creates an operation that copies `value`, so that the copy has its own
/// buffer.
Value Outliner::copyOf(Value value, OpBuilder &builder) {
  Type type = value.getType();
  Type bound = computeType(storageType(type));
  Value copy;
  if (isList(type)) {
    SweepBuilder parts(context, activeAround(builder.getBlock()));
    unsigned segment = parts.addSegment();
    Value element =
        parts.bind(segment, value, defaultIndex(type), bound, nameOf(value));
    parts.addResult(segment, element, type, nameOf(value));
    copy = parts.build(builder, value.getLoc()).getResult(0);
    ++numSweeps;
  } else {
    auto map = foreach::MapOp::create(builder, value.getLoc(), type, value,
                                      ArrayRef<int32_t>{kScalar});
    Block &body = map.getBody().emplaceBlock();
    body.addArgument(bound, value.getLoc());
    OpBuilder inner = OpBuilder::atBlockEnd(&body);
    foreach
      ::YieldOp::create(inner, value.getLoc(), body.getArgument(0));
    copy = map.getResult(0);
  }
  if (StringRef name = nameOf(value); !name.empty())
    setName(copy, name);
  return copy;
}

/// Copies yielded values where necessary. The operation that computes a result
/// writes its buffer. So the next value of a carried value, and a result that
/// replaces a donated argument, must be the result of an operation and must be
/// yielded only once.
void Outliner::ownYields(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto loop = dyn_cast<LoopOp>(op))
      ownYields(loop.getBody().front());
  auto yield = cast<fused::YieldOp>(block.getTerminator());
  OpBuilder builder(yield);
  auto loop = dyn_cast<LoopOp>(block.getParentOp());
  llvm::SmallDenseSet<Value> taken;
  SmallVector<int> replaced;
  if (!loop)
    replaced = foreach::replacedArguments(program);
  for (OpOperand &operand : yield->getOpOperands()) {
    Value value = operand.get();
    unsigned k = operand.getOperandNumber();
    bool owned;
    if (loop) {
      bool unchanged =
          k < loop.getInits().size() && value == loop.getCarried()[k];
      bool inside = value.getDefiningOp() && value.getParentBlock() == &block;
      owned = unchanged || (inside && taken.insert(value).second);
      // Device scalars that a map computes are written in this body, wherever
      // the map is, unless it moves to a sweep.
      if (auto map = value.getDefiningOp<foreach::MapOp>();
          map && !inside && taken.insert(value).second)
        owned = true;
    } else {
      // Results that replace no argument may share a buffer.
      auto argument = dyn_cast<BlockArgument>(value);
      int own = argument ? argument.getArgNumber() : -1;
      int64_t elsewhere = own < 0 ? -1 : foreach::donatedTo(program, own);
      bool donated = (replaced[k] >= 0 && replaced[k] != own) ||
                     (elsewhere >= 0 && elsewhere != k);
      owned = !donated || (value.getDefiningOp() && taken.insert(value).second);
    }
    if (!owned)
      operand.set(copyOf(value, builder));
  }
}
