//===- VerticalPairs.cpp - pairs of groups, by the bytes they save --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A queue of candidate pairs. A candidate has a bound for the bytes that its
// merge saves; the exact number is computed when the pair is the best one.
//
//===----------------------------------------------------------------------===//

#include "passes/VerticalFusion.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::storageType;

std::pair<int, int> VerticalFusion::keyOf(int a, int b) {
  return std::minmax(a, b);
}

void VerticalFusion::addPair(int a, int b, int64_t weight) {
  a = graph.find(a), b = graph.find(b);
  SweepOp first = groups[a].sweep, second = groups[b].sweep;
  if (a == b || !first || !second || first.getWhere() != second.getWhere())
    return;
  Pair &pair = pairs[keyOf(a, b)];
  pair.bound += weight;
  groups[a].partners.insert(b);
  groups[b].partners.insert(a);
  if (!pair.illegal && (!pair.queued || weight > 0))
    push(a, b);
}

void VerticalFusion::push(int a, int b) {
  Pair &pair = pairs[keyOf(a, b)];
  pair.queued = true;
  // By value: the overload of two references would keep dead temporaries.
  auto [first, second] =
      std::minmax({graph.positionOf(a), graph.positionOf(b)});
  candidates.push({pair.bound, second, first, a, b});
}

/// The pairs of `gone` become pairs of `kept`.
void VerticalFusion::movePairs(int kept, int gone) {
  for (int other : groups[gone].partners) {
    auto found = pairs.find(keyOf(gone, other));
    Pair pair = found->second;
    pairs.erase(found);
    groups[other].partners.erase(gone);
    if (other == kept)
      continue;
    pairs[keyOf(kept, other)].illegal |= pair.illegal;
    addPair(kept, other, pair.bound);
  }
  groups[gone].partners.clear();
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

Traffic VerticalFusion::trafficOf(const Source &source, bool entry, int reads,
                                  int writes) const {
  Traffic traffic;
  traffic.shape = domains.shapeOf(source.value);
  if (entry) // only one entry of the vector moves
    traffic.shape.extents.clear();
  traffic.perIteration = perIteration;
  traffic.findArguments(domains);
  int64_t bits = storageType(source.value.getType()).getIntOrFloatBitWidth();
  int64_t bytes = (bits + 7) / 8;
  traffic.read = reads * bytes;
  traffic.written = writes * bytes;
  return traffic;
}

/// Visits the results of `first` that `second` reads.
void VerticalFusion::forEachForwarded(
    int first, int second,
    llvm::function_ref<void(const Source &, const Reading &)> visit) const {
  const auto &read = groups[second].readings;
  if (read.size() <= groups[first].numResults) {
    for (auto [source, reading] : read) {
      int producer = sources[source].producer;
      if (producer >= 0 && graph.find(producer) == first)
        visit(sources[source], readings[reading]);
    }
    return;
  }
  for (const auto &list : groups[first].results)
    for (int source : list) {
      if (auto found = read.find(source); found != read.end())
        visit(sources[source], readings[found->second]);
    }
}

/// The bytes that a merge saves. Lists that both groups read are read once;
/// results of the first group that only the second reads are not written.
TrafficList VerticalFusion::savedBy(int first, int second) const {
  TrafficList saved;
  forEachForwarded(first, second,
                   [&](const Source &source, const Reading &reading) {
                     if (isList(source.value.getType()) && reading.used)
                       addTraffic(saved, {trafficOf(source, reading.entry, 1,
                                                    source.readers == 1)});
                   });
  const auto &a = groups[first].readings, &b = groups[second].readings;
  const auto &fewer = a.size() < b.size() ? a : b;
  const auto &more = a.size() < b.size() ? b : a;
  for (auto [source, reading] : fewer) {
    Value value = sources[source].value;
    if (!value || !isList(value.getType()) || !readings[reading].used)
      continue;
    auto other = more.find(source);
    if (other == more.end() || !readings[other->second].used)
      continue;
    bool entry = readings[b.at(source)].entry;
    addTraffic(saved, {trafficOf(sources[source], entry, 1, 0)});
  }
  llvm::sort(saved, [](const Traffic &x, const Traffic &y) {
    return std::tie(x.argument, x.shape) < std::tie(y.argument, y.shape);
  });
  return saved;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// The ways in which `domain` may lie in `larger`, the most preferred first.
static SmallVector<Fit> fitsIn(const Shape &domain, const Shape &larger) {
  if (domain.members != larger.members)
    return {};
  if (domain == larger || domain.extents.empty())
    return {Fit::same};
  SmallVector<Fit> fits;
  if (domain.extents.size() == 1 && larger.extents.size() == 2) {
    if (domain.extents[0] == larger.extents[0])
      fits.push_back(Fit::rows);
    if (domain.extents[0] == larger.extents[1])
      fits.push_back(Fit::columns);
  }
  return fits;
}

/// The choice of this candidate. Nothing if another candidate may save more, or
/// if the two groups cannot be merged now; a later merge may change that.
std::optional<VerticalFusion::Choice>
VerticalFusion::choiceOf(Candidate candidate) {
  auto [bound, second, first, a, b] = candidate;
  if (graph.find(a) != a || graph.find(b) != b)
    return std::nullopt;
  Pair &pair = pairs[keyOf(a, b)];
  if (pair.illegal || pair.bound != bound)
    return std::nullopt;
  pair.queued = false;
  if (graph.precedes(b, a))
    std::swap(a, b);
  if (graph.positionOf(a) != first || graph.positionOf(b) != second) {
    push(a, b);
    return std::nullopt;
  }
  const Shape &x = groups[a].domain, &y = groups[b].domain;
  bool firstIsLarger = x.extents.size() > y.extents.size();
  auto fits = firstIsLarger ? fitsIn(y, x) : fitsIn(x, y);
  if (fits.empty() || graph.haveGroupBetween(a, b))
    return std::nullopt;
  TrafficList saved = savedBy(a, b);
  int64_t weight = weigh(saved);
  if (weight < bound) {
    pair.bound = weight;
    push(a, b);
    return std::nullopt;
  }
  return Choice{a, b, firstIsLarger, fits, saved};
}

/// The pair that saves the most bytes, or nothing if no pair is left.
std::optional<VerticalFusion::Choice> VerticalFusion::next() {
  while (true) {
    if (!pairsByDomain && (candidates.empty() || candidates.top().bound == 0))
      addPairsByDomain();
    if (candidates.empty())
      return std::nullopt;
    Candidate best = candidates.top();
    candidates.pop();
    if (auto choice = choiceOf(best))
      return choice;
  }
}
