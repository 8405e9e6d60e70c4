//===- FusedRematerialize.cpp - recompute values instead of storing them --===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visits the sweeps of a block in order. A sweep recomputes the lists that it
// reads if this moves fewer bytes; RecomputeGraph finds out. The operations are
// copied, so values do not change.
//
//===----------------------------------------------------------------------===//

#include "dialect/Names.h"
#include "passes/Fusion.h"
#include "passes/Passes.h"
#include "passes/RecomputeGraph.h"
#include "passes/Scalars.h"
#include "passes/SweepBuilder.h"
#include "passes/SweepExtension.h"
#include "passes/Traffic.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDREMATERIALIZE
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::ListType;
using heddle::foreach::storageType;

namespace {
/// The sweeps of one block.
class Rematerialization {
public:
  Rematerialization(Block &block, ProgramOp program, const Domains &domains,
                    bool remarks, Pass::Statistic &recomputed,
                    Pass::Statistic &stored)
      : block(block), program(program), domains(domains), remarks(remarks),
        numRecomputed(recomputed), numStored(stored), facts(block, domains) {}
  /// Whether a sweep has changed.
  bool run();

private:
  using Node = RecomputeGraph::Node;
  void visit(SweepOp reader);
  std::unique_ptr<RecomputeGraph> cheapest(SweepOp reader);
  void storeNewResults(RecomputeGraph &graph);
  void recompute(RecomputeGraph &graph, SweepOp reader);
  void cleanUp();

  Shape shapeOf(Level level, SweepOp reader) const;
  void explain(RecomputeGraph &graph, SweepOp reader);
  void explainCopies(RecomputeGraph &graph, SweepOp reader);
  std::string reasonToLoad(RecomputeGraph &graph, ArrayRef<int> wanted,
                           int64_t saved, bool areComputed) const;

  Block &block;
  ProgramOp program;
  const Domains &domains;
  bool remarks;
  Pass::Statistic &numRecomputed, &numStored;
  RecomputeFacts facts;
  /// Operands of the visited sweep whose new values would be copied if no
  /// result moved.
  SmallVector<Value> copied;
  /// The way of the visited sweep in which results would have moved, if that is
  /// not the cheapest way.
  std::unique_ptr<RecomputeGraph> rejected;
  bool changed = false;
};

/// Computes values of a graph in the body of the reader.
class Recomputation {
public:
  Recomputation(RecomputeGraph &graph, SweepOp reader)
      : graph(graph), extension(reader),
        builder(OpBuilder::atBlockBegin(&reader.getSegmentBlock(0))) {}

  /// The value of a node, as if it was read from its list as the type `bound`.
  Value read(int number, Type bound);
  /// The value of a node that is computed, without rounding.
  Value compute(int number);

  RecomputeGraph &graph;
  SweepExtension extension;

private:
  OpBuilder builder;
  llvm::DenseMap<int, Value> computed;
};
} // namespace

//===----------------------------------------------------------------------===//
// The copy of the operations
//===----------------------------------------------------------------------===//

Value Recomputation::compute(int number) {
  const RecomputeGraph::Node &node = graph.nodes[number];
  if (node.isRounding)
    return read(node.operands.front(), node.value.getType());
  if (Value known = computed.lookup(number))
    return known;
  Operation *op = node.value.getDefiningOp();
  IRMapping mapping;
  for (auto [operand, from] : llvm::zip_equal(op->getOperands(), node.operands))
    mapping.map(operand, read(from, operand.getType()));
  Operation *clone = builder.clone(*op, mapping);
  if (auto axis = graph.axisOf(node))
    setAxis(clone, *axis);
  Value value = clone->getResult(0);
  computed[number] = value;
  return value;
}

Value Recomputation::read(int number, Type bound) {
  const RecomputeGraph::Node &node = graph.nodes[number];
  if (!node.isComputed)
    return extension.bind(node.stored, node.index, bound);
  Value value = compute(number);
  if (!node.stored)
    return value;
  return convertThrough(builder, value.getLoc(), value,
                        storageType(node.stored.getType()), bound);
}

