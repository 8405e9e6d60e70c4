//===- OutlineScalars.cpp - maps over device scalars move into sweeps -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map that depends on a sweep moves to its epilogue. A map that depends on
// arguments only is cloned into the bodies that use it.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "passes/Outliner.h"
#include "passes/Scalars.h"
#include "passes/SweepBuilder.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::computeType;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

/// Clones the map over device scalars that computes `result`, and the maps over
/// device scalars on which it depends. `bind` returns the values of other
/// operands.
Value Outliner::cloneUniform(OpBuilder &builder, Value result, Bind bind) {
  auto map = result.getDefiningOp<foreach::MapOp>();
  Block &body = map.getBody().front();
  IRMapping mapping;
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), map.getInputs())) {
    Value value;
    if (operand.getDefiningOp<foreach::MapOp>())
      value = convertThrough(
          builder, map.getLoc(), cloneUniform(builder, operand, bind),
          storageType(operand.getType()), argument.getType());
    else
      value = bind(operand, argument.getType(), nameOf(argument));
    mapping.map(argument, value);
  }
  cloneBody(builder, body, mapping);
  return mapping.lookup(
      map.getYield().getValues()[cast<OpResult>(result).getResultNumber()]);
}

/// The last operation of `block` on which `map` depends, or null.
Operation *Outliner::latestSource(foreach::MapOp map, Block &block) {
  Operation *latest = nullptr;
  for (Value operand : map.getInputs()) {
    Operation *source = operand.getDefiningOp();
    if (auto inner = dyn_cast_or_null<foreach::MapOp>(source))
      source = latestSource(inner, block);
    if (source && source->getBlock() == &block &&
        (!latest || latest->isBeforeInBlock(source)))
      latest = source;
  }
  return latest;
}

/// Appends `map` to the epilogue of `sweep`.
void Outliner::appendToEpilogue(SweepOp sweep, foreach::MapOp map) {
  SweepBuilder parts(context, sweep.getWhere());
  auto refs = parts.append(sweep);
  auto bind = [&](Value operand, Type bound, StringRef name) -> Value {
    if (operand.getDefiningOp() != sweep.getOperation())
      return parts.bindEpilogue(operand, bound, name);
    auto ref = refs[cast<OpResult>(operand).getResultNumber()];
    if (ref.segment >= 0)
      return parts.listValue(ref.segment, ref.result, bound, name);
    OpBuilder builder = parts.atEpilogue();
    return convertThrough(builder, map.getLoc(), parts.yielded(ref),
                          storageType(operand.getType()), bound);
  };
  // Twice: binding an operand again may change the type of its argument.
  Block &body = map.getBody().front();
  IRMapping mapping;
  for (int repeat = 0; repeat < 2; ++repeat)
    for (auto [argument, operand] :
         llvm::zip_equal(body.getArguments(), map.getInputs())) {
      Value value;
      OpBuilder builder = parts.atEpilogue();
      if (operand.getDefiningOp<foreach::MapOp>())
        value = convertThrough(
            builder, map.getLoc(), cloneUniform(builder, operand, bind),
            storageType(operand.getType()), argument.getType());
      else
        value = bind(operand, argument.getType(), nameOf(argument));
      mapping.map(argument, value);
    }
  OpBuilder builder = parts.atEpilogue();
  cloneBody(builder, body, mapping);
  SmallVector<SweepBuilder::ResultRef> added;
  for (auto [result, value] :
       llvm::zip_equal(map.getResults(), map.getYield().getValues()))
    added.push_back(
        {-1, parts.addEpilogueResult(mapping.lookup(value), result.getType(),
                                     nameOf(result))});
  OpBuilder outer(sweep);
  parts.build(outer, sweep.getLoc());
  for (auto [result, ref] : llvm::zip_equal(sweep.getResults(), refs))
    result.replaceAllUsesWith(parts.result(ref));
  for (auto [result, ref] : llvm::zip_equal(map.getResults(), added))
    result.replaceAllUsesWith(parts.result(ref));
  sweep.erase();
  map.erase();
  ++numEpilogueMaps;
}

/// Moves maps that depend on a sweep of the same block to the sweep's epilogue.
LogicalResult Outliner::moveToEpilogues(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<LoopOp>(op)) {
      if (failed(moveToEpilogues(loop.getBody().front())))
        return failure();
    } else if (auto map = dyn_cast<foreach::MapOp>(op)) {
      if (map.use_empty())
        map.erase();
      else if (auto sweep = dyn_cast_or_null<SweepOp>(latestSource(map, block)))
        appendToEpilogue(sweep, map);
    }
  }
  return success();
}

