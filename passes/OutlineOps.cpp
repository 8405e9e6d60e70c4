//===- OutlineOps.cpp - operations become sweeps and loops ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each map, reduction and record becomes a sweep, each `while` a loop.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "dialect/ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Outliner.h"
#include "passes/Scalars.h"
#include "passes/SweepBuilder.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::Axis;
using heddle::foreach::computeType;
using heddle::foreach::isList;
using heddle::foreach::storageType;

Value Outliner::activeAround(Block *block) {
  auto loop = dyn_cast<LoopOp>(block->getParentOp());
  return loop ? loop.getActive() : Value();
}

void Outliner::mapResults(Operation *from, ValueRange to) {
  copyNames(from->getResults(), to);
  values.map(from->getResults(), to);
}

void Outliner::lowerMap(foreach::MapOp op, OpBuilder &builder) {
  SweepBuilder parts(context, activeAround(builder.getBlock()));
  unsigned segment = parts.addSegment();
  Block &body = op.getBody().front();
  IRMapping mapping;
  // Twice: binding an operand again may change the type of its argument.
  for (int repeat = 0; repeat < 2; ++repeat)
    for (auto [argument, operand, index] :
         llvm::zip_equal(body.getArguments(), op.getInputs(), op.getIndices()))
      mapping.map(argument, parts.bind(segment, values.lookup(operand), index,
                                       argument.getType(), nameOf(argument)));
  OpBuilder inner = parts.at(segment);
  cloneBody(inner, body, mapping);
  for (auto [result, value] :
       llvm::zip_equal(op.getResults(), op.getYield().getValues()))
    parts.addResult(segment, mapping.lookup(value), result.getType(),
                    nameOf(result));
  mapResults(op, parts.build(builder, op.getLoc()).getResults());
  ++numSweeps;
}

/// The level of the result of a reduction along `axis` over a domain of rank
/// `rank`.
static Level levelOfResult(Axis axis, int64_t rank) {
  switch (axis) {
  case Axis::j:
    return Level::row;
  case Axis::i:
    return rank == 2 ? Level::column : Level::member;
  case Axis::member:
    return Level::member;
  case Axis::list:
    return Level::list;
  }
  llvm_unreachable("unknown axis");
}

LogicalResult Outliner::lowerReduce(foreach::ReduceOp op, OpBuilder &builder) {
  Value active = activeAround(builder.getBlock());
  if (active && op.getAxis() == Axis::list)
    return op.emitOpError(
        "expected a reduction along i, j or member in a loop with a flag for "
        "every member, found one along list");
  int64_t rank = op.getDomainRank();
  Level level = levelOfResult(op.getAxis(), rank);
  Level domain = rank == 0 ? Level::member : Level::element;
  SweepBuilder parts(context, active);
  unsigned segment = parts.addSegment();
  Block &body = op.getBody().front();
  IRMapping mapping;
  llvm::DenseMap<Value, Level> levels;
  // Twice: binding an operand again may change the type of its argument.
  for (int repeat = 0; repeat < 2; ++repeat)
    for (auto [argument, operand, index] :
         llvm::zip_equal(body.getArguments(), op.getInputs(), op.getIndices()))
      mapping.map(argument, parts.bind(segment, values.lookup(operand), index,
                                       argument.getType(), nameOf(argument)));
  for (auto [argument, operand, index] :
       llvm::zip_equal(body.getArguments(), op.getInputs(), op.getIndices()))
    levels[argument] = !isList(operand.getType())  ? Level::list
                       : isMemberIndex(index)      ? Level::member
                       : rank == 1 || index == kIJ ? Level::element
                       : index == kI               ? Level::row
                                                   : Level::column;
  OpBuilder inner = parts.at(segment);
  for (Operation &scalar : body.without_terminator()) {
    Level joined = levelOfPosition(scalar, rank).value_or(Level::list);
    for (Value operand : scalar.getOperands())
      joined = join(joined, levels.lookup(operand));
    for (Value result : scalar.getResults())
      levels[result] = joined;
    inner.clone(scalar, mapping);
  }
  Value reduced = op.getReduced();
  Value value = mapping.lookup(reduced);
  Value shift = op.getShift() ? mapping.lookup(op.getShift()) : Value();
  // The value counts once per element of the domain, even if its level is
  // lower.
  LevelAttr from;
  if (levels.lookup(reduced) != domain)
    from = LevelAttr::get(context, domain);
  if (op.getKind() == foreach::ReduceKind::mean) {
    lowerMean(op, builder, parts, value, level, from);
    return success();
  }
  SmallVector<Type> types = {value.getType()};
  if (op.getNumResults() == 2)
    types.push_back(inner.getI64Type());
  auto reduce = fused::ReduceOp::create(inner, op.getLoc(), types, op.getKind(),
                                        level, value, shift,
                                        /*sharing=*/Value(),
                                        /*inactive=*/Value(), from);
  copyNames(op.getResults(), reduce.getResults());
  for (auto [result, inside] :
       llvm::zip_equal(op.getResults(), reduce.getResults()))
    parts.addResult(segment, inside, result.getType(), nameOf(result));
  mapResults(op, parts.build(builder, op.getLoc()).getResults());
  ++numSweeps;
  return success();
}

