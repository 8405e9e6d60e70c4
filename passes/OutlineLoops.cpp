//===- OutlineLoops.cpp - loops carry all values that they return ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that a loop yields and does not carry, and the iteration counts of
// members, become carried values with initial values of their own.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Outliner.h"
#include "passes/SweepBuilder.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::computeType;
using heddle::foreach::isList;
using heddle::foreach::ListType;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

/// A map over device scalars that yields a constant.
static Value constantScalar(OpBuilder &builder, Location loc, Type type,
                            TypedAttr constant) {
  auto map = foreach::MapOp::create(builder, loc, type, ValueRange(),
                                    ArrayRef<int32_t>());
  OpBuilder inner = OpBuilder::atBlockEnd(&map.getBody().emplaceBlock());
  Value value = arith::ConstantOp::create(inner, loc, constant);
  foreach
    ::YieldOp::create(inner, loc, value);
  return map.getResult(0);
}

/// The argument of lowest rank whose members and extents are those of `shape`,
/// or null. An argument of any rank has the members of a list of rank 0.
static Value spanningArgument(ProgramOp program, const Domains &domains,
                              const Shape &shape) {
  Value source;
  for (BlockArgument argument : program.getBody().getArguments()) {
    if (!isList(argument.getType()))
      continue;
    Shape of = domains.shapeOf(argument);
    bool spans =
        shape.extents.empty() ? of.members == shape.members : of == shape;
    if (spans &&
        (!source || rankOf(argument.getType()) < rankOf(source.getType())))
      source = argument;
  }
  return source;
}

/// A value that equals `constant`, infinity or 0, for each row or column, also
/// for one without elements: the neutral element of the reduction.
static Value reducedConstant(OpBuilder &builder, Location loc, Level level,
                             TypedAttr constant) {
  bool isFloat = isa<FloatType>(constant.getType());
  auto kind = isFloat ? foreach::ReduceKind::min : foreach::ReduceKind::any;
  Value value = arith::ConstantOp::create(
      builder, loc,
      isFloat ? constant : TypedAttr(builder.getBoolAttr(/*value=*/false)));
  Value reduced =
      fused::ReduceOp::create(
          builder, loc, value.getType(), kind, level, value, /*shift=*/Value(),
          /*sharing=*/Value(), /*inactive=*/Value(),
          LevelAttr::get(builder.getContext(), Level::element))
          .getResult(0);
  if (reduced.getType() == constant.getType())
    return reduced;
  return arith::ExtUIOp::create(builder, loc, constant.getType(), reduced);
}

/// A vector whose elements equal `constant`, one for each row or column of a
/// matrix among the arguments; null if no matrix has such an extent.
Value Outliner::initialVector(OpBuilder &builder, LoopOp loop,
                              const Domains &domains, const Shape &shape,
                              Type type, TypedAttr constant, StringRef name) {
  for (BlockArgument matrix : program.getBody().getArguments()) {
    if (!isList(matrix.getType()) || rankOf(matrix.getType()) != 2)
      continue;
    Shape of = domains.shapeOf(matrix);
    auto dimension = llvm::find(of.extents, shape.extents.front());
    if (of.members != shape.members || dimension == of.extents.end())
      continue;
    SweepBuilder parts(context, activeAround(builder.getBlock()));
    unsigned segment = parts.addSegment();
    parts.bind(segment, matrix, kIJ, computeType(storageType(matrix.getType())),
               nameOf(matrix));
    OpBuilder inner = parts.at(segment);
    bool isRow = dimension == of.extents.begin();
    Value value = reducedConstant(inner, loop.getLoc(),
                                  isRow ? Level::row : Level::column, constant);
    parts.addResult(segment, value, type, name);
    ++numSweeps;
    return parts.build(builder, loop.getLoc()).getResult(0);
  }
  return {};
}

/// Operands that span a domain of the shape of `type`, and their indices; none
/// if the arguments do not have its extents.
SmallVector<std::pair<Value, int32_t>>
Outliner::spanningOperands(OpBuilder &builder, LoopOp loop,
                           const Domains &domains, const Shape &shape) {
  if (Value source = spanningArgument(program, domains, shape))
    return {{source, defaultIndex(source.getType())}};
  if (shape.extents.size() != 2)
    return {};
  SmallVector<std::pair<Value, int32_t>> operands;
  for (auto [dimension, extent] : llvm::enumerate(shape.extents)) {
    int32_t index = dimension == 0 ? kI : kJ;
    Shape side{shape.members, {extent}};
    Value vector = spanningArgument(program, domains, side);
    Type flag = builder.getI1Type();
    if (!vector)
      vector =
          initialVector(builder, loop, domains, side, ListType::get(1, flag),
                        builder.getIntegerAttr(flag, 0), "");
    if (!vector)
      return {};
    operands.emplace_back(vector, index);
  }
  return operands;
}

