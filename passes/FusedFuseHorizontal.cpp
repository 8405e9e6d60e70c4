//===- FusedFuseHorizontal.cpp - independent sweeps become segments -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Joins sweeps of equal depth in the dependence graph first, so that chains
// over different lists are joined sweep by sweep. Bodies are copied when all
// decisions are made.
//
//===----------------------------------------------------------------------===//

#include "dialect/Names.h"
#include "passes/Fusion.h"
#include "passes/FusionGraph.h"
#include "passes/Passes.h"
#include "passes/Scalars.h"
#include "passes/SweepBuilder.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDFUSEHORIZONTAL
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::storageType;

/// A sweep is tried with at most so many earlier sweeps.
static constexpr size_t kWindow = 16;

/// The rank class of a sweep: 2 for matrices visited by rows, 1 for matrices
/// visited as vectors, 0 for vectors and members.
static int rankClass(SweepOp sweep) {
  if (sweep.getDomainRank(0) != 2)
    return 0;
  return needsRows(sweep) ? 2 : 1;
}

/// Replaces independent sweeps by one, which has their segments in order.
/// Epilogues may read results of earlier sweeps.
static void joinSweeps(OpBuilder &builder, ArrayRef<Operation *> sweeps) {
  auto last = cast<SweepOp>(sweeps.back());
  SweepBuilder parts(last.getContext(), last.getWhere());
  llvm::MapVector<Value, SweepBuilder::ResultRef> refs;
  auto bound = [&](Value operand, Type type) -> Value {
    auto found = refs.find(operand);
    if (found == refs.end())
      return {};
    auto ref = found->second;
    if (ref.segment >= 0)
      return parts.listValue(ref.segment, ref.result, type, nameOf(operand));
    OpBuilder inner = parts.atEpilogue();
    return convertThrough(inner, operand.getLoc(), parts.yielded(ref),
                          storageType(operand.getType()), type);
  };
  for (Operation *op : sweeps) {
    auto own = parts.append(cast<SweepOp>(op), bound);
    for (auto [result, ref] : llvm::zip_equal(op->getResults(), own))
      refs.insert({result, ref});
  }
  llvm::SmallPtrSet<Operation *, 16> inside(sweeps.begin(), sweeps.end());
  for (auto [result, ref] : refs)
    if (llvm::all_of(result.getUsers(),
                     [&](Operation *user) { return inside.contains(user); }))
      parts.drop(ref);
  parts.build(builder, last.getLoc());
  for (auto [result, ref] : refs)
    if (Value value = parts.result(ref))
      result.replaceAllUsesWith(value);
  for (Operation *op : llvm::reverse(sweeps))
    op->erase();
}

namespace {
/// The sweeps of one block.
class HorizontalFusion {
public:
  HorizontalFusion(Block &block, bool remarks, Pass::Statistic &joined)
      : block(block), remarks(remarks), numJoined(joined), graph(block) {}
  void run();

private:
  using Groups = SmallVector<int>;
  void classify();
  void findDepths();
  void joinEqualDepths();
  void joinOtherDepths();
  bool hasReaders(int group) const;
  bool canJoin(int first, int second) const;
  int join(int first, int second);
  std::optional<int> joinToOne(Groups &others, int group, bool equalDepths);
  void build();

  Block &block;
  bool remarks;
  Pass::Statistic &numJoined;
  FusionGraph graph;
  /// For each operation, a number for its rank class and its `where`; -1 if it
  /// is no sweep.
  SmallVector<int> classes;
  /// The depth of each group in the dependence graph.
  SmallVector<int> depths;
  /// Whether sweeps were joined, and whether that may have changed the depths
  /// of others.
  bool changed = false, depthsChanged = false;
};
} // namespace

void HorizontalFusion::classify() {
  std::map<std::pair<int, void *>, int> numbers;
  for (int k = 0; k < graph.size(); ++k) {
    auto sweep = dyn_cast<SweepOp>(graph.operation(k));
    classes.push_back(-1);
    if (!sweep)
      continue;
    std::pair key(rankClass(sweep), sweep.getWhere().getAsOpaquePointer());
    classes.back() = numbers.try_emplace(key, numbers.size()).first->second;
  }
}