/// Reduces `value` to a sum, and divides it by the number of its elements: an
/// extent, or for the whole list, the sum of the extents.
void Outliner::lowerMean(foreach::ReduceOp op, OpBuilder &builder,
                         SweepBuilder &parts, Value value, Level level,
                         LevelAttr from) {
  Location loc = op.getLoc();
  auto sumOf = [&](Value each, LevelAttr from) -> Value {
    OpBuilder inner = parts.at(0);
    return fused::ReduceOp::create(inner, loc, each.getType(),
                                   foreach::ReduceKind::add, level, each,
                                   /*shift=*/Value(), /*sharing=*/Value(),
                                   /*inactive=*/Value(), from)
        .getResult(0);
  };
  auto divide = [&](OpBuilder inner, Value sum, Value count) -> Value {
    Value number = arith::SIToFPOp::create(inner, loc, sum.getType(), count);
    return arith::DivFOp::create(inner, loc, sum, number);
  };
  OpBuilder inner = parts.at(0);
  StringRef name = nameOf(op.getResult(0));
  Type type = op.getResult(0).getType();
  if (level != Level::list) {
    foreach
      ::Axis axis = level == Level::row      ? foreach::Axis::j
                    : level == Level::column ? foreach::Axis::i
                                             : foreach::Axis::member;
    Value sum = sumOf(value, from);
    inner = parts.at(0);
    Value count = foreach::ExtentOp::create(inner, loc, axis);
    parts.addResult(0, divide(inner, sum, count), type, name);
    mapResults(op, parts.build(builder, loc).getResults());
  } else {
    bool ofMembers = op.getDomainRank() == 0;
    Value count =
        ofMembers
            ? arith::ConstantOp::create(inner, loc, inner.getI64IntegerAttr(1))
                  .getResult()
            : foreach::ExtentOp::create(inner, loc, foreach::Axis::member)
                  .getResult();
    LevelAttr perMember;
    if (ofMembers)
      perMember = LevelAttr::get(context, Level::member);
    SmallVector<Value> ofList;
    for (Value sum : {sumOf(value, from), sumOf(count, perMember)}) {
      unsigned result =
          parts.addResult(0, sum, foreach::scalarOf(sum.getType()), "");
      ofList.push_back(parts.listValue(0, result, sum.getType(), ""));
    }
    parts.addEpilogueResult(divide(parts.atEpilogue(), ofList[0], ofList[1]),
                            type, name);
    mapResults(op, parts.build(builder, loc).getResults().take_back(1));
  }
  ++numSweeps;
}

/// Creates a sweep over members that writes one entry of each member's vector.
void Outliner::lowerRecord(foreach::RecordOp op, OpBuilder &builder) {
  SweepBuilder parts(context, activeAround(builder.getBlock()));
  unsigned segment = parts.addSegment();
  auto bind = [&](Value operand, int32_t index) {
    return parts.bind(segment, values.lookup(operand), index,
                      computeType(storageType(operand.getType())),
                      nameOf(operand));
  };
  Value value = bind(op.getValue(), kScalar);
  Value into = bind(op.getInto(), kIteration);
  OpBuilder inner = parts.at(segment);
  Value recorded =
      fused::RecordOp::create(inner, op.getLoc(), value.getType(), value, into);
  parts.addResult(segment, recorded, op.getType(), nameOf(op.getResult()));
  mapResults(op, parts.build(builder, op.getLoc()).getResults());
  ++numSweeps;
}

