//===- ProgramBuilder.cpp - a program while it is written -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments are added as they are named; the function's type is known at the
// end.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/ProgramBuilder.h"
#include "dialect/Bindings.h"
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
  if (initial)
    attributes.back().set(foreach::kInitialAttr,
                          builder.getFloatAttr(elementType, *initial));
  return list;
}

Value ProgramBuilder::scalar(StringRef name, double value) {
  Value scalar = argument(name, foreach::scalarOf(f64()));
  attributes.back().set(foreach::kDefaultAttr, builder.getF64FloatAttr(value));
  return scalar;
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
  operands.push_back(operand);
  indices.push_back(defaultIndex(operand.getType()));
  Value bound = region.addArgument(type, namedLoc(inside.getContext(), name));
  return {inside, bound};
}

void Body::write(Scalar value, Type stored, StringRef name) {
  yielded.push_back(value.getValue());
  types.push_back(stored);
  names.push_back(name.str());
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
  auto op = foreach::ReduceOp::create(
      outside, namedLoc(outside.getContext(), names.front()), types, operands,
      indices, kind, axis);
  op.getBody().takeBody(region);
  return op.getResults().front();
}

SmallVector<Value> oneMinus(ProgramBuilder &program, ArrayRef<Value> values,
                            ArrayRef<StringRef> bound,
                            ArrayRef<StringRef> results, StringRef suffix) {
  Body body(program);
  SmallVector<Scalar> scalars;
  for (auto [value, name] : llvm::zip_equal(values, bound))
    scalars.push_back(body.read(value, name, program.f64()));
  Scalar one = scalars.front().constant(1.0, "one");
  for (auto [k, scalar] : llvm::enumerate(scalars))
    body.write((one - scalar).as(results[k]), values[k].getType(),
               (results[k] + suffix).str());
  return body.map();
}

} // namespace heddle::library
