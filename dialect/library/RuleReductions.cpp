//===- RuleReductions.cpp - the reductions of the program of a rule -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds a reduction for each family, and the combination of the families.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/RuleParts.h"

using namespace mlir;
using heddle::foreach::ListType;
using heddle::foreach::scalarOf;

namespace heddle::library {

/// Builds a reduction for each family, and the combination of the families.
void RuleProgram::buildReduction(Node *node) {
  const Reduction &reduction = *node->reduction;
  bool overList = reduction.axis == foreach::Axis::list;
  Type f64 = program.f64();
  Type number = node->isFlag ? IntegerType::get(f64.getContext(), 1) : f64;
  Type type = overList ? Type(scalarOf(number)) : ListType::get(0, number);
  bool ofElements = places->levelOf(node->operands.front()) == Level::element;
  SmallVector<Value> parts;
  for (auto &lists : families) {
    RuleBody body(program, ofElements ? lists->family.compute : f64);
    Scalar value = reduced(body, node, *lists);
    body.getBody().write(value, type, named(wordOf(node), lists.get()));
    parts.push_back(body.getBody().reduce(reduction.kind, reduction.axis));
    if (!overList)
      values[{lists.get(), node}] = parts.back();
  }
  if (overList)
    values[{nullptr, node}] = combine(node, parts);
}

/// The value of one element that a reduction combines.
Scalar RuleProgram::reduced(RuleBody &body, Node *node, FamilyLists &lists) {
  Node *operand = node->operands.front();
  Reduction::Of of = node->reduction->of;
  Type f64 = program.f64();
  bool ofElements = places->levelOf(operand) == Level::element;
  if (of == Reduction::Of::one) {
    Value counted = ofElements ? lists.wholeParam() : valueOf(operand, &lists);
    Type type = foreach::storageType(counted.getType());
    body.read(counted, "counted", type.isInteger(1) ? type : f64);
    return body.constant(1.0, f64, "one");
  }
  Scalar value;
  if (!ofElements) {
    body.read({{operand, valueOf(operand, &lists)}});
    value = body.value(operand);
  } else {
    Needs needs({operand},
                lists.stages.inside(operand->stage, /*reduces=*/true));
    bool isSplit = operand == param && lists.low;
    if (llvm::is_contained(needs.read, operand) && !operand->isFlag &&
        !isSplit) {
      value = body.read(valueOf(operand, &lists), wordOf(operand), f64);
    } else {
      readElements(body, needs, lists);
      body.compute(needs.computed);
      value = body.value(operand);
      if (!operand->isFlag && value.getType() != f64)
        value = body.name(widen(value, f64), "wide");
    }
  }
  return of == Reduction::Of::square ? body.name(value * value, "square")
                                     : value;
}

Value RuleProgram::combine(Node *node, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts.front();
  using Combine = Scalar (*)(Scalar, Scalar);
  Combine function = nullptr;
  switch (node->reduction->kind) {
  case foreach::ReduceKind::max:
    function = maximum;
    break;
  case foreach::ReduceKind::min:
    function = minimum;
    break;
  case foreach::ReduceKind::any:
    function = operator|;
    break;
  case foreach::ReduceKind::all:
    function = operator&;
    break;
  default:
    function = operator+;
  }
  Type type = foreach::storageType(parts.front().getType());
  RuleBody body(program, type);
  SmallVector<Scalar> scalars;
  for (Value part : parts)
    scalars.push_back(body.read(part, nameOf(part), type));
  Scalar total = scalars.front();
  for (Scalar part : ArrayRef(scalars).drop_front())
    total = body.name(function(total, part), "combined");
  body.getBody().write(total, scalarOf(type), named(wordOf(node), nullptr));
  return body.getBody().map().front();
}

} // namespace heddle::library
