//===- RuleStages.cpp - the maps of the program of a rule -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Builds, for each stage, the maps over scalars, elements and tensors.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/RuleParts.h"

using namespace mlir;
using heddle::foreach::ListType;
using heddle::foreach::scalarOf;

namespace heddle::library {

void RuleProgram::buildStage(unsigned stage) {
  if (!options.groups)
    buildScalars(Level::hyper, stage, nullptr);
  else
    for (auto &lists : families)
      buildScalars(Level::hyper, stage, lists.get());
  buildScalars(Level::list, stage, nullptr);
  for (auto &lists : families) {
    buildScalars(Level::member, stage, lists.get());
    buildElements(stage, *lists);
    if (stage == places->getLastStage())
      buildMembers(*lists);
  }
  for (Node *node : places->getReductions())
    if (node->operands.front()->stage == stage)
      buildReduction(node);
}

Value RuleProgram::valueOf(Node *node, FamilyLists *lists) {
  auto found = values.find({lists, node});
  return found != values.end() ? found->second : values.at({nullptr, node});
}

void RuleProgram::read(RuleBody &body, const Needs &needs, FamilyLists *lists) {
  SmallVector<std::pair<Node *, Value>> operands;
  for (Node *node : needs.read)
    operands.emplace_back(node, valueOf(node, lists));
  if (lists && lists->low && llvm::is_contained(needs.read, param))
    operands.emplace_back(paramLow, lists->low);
  body.read(operands);
  joinHalves(body, needs, lists);
}

/// Reads the operands of a body over elements. One of them is a list, because
/// the operands determine the domain.
void RuleProgram::readElements(RuleBody &body, const Needs &needs,
                               FamilyLists &lists) {
  read(body, needs, &lists);
  if (llvm::none_of(needs.read,
                    [](Node *node) { return node->level == Level::element; }))
    body.read(lists.wholeParam(), "param", lists.family.compute);
}

/// The type of a value that a map over scalars stores.
Type RuleProgram::storedType(Node *node, FamilyLists *lists) const {
  Type type = program.f64();
  if (node->isFlag)
    type = IntegerType::get(type.getContext(), 1);
  else if (places->levelOf(node) == Level::member &&
           !places->isReadInDouble(node))
    type = lists->family.compute;
  return lists ? Type(ListType::get(0, type)) : Type(scalarOf(type));
}

/// Builds the map over hyperparameters, over values of the list, or over those
/// of tensors.
void RuleProgram::buildScalars(Level level, unsigned stage,
                               FamilyLists *lists) {
  std::vector<Node *> results = places->resultsOf(level, stage);
  bool increments = level == Level::member && stage == 0 && lists->counts;
  if (results.empty() && !increments)
    return;
  Needs needs(results, [&](const Node *node) {
    return places->isInScalarBody(node, level, stage);
  });
  RuleBody body(program, program.f64());
  if (increments) {
    llvm::erase(needs.read, step);
    Scalar counter = body.increment(step, lists->step);
    body.getBody().write(counter, lists->step.getType(), named("step1", lists));
  }
  read(body, needs, lists);
  body.compute(needs.computed);
  for (Node *node : results)
    body.getBody().write(body.value(node), storedType(node, lists),
                         named(wordOf(node), lists));
  SmallVector<Value> made = body.getBody().map();
  if (increments) {
    values[{lists, step}] = lists->step1 = made.front();
    made.erase(made.begin());
  }
  for (auto [node, value] : llvm::zip(results, made))
    values[{lists, node}] = value;
}

/// Builds the map over elements that stores the outputs of a stage.
void RuleProgram::buildElements(unsigned stage, FamilyLists &lists) {
  SmallVector<unsigned> positions;
  Roots roots;
  for (auto [k, list] : llvm::enumerate(stored)) {
    if (list->output == list->leaf) {
      lists.outputs[k] = lists.replaced[k];
    } else if (list->leaf->level == Level::element &&
               lists.stages.stageOf(k) == stage) {
      positions.push_back(k);
      roots.push_back(list->output);
    }
  }
  if (positions.empty())
    return;
  Needs needs(roots, lists.stages.inside(stage, /*reduces=*/false));
  RuleBody body(program, lists.family.compute);
  readElements(body, needs, lists);
  body.compute(needs.computed);
  for (unsigned k : positions)
    write(body, k, lists);
  SmallVector<Value> made = body.getBody().map();
  ArrayRef<Value> left = made;
  auto next = [&] {
    Value value = left.front();
    left = left.drop_front();
    return value;
  };
  for (unsigned k : positions) {
    lists.outputs[k] = next();
    if (lists.stages.isEarly(k))
      values[{&lists, stored[k]->output}] = lists.outputs[k];
    if (stored[k]->leaf == param && (lists.low || lists.master))
      lists.beside1 = next();
  }
}

/// Builds the maps over tensors that store state with one value for each.
void RuleProgram::buildMembers(FamilyLists &lists) {
  for (auto [k, list] : llvm::enumerate(stored)) {
    if (list->leaf->level != Level::member || lists.outputs[k])
      continue;
    RuleBody body(program, program.f64());
    // The old value determines the domain if the new one has none.
    SmallVector<std::pair<Node *, Value>> operands;
    operands.emplace_back(list->leaf, lists.replaced[k]);
    if (!list->output->isConstant())
      operands.emplace_back(list->output, valueOf(list->output, &lists));
    if (operands.size() == 2 && isa<ListType>(operands[1].second.getType()))
      operands.erase(operands.begin());
    body.read(operands);
    body.getBody().write(body.value(list->output), lists.replaced[k].getType(),
                         named(list->name + "1", &lists));
    lists.outputs[k] = body.getBody().map().front();
  }
}

} // namespace heddle::library
