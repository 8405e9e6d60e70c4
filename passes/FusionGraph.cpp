//===- FusionGraph.cpp - dependences between groups of operations ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A merge moves the edges of one of the two groups. If that is the group with
// fewer edges, n merges move n log n edges. A search between two groups is
// bounded.
//
//===----------------------------------------------------------------------===//

#include "passes/FusionGraph.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;

namespace heddle::fused {

/// The number of dependences that one search follows at most.
static constexpr unsigned kSearchLimit = 128;

/// The distance of two new positions. Many groups can move between two
/// neighbours before all positions must be assigned again.
static constexpr int64_t kDistance = int64_t(1) << 32;

/// Whether `use` is an operand of a sweep's epilogue.
static bool isInEpilogue(OpOperand &use) {
  auto sweep = dyn_cast<SweepOp>(use.getOwner());
  if (!sweep)
    return false;
  unsigned first = sweep.getInputs().size();
  return use.getOperandNumber() >= first &&
         use.getOperandNumber() < first + sweep.getEpilogueInputs().size();
}

FusionGraph::FusionGraph(Block &block) : block(block) {
  for (Operation &op : block) {
    numbers[&op] = nodes.size();
    nodes.emplace_back().op = &op;
  }
  parents.resize(nodes.size());
  for (int k = 0; k < size(); ++k) {
    Node &node = nodes[k];
    parents[k] = node.firstMember = node.lastMember = k;
    node.position = k * kDistance;
    node.previous = k - 1;
    node.next = k + 1 < size() ? k + 1 : -1;
    for (OpOperand &use : node.op->getUses()) {
      int reader = numberOf(use.getOwner());
      if (reader < 0)
        continue;
      bool segments = nodes[reader].op != use.getOwner() || !isInEpilogue(use);
      nodes[k].readers[reader] |= segments;
      nodes[reader].sources[k] |= segments;
    }
  }
  front = nodes.empty() ? -1 : 0;
}

int FusionGraph::numberOf(Operation *op) const {
  Operation *own = block.findAncestorOpInBlock(*op);
  return own ? numbers.lookup(own) : -1;
}

int FusionGraph::find(int number) const {
  while (parents[number] != number)
    number = parents[number] = parents[parents[number]];
  return number;
}

SmallVector<Operation *> FusionGraph::membersOf(int group) const {
  SmallVector<Operation *> members;
  for (int k = nodes[group].firstMember; k >= 0; k = nodes[k].nextMember)
    members.push_back(nodes[k].op);
  return members;
}

Operation *FusionGraph::firstOf(int group) const {
  return nodes[nodes[group].firstMember].op;
}

Operation *FusionGraph::lastOf(int group) const {
  return nodes[nodes[group].lastMember].op;
}

SmallVector<int> FusionGraph::inOrder() const {
  SmallVector<int> groups;
  for (int group = front; group >= 0; group = nodes[group].next)
    groups.push_back(group);
  return groups;
}

size_t FusionGraph::degreeOf(int group) const {
  return nodes[group].readers.size() + nodes[group].sources.size();
}

bool FusionGraph::segmentsRead(int to, int from) const {
  auto found = nodes[from].readers.find(to);
  return found != nodes[from].readers.end() && found->second;
}

//===----------------------------------------------------------------------===//
// Searches
//===----------------------------------------------------------------------===//

/// Follows dependences from one of two groups to the other. Adds the groups
/// between them that it finds to `between`.
FusionGraph::Found FusionGraph::search(int first, int second,
                                       Direction direction,
                                       SmallVectorImpl<int> &between) const {
  bool forwards = direction == Direction::fromFirst;
  int start = forwards ? first : second, end = forwards ? second : first;
  unsigned budget = kSearchLimit;
  llvm::SmallSet<int, 16> seen;
  auto follow = [&](int group) {
    const Node &node = nodes[group];
    for (auto [next, segments] : forwards ? node.readers : node.sources) {
      if (budget-- == 0)
        return Found::unknown;
      bool inside = forwards ? precedes(next, end) : precedes(end, next);
      if (next == end && group != start)
        return Found::path;
      if (inside && seen.insert(next).second)
        between.push_back(next);
    }
    return Found::none;
  };
  Found found = follow(start);
  for (size_t k = 0; found == Found::none && k < between.size(); ++k)
    found = follow(between[k]);
  return found;
}

bool FusionGraph::haveGroupBetween(int first, int second) const {
  SmallVector<int> between;
  Found found = search(first, second, Direction::fromFirst, between);
  if (found == Found::unknown) {
    between.clear();
    found = search(first, second, Direction::fromSecond, between);
  }
  return found != Found::none;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

void FusionGraph::merge(int first, int second, int kept) {
  assert(precedes(first, second) && "expected groups in their order");
  SmallVector<int> between;
  auto byPosition = [&](int a, int b) { return precedes(a, b); };
  int place = second;
  if (search(first, second, Direction::fromFirst, between) == Found::none) {
    llvm::sort(between, byPosition);
    for (int group : between)
      unlink(group);
    insertAfter(second, between);
  } else {
    // Too many groups depend on the first one, so the second one moves to it.
    between.clear();
    search(first, second, Direction::fromSecond, between);
    llvm::sort(between, byPosition);
    for (int group : between)
      unlink(group);
    insertAfter(nodes[first].previous, between);
    place = first;
  }
  unlink(place == first ? second : first);
  if (place != kept)
    replaceInOrder(kept, place);
  nodes[nodes[first].lastMember].nextMember = nodes[second].firstMember;
  nodes[kept].firstMember = nodes[first].firstMember;
  nodes[kept].lastMember = nodes[second].lastMember;
  contract(kept == first ? second : first, kept);
}

/// Moves the edges of `gone` to `kept`.
void FusionGraph::contract(int gone, int kept) {
  parents[gone] = kept;
  auto move = [&](Edges Node::*from, Edges Node::*back) {
    for (auto [other, segments] : nodes[gone].*from) {
      Edges &ends = nodes[other].*back;
      ends.erase(gone);
      if (other == kept)
        continue;
      (nodes[kept].*from)[other] |= segments;
      ends[kept] |= segments;
    }
    (nodes[gone].*from).clear();
  };
  move(&Node::readers, &Node::sources);
  move(&Node::sources, &Node::readers);
}

void FusionGraph::unlink(int group) {
  Node &node = nodes[group];
  (node.previous < 0 ? front : nodes[node.previous].next) = node.next;
  if (node.next >= 0)
    nodes[node.next].previous = node.previous;
}

/// Puts `group`, which is not linked, in the place of `of`.
void FusionGraph::replaceInOrder(int group, int of) {
  Node &node = nodes[group];
  node.position = nodes[of].position;
  node.previous = nodes[of].previous;
  node.next = nodes[of].next;
  (node.previous < 0 ? front : nodes[node.previous].next) = group;
  if (node.next >= 0)
    nodes[node.next].previous = group;
}

/// Puts `groups` after `place`, or at the front if `place` is -1.
void FusionGraph::insertAfter(int place, ArrayRef<int> groups) {
  if (groups.empty())
    return;
  int end = place < 0 ? front : nodes[place].next;
  int64_t count = groups.size() + 1;
  int64_t low, high;
  if (place < 0 && end < 0)
    low = 0, high = count * kDistance;
  else if (place < 0)
    high = nodes[end].position, low = high - count * kDistance;
  else if (end < 0)
    low = nodes[place].position, high = low + count * kDistance;
  else
    low = nodes[place].position, high = nodes[end].position;
  int64_t distance = (high - low) / count;
  int before = place;
  for (int group : groups) {
    low += distance;
    nodes[group].position = low;
    nodes[group].previous = before;
    (before < 0 ? front : nodes[before].next) = group;
    before = group;
  }
  nodes[before].next = end;
  if (end >= 0)
    nodes[end].previous = before;
  if (distance == 0)
    renumber();
}

void FusionGraph::renumber() {
  int64_t position = 0;
  for (int group = front; group >= 0; group = nodes[group].next) {
    nodes[group].position = position += kDistance;
  }
}

} // namespace heddle::fused