/// Makes loaded values that no list holds results of their sweeps, and the old
/// values of scalars results of the sweeps that replace them.
void Rematerialization::storeNewResults(RecomputeGraph &graph) {
  llvm::MapVector<Operation *, SmallVector<int>> missing;
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    if (node.isLoaded && !node.stored)
      missing[node.sweep].push_back(number);
  auto isOld = [&](int number) {
    return graph.nodes[number].stored != nullptr;
  };
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    if (SweepOp keeper = node.isLoaded ? graph.keeperOf(node) : SweepOp())
      missing[keeper].push_back(number);
  for (auto &[op, numbers] : missing) {
    auto sweep = cast<SweepOp>(op);
    const Levels *levels = facts.levelsOf(sweep);
    SweepExtension extension(sweep);
    SmallVector<unsigned> positions;
    for (int number : numbers) {
      if (isOld(number)) {
        positions.push_back(extension.addOld(graph.nodes[number].stored));
        continue;
      }
      Value value = graph.nodes[number].value;
      Level level = levels->of(value).level;
      int64_t rank = level == Level::element ? sweep.getDomainRank(0)
                     : level > Level::member ? 1
                                             : 0;
      positions.push_back(extension.addResult(
          value, ListType::get(rank, value.getType()), nameOf(value)));
    }
    llvm::DenseMap<Value, Value> renamed;
    SweepOp extended = extension.build([&](Value value, Value by) {
      facts.replace(value, by);
      renamed[value] = by;
    });
    for (Node &node : graph.nodes) {
      if (Value by = renamed.lookup(node.stored))
        node.stored = by;
      if (node.sweep.getOperation() == op)
        node.sweep = extended;
    }
    for (auto [number, position] : llvm::zip_equal(numbers, positions))
      graph.nodes[number].stored = extended.getResult(position);
  }
}

