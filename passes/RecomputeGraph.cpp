//===- RecomputeGraph.cpp - values that a sweep could recompute -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph grows from the lists that the reader binds, along the cheapest
// operations first. A node whose operands are not in the graph can only be
// loaded.
//
//===----------------------------------------------------------------------===//

#include "passes/RecomputeGraph.h"
#include "dialect/ScalarOps.h"
#include "passes/Fusion.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::ListType;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

namespace heddle::fused {

/// The largest number of nodes of a graph, and more for each list that the
/// reader could compute.
static constexpr size_t kMostNodes = 256, kMoreNodes = 16;

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

RecomputeFacts::RecomputeFacts(Block &block, const Domains &domains)
    : block(block) {
  for (auto sweep : block.getOps<SweepOp>())
    if (sweep.getNumSegments() == 1)
      this->domains[&sweep.getSegmentBlock(0)] = domains.domainOf(sweep, 0);
  if (auto program = dyn_cast<ProgramOp>(block.getParentOp())) {
    for (auto [k, argument] :
         llvm::enumerate(foreach::replacedArguments(program)))
      if (argument >= 0)
        replacing[block.getArgument(argument)] = k;
  } else if (auto loop = dyn_cast<LoopOp>(block.getParentOp())) {
    for (auto [k, carried] : llvm::enumerate(loop.getCarried()))
      replacing[carried] = k;
  }
  for (auto loop : block.getOps<LoopOp>())
    for (Value init : loop.getInits())
      loopInits.insert(init);
}

const Levels *RecomputeFacts::levelsOf(SweepOp sweep) {
  if (sweep.getNumSegments() != 1)
    return nullptr;
  auto [found, isNew] = levels.try_emplace(&sweep.getSegmentBlock(0));
  if (isNew)
    if (auto inferred = Levels::infer(sweep, 0); succeeded(inferred))
      found->second = std::make_unique<Levels>(std::move(*inferred));
  return found->second.get();
}

bool RecomputeFacts::visitsRows(SweepOp sweep) {
  auto [found, isNew] = rows.try_emplace(&sweep.getSegmentBlock(0));
  if (isNew)
    found->second = needsRows(sweep);
  return found->second;
}

Value RecomputeFacts::replacementOf(Value argument) const {
  auto found = replacing.find(argument);
  if (found == replacing.end())
    return {};
  Value value = block.getTerminator()->getOperand(found->second);
  return value == argument ? Value() : value;
}

void RecomputeFacts::replace(Value value, Value by) {
  if (loopInits.erase(value))
    loopInits.insert(by);
}

void RecomputeFacts::forget(SweepOp sweep) {
  levels.erase(&sweep.getSegmentBlock(0));
  rows.erase(&sweep.getSegmentBlock(0));
}

std::optional<int32_t> IndexMap::of(int32_t index) const {
  auto known = [](int32_t target) {
    return target ? std::optional(target) : std::nullopt;
  };
  switch (index) {
  case kScalar:
    return kScalar;
  case kI:
    return known(rows);
  case kJ:
    return known(columns);
  case kIJ:
    return isIdentity() ? std::optional<int32_t>(kIJ) : std::nullopt;
  default: // an entry, which may have changed
    return std::nullopt;
  }
}

std::optional<foreach::Axis> IndexMap::of(foreach::Axis axis, int64_t from,
                                          bool isSame) const {
  if (isSame && (rows == kI || columns == kJ))
    return axis;
  // All elements of a vector are its rows.
  if (axis == foreach::Axis::member && from == 2)
    return std::nullopt;
  switch (axis == foreach::Axis::j ? columns : rows) {
  case kI:
    return foreach::Axis::i;
  case kJ:
    return foreach::Axis::j;
  default:
    return std::nullopt;
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

RecomputeGraph::RecomputeGraph(RecomputeFacts &facts, SweepOp reader,
                               ArrayRef<OpResult> moved)
    : facts(facts), reader(reader), moved(moved.begin(), moved.end()),
      rank(reader.getDomainRank(0)), readerVisitsRows(facts.visitsRows(reader)),
      readerReduces(
          !reader.getSegmentBlock(0).getOps<fused::ReduceOp>().empty()) {
  for (auto [operand, index, argument] :
       llvm::zip_equal(reader.getSegmentInputs(0), reader.getSegmentIndices(0),
                       reader.getSegmentBlock(0).getArguments()))
    if (!argument.use_empty())
      bound.insert({operand, index});
  addRoots();
  addCopied();
  for (OpResult result : moved)
    movedRoots.push_back(nodeOfOperand(result, rank == 2 ? kIJ : kI));
  expand();
}

/// Adds the lists of elements, rows and columns that the reader binds and that
/// the body of an earlier sweep computes by scalar operations.
void RecomputeGraph::addRoots() {
  for (auto [operand, index, argument] :
       llvm::zip_equal(reader.getSegmentInputs(0), reader.getSegmentIndices(0),
                       reader.getSegmentBlock(0).getArguments())) {
    if (argument.use_empty() || !operand.getDefiningOp<SweepOp>() ||
        !isList(operand.getType()) || rankOf(operand.getType()) == 0)
      continue;
    int number = nodeOfOperand(operand, index);
    Node &node = nodes[number];
    Operation *computing = node.value ? node.value.getDefiningOp() : nullptr;
    if (!node.value || (computing && !isScalarOp(computing)))
      node.load = 0; // read in any case
    else if (!llvm::is_contained(roots, number))
      roots.push_back(number);
  }
}

bool RecomputeGraph::Node::canLoad() const { return load < kNever; }

int RecomputeGraph::addNode(Node node) {
  node.compute = kNever;
  nodes.push_back(std::move(node));
  distances.push_back(kNever);
  nodes.back().load = costOfLoad(nodes.back());
  return nodes.size() - 1;
}

/// Whether the list `result` holds `value`, a value of this level, without
/// rounding.
static bool holds(Value result, Value value, Level level) {
  if (!isList(result.getType()) ||
      storageType(result.getType()) != value.getType())
    return false;
  int64_t rank = rankOf(result.getType());
  return level == Level::member    ? rank == 0
         : level == Level::element ? true
                                   : rank == 1;
}

/// How the domain of `sweep` lies in that of the reader, which binds a result
/// of this level at `index`.
std::optional<IndexMap> RecomputeGraph::mapOf(SweepOp sweep, Level level,
                                              int32_t index) {
  if (level == Level::element && index == kIJ)
    return IndexMap();
  // A value of rows or columns may be stored as a list of elements.
  if (index != kI && index != kJ)
    return std::nullopt;
  if (sweep.getDomainRank(0) == 1)
    return IndexMap{index, 0};
  switch (level) {
  case Level::row:
    return IndexMap{index, 0};
  case Level::column:
    return IndexMap{0, index};
  default:
    return std::nullopt;
  }
}

/// The node of the operand `operand`, bound to the reader at `index`.
int RecomputeGraph::nodeOfOperand(Value operand, int32_t index) {
  auto [found, isNew] = operandNodes.try_emplace(
      {operand.getAsOpaquePointer(), index}, nodes.size());
  if (!isNew)
    return found->second;
  Node node;
  node.stored = operand;
  node.index = index;
  node.level = levelOfArgument(operand.getType(), index, rank);
  auto sweep = operand.getDefiningOp<SweepOp>();
  if (!sweep || sweep->getBlock() != reader->getBlock() ||
      (sweep.getWhere() && sweep.getWhere() != reader.getWhere()))
    return addNode(std::move(node));
  unsigned position = cast<OpResult>(operand).getResultNumber();
  const Levels *levels = facts.levelsOf(sweep);
  if (!levels || position >= sweep.getSegmentResults(0).size() ||
      sweep.getRecord(position))
    return addNode(std::move(node));
  Value value = sweep.getSegmentYield(0).getValues()[position];
  LevelOf of = levels->of(value);
  auto map = mapOf(sweep, of.level, index);
  // A value of a lower level, stored once for each element, stays in the list.
  if (of.after || !map || levelIn(of.level, sweep, *map) != node.level)
    return addNode(std::move(node));
  node.value = value;
  node.sweep = sweep;
  node.map = *map;
  // Without rounding, the list holds the value itself.
  if (value.getDefiningOp() && holds(operand, value, of.level)) {
    int number = nodeOfValue(value, sweep, *map);
    operandNodes[{operand.getAsOpaquePointer(), index}] = number;
    if (nodes[number].stored != operand) {
      nodes[number].stored = operand;
      nodes[number].load = costOfLoad(nodes[number]);
    }
    return number;
  }
  node.isRounding = true;
  return addNode(std::move(node));
}

/// The index, in the domain of the reader, of a value of this level in the body
/// of `sweep`.
std::optional<int32_t> RecomputeGraph::indexIn(Level level, SweepOp sweep,
                                               IndexMap map) {
  switch (level) {
  case Level::element:
    return map.of(sweep.getDomainRank(0) == 2 ? kIJ : kI);
  case Level::row:
    return map.of(kI);
  case Level::column:
    return map.of(kJ);
  default:
    return kScalar;
  }
}

/// The level that such a value has in the reader.
Level RecomputeGraph::levelIn(Level level, SweepOp sweep, IndexMap map) {
  auto index = indexIn(level, sweep, map);
  if (level <= Level::member || !index)
    return level;
  if (*index == kI)
    return rank == 2 ? Level::row : Level::element;
  return *index == kJ ? Level::column : Level::element;
}

/// The node of the result of an operation in the body of `sweep`.
int RecomputeGraph::nodeOfValue(Value value, SweepOp sweep, IndexMap map) {
  auto [found, isNew] =
      valueNodes.try_emplace({value.getAsOpaquePointer(), map}, nodes.size());
  if (!isNew)
    return found->second;
  Node node;
  node.value = value;
  node.sweep = sweep;
  node.map = map;
  Level level = facts.levelsOf(sweep)->of(value).level;
  node.index = indexIn(level, sweep, map).value_or(-1);
  node.level = levelIn(level, sweep, map);
  if (level == Level::list)
    return addNode(std::move(node));
  for (OpOperand &use : value.getUses())
    if (isa<YieldOp>(use.getOwner())) {
      Value result = sweep.getResult(use.getOperandNumber());
      if (!result.use_empty() && holds(result, value, level))
        node.stored = result;
      break;
    }
  return addNode(std::move(node));
}

int RecomputeGraph::nodeOfArgument(BlockArgument argument, SweepOp sweep,
                                   IndexMap map) {
  unsigned number = argument.getArgNumber();
  Value operand = sweep.getSegmentInputs(0)[number];
  auto index = map.of(sweep.getSegmentIndices(0)[number]);
  return nodeOfOperand(operand, index.value_or(-1));
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

void RecomputeGraph::expandNode(int number) {
  int64_t compute = costOfCompute(nodes[number]);
  if (compute >= kNever)
    return;
  SweepOp sweep = nodes[number].sweep;
  IndexMap map = nodes[number].map;
  auto nodeOf = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? nodeOfArgument(argument, sweep, map)
                    : nodeOfValue(value, sweep, map);
  };
  SmallVector<int, 4> operands;
  if (nodes[number].isRounding)
    operands.push_back(nodeOf(nodes[number].value));
  else
    for (Value operand : nodes[number].value.getDefiningOp()->getOperands())
      operands.push_back(nodeOf(operand));
  nodes[number].compute = compute;
  nodes[number].operands = operands;
  int64_t distance = distances[number] + compute;
  for (int operand : operands) {
    if (distance >= distances[operand])
      continue;
    candidates.erase({distances[operand], operand});
    distances[operand] = distance;
    if (nodes[operand].value && nodes[operand].compute >= kNever)
      candidates.insert({distance, operand});
  }
}

void RecomputeGraph::expand() {
  // More operations than the bytes of all roots are worth are never computed.
  // A result that moves saves its load if the reader binds it, and the copy of
  // its new value.
  int64_t most = 0;
  for (int root : roots)
    most += nodes[root].canLoad() ? nodes[root].load : bytesOfList(nodes[root]);
  for (int root : movedRoots)
    most += 2 * bytesOfList(nodes[root]);
  for (const auto &list : {roots, movedRoots})
    for (int root : list) {
      distances[root] = 0;
      if (nodes[root].value)
        candidates.insert({0, root});
    }
  size_t limit = kMostNodes + kMoreNodes * roots.size();
  while (!candidates.empty() && nodes.size() < limit) {
    auto [distance, number] = *candidates.begin();
    candidates.erase(candidates.begin());
    if (distance > most)
      break;
    expandNode(number);
  }
}

/// Each node of the graph is an edge of the cut, between these two nodes.
static int inOf(int node) { return 2 + 2 * node; }
static int outOf(int node) { return 3 + 2 * node; }

std::optional<int64_t> RecomputeGraph::cut() {
  MinimumCut cut(2 * nodes.size());
  for (auto [number, node] : llvm::enumerate(nodes)) {
    if (node.compute > 0)
      cut.addEdge(MinimumCut::kSource, inOf(number), node.compute);
    if (node.load > 0)
      cut.addEdge(inOf(number), outOf(number), node.load);
    for (int operand : node.operands)
      cut.addEdge(outOf(operand), inOf(number), kNever);
  }
  for (const auto &list : {roots, movedRoots})
    for (int root : list)
      cut.addEdge(outOf(root), MinimumCut::kSink, kNever);
  int64_t weight = cut.run();
  for (auto [number, node] : llvm::enumerate(nodes)) {
    node.isComputed = cut.isOnSinkSide(inOf(number));
    node.isLoaded = !node.isComputed && cut.isOnSinkSide(outOf(number));
  }
  if (weight >= kNever)
    return std::nullopt;
  for (Value operand : copied)
    weight += costOfCopy(operand);
  return weight;
}

RecomputeGraph::Needs RecomputeGraph::needsOf(llvm::ArrayRef<int> wanted,
                                              bool areComputed) const {
  llvm::SmallSetVector<int, 16> reached(wanted.begin(), wanted.end());
  for (unsigned k = 0; k < reached.size(); ++k)
    reached.insert_range(nodes[reached[k]].operands);
  MinimumCut cut(2 * reached.size());
  llvm::DenseMap<int, int> numbers;
  for (auto [number, reachedNode] : llvm::enumerate(reached))
    numbers[reachedNode] = number;
  for (auto [number, reachedNode] : llvm::enumerate(reached)) {
    const Node &node = nodes[reachedNode];
    bool isWanted = number < wanted.size();
    bool isFree = node.load == 0 || (node.isLoaded && !areComputed);
    int64_t load = isWanted ? kNever : isFree ? 0 : node.load;
    if (node.compute >= kNever)
      cut.addEdge(MinimumCut::kSource, inOf(number), kNever);
    if (load > 0)
      cut.addEdge(inOf(number), outOf(number), load);
    for (int operand : node.operands)
      cut.addEdge(outOf(numbers[operand]), inOf(number), kNever);
    if (isWanted)
      cut.addEdge(outOf(number), MinimumCut::kSink, kNever);
  }
  Needs needs;
  if (cut.run() >= kNever) {
    needs.missing = missingFor(wanted);
    return needs;
  }
  for (auto [number, reachedNode] : llvm::enumerate(reached)) {
    const Node &node = nodes[reachedNode];
    bool isFree = node.load == 0 || (node.isLoaded && !areComputed);
    if (isFree || cut.isOnSinkSide(inOf(number)) ||
        !cut.isOnSinkSide(outOf(number)))
      continue;
    needs.loaded.push_back(reachedNode);
    needs.weight += node.load;
  }
  return needs;
}

/// The first node without which the reader cannot compute the nodes `wanted`,
/// and that it can neither load nor compute; -1 if there is none.
int RecomputeGraph::missingFor(llvm::ArrayRef<int> wanted) const {
  llvm::SmallSetVector<int, 16> blocked(wanted.begin(), wanted.end());
  for (unsigned k = 0; k < blocked.size(); ++k) {
    const Node &node = nodes[blocked[k]];
    if (node.compute >= kNever)
      return blocked[k];
    for (int operand : node.operands)
      if (!nodes[operand].canLoad())
        blocked.insert(operand);
  }
  return -1;
}

} // namespace heddle::fused
