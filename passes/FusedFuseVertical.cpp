//===- FusedFuseVertical.cpp - sweeps over one domain become one ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visits pairs of sweeps in the order of the bytes that a merge saves, largest
// first. A merge is legal if the second sweep does not depend on the first
// through a third operation, and uses no value before it is complete. The
// verifier of the merged sweep checks the second condition.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "passes/Fusion.h"
#include "passes/Passes.h"
#include "passes/Scalars.h"
#include "passes/SweepBuilder.h"
#include "passes/Traffic.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDFUSEVERTICAL
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::storageType;

namespace {
/// How a domain lies in a larger one: over the same axes (also with rank 0), or
/// over the rows or columns.
enum class Fit { same, rows, columns };

struct Pair {
  SweepOp first, second;
  /// The ways in which the smaller domain may lie in the larger, the most
  /// preferred first.
  SmallVector<Fit> fits;
  bool firstIsLarger;
  int64_t saved;
  /// Of pairs that save equally many bytes, the pair with the least `order` is
  /// merged first.
  size_t order;
};
} // namespace

//===----------------------------------------------------------------------===//
// Domains
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

static int32_t indexIn(int32_t index, Fit fit) {
  return fit == Fit::columns && index == kI ? kJ : index;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Clones the body of `sweep` to the end of a segment. `fit` tells how the
/// domain of the sweep lies in the segment's.
static void cloneSegment(OpBuilder builder, SweepOp sweep, IRMapping &mapping,
                         Fit fit) {
  auto levels = fused::Levels::infer(sweep, 0);
  for (Operation &op : sweep.getSegmentBlock(0).without_terminator()) {
    Operation *clone = builder.clone(op, mapping);
    auto reduce = dyn_cast<fused::ReduceOp>(clone);
    if (!reduce)
      continue;
    // The replaced operand may have a lower level; the count must not change.
    Level from = levels->countedBy(cast<fused::ReduceOp>(op));
    if (fit != Fit::same && from == Level::element)
      from = fit == Fit::rows ? Level::row : Level::column;
    reduce.setFrom(from);
  }
}

namespace {
/// Builds the sweep that replaces `first` and `second`.
class Merger {
public:
  Merger(Pair pair, Fit fit)
      : first(pair.first), second(pair.second),
        firstFit(pair.firstIsLarger ? Fit::same : fit),
        secondFit(pair.firstIsLarger ? fit : Fit::same),
        parts(pair.first.getContext(), pair.first.getWhere()) {}

  /// Creates the merged sweep before `second`, without checks.
  SweepOp make();
  /// Replaces the two sweeps by the merged sweep.
  void commit();

private:
  void bindAll(SweepOp sweep, IRMapping &mapping, Fit fit);
  Value forwarded(OpBuilder builder, Value operand, Type bound);
  void dropUnneeded();

  SweepOp first, second, merged;
  Fit firstFit, secondFit;
  SweepBuilder parts;
  SmallVector<SweepBuilder::ResultRef> firstResults, secondResults;
};
} // namespace

/// The value of `operand`, a result of the first sweep, in the merged sweep:
/// the yielded value, rounded to the type of the result.
Value Merger::forwarded(OpBuilder builder, Value operand, Type bound) {
  auto ref = firstResults[cast<OpResult>(operand).getResultNumber()];
  return convertThrough(builder, operand.getLoc(), parts.yielded(ref),
                        storageType(operand.getType()), bound);
}

void Merger::bindAll(SweepOp sweep, IRMapping &mapping, Fit fit) {
  Block &body = sweep.getSegmentBlock(0);
  for (auto [argument, operand, index] :
       llvm::zip_equal(body.getArguments(), sweep.getSegmentInputs(0),
                       sweep.getSegmentIndices(0))) {
    Value value;
    if (sweep == second && operand.getDefiningOp() == first.getOperation())
      value = forwarded(parts.at(0), operand, argument.getType());
    else
      value = parts.bind(0, operand, indexIn(index, fit), argument.getType(),
                         nameOf(argument));
    mapping.map(argument, value);
  }
}

SweepOp Merger::make() {
  parts.addSegment();
  for (SweepOp sweep : {first, second}) {
    Fit fit = sweep == first ? firstFit : secondFit;
    auto &refs = sweep == first ? firstResults : secondResults;
    IRMapping mapping;
    // Twice: binding an operand again may change the type of its argument.
    bindAll(sweep, mapping, fit);
    bindAll(sweep, mapping, fit);
    cloneSegment(parts.at(0), sweep, mapping, fit);
    for (auto [value, result] : llvm::zip_equal(
             sweep.getSegmentYield(0).getValues(), sweep.getSegmentResults(0)))
      refs.push_back({0, parts.addResult(0, mapping.lookup(value),
                                         result.getType(), nameOf(result))});
    parts.appendEpilogue(sweep, refs, [&](Value operand, Type bound) -> Value {
      if (sweep != second || operand.getDefiningOp() != first.getOperation())
        return {};
      unsigned number = cast<OpResult>(operand).getResultNumber();
      auto ref = firstResults[number];
      if (ref.segment < 0)
        return forwarded(parts.atEpilogue(), operand, bound);
      return parts.listValue(0, ref.result, bound, nameOf(operand));
    });
  }
  dropUnneeded();
  OpBuilder builder(second);
  merged = parts.build(builder, second.getLoc());
  return merged;
}

void Merger::dropUnneeded() {
  for (auto [result, ref] : llvm::zip_equal(first.getResults(), firstResults))
    if (llvm::all_of(result.getUsers(), [&](Operation *user) {
          return user == second.getOperation();
        }))
      parts.drop(ref);
  for (auto [result, ref] : llvm::zip_equal(second.getResults(), secondResults))
    if (result.use_empty())
      parts.drop(ref);
}

void Merger::commit() {
  makeAdjacent(first, second);
  merged->moveBefore(second);
  for (auto [sweep, refs] :
       {std::pair(second, &secondResults), std::pair(first, &firstResults)}) {
    for (auto [result, ref] : llvm::zip_equal(sweep.getResults(), *refs))
      if (Value value = parts.result(ref))
        result.replaceAllUsesWith(value);
    sweep.erase();
  }
}

/// Whether segments of `second` read a result of the epilogue of `first`.
static bool readsEpilogue(SweepOp second, SweepOp first) {
  unsigned yielded = first.getNumResults() - first.getEpilogueResults().size();
  return llvm::any_of(second.getInputs(), [&](Value input) {
    return input.getDefiningOp() == first.getOperation() &&
           cast<OpResult>(input).getResultNumber() >= yielded;
  });
}

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

static StringRef whole(Level level) {
  switch (level) {
  case Level::list:
    return "the whole list";
  case Level::member:
    return "a member";
  case Level::column:
    return "a column";
  default:
    return "a row";
  }
}

/// Why a merged sweep is not legal: names the first value that the second sweep
/// needs and that is complete only after the first; otherwise `diagnostic`.
static std::string reasonAgainst(Pair pair, StringRef diagnostic) {
  SweepOp first = pair.first, second = pair.second;
  auto levels = Levels::infer(first, 0);
  for (Value operand : second.getSegmentInputs(0)) {
    if (operand.getDefiningOp() != first.getOperation())
      continue;
    unsigned number = cast<OpResult>(operand).getResultNumber();
    Level level = Level::list;
    bool after = true;
    if (number < first.getSegmentResults(0).size()) {
      LevelOf of = levels->of(first.getSegmentYield(0).getValues()[number]);
      level = of.level;
      after = of.after;
    }
    if (after)
      return llvm::formatv("it needs {0} of {1}, which is complete only after "
                           "the sweep that computes it",
                           quoted(operand), whole(level));
  }
  return diagnostic.str();
}

namespace {
struct FusedFuseVertical
    : heddle::impl::FusedFuseVerticalBase<FusedFuseVertical> {
  using FusedFuseVerticalBase::FusedFuseVerticalBase;

  void runOnOperation() override {
    forEachBlock(getOperation(), [&](Block &block) { mergeAll(block); });
    cleanBodies(getOperation());
    getOperation().walk([](SweepOp sweep) { dropUnused(sweep); });
  }

  void mergeAll(Block &block);
  void collect(Block &block, const Domains &domains,
               SmallVectorImpl<Pair> &pairs);
  bool tryMerge(Pair pair, const Domains &domains);
  int64_t savedBy(SweepOp first, SweepOp second, const Domains &domains,
                  TrafficList *list = nullptr);

  /// Pairs whose merge is not legal.
  llvm::DenseSet<std::pair<Operation *, Operation *>> refused;
};
} // namespace

/// The bytes that a merge saves. Operands of both sweeps are read once; results
/// of the first sweep that only the second reads are not written.
int64_t FusedFuseVertical::savedBy(SweepOp first, SweepOp second,
                                   const Domains &domains, TrafficList *list) {
  TrafficList saved;
  llvm::SmallPtrSet<Value, 16> seen;
  bool perIteration = first->getParentOfType<LoopOp>() != nullptr;
  auto byIteration = [](SweepOp sweep, Value value) {
    auto found = llvm::find(sweep.getInputs(), value);
    return isEntryIndex(sweep.getIndices()[found - sweep.getInputs().begin()]);
  };
  auto add = [&](Value value, int64_t reads, int64_t writes) {
    Traffic traffic;
    traffic.shape = domains.shapeOf(value);
    if (byIteration(second, value)) // only one entry of the vector moves
      traffic.shape.extents.clear();
    traffic.perIteration = perIteration;
    if (auto argument = domains.argumentOf(traffic.shape))
      traffic.argument = *argument;
    int64_t bytes =
        (storageType(value.getType()).getIntOrFloatBitWidth() + 7) / 8;
    traffic.read = reads * bytes;
    traffic.written = writes * bytes;
    addTraffic(saved, {traffic});
  };
  auto reads = [](SweepOp sweep, Value operand) {
    return llvm::any_of(
        llvm::zip_equal(sweep.getSegmentInputs(0),
                        sweep.getSegmentBlock(0).getArguments()),
        [&](auto bound) {
          return std::get<0>(bound) == operand &&
                 !std::get<1>(bound).use_empty();
        });
  };
  for (Value operand : second.getInputs()) {
    if (!isList(operand.getType()) || !seen.insert(operand).second ||
        !reads(second, operand))
      continue;
    if (operand.getDefiningOp() == first.getOperation()) {
      bool others = llvm::any_of(operand.getUsers(), [&](Operation *user) {
        return user != second.getOperation();
      });
      add(operand, 1, others ? 0 : 1);
    } else if (reads(first, operand)) {
      add(operand, 1, 0);
    }
  }
  if (list)
    *list = saved;
  return weigh(saved);
}

void FusedFuseVertical::collect(Block &block, const Domains &domains,
                                SmallVectorImpl<Pair> &pairs) {
  SmallVector<SweepOp> sweeps = sweepsOf(block);
  for (size_t b = 1; b < sweeps.size(); ++b)
    for (size_t a = 0; a < b; ++a) {
      SweepOp first = sweeps[a], second = sweeps[b];
      if (first.getNumSegments() != 1 || second.getNumSegments() != 1 ||
          first.getWhere() != second.getWhere() ||
          refused.contains({first, second}))
        continue;
      Shape x = domains.domainOf(first, 0), y = domains.domainOf(second, 0);
      bool firstIsLarger = x.extents.size() > y.extents.size();
      SmallVector<Fit> fits = firstIsLarger ? fitsIn(y, x) : fitsIn(x, y);
      if (fits.empty() || dependsIndirectly(second, first))
        continue;
      int64_t saved = savedBy(first, second, domains);
      pairs.push_back(
          {first, second, fits, firstIsLarger, saved, pairs.size()});
    }
  llvm::sort(pairs, [](const Pair &a, const Pair &b) {
    return std::tuple(b.saved, a.order) < std::tuple(a.saved, b.order);
  });
}

bool FusedFuseVertical::tryMerge(Pair pair, const Domains &domains) {
  ProgramOp program = getOperation();
  TrafficList saved;
  savedBy(pair.first, pair.second, domains, &saved);
  std::string why;
  for (Fit fit : pair.fits) {
    if (readsEpilogue(pair.second, pair.first))
      break;
    Merger merger(pair, fit);
    SweepOp merged = merger.make();
    bool legal;
    {
      ScopedDiagnosticHandler handler(program.getContext(),
                                      [&](Diagnostic &diagnostic) {
                                        if (why.empty())
                                          why = diagnostic.str();
                                        return success();
                                      });
      legal = succeeded(merged.verify()) && succeeded(merged.verifyRegions());
    }
    if (!legal) {
      merged.erase();
      continue;
    }
    ++numMerged;
    if (remarks) {
      auto remark = mlir::emitRemark(pair.second.getLoc())
                    << nameForRemarks(pair.first) << " merged into "
                    << nameForRemarks(pair.second);
      if (pair.saved > 0)
        remark << ": saves " << describe(saved, program);
      else
        remark << ": saves no bytes, but one sweep";
    }
    // A new operation may have the address of an erased one.
    for (auto tried : SmallVector<std::pair<Operation *, Operation *>>(
             refused.begin(), refused.end()))
      for (Operation *gone : {pair.first, pair.second})
        if (tried.first == gone || tried.second == gone)
          refused.erase(tried);
    merger.commit();
    return true;
  }
  refused.insert({pair.first, pair.second});
  ++numRefused;
  if (remarks)
    mlir::emitRemark(pair.second.getLoc())
        << nameForRemarks(pair.second) << " is not merged with "
        << nameForRemarks(pair.first) << ": " << reasonAgainst(pair, why);
  return false;
}

void FusedFuseVertical::mergeAll(Block &block) {
  for (bool changed = true; changed;) {
    changed = false;
    Domains domains(getOperation());
    SmallVector<Pair> pairs;
    collect(block, domains, pairs);
    for (const Pair &pair : pairs)
      if (tryMerge(pair, domains)) {
        changed = true;
        break;
      }
  }
}