LogicalResult Outliner::lowerWhile(foreach::WhileOp op, OpBuilder &builder) {
  if (!op.getYield().getMore())
    return op.emitOpError("has no flag; expected a program in which "
                          "foreach-expand-shorthands has added it");
  if (activeAround(builder.getBlock()))
    return op.emitOpError(
        "expected only maps, reductions and records in a loop "
        "with a flag for every member, found a loop");
  auto lookup = [&](Value value) { return values.lookup(value); };
  SmallVector<Value> inits = llvm::map_to_vector(op.getInits(), lookup);
  auto loop = LoopOp::create(builder, op.getLoc(), op.getResultTypes(), inits,
                             lookup(op.getLimit()));
  Block &body = loop.getBody().emplaceBlock();
  for (BlockArgument argument : op.getBody().getArguments())
    values.map(argument,
               body.addArgument(argument.getType(), argument.getLoc()));
  Type flag = op.getYield().getMore().getType();
  if (isList(flag))
    body.addArgument(flag, namedLoc(context, "active"));
  if (failed(lowerBlock(op.getBody().front(), body)))
    return failure();
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  foreach
    ::YieldOp yield = op.getYield();
  fused::YieldOp::create(inner, yield.getLoc(),
                         llvm::map_to_vector(yield.getValues(), lookup),
                         lookup(yield.getMore()));
  mapResults(op, loop.getResults());
  return success();
}

/// Emits the error that `op` is outside of bodies.
static LogicalResult emitOutsideOfBodies(Operation &op) {
  if (!isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
    return op.emitOpError("is not allowed here; a program computes in "
                          "foreach.map, foreach.reduce, foreach.record, "
                          "foreach.while and foreach.if");
  if (!isScalarOp(&op))
    return emitNotScalar(op, "a computation outside of bodies");
  auto isDeviceScalar = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getRank() == 0 &&
           foreach::isElementType(tensor.getElementType());
  };
  if (llvm::all_of(op.getResultTypes(), isDeviceScalar) &&
      op.getNumResults() == 1)
    return op.emitOpError("is in no body; expected a program in which "
                          "foreach-expand-shorthands has replaced it");
  auto error = op.emitOpError("is not allowed here with values of type ")
               << op.getResult(0).getType();
  if (op.getNumResults() > 1)
    return error << ": move it into the body of foreach.map";
  // A storage type such as f16 is no type to compute in.
  Type type = op.getResult(0).getType();
  if (!foreach::isElementType(type))
    return error << "; expected device scalars, such as tensor<f32>";
  auto scalar = RankedTensorType::get({}, type);
  error << "; expected device scalars, such as " << scalar;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    error << ", as in arith.constant "
          << DenseElementsAttr::get(scalar, constant.getValue());
  return error << ". Scalars are for the bodies of foreach.map and "
                  "foreach.reduce";
}

LogicalResult Outliner::lowerBlock(Block &from, Block &to) {
  OpBuilder builder = OpBuilder::atBlockEnd(&to);
  for (Operation &op : from.without_terminator()) {
    if (auto map = dyn_cast<foreach::MapOp>(op)) {
      // Maps over device scalars keep their form until all sweeps exist.
      if (map.isUniform())
        builder.clone(op, values);
      else
        lowerMap(map, builder);
    } else if (auto reduce = dyn_cast<foreach::ReduceOp>(op)) {
      if (failed(lowerReduce(reduce, builder)))
        return failure();
    } else if (auto record = dyn_cast<foreach::RecordOp>(op)) {
      lowerRecord(record, builder);
    } else if (auto loop = dyn_cast<foreach::WhileOp>(op)) {
      if (failed(lowerWhile(loop, builder)))
        return failure();
    } else if (isa<foreach::IfOp>(op)) {
      return op.emitOpError("has no sweeps; expected a program in which "
                            "foreach-simplify has expanded it");
    } else {
      return emitOutsideOfBodies(op);
    }
  }
  return success();
}
