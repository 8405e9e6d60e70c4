//===- ForeachOutlineSweeps.cpp - functions become programs ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In this order: each operation becomes a sweep or a loop; loops carry all
// values that they return; values that need a buffer become results of a sweep
// or loop; maps over device scalars move into the bodies that use them.
//
//===----------------------------------------------------------------------===//

#include "dialect/ArgumentTypes.h"
#include "dialect/Bindings.h"
#include "passes/BufferAssigner.h"
#include "passes/Outliner.h"
#include "passes/Passes.h"
#include "passes/Scalars.h"
#include "passes/Traffic.h"

namespace heddle {
#define GEN_PASS_DEF_FOREACHOUTLINESWEEPS
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;

LogicalResult Outliner::run() {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitOpError("cannot become a program; expected a body of "
                                "one block");
  if (failed(foreach::verifyArgumentTypes(function)))
    return failure();
  OpBuilder builder(function);
  program =
      ProgramOp::create(builder, function.getLoc(), function.getSymName(),
                        function.getFunctionType(), function.getArgAttrsAttr(),
                        function.getResAttrsAttr());
  Block &from = function.getBody().front();
  Block &body = program.getBody().emplaceBlock();
  for (BlockArgument argument : from.getArguments())
    values.map(argument,
               body.addArgument(argument.getType(), argument.getLoc()));
  if (failed(lowerBlock(from, body)))
    return failure();
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  Operation *end = from.getTerminator();
  fused::YieldOp::create(
      inner, end->getLoc(),
      llvm::map_to_vector(end->getOperands(),
                          [&](Value value) { return values.lookup(value); }));
  if (failed(carryAll(body)))
    return failure();
  ownYields(body);
  findBodies();
  if (failed(moveToEpilogues(body)))
    return failure();
  // A map whose result a loop yields may now be part of a sweep before the
  // loop.
  ownYields(body);
  if (failed(bindUniform(body)))
    return failure();
  SmallVector<foreach::MapOp> maps;
  program.walk([&](foreach::MapOp map) { maps.push_back(map); });
  for (foreach::MapOp map : llvm::reverse(maps))
    map.erase();
  if (llvm::none_of(body.without_terminator(),
                    [](Operation &) { return true; }))
    return function.emitOpError(
        "computes nothing; expected at least one map or reduce over a list");
  program.setTrafficAttr(trafficAttr(context, trafficWithCopies(program)));
  function.erase();
  return success();
}

namespace {
struct ForeachOutlineSweeps
    : heddle::impl::ForeachOutlineSweepsBase<ForeachOutlineSweeps> {
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(Outliner(function, numSweeps, numEpilogueMaps).run()))
        return signalPassFailure();
    for (auto program : getOperation().getOps<ProgramOp>())
      cleanBodies(program);
  }
};
} // namespace
