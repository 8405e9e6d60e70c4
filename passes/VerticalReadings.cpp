//===- VerticalReadings.cpp - the values that groups of sweeps read -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two sweeps are a candidate pair if one reads a result of the other, or if
// they are near neighbours among the sweeps that read one list, or among those
// over one domain. Pairs of near neighbours suffice: when two sweeps merge,
// others become neighbours.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "passes/Fusion.h"
#include "passes/VerticalFusion.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::rankOf;

/// The distance up to which readers of one list, or sweeps over one domain, are
/// neighbours.
static constexpr int kWindow = 16;

//===----------------------------------------------------------------------===//
// The operations of the block
//===----------------------------------------------------------------------===//

int VerticalFusion::sourceOf(Value value) {
  auto [found, isNew] = sourceNumbers.try_emplace(value, sources.size());
  if (isNew) {
    Source &source = sources.emplace_back();
    source.value = value;
    if (isList(value.getType()))
      source.weight = weigh({trafficOf(source, /*entry=*/false, 1, 0)});
  }
  return found->second;
}

/// The reading of `source` by the operation `number`.
VerticalFusion::Reading &VerticalFusion::readingOf(int number, int source) {
  auto [found, isNew] =
      groups[number].readings.try_emplace(source, readings.size());
  if (!isNew)
    return readings[found->second];
  Source &from = sources[source];
  ++from.readers;
  Reading &reading = readings.emplace_back();
  reading.source = source;
  reading.reader = number;
  if (!groups[number].sweep)
    return reading;
  reading.previous = from.lastReading;
  (from.lastReading < 0 ? from.firstReading : readings[from.lastReading].next) =
      found->second;
  from.lastReading = found->second;
  return reading;
}

void VerticalFusion::addReadings(int number, SweepOp sweep) {
  for (auto [argument, operand, index] :
       llvm::zip_equal(sweep.getSegmentBlock(0).getArguments(),
                       sweep.getSegmentInputs(0), sweep.getSegmentIndices(0))) {
    Reading &reading = readingOf(number, sourceOf(operand));
    if (reading.arguments.empty())
      reading.entry = isEntryIndex(index);
    reading.arguments.push_back(argument);
    reading.used |= !argument.use_empty();
  }
  for (Value input : sweep.getEpilogueInputs())
    readingOf(number, sourceOf(input));
  // A merge needs two domains that have their members in common.
  Shape domain = domains.domainOf(sweep, 0), members;
  members.members = domain.members;
  for (const Shape &shape : {members, domain}) {
    auto [found, isNew] = domainSources.try_emplace(shape, sources.size());
    if (isNew)
      sources.emplace_back();
    readingOf(number, found->second);
  }
  groups[number].domain = domain;
}

/// The element of Group::results to which `result` belongs: a larger one has
/// better names for the group.
static unsigned listFor(Value result) {
  if (nameOf(result).empty())
    return 0;
  if (result.use_empty())
    return 1;
  return isList(result.getType()) ? 3 + rankOf(result.getType()) : 2;
}

void VerticalFusion::addGroup(int number) {
  Operation *op = graph.operation(number);
  Group &group = groups[number];
  auto sweep = dyn_cast<SweepOp>(op);
  if (sweep && sweep.getNumSegments() == 1 && inferLevels(sweep))
    group.sweep = sweep;
  if (group.sweep)
    addReadings(number, sweep);
  // Other operations, and those inside of them, only read values of the block.
  else
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == &block && operand.getDefiningOp())
          readingOf(number, sourceOf(operand));
    });
  for (Value result : op->getResults()) {
    int source = sourceOf(result);
    sources[source].producer = number;
    if (!group.sweep)
      continue;
    unsigned list = listFor(result);
    group.results[list].push_back(source);
    sources[source].place = {list, std::prev(group.results[list].end())};
    ++group.numResults;
  }
  if (group.sweep)
    findUniform(group);
}

/// Adds the pairs of each reader of `source` with its neighbours.
void VerticalFusion::addNeighbours(const Source &source) {
  for (int k = source.firstReading; k >= 0; k = readings[k].next) {
    int near = readings[k].previous;
    for (int d = 0; d < kWindow && near >= 0; ++d) {
      addPair(readings[near].reader, readings[k].reader, source.weight);
      near = readings[near].previous;
    }
  }
}

/// Whether neighbours among the readers of `source` are pairs.
bool VerticalFusion::isShared(const Source &source) const {
  return source.value ? isList(source.value.getType()) : pairsByDomain;
}

/// Adds the pairs of groups of which one reads a result of the other, or which
/// read one list.
void VerticalFusion::addPairs() {
  for (const Source &source : sources) {
    if (isShared(source))
      addNeighbours(source);
    // A list that no other sweep reads need not be written.
    if (source.producer >= 0)
      for (int k = source.firstReading; k >= 0; k = readings[k].next)
        addPair(source.producer, readings[k].reader, 2 * source.weight);
  }
}