void HorizontalFusion::findDepths() {
  depths.assign(graph.size(), 0);
  for (int group : graph.inOrder())
    for (auto [reader, segments] : graph.readersOf(group)) {
      // A dependence of the epilogue alone does not add depth.
      bool sameDepth = !segments && classes[group] >= 0 && classes[reader] >= 0;
      depths[reader] = std::max(depths[reader], depths[group] + !sameDepth);
    }
}

bool HorizontalFusion::canJoin(int first, int second) const {
  return !graph.segmentsRead(second, first) &&
         !graph.haveGroupBetween(first, second);
}

/// Whether an operation other than the terminator reads results of `group`.
bool HorizontalFusion::hasReaders(int group) const {
  int end = graph.size() - 1;
  return llvm::any_of(graph.readersOf(group),
                      [&](auto edge) { return edge.first != end; });
}

int HorizontalFusion::join(int first, int second) {
  ++numJoined;
  changed = true;
  if (remarks)
    mlir::emitRemark(graph.lastOf(second)->getLoc())
        << nameForRemarks(cast<SweepOp>(graph.firstOf(first))) << " joined to "
        << nameForRemarks(cast<SweepOp>(graph.firstOf(second)))
        << " as a segment: independent, saves a sweep";
  int depth = std::max(depths[first], depths[second]);
  for (int group : {first, second})
    depthsChanged |= depths[group] < depth && hasReaders(group);
  int kept = graph.degreeOf(first) >= graph.degreeOf(second) ? first : second;
  graph.merge(first, second, kept);
  depths[kept] = depth;
  return kept;
}

/// Joins `group` to one of `others`, and returns the joined group.
std::optional<int> HorizontalFusion::joinToOne(Groups &others, int group,
                                               bool equalDepths) {
  size_t begin = others.size() - std::min(others.size(), kWindow);
  for (int &other : MutableArrayRef(others).drop_front(begin)) {
    int first = other, second = group;
    if (graph.precedes(second, first))
      std::swap(first, second);
    if ((depths[first] == depths[second]) != equalDepths ||
        !canJoin(first, second))
      continue;
    others.erase(&other);
    return join(first, second);
  }
  return std::nullopt;
}

void HorizontalFusion::joinEqualDepths() {
  std::map<std::pair<int, int>, Groups> byClass;
  for (int group : graph.inOrder()) {
    if (classes[group] < 0)
      continue;
    Groups &others = byClass[{classes[group], depths[group]}];
    while (auto joined = joinToOne(others, group, /*equalDepths=*/true))
      group = *joined;
    others.push_back(group);
  }
}

/// Joins sweeps of different depths, until that changes the depths of others.
void HorizontalFusion::joinOtherDepths() {
  std::map<int, Groups> byClass;
  for (int group : graph.inOrder()) {
    if (classes[group] < 0)
      continue;
    Groups &others = byClass[classes[group]];
    while (auto joined = joinToOne(others, group, /*equalDepths=*/false)) {
      group = *joined;
      if (depthsChanged)
        return;
    }
    others.push_back(group);
  }
}

void HorizontalFusion::build() {
  Operation *end = block.getTerminator();
  OpBuilder builder(end);
  for (int group : graph.inOrder()) {
    auto members = graph.membersOf(group);
    if (members.size() > 1)
      joinSweeps(builder, members);
    else if (members.front() != end)
      members.front()->moveBefore(end);
  }
}

void HorizontalFusion::run() {
  classify();
  do {
    findDepths();
    depthsChanged = false;
    joinEqualDepths();
    joinOtherDepths();
  } while (depthsChanged);
  if (changed)
    build();
}

namespace {
struct FusedFuseHorizontal
    : heddle::impl::FusedFuseHorizontalBase<FusedFuseHorizontal> {
  using FusedFuseHorizontalBase::FusedFuseHorizontalBase;

  void runOnOperation() override {
    forEachBlock(getOperation(), [&](Block &block) {
      HorizontalFusion(block, remarks, numJoined).run();
    });
    cleanBodies(getOperation());
    getOperation().walk([](SweepOp sweep) { dropUnused(sweep); });
  }
};
} // namespace