/// Creates a sweep without results before `before`, over the argument of lowest
/// rank. The epilogue of the sweep can compute device scalars.
FailureOr<SweepOp> Outliner::emptySweep(Operation *before) {
  Value source;
  for (BlockArgument argument : program.getBody().getArguments())
    if (isList(argument.getType()) &&
        (!source || rankOf(argument.getType()) < rankOf(source.getType())))
      source = argument;
  if (!source)
    return before->emitError()
           << "expected at least one list among the arguments of program '"
           << program.getName()
           << "', whose sweep can write device scalars, found none";
  OpBuilder builder(before);
  SweepBuilder parts(context, activeAround(before->getBlock()));
  unsigned segment = parts.addSegment();
  parts.bind(segment, source, defaultIndex(source.getType()),
             computeType(storageType(source.getType())), nameOf(source));
  ++numSweeps;
  return parts.build(builder, before->getLoc());
}

/// Computes the device scalar `value`, the result of a map, in the epilogue of
/// a sweep before `before`, and returns the result of that epilogue.
FailureOr<Value> Outliner::materialize(Value value, Operation *before) {
  auto map = value.getDefiningOp<foreach::MapOp>();
  Block *block = before->getBlock();
  Operation *after = latestSource(map, *block);
  SweepOp target;
  for (Operation *op = before->getPrevNode(); op && op != after;
       op = op->getPrevNode())
    if (auto sweep = dyn_cast<SweepOp>(op)) {
      target = sweep;
      break;
    }
  if (!target) {
    auto created = emptySweep(before);
    if (failed(created))
      return failure();
    target = *created;
  }
  // The original map stays for bodies that compute the value themselves.
  OpBuilder builder(target);
  IRMapping mapping;
  auto copy = cast<foreach::MapOp>(builder.clone(*map, mapping));
  Value clone = copy.getResult(cast<OpResult>(value).getResultNumber());
  // appendToEpilogue replaces the results of the clone; the operand of `before`
  // then has the new value.
  OpOperand *use = nullptr;
  for (OpOperand &operand : before->getOpOperands())
    if (operand.get() == value) {
      operand.set(clone);
      use = &operand;
    }
  appendToEpilogue(target, copy);
  return use->get();
}

/// Clones maps over device scalars into the bodies that use them.
SweepOp Outliner::inlineUniform(SweepOp sweep) {
  auto isUniform = [](Value value) {
    return value.getDefiningOp<foreach::MapOp>() != nullptr;
  };
  if (llvm::none_of(sweep->getOperands(), isUniform))
    return sweep;
  SweepBuilder parts(context, sweep.getWhere());
  SmallVector<SweepBuilder::ResultRef> refs;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    parts.addSegment();
    Block &body = sweep.getSegmentBlock(s);
    auto bind = [&](Value operand, Type bound, StringRef name) {
      return parts.bind(s, operand, kScalar, bound, name);
    };
    IRMapping mapping;
    // Twice: binding an operand again may change the type of its argument. The
    // operations of the first repetition are dead.
    for (int repeat = 0; repeat < 2; ++repeat)
      for (auto [argument, operand, index] :
           llvm::zip_equal(body.getArguments(), sweep.getSegmentInputs(s),
                           sweep.getSegmentIndices(s))) {
        OpBuilder builder = parts.at(s);
        Value value = isUniform(operand)
                          ? convertThrough(builder, operand.getLoc(),
                                           cloneUniform(builder, operand, bind),
                                           storageType(operand.getType()),
                                           argument.getType())
                          : parts.bind(s, operand, index, argument.getType(),
                                       nameOf(argument));
        mapping.map(argument, value);
      }
    OpBuilder builder = parts.at(s);
    cloneBody(builder, body, mapping);
    for (auto [value, result] : llvm::zip_equal(
             sweep.getSegmentYield(s).getValues(), sweep.getSegmentResults(s)))
      refs.push_back({static_cast<int>(s),
                      parts.addResult(s, mapping.lookup(value),
                                      result.getType(), nameOf(result))});
  }
  parts.appendEpilogue(sweep, refs, [&](Value operand, Type bound) -> Value {
    if (!isUniform(operand))
      return {};
    OpBuilder builder = parts.atEpilogue();
    auto bind = [&](Value input, Type type, StringRef name) {
      return parts.bindEpilogue(input, type, name);
    };
    return convertThrough(builder, operand.getLoc(),
                          cloneUniform(builder, operand, bind),
                          storageType(operand.getType()), bound);
  });
  OpBuilder outer(sweep);
  SweepOp inlined = parts.build(outer, sweep.getLoc());
  for (auto [result, ref] : llvm::zip_equal(sweep.getResults(), refs))
    result.replaceAllUsesWith(parts.result(ref));
  sweep.erase();
  return inlined;
}

LogicalResult Outliner::bindUniform(Block &block) {
  // Values that need a buffer come first, because they may add sweeps.
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<LoopOp>(op))
      if (failed(bindUniform(loop.getBody().front())))
        return failure();
    if (isa<LoopOp, fused::YieldOp>(op))
      for (OpOperand &operand : op.getOpOperands())
        if (operand.get().getDefiningOp<foreach::MapOp>()) {
          auto value = materialize(operand.get(), &op);
          if (failed(value))
            return failure();
        }
  }
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto sweep = dyn_cast<SweepOp>(op))
      inlineUniform(sweep);
  return success();
}
