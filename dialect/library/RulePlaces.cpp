//===- RulePlaces.cpp - where a program computes a rule's values ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/library/RulePlaces.h"

using namespace mlir;

namespace heddle::library {

static void sortByOrder(std::vector<Node *> &nodes) {
  llvm::sort(nodes, [](Node *a, Node *b) { return a->order < b->order; });
}

Needs::Needs(ArrayRef<Node *> roots, const Inside &isInside) {
  llvm::SetVector<Node *> seen(roots.begin(), roots.end());
  for (size_t k = 0; k < seen.size(); ++k) {
    Node *node = seen[k];
    if (!isInside(node)) {
      read.push_back(node);
      continue;
    }
    computed.push_back(node);
    seen.insert(node->operands.begin(), node->operands.end());
  }
  sortByOrder(computed);
  sortByOrder(read);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Places::Places(ArrayRef<Node *> outputs, bool groups)
    : outputs(outputs), groups(groups) {
  for (Node *output : outputs) {
    infer(output);
    lastStage = std::max(lastStage, output->stage);
  }
  Needs all(outputs, [](const Node *) { return true; });
  for (Node *node : all.computed)
    if (node->kind == Node::Kind::reduction)
      reductions.push_back(node);
  findShared();
}

/// With groups, a hyperparameter has one value for each member.
Level Places::infer(Node *node) {
  if (auto known = levels.find(node); known != levels.end())
    return known->second;
  Level level = Level::constant;
  bool hasHyper = false, hasList = false;
  for (Node *operand : node->operands) {
    Level one = infer(operand);
    hasHyper |= one == Level::hyper;
    hasList |= one == Level::list;
    level = std::max(level, one);
  }
  if (node->isLeaf() || node->kind == Node::Kind::reduction ||
      node->kind == Node::Kind::element)
    level = node->level;
  else if (groups && hasHyper && hasList)
    level = std::max(level, Level::member);
  return levels[node] = level;
}

bool Places::isScalar(const Node *node) const {
  return !node->isLeaf() && node->kind != Node::Kind::reduction &&
         levelOf(node) != Level::element;
}

bool Places::isInElementBody(const Node *node) const {
  return node->isConstant() ||
         (levelOf(node) == Level::element && node->kind != Node::Kind::list);
}

bool Places::isInScalarBody(const Node *node, Level level,
                            unsigned stage) const {
  return node->isConstant() ||
         (isScalar(node) && levelOf(node) == level && node->stage == stage);
}

void Places::findShared() {
  SmallVector<Node *> roots(outputs);
  for (Node *reduction : reductions)
    if (reduction->reduction->of != Reduction::Of::one)
      roots.push_back(reduction->operands.front());
  auto inElements = [&](const Node *node) { return isInElementBody(node); };
  for (Node *node : Needs(roots, inElements).read)
    share(node, false);
  for (Node *reduction : reductions)
    if (Node *operand = reduction->operands.front();
        levelOf(operand) != Level::element)
      share(operand, true);
  // Maps that come later first: they may need values of earlier ones.
  for (unsigned stage = lastStage + 1; stage-- > 0;)
    for (Level level : {Level::member, Level::list, Level::hyper}) {
      auto isInside = [&](const Node *node) {
        return isInScalarBody(node, level, stage);
      };
      for (Node *node : Needs(resultsOf(level, stage), isInside).read)
        share(node, true);
    }
}

void Places::share(Node *node, bool inDouble) {
  if (isScalar(node))
    shared[node] |= inDouble;
}

std::vector<Node *> Places::resultsOf(Level level, unsigned stage) const {
  std::vector<Node *> results;
  for (auto &[node, inDouble] : shared)
    if (levelOf(node) == level && node->stage == stage)
      results.push_back(const_cast<Node *>(node));
  sortByOrder(results);
  return results;
}

//===----------------------------------------------------------------------===//
// Stages of outputs
//===----------------------------------------------------------------------===//

ElementStages::ElementStages(const Places &places, ArrayRef<Node *> lists,
                             ArrayRef<bool> exact)
    : places(places), lists(lists) {
  ArrayRef<Node *> outputs = places.getOutputs();
  for (Node *node : places.getReductions())
    if (Node *operand = node->operands.front();
        places.levelOf(operand) == Level::element &&
        node->reduction->of != Reduction::Of::one)
      reduced.push_back(operand);
  Needs needs(reduced,
              [&](const Node *node) { return places.isInElementBody(node); });
  for (auto [k, output] : llvm::enumerate(outputs))
    if (exact[k] && output->stage < places.getLastStage() &&
        !output->isConstant() && llvm::is_contained(needs.computed, output))
      early.insert(k);
  for (std::set<unsigned> late = {0}; !late.empty();) {
    late.clear();
    for (unsigned k : early)
      if (isNeededLater(k))
        late.insert(k);
    for (unsigned k : late)
      early.erase(k);
  }
  for (auto [k, output] : llvm::enumerate(outputs))
    stages.push_back(isEarly(k) ? output->stage : places.getLastStage());
}

Inside ElementStages::inside(unsigned stage, bool reduces) const {
  llvm::SmallPtrSet<const Node *, 4> stored;
  for (unsigned k : early)
    if (Node *output = places.getOutputs()[k]; output->stage < stage + reduces)
      stored.insert(output);
  return [this, stored](const Node *node) {
    return places.isInElementBody(node) && !stored.contains(node);
  };
}

/// Whether a body after the one that stores the output reads the old state.
bool ElementStages::isNeededLater(unsigned output) const {
  ArrayRef<Node *> outputs = places.getOutputs();
  unsigned stored = outputs[output]->stage;
  auto reads = [&](ArrayRef<Node *> roots, unsigned stage, bool reduces) {
    return stage > stored &&
           llvm::is_contained(Needs(roots, inside(stage, reduces)).read,
                              lists[output]);
  };
  SmallVector<Node *> late;
  for (auto [k, other] : llvm::enumerate(outputs)) {
    if (!isEarly(k))
      late.push_back(other);
    else if (reads({other}, other->stage, false))
      return true;
  }
  return reads(late, places.getLastStage(), false) ||
         llvm::any_of(reduced, [&](Node *node) {
           return reads({node}, node->stage, true);
         });
}

} // namespace heddle::library
