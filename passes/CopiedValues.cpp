//===- CopiedValues.cpp - values that are copied to other buffers ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy before a loop runs where the loop does, a copy at the end of a body in
// each iteration. ProgramNodes.cpp has the nodes for the same copies.
//
//===----------------------------------------------------------------------===//

#include "dialect/Names.h"
#include "passes/Traffic.h"

using namespace mlir;

namespace heddle::fused {

SmallVector<CopiedValue> copiesOf(ProgramOp program, const Buffers &buffers) {
  SmallVector<CopiedValue> copies;
  auto add = [&](Value value, Value to, bool perIteration) {
    int from = buffers.of(value), destination = buffers.of(to);
    if (from >= 0 && destination >= 0 && from != destination)
      copies.push_back({value, nameOf(to).str(), perIteration});
  };
  program.walk([&](LoopOp loop) {
    bool nested = isa<LoopOp>(loop->getParentOp());
    for (auto [init, carried] : llvm::zip(loop.getInits(), loop.getCarried()))
      add(init, carried, nested);
    YieldOp yield = loop.getYield();
    for (auto [value, carried] :
         llvm::zip(yield.getValues(), loop.getCarried()))
      add(value, carried, /*perIteration=*/true);
    if (Value active = loop.getActive())
      add(yield.getMore(), active, /*perIteration=*/true);
  });
  Block &body = program.getBody().front();
  ArrayRef<int64_t> results =
      program.getResultBuffers().value_or(ArrayRef<int64_t>());
  for (auto [value, argument, result] :
       llvm::zip(cast<YieldOp>(body.getTerminator()).getValues(),
                 foreach::replacedArguments(program), results)) {
    if (argument >= 0)
      add(value, body.getArgument(argument), /*perIteration=*/false);
    else if (buffers.of(value) >= 0 && buffers.of(value) != result)
      copies.push_back({value, buffers[result].name, /*perIteration=*/false});
  }
  return copies;
}

} // namespace heddle::fused
