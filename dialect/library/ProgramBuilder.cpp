//===- ProgramBuilder.cpp - building a program ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments are added one after another; the type of the function is set at the
// end.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/ProgramBuilder.h"
#include "dialect/Names.h"

using namespace mlir;
using heddle::foreach::ListType;

namespace heddle::library {

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

ProgramBuilder::ProgramBuilder(MLIRContext *context, StringRef name)
    : module(ModuleOp::create(UnknownLoc::get(context))), builder(context) {
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, builder.getUnknownLoc(), name,
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Value ProgramBuilder::argument(StringRef name, Type type) {
  attributes.emplace_back();
  return function.getBody().front().addArgument(
      type, namedLoc(builder.getContext(), name));
}

Value ProgramBuilder::list(StringRef name, int64_t rank, Type elementType,
                           std::optional<double> initial) {
  Value list = argument(name, ListType::get(rank, elementType));
  if (initial && isa<FloatType>(elementType))
    attributes.back().set(foreach::kInitialAttr,
                          builder.getFloatAttr(elementType, *initial));
  else if (initial)
    attributes.back().set(
        foreach::kInitialAttr,
        builder.getIntegerAttr(elementType, static_cast<int64_t>(*initial)));
  return list;
}

Value ProgramBuilder::scalar(StringRef name, double value) {
  Value scalar = argument(name, foreach::scalarOf(f64()));
  attributes.back().set(foreach::kDefaultAttr, builder.getF64FloatAttr(value));
  return scalar;
}

Value ProgramBuilder::single(StringRef name, double value) {
  Value scalar = argument(name, foreach::scalarOf(f32()));
  attributes.back().set(foreach::kDefaultAttr, builder.getF32FloatAttr(value));
  return scalar;
}

void ProgramBuilder::keepPositive(Value scalar) {
  attributes[cast<BlockArgument>(scalar).getArgNumber()].set(
      foreach::kPositiveAttr, builder.getUnitAttr());
}

Value ProgramBuilder::count(StringRef name, int64_t value, unsigned width) {
  Type type = builder.getIntegerType(width);
  Value count = argument(name, foreach::scalarOf(type));
  attributes.back().set(foreach::kDefaultAttr,
                        builder.getIntegerAttr(type, value));
  return count;
}

Value ProgramBuilder::record(Value value, Value into, StringRef name) {
  return foreach ::RecordOp::create(
      builder, namedLoc(builder.getContext(), name), value, into);
}

void ProgramBuilder::result(Value value, Value replaced) {
  if (replaced)
    attributes[cast<BlockArgument>(replaced).getArgNumber()].set(
        foreach::kDonateAttr, builder.getI64IntegerAttr(results.size()));
  results.push_back(value);
}

OwningOpRef<ModuleOp> ProgramBuilder::finish() {
  func::ReturnOp::create(builder, builder.getUnknownLoc(), results);
  function.setType(builder.getFunctionType(
      function.getBody().getArgumentTypes(), TypeRange(ValueRange(results))));
  for (auto [k, attribute] : llvm::enumerate(attributes))
    function.setArgAttrs(k, attribute.getDictionary(builder.getContext()));
  return std::move(module);
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

Body::Body(ProgramBuilder &program)
    : outside(program.getBuilder()), inside(outside.getContext()) {
  inside.setInsertionPointToEnd(&region.emplaceBlock());
}

Scalar Body::read(Value operand, StringRef name, Type type) {
  return read(operand, static_cast<Index>(defaultIndex(operand.getType())),
              name, type);
}

Scalar Body::read(Value operand, Index index, StringRef name, Type type) {
  operands.push_back(operand);
  indices.push_back(index);
  Value bound = region.addArgument(type, namedLoc(inside.getContext(), name));
  return {inside, bound};
}

Scalar Body::constant(double number, Type type, StringRef name) {
  TypedAttr value;
  if (isa<FloatType>(type))
    value = inside.getFloatAttr(type, number);
  else
    value = inside.getIntegerAttr(type, static_cast<int64_t>(number));
  Value made = arith::ConstantOp::create(inside, inside.getUnknownLoc(), value);
  return Scalar(inside, made).as(name);
}

void Body::write(Scalar value, Type stored, StringRef name) {
  yielded.push_back(value.getValue());
  types.push_back(stored);
  names.push_back(name.str());
}

void Body::shift(Scalar value) {
  yielded.push_back(value.as("shift").getValue());
}

void Body::end() {
  foreach
    ::YieldOp::create(inside, inside.getUnknownLoc(), yielded);
}

SmallVector<Value> Body::map() {
  end();
  SmallVector<StringRef> parts(names.begin(), names.end());
  auto op = foreach::MapOp::create(
      outside, namedLoc(outside.getContext(), parts), types, operands, indices);
  op.getBody().takeBody(region);
  return llvm::to_vector_of<Value>(op.getResults());
}

Value Body::reduce(foreach::ReduceKind kind, foreach::Axis axis) {
  end();
  SmallVector<StringRef> parts(names.begin(), names.end());
  auto op =
      foreach::ReduceOp::create(outside, namedLoc(outside.getContext(), parts),
                                types, operands, indices, kind, axis);
  op.getBody().takeBody(region);
  return op.getResults().back();
}

Value Body::argmax(foreach::Axis axis, StringRef name) {
  auto value = cast<ListType>(types.front());
  types.push_back(ListType::get(value.getRank(), outside.getI64Type()));
  names.push_back(name.str());
  return reduce(foreach::ReduceKind::argmax, axis);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Loop::Loop(ProgramBuilder &program)
    : builder(program.getBuilder()), before(builder.saveInsertionPoint()) {
  builder.setInsertionPointToEnd(&region.emplaceBlock());
}

Value Loop::carry(Value init, StringRef name) {
  inits.push_back(init);
  return region.addArgument(init.getType(),
                            namedLoc(builder.getContext(), name));
}

void Loop::yield(Value value, StringRef name) {
  yielded.push_back(value);
  names.push_back(name.str());
}

SmallVector<Value> Loop::upto(Value limit, Value more, StringRef iterations) {
  foreach
    ::YieldOp::create(builder, builder.getUnknownLoc(), yielded, more);
  builder.restoreInsertionPoint(before);
  SmallVector<Type> types = llvm::to_vector(TypeRange(ValueRange(yielded)));
  Type i32 = builder.getI32Type();
  types.push_back(foreach::isList(more.getType()) ? Type(ListType::get(0, i32))
                                                  : foreach::scalarOf(i32));
  names.push_back(iterations.str());
  SmallVector<StringRef> parts(names.begin(), names.end());
  auto op = foreach::WhileOp::create(
      builder, namedLoc(builder.getContext(), parts), types, inits, limit);
  op.getBody().takeBody(region);
  return llvm::to_vector_of<Value>(op.getResults());
}

} // namespace heddle::library
