//===- RuleTrace.cpp - the graph of a rule's formula ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/library/RuleTrace.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace heddle::library {

/// Bitwise, because 0.0 and -0.0 are equal numbers.
static bool isSame(double a, double b) {
  return std::memcmp(&a, &b, sizeof(double)) == 0;
}

static bool isSame(const Node &a, const Node &b) {
  bool hasName = a.isLeaf() && !a.isConstant();
  return a.kind == b.kind && a.function == b.function &&
         a.exponent == b.exponent && a.reduction == b.reduction &&
         a.operands == b.operands && isSame(a.number, b.number) &&
         (!hasName || a.name == b.name);
}

Node *Trace::add(Node node) {
  for (Node &known : nodes)
    if (isSame(known, node))
      return &known;
  for (Node *operand : node.operands)
    node.stage = std::max(node.stage, operand->stage);
  if (node.kind == Node::Kind::reduction)
    ++node.stage;
  if (node.isLeaf())
    node.order = ++last;
  nodes.push_back(std::move(node));
  return &nodes.back();
}

Node *Trace::constant(double number) {
  Node node{Node::Kind::constant, Level::constant, {}};
  node.number = number;
  return add(std::move(node));
}

Node *Trace::leaf(Node::Kind kind, StringRef name, Level level) {
  Node node{kind, level, {}};
  node.name = name.str();
  if (kind == Node::Kind::step)
    node.whole = 0;
  return add(std::move(node));
}

static Level highest(ArrayRef<Node *> nodes) {
  Level level = Level::constant;
  for (Node *node : nodes)
    level = std::max(level, node->level);
  return level;
}

Node *Trace::apply(const ScalarFunction &function, ArrayRef<Node *> operands) {
  Node node{Node::Kind::function, highest(operands),
            llvm::SmallVector<Node *, 3>(operands)};
  assert(node.level != Level::constant && "an operation of plain numbers");
  node.function = &function;
  node.isFlag = function.givesFlag;
  return add(std::move(node));
}

Node *Trace::power(Node *base, int32_t exponent) {
  Node node{Node::Kind::power, base->level, {base}};
  node.exponent = exponent;
  return add(std::move(node));
}

Node *Trace::powerOfSteps(Node *base, int32_t plus) {
  Node *step = leaf(Node::Kind::step, "step", Level::member);
  Node node{Node::Kind::power, highest({base, step}), {base, step}};
  node.exponent = plus;
  return add(std::move(node));
}

Node *Trace::element(Node *node) {
  if (node->level == Level::element)
    return node;
  return add({Node::Kind::element, Level::element, {node}});
}

Node *Trace::reduce(Node *operand, Reduction reduction) {
  bool overList = reduction.axis == foreach::Axis::list;
  assert(operand->level >= (overList ? Level::member : Level::element) &&
         "a reduction of a value that does not vary over the axis");
  Node node{
      Node::Kind::reduction, overList ? Level::list : Level::member, {operand}};
  node.isFlag = operand->isFlag;
  node.reduction = reduction;
  return add(std::move(node));
}

void Trace::order(Node *node) {
  if (node->order)
    return;
  for (Node *operand : node->operands)
    order(operand);
  node->order = ++last;
}

} // namespace heddle::library