void Rematerialization::recompute(RecomputeGraph &graph, SweepOp reader) {
  changed = true;
  storeNewResults(graph);
  // A computed value may have a lower level than the operand that it replaces.
  spellOutFrom(reader);
  facts.forget(reader);
  Recomputation copies(graph, reader);
  llvm::DenseMap<std::pair<Value, int32_t>, int> computed;
  for (int root : graph.roots)
    if (graph.nodes[root].isComputed)
      computed[{graph.nodes[root].stored, graph.nodes[root].index}] = root;
  Block &body = reader.getSegmentBlock(0);
  unsigned own = body.getNumArguments();
  for (unsigned k = 0; k < own; ++k) {
    BlockArgument argument = body.getArgument(k);
    auto found = computed.find(
        {reader.getSegmentInputs(0)[k], reader.getSegmentIndices(0)[k]});
    if (found != computed.end() && !argument.use_empty())
      argument.replaceAllUsesWith(
          copies.read(found->second, argument.getType()));
  }
  SmallVector<std::pair<Value, unsigned>> moved;
  for (int root : graph.movedRoots) {
    Value list = graph.nodes[root].stored;
    moved.emplace_back(list, copies.extension.addResult(copies.compute(root),
                                                        list.getType(),
                                                        nameOf(list)));
  }
  SweepOp extended = copies.extension.build(
      [&](Value value, Value by) { facts.replace(value, by); });
  for (auto [list, position] : moved) {
    Value by = extended.getResult(position);
    list.replaceUsesWithIf(by, [&](OpOperand &use) {
      return use.getOwner() != extended.getOperation();
    });
    facts.replace(list, by);
  }
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// The cheapest way for `reader` to get its values; null if it reads none that
/// could be recomputed. First, no result moves. Then results move to the reader
/// if it needs the arguments that they replace.
std::unique_ptr<RecomputeGraph> Rematerialization::cheapest(SweepOp reader) {
  auto best =
      std::make_unique<RecomputeGraph>(facts, reader, ArrayRef<OpResult>());
  rejected = nullptr;
  if (best->roots.empty() && best->copied.empty() && best->movable.empty())
    return nullptr;
  auto least = best->cut();
  copied = best->copied;
  llvm::SmallSetVector<OpResult, 4> moved;
  const RecomputeGraph *last = best.get();
  std::unique_ptr<RecomputeGraph> next;
  while (!last->movable.empty()) {
    moved.insert(last->movable.begin(), last->movable.end());
    next = std::make_unique<RecomputeGraph>(facts, reader, moved.getArrayRef());
    last = next.get();
    if (!next->movable.empty())
      continue;
    if (auto weight = next->cut(); weight && *weight < *least)
      best = std::move(next);
    else
      rejected = std::move(next);
    break;
  }
  return best;
}

void Rematerialization::visit(SweepOp reader) {
  if (!facts.levelsOf(reader))
    return;
  auto graph = cheapest(reader);
  if (!graph)
    return;
  unsigned recomputed = llvm::count_if(
      graph->roots, [&](int root) { return graph->nodes[root].isComputed; });
  numRecomputed += recomputed;
  numStored += graph->roots.size() - recomputed;
  if (remarks)
    explain(*graph, reader);
  if (recomputed + graph->movedRoots.size() > 0)
    recompute(*graph, reader);
}

bool Rematerialization::run() {
  for (auto sweep : llvm::make_early_inc_range(block.getOps<SweepOp>()))
    visit(sweep);
  if (changed)
    cleanUp();
  return changed;
}

/// Removes lists that no sweep reads, and sweeps that compute nothing.
void Rematerialization::cleanUp() {
  SmallVector<SweepOp> sweeps(block.getOps<SweepOp>());
  for (SweepOp sweep : llvm::reverse(sweeps)) {
    if (sweep->use_empty())
      sweep.erase();
    else
      dropUnused(sweep);
  }
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

/// The shape of a list with values of this level of the reader.
Shape Rematerialization::shapeOf(Level level, SweepOp reader) const {
  Shape shape = facts.domainOf(reader);
  if (level == Level::row)
    shape.extents.truncate(1);
  else if (level == Level::column)
    shape.extents.erase(shape.extents.begin());
  else if (level <= Level::member)
    shape.extents.clear();
  return shape;
}

/// Why the reader does not compute the nodes `wanted`, which would save `saved`
/// units of weight. `areComputed` says whether the cut of the graph computes
/// them, because it is not the one that was chosen.
std::string Rematerialization::reasonToLoad(RecomputeGraph &graph,
                                            ArrayRef<int> wanted, int64_t saved,
                                            bool areComputed) const {
  RecomputeGraph::Needs needs = graph.needsOf(wanted, areComputed);
  auto nameOfNode = [&](int number) {
    const Node &node = graph.nodes[number];
    return quoted(node.stored ? node.stored : node.value);
  };
  if (needs.missing >= 0) {
    const Node &node = graph.nodes[needs.missing];
    if (Value by = facts.replacementOf(node.stored); by && node.stored)
      return "that needs " + quoted(node.stored) + ", which " + quoted(by) +
             " has replaced";
    if (node.stored && !node.value)
      return "that needs " + quoted(node.stored) + ", which it cannot read" +
             (graph.changesOrder(node) ? " without another order of its sums"
                                       : "");
  } else if (needs.weight >= saved) {
    SmallVector<std::string> stored, read;
    for (int number : needs.loaded)
      (graph.nodes[number].stored ? read : stored)
          .push_back(nameOfNode(number));
    std::string bytes = "that moves no fewer bytes, because it ";
    if (!read.empty())
      bytes += "reads " + llvm::join(read, ", ");
    if (!stored.empty())
      bytes += (read.empty() ? "" : ", and ") +
               std::string("stores and reads ") + llvm::join(stored, ", ");
    return bytes;
  }
  return "its operations take longer";
}

/// Why a result stays in an earlier sweep although the reader needs the
/// argument that it replaces.
void Rematerialization::explainCopies(RecomputeGraph &graph, SweepOp reader) {
  std::string ofAll;
  if (rejected && !graph.copied.empty()) {
    int64_t saved = 0;
    for (int root : rejected->movedRoots)
      saved += 2 * rejected->bytesOfList(rejected->nodes[root]);
    ofAll = reasonToLoad(*rejected, rejected->movedRoots, saved,
                         /*areComputed=*/true);
  }
  for (Value operand : graph.copied) {
    OpResult by = graph.writerBefore(operand);
    StringRef own = graph.reasonToStay(by);
    StringRef reason = own.empty() ? StringRef(ofAll) : own;
    if (!reason.empty())
      mlir::emitRemark(reader.getLoc())
          << quoted(by) << " does not move to " << nameForRemarks(reader)
          << ", which reads " << quoted(operand) << ": " << reason;
  }
}

void Rematerialization::explain(RecomputeGraph &graph, SweepOp reader) {
  SmallVector<std::string> names;
  TrafficList fewer, more;
  auto add = [&](TrafficList &to, const Node &node, int reads, int writes) {
    Traffic traffic;
    traffic.shape = shapeOf(node.level, reader);
    traffic.findArguments(domains);
    traffic.perIteration = isa<LoopOp>(block.getParentOp());
    Type type =
        node.stored ? storageType(node.stored.getType()) : node.value.getType();
    int64_t bytes = (type.getIntOrFloatBitWidth() + 7) / 8;
    traffic.read = reads * bytes;
    traffic.written = writes * bytes;
    addTraffic(to, {traffic});
  };
  explainCopies(graph, reader);
  Location loc = reader.getLoc();
  for (int root : graph.roots) {
    const Node &node = graph.nodes[root];
    if (node.isComputed) {
      names.push_back(quoted(node.stored));
      add(fewer, node, 1, graph.isLastReader(node));
    } else if (node.isLoaded) {
      mlir::emitRemark(loc)
          << quoted(node.stored) << " is read by " << nameForRemarks(reader)
          << " and not computed again: "
          << reasonToLoad(graph, root,
                          graph.bytesOfList(node) *
                              (graph.isLastReader(node) ? 2 : 1),
                          /*areComputed=*/false);
    }
  }
  SmallVector<std::string> moved;
  for (int root : graph.movedRoots)
    moved.push_back(quoted(graph.nodes[root].stored));
  if (names.empty() && moved.empty())
    return;
  SmallVector<std::string> kept;
  for (Value operand : copied)
    if (!llvm::is_contained(graph.copied, operand)) {
      Node node;
      node.stored = operand;
      node.level = Level::element;
      add(fewer, node, 1, 1);
      kept.push_back(quoted(operand));
    }
  for (auto [number, node] : llvm::enumerate(graph.nodes))
    if (node.isLoaded && node.load > 0 &&
        !llvm::is_contained(graph.roots, number))
      add(more, node, 1, !node.stored);
  // Bytes of one domain are compared; others are named apart.
  for (Traffic &traffic : more)
    for (Traffic &saved : fewer)
      if (saved.shape == traffic.shape) {
        saved.read -= traffic.bytes();
        traffic.read = traffic.written = 0;
      }
  auto remark = mlir::emitRemark(loc);
  auto list = [](ArrayRef<std::string> all, StringRef one, StringRef several) {
    return llvm::join(all, ", ") + (all.size() == 1 ? one : several).str();
  };
  if (!names.empty())
    remark << list(names, " is", " are") << " computed again in "
           << nameForRemarks(reader);
  else
    remark << list(moved, " moves", " move") << " to " << nameForRemarks(reader)
           << ", which reads " << llvm::join(kept, ", ");
  remark << ": saves " << describe(fewer, program)
         << (weigh(fewer) == 0 ? " by itself" : "");
  if (weigh(more) > 0)
    remark << ", and moves " << describe(more, program) << " instead";
  if (!names.empty() && !moved.empty())
    remark << "; " << list(moved, " moves", " move") << " there";
}

namespace {
struct FusedRematerialize
    : heddle::impl::FusedRematerializeBase<FusedRematerialize> {
  using FusedRematerializeBase::FusedRematerializeBase;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    Domains domains(program);
    bool changed = false;
    forEachBlock(program, [&](Block &block) {
      changed |= Rematerialization(block, program, domains, remarks,
                                   numRecomputed, numStored)
                     .run();
    });
    if (changed)
      cleanBodies(program);
  }
};
} // namespace