/// A value of `type` with all elements equal to `constant`, computed before
/// `loop`.
FailureOr<Value> Outliner::initial(OpBuilder &builder, LoopOp loop,
                                   const Shape &shape, Type type,
                                   TypedAttr constant, StringRef name) {
  if (!isList(type)) {
    Value scalar = constantScalar(builder, loop.getLoc(), type, constant);
    if (!name.empty())
      setName(scalar, name);
    return scalar;
  }
  Domains domains(program);
  auto operands = spanningOperands(builder, loop, domains, shape);
  if (operands.empty()) {
    if (shape.extents.size() == 1)
      if (Value vector = initialVector(builder, loop, domains, shape, type,
                                       constant, name))
        return vector;
    return loop.emitOpError("expected a list among the arguments of the "
                            "program for each extent of ")
           << (name.empty() ? std::string("a result")
                            : ("result '" + name + "'").str())
           << " of type " << type
           << ", which the loop returns and does not carry, found none; carry "
              "it";
  }
  SweepBuilder parts(context, activeAround(builder.getBlock()));
  unsigned segment = parts.addSegment();
  for (auto [source, index] : operands)
    parts.bind(segment, source, index,
               computeType(storageType(source.getType())), nameOf(source));
  OpBuilder inner = parts.at(segment);
  Value value = arith::ConstantOp::create(inner, loop.getLoc(), constant);
  parts.addResult(segment, value, type, name);
  ++numSweeps;
  return parts.build(builder, loop.getLoc()).getResult(0);
}

/// The value of a result if no iteration runs: infinity, or 0 for integers.
static TypedAttr valueWithoutIterations(Type storage) {
  Type type = computeType(storage);
  if (auto real = dyn_cast<FloatType>(type))
    return FloatAttr::get(type, APFloat::getInf(real.getFloatSemantics()));
  return IntegerAttr::get(type, 0);
}

/// Makes every yielded value, and the iteration count of each member, a carried
/// value. Then all results of a loop have a buffer at any time.
FailureOr<LoopOp> Outliner::carryAll(LoopOp loop) {
  fused::YieldOp yield = loop.getYield();
  unsigned carried = loop.getInits().size();
  unsigned yielded = yield.getValues().size();
  Value active = loop.getActive();
  bool counts = active && !loop.getIterations().use_empty();
  if (carried == yielded && !counts)
    return loop;

  OpBuilder builder(loop);
  Domains domains(program);
  SmallVector<Value> inits(loop.getInits());
  SmallVector<Type> types;
  for (Value value : yield.getValues())
    types.push_back(value.getType());
  for (unsigned k = carried; k < yielded; ++k) {
    Type type = types[k];
    auto init = initial(builder, loop, domains.shapeOf(loop.getResult(k)), type,
                        valueWithoutIterations(storageType(type)),
                        nameOf(loop.getResult(k)));
    if (failed(init))
      return failure();
    inits.push_back(*init);
  }
  Type count = ListType::get(0, builder.getI32Type());
  StringRef countName = nameOf(loop.getIterations());
  if (countName.empty())
    countName = "iterations";
  if (counts) {
    auto init = initial(builder, loop, domains.shapeOf(loop.getIterations()),
                        count, builder.getI32IntegerAttr(0), countName);
    if (failed(init))
      return failure();
    inits.push_back(*init);
    types.push_back(count);
  }
  types.push_back(loop.getIterations().getType());
  auto larger =
      LoopOp::create(builder, loop.getLoc(), types, inits, loop.getLimit());
  larger.getBody().takeBody(loop.getBody());
  Block &body = larger.getBody().front();
  for (unsigned k = carried; k < inits.size(); ++k)
    body.insertArgument(k, inits[k].getType(), inits[k].getLoc());
  for (unsigned k = 0; k < yielded; ++k) {
    loop.getResult(k).replaceAllUsesWith(larger.getResult(k));
    if (StringRef name = nameOf(loop.getResult(k)); !name.empty()) {
      setName(larger.getResult(k), name);
      if (k >= carried)
        setName(body.getArgument(k), name);
    }
  }
  if (counts) {
    // A member counts the iterations in which it is active.
    yield = larger.getYield();
    OpBuilder inner(yield);
    BlockArgument iterations = body.getArgument(yielded);
    setName(iterations, countName);
    SweepBuilder parts(context, larger.getActive());
    unsigned segment = parts.addSegment();
    Value before =
        parts.bind(segment, iterations, kScalar, inner.getI32Type(), countName);
    OpBuilder at = parts.at(segment);
    Value one =
        arith::ConstantOp::create(at, loop.getLoc(), at.getI32IntegerAttr(1));
    Value after = arith::AddIOp::create(at, loop.getLoc(), before, one);
    parts.addResult(segment, after, count, countName);
    yield.getValuesMutable().append(
        parts.build(inner, loop.getLoc()).getResult(0));
    ++numSweeps;
    loop.getIterations().replaceAllUsesWith(larger.getResult(yielded));
    setName(larger.getResult(yielded), countName);
  } else {
    loop.getIterations().replaceAllUsesWith(larger.getIterations());
    if (StringRef name = nameOf(loop.getIterations()); !name.empty())
      setName(larger.getIterations(), name);
  }
  loop.erase();
  return larger;
}

LogicalResult Outliner::carryAll(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto loop = dyn_cast<LoopOp>(op)) {
      auto larger = carryAll(loop);
      if (failed(larger) || failed(carryAll(larger->getBody().front())))
        return failure();
    }
  return success();
}