/// Adds the pairs of groups over the same members or one domain. Their merge
/// saves a sweep, even if it saves no bytes.
void VerticalFusion::addPairsByDomain() {
  pairsByDomain = true;
  for (auto [shape, source] : domainSources)
    addNeighbours(sources[source]);
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Removes `reading` from the order of readers; others become neighbours.
void VerticalFusion::removeFromOrder(Reading &reading) {
  Source &source = sources[reading.source];
  int previous = reading.previous, next = reading.next;
  (previous < 0 ? source.firstReading : readings[previous].next) = next;
  (next < 0 ? source.lastReading : readings[next].previous) = previous;
  if (!isShared(source))
    return;
  // Adds the pairs around `reading` whose distance was kWindow + 1.
  int left = previous, right = next;
  int distance = 1;
  for (; distance < kWindow && right >= 0 && readings[right].next >= 0;
       ++distance)
    right = readings[right].next;
  for (; distance < kWindow && left >= 0; ++distance)
    left = readings[left].previous;
  for (; left >= 0 && right >= 0 && right != previous;
       left = readings[left].previous, right = readings[right].previous) {
    addPair(readings[left].reader, readings[right].reader, source.weight);
  }
}

/// Removes one reader of `source`. A list without readers is no result of its
/// group any more, so it is not written.
void VerticalFusion::removeReader(Source &source) {
  --source.readers;
  if (source.producer < 0 || source.readers > 1)
    return;
  int producer = graph.find(source.producer);
  if (source.readers == 1 && source.firstReading >= 0)
    addPair(producer, readings[source.firstReading].reader, source.weight);
  if (source.readers > 0 || !source.place)
    return;
  auto [list, position] = *source.place;
  Group &group = groups[producer];
  // The group may now be merged with groups over matrices.
  if (isUniform(source.value, group))
    for (int other : group.partners)
      addPair(producer, other, 0);
  if (isList(source.value.getType())) {
    group.results[list].erase(position);
    source.place.reset();
    --group.numResults;
  } else if (list > 1) {
    // The epilogue of the group may use it.
    group.results[1].splice(group.results[1].end(), group.results[list],
                            position);
    source.place->first = 1;
  }
}

/// Removes `reading`, because its group now computes the source. `body` is the
/// first sweep of the second group (see firstReplacingSweep).
void VerticalFusion::removeInternalReading(Reading &reading, Operation *body) {
  removeFromOrder(reading);
  Source &source = sources[reading.source];
  llvm::append_range(source.inside, reading.arguments);
  for (BlockArgument argument : reading.arguments)
    firstReplacingSweep[argument] = body;
  removeReader(source);
}

/// Moves the readings of `gone` to `kept`. `body` is the first sweep of the
/// second group.
void VerticalFusion::moveReadings(int kept, int gone, bool keepsFirst,
                                  Operation *body) {
  auto &into = groups[kept].readings;
  for (auto [number, id] : groups[gone].readings) {
    Source &source = sources[number];
    if (source.producer >= 0 && graph.find(source.producer) == kept) {
      removeInternalReading(readings[id], body);
      continue;
    }
    auto [found, isNew] = into.try_emplace(number, id);
    if (isNew)
      continue;
    // Both read it. The reading of the second group remains.
    int first = keepsFirst ? found->second : id;
    int second = keepsFirst ? id : found->second;
    found->second = second;
    mergeReadings(readings[first], readings[second]);
  }
  groups[gone].readings.clear();
}

/// Moves the results of `gone` to `kept`, in the order of the bodies. The
/// second group may have read results of the first; these readings become
/// internal.
void VerticalFusion::moveResults(int kept, int gone, bool keepsFirst,
                                 Operation *body) {
  Group &from = groups[gone], &to = groups[kept];
  SmallVector<int> ofFirst;
  if (!keepsFirst)
    for (const auto &list : from.results)
      llvm::append_range(ofFirst, list);
  for (auto [moved, list] : llvm::zip_equal(from.results, to.results))
    list.splice(keepsFirst ? list.end() : list.begin(), moved);
  to.numResults += std::exchange(from.numResults, 0);
  for (int source : ofFirst) {
    auto found = to.readings.find(source);
    if (found == to.readings.end())
      continue;
    int id = found->second;
    to.readings.erase(found);
    removeInternalReading(readings[id], body);
  }
}

/// Adds `earlier` to `later`, a reading of the same source.
void VerticalFusion::mergeReadings(Reading &earlier, Reading &later) {
  if (earlier.arguments.size() > later.arguments.size())
    std::swap(earlier.arguments, later.arguments);
  llvm::append_range(later.arguments, earlier.arguments);
  later.used |= earlier.used;
  later.entry = earlier.entry;
  removeFromOrder(earlier);
  removeReader(sources[earlier.source]);
}

size_t VerticalFusion::sizeOf(int number) const {
  const Group &group = groups[number];
  return group.readings.size() + group.numResults + group.partners.size() +
         graph.degreeOf(number);
}

/// Gives the merged group the domain of `larger`.
void VerticalFusion::joinDomains(int larger, int smaller, int kept) {
  Group &from = groups[larger], &other = groups[smaller];
  if (from.domain.extents.size() == other.domain.extents.size()) {
    if (from.uniform.size() < other.uniform.size())
      std::swap(from.uniform, other.uniform);
    llvm::append_range(from.uniform, other.uniform);
  }
  if (kept == larger)
    return;
  other.domain = from.domain;
  other.uniform = std::move(from.uniform);
}

/// Makes one group of two. The group with more entries keeps its number.
void VerticalFusion::join(int first, int second, bool firstIsLarger) {
  bool keepsFirst = sizeOf(first) >= sizeOf(second);
  int kept = keepsFirst ? first : second, gone = keepsFirst ? second : first;
  Operation *body = graph.firstOf(second);
  graph.merge(first, second, kept);
  joinDomains(firstIsLarger ? first : second, firstIsLarger ? second : first,
              kept);
  moveResults(kept, gone, keepsFirst, body);
  moveReadings(kept, gone, keepsFirst, body);
  movePairs(kept, gone);
}

std::string VerticalFusion::nameFor(int group) const {
  for (const auto &list : llvm::reverse(groups[group].results)) {
    if (list.empty() || &list == &groups[group].results.front())
      continue;
    return quoted(sources[list.front()].value);
  }
  return "a sweep";
}
