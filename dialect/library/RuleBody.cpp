//===- RuleBody.cpp - the body of one map of a rule -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/library/RuleBody.h"

#include <cmath>

using namespace mlir;
using heddle::foreach::ListType;

namespace heddle::library {

static const char *wordOf(double number) {
  if (number == 0)
    return std::signbit(number) ? "minus_zero" : "zero";
  if (number == 1)
    return "one";
  if (number == 2)
    return "two";
  if (number == 0.5)
    return "half";
  return number == -1 ? "minus_one" : "number";
}

std::string wordOf(const Node *node) {
  if (!node->name.empty())
    return node->name;
  switch (node->kind) {
  case Node::Kind::constant:
    return wordOf(node->number);
  case Node::Kind::element:
    return wordOf(node->operands.front());
  case Node::Kind::power: {
    const Node *base = node->operands.front();
    bool ofStep = node->operands.size() == 2 && node->exponent == 0;
    return ofStep && base->isLeaf() ? base->name + "_t" : "power";
  }
  case Node::Kind::reduction:
    if (node->reduction->of == Reduction::Of::one)
      return "count";
    if (node->reduction->kind == foreach::ReduceKind::add)
      return "total";
    return foreach::stringifyReduceKind(node->reduction->kind).str();
  default: {
    const Node *left = node->operands.front(), *right = node->operands.back();
    bool isRest = StringRef(node->function->word) == "difference" &&
                  left->isConstant() && left->number == 1;
    if (isRest && (right->isLeaf() || right->kind == Node::Kind::power))
      return "one_minus_" + wordOf(right);
    return node->function->word;
  }
  }
}

/// Lists come first, then values of members, then scalars.
static int rankOf(Value value) {
  auto list = dyn_cast<ListType>(value.getType());
  return !list ? 2 : list.getRank() == 0;
}

void RuleBody::read(ArrayRef<std::pair<Node *, Value>> operands) {
  SmallVector<std::pair<Node *, Value>> sorted(operands);
  llvm::sort(sorted, [](auto &a, auto &b) {
    return std::pair(rankOf(a.second), a.first->order) <
           std::pair(rankOf(b.second), b.first->order);
  });
  for (auto [node, operand] : sorted) {
    Type stored = foreach::storageType(operand.getType());
    Type bound = isa<IntegerType>(stored) ? stored : type;
    if (node->kind == Node::Kind::step) {
      counter = read(operand, "step", f32);
      bound = type;
      if (type == f32) {
        values[node] = counter;
        continue;
      }
    }
    values[node] = read(operand, wordOf(node), bound);
  }
}

Scalar RuleBody::increment(Node *step, Value before) {
  Scalar old = read(before, "step", f32);
  return counter = name(old + constant(1.0, f32, "tick"), "step1");
}

Scalar RuleBody::constant(double number, Type type, StringRef word) {
  for (auto &[known, knownType, scalar] : constants)
    if (known == number && std::signbit(known) == std::signbit(number) &&
        knownType == type)
      return scalar;
  Scalar made = body.constant(number, type, names.unique(word));
  constants.emplace_back(number, type, made);
  return made;
}

Scalar RuleBody::value(Node *node) {
  if (node->isConstant())
    return constant(node->number, type, wordOf(node));
  if (Scalar known = values.lookup(node))
    return known;
  // The step counter of the body that increments it.
  assert(node->kind == Node::Kind::step && counter);
  return values[node] =
             type == f32 ? counter : name(widen(counter, type), "steps");
}

void RuleBody::compute(ArrayRef<Node *> nodes) {
  for (Node *node : nodes) {
    if (node->isConstant())
      continue;
    if (node->kind == Node::Kind::element) {
      values[node] = value(node->operands.front());
      continue;
    }
    if (node->kind == Node::Kind::power) {
      values[node] = name(integerPower(node), wordOf(node));
      continue;
    }
    SmallVector<Scalar, 3> operands;
    for (Node *operand : node->operands)
      operands.push_back(value(operand));
    const ScalarFunction &function = *node->function;
    Scalar made = function.unary ? function.unary(operands[0])
                  : function.binary
                      ? function.binary(operands[0], operands[1])
                      : function.ternary(operands[0], operands[1], operands[2]);
    values[node] = name(made, wordOf(node));
  }
}

Scalar RuleBody::integerPower(Node *node) {
  Type i32 = IntegerType::get(type.getContext(), 32);
  Scalar exponent = node->operands.size() == 2
                        ? stepsPlus(node->exponent)
                        : constant(node->exponent, i32, "exponent");
  return power(value(node->operands.front()), exponent);
}

/// The step counter plus a number, as an integer.
Scalar RuleBody::stepsPlus(int32_t number) {
  Scalar &made = whole[number];
  if (made)
    return made;
  if (number == 0)
    return made = name(toInteger(counter), "t");
  Type i32 = IntegerType::get(type.getContext(), 32);
  Scalar sum = stepsPlus(0) + constant(number, i32, "offset");
  return whole[number] = name(sum, "t_plus");
}

} // namespace heddle::library
