//===- VerticalLevels.cpp - whether a merged body is legal ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `levels` has the level of each value in the body of its group. A merge
// changes the levels of arguments that a result of the first group replaces,
// and of the values that are computed from these arguments. A trial visits only
// these, so n merges visit each value a few times.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/Fusion.h"
#include "passes/VerticalFusion.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::rankOf;

/// The level, in a sweep over matrices, of a value that has `level` in a sweep
/// over their rows or columns.
static Level embedded(Level level, Fit fit) {
  if (level != Level::element || fit == Fit::same)
    return level;
  return fit == Fit::rows ? Level::row : Level::column;
}

/// The value that a sweep yields as its result `result`; null if the epilogue
/// does.
static Value yieldedAs(Value result) {
  auto sweep = result.getDefiningOp<SweepOp>();
  unsigned number = cast<OpResult>(result).getResultNumber();
  auto yielded = sweep.getSegmentYield(0).getValues();
  return number < yielded.size() ? yielded[number] : Value();
}

/// The number of traversals of a row before `op` is computed. `phaseOf` gives
/// this number for its operands.
static unsigned phaseBefore(Operation &op,
                            llvm::function_ref<unsigned(Value)> phaseOf) {
  unsigned phase = 0;
  for (OpOperand &operand : op.getOpOperands())
    if (!isHint(operand))
      phase = std::max(phase, phaseOf(operand.get()));
  auto reduce = dyn_cast<fused::ReduceOp>(op);
  return reduce && reduce.getLevel() == Level::row ? phase + 1 : phase;
}

bool VerticalFusion::inferLevels(SweepOp sweep) {
  auto inferred = Levels::infer(sweep, 0);
  if (failed(inferred))
    return false;
  Block &body = sweep.getSegmentBlock(0);
  for (Value argument : body.getArguments())
    levels[argument] = {inferred->of(argument)};
  for (Operation &op : body.without_terminator()) {
    unsigned phase = phaseBefore(
        op, [&](Value value) { return levels.lookup(value).phase; });
    for (Value result : op.getResults())
      levels[result] = {inferred->of(result), phase};
    // A value that replaces the operand may have a lower level. The reduction
    // must still combine as many values.
    if (auto reduce = dyn_cast<fused::ReduceOp>(op))
      reduce.setFrom(inferred->countedBy(reduce));
  }
  return true;
}

/// The largest number of traversals of a row. A reduction of a row needs one
/// more traversal if its elements depend on another one, and each traversal
/// computes these elements again.
static constexpr unsigned kMostPhases = 16;

/// Whether a result with the rank of a vector, of a domain of rank `rank`, has
/// one value for a whole member.
static bool isUniform(Value result, LevelOf level, int64_t rank) {
  return rank == 1 && isList(result.getType()) &&
         rankOf(result.getType()) == 1 && level.level <= Level::member;
}

bool VerticalFusion::isUniform(Value result, const Group &group) const {
  Value yielded = yieldedAs(result);
  return yielded && ::isUniform(result, levels.lookup(yielded).level,
                                group.domain.extents.size());
}

void VerticalFusion::findUniform(Group &group) {
  for (Value result : group.sweep.getSegmentResults(0))
    if (isUniform(result, group))
      group.uniform.push_back(sourceNumbers.lookup(result));
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

/// The levels that would change if two groups became one.
class VerticalFusion::Trial {
public:
  Trial(VerticalFusion &fusion, const Choice &choice, Fit fit, std::string &why)
      : fusion(fusion), choice(choice), fit(fit), why(why),
        larger(choice.firstIsLarger ? choice.first : choice.second),
        smaller(choice.firstIsLarger ? choice.second : choice.first),
        rank(fusion.groups[larger].domain.extents.size()) {}

  Verdict run();
  void commit();

private:
  LevelAndPhase levelOf(Value value);
  std::optional<Level> countedLevel(Operation *op);
  bool isSmaller(Operation *sweep);
  void change(Value value, LevelAndPhase place);
  bool isReadOutside(const Source &source) const;
  bool spansDomain() const;
  LogicalResult replaceArguments(const Source &source, const Reading &reading);
  Verdict propagate(OpOperand &use);
  Verdict propagateResult(Value result, LevelAndPhase place);

  VerticalFusion &fusion;
  const Choice &choice;
  Fit fit;
  std::string &why;
  int larger, smaller;
  int64_t rank;
  llvm::DenseMap<Value, LevelAndPhase> changed;
  SmallVector<Value> worklist;
  SmallVector<int> uniform;
};

/// Whether `sweep` is in the group of the smaller domain.
bool VerticalFusion::Trial::isSmaller(Operation *sweep) {
  return fusion.graph.find(fusion.graph.numberOf(sweep)) == smaller;
}

VerticalFusion::LevelAndPhase VerticalFusion::Trial::levelOf(Value value) {
  auto found = changed.find(value);
  if (found != changed.end())
    return found->second;
  LevelAndPhase place = fusion.levels.lookup(value);
  if (fit != Fit::same && place.level.level == Level::element &&
      isSmaller(value.getParentBlock()->getParentOp()))
    place.level.level = embedded(place.level.level, fit);
  return place;
}

/// The attribute `from` of the reduction `op` in the merged sweep; nothing if
/// `op` is another operation.
std::optional<Level> VerticalFusion::Trial::countedLevel(Operation *op) {
  auto reduce = dyn_cast<fused::ReduceOp>(op);
  if (!reduce)
    return std::nullopt;
  return isSmaller(op->getParentOp()) ? embedded(*reduce.getFrom(), fit)
                                      : *reduce.getFrom();
}

void VerticalFusion::Trial::change(Value value, LevelAndPhase place) {
  if (levelOf(value) == place)
    return;
  changed[value] = place;
  worklist.push_back(value);
}

/// Whether groups other than the two read `source`, which one of them computes.
bool VerticalFusion::Trial::isReadOutside(const Source &source) const {
  unsigned readers = source.readers;
  int number = fusion.sourceNumbers.lookup(source.value);
  for (int group : {choice.first, choice.second})
    readers -= fusion.groups[group].readings.count(number);
  return readers > 0;
}

/// Whether the merged sweep binds a list along each dimension of its domain. If
/// the first group is over rows, only a list that the second group does not get
/// from it can give the columns.
bool VerticalFusion::Trial::spansDomain() const {
  if (fit == Fit::same || choice.firstIsLarger)
    return true;
  int32_t other = fit == Fit::rows ? kJ : kI;
  for (auto [source, reading] : fusion.groups[choice.second].readings) {
    int producer = fusion.sources[source].producer;
    if (producer >= 0 && fusion.graph.find(producer) == choice.first)
      continue;
    for (BlockArgument argument : fusion.readings[reading].arguments) {
      auto sweep = cast<SweepOp>(argument.getOwner()->getParentOp());
      int32_t index = sweep.getSegmentIndices(0)[argument.getArgNumber()];
      if (!isEntryIndex(index) &&
          indexIn(index, fusion.fits.lookup(sweep)) & other)
        return true;
    }
  }
  return false;
}

/// The first group computes `source`. Gives each argument of the second group
/// that is bound to `source` the level of the value that replaces it.
LogicalResult VerticalFusion::Trial::replaceArguments(const Source &source,
                                                      const Reading &reading) {
  if (reading.arguments.empty())
    return success();
  Value result = source.value, yielded = yieldedAs(result);
  if (!yielded) // The epilogue computes it.
    return failure();
  LevelAndPhase place = levelOf(yielded);
  LevelOf level = place.level;
  for (BlockArgument argument : reading.arguments) {
    auto sweep = cast<SweepOp>(argument.getOwner()->getParentOp());
    int32_t index = sweep.getSegmentIndices(0)[argument.getArgNumber()];
    Fit own = fusion.fits.lookup(sweep);
    if (own == Fit::same && isSmaller(sweep))
      own = fit;
    Level expected =
        levelOfArgument(result.getType(), indexIn(index, own), rank);
    bool otherEntry =
        isEntryIndex(index) ||
        (isList(result.getType()) && rankOf(result.getType()) == 1 &&
         level.level > Level::member && level.level != expected);
    bool precomputes = llvm::any_of(argument.getUsers(), [](Operation *user) {
      return isa<PrecomputeOp>(user);
    });
    if (otherEntry || precomputes) {
      why =
          llvm::formatv("it needs {0}{1}, which is complete only after the "
                        "sweep that computes it",
                        otherEntry ? "other elements of " : "", quoted(result));
      return failure();
    }
    change(argument, place);
  }
  return success();
}

/// Continues with the uses of `result`, which one of the two groups computes
/// and which has `place` in the merged sweep.
VerticalFusion::Verdict
VerticalFusion::Trial::propagateResult(Value result, LevelAndPhase place) {
  auto sweep = result.getDefiningOp<SweepOp>();
  int number = fusion.sourceNumbers.lookup(result);
  const Source &source = fusion.sources[number];
  if (isReadOutside(source) &&
      failed(verifyResult(sweep, cast<OpResult>(result).getResultNumber(),
                          yieldedAs(result), place.level, rank)))
    return Verdict::blockedByReader;
  if (::isUniform(result, place.level, rank))
    uniform.push_back(number);
  for (BlockArgument argument : source.inside)
    change(argument, place);
  return Verdict::legal;
}

VerticalFusion::Verdict VerticalFusion::Trial::propagate(OpOperand &use) {
  Operation *op = use.getOwner();
  auto level = [&](Value value) { return levelOf(value).level; };
  if (isa<fused::YieldOp>(op)) {
    auto sweep = cast<SweepOp>(op->getParentOp());
    return propagateResult(sweep.getResult(use.getOperandNumber()),
                           levelOf(use.get()));
  }
  auto results = levelOfResults(*op, rank, level, countedLevel(op));
  if (failed(results))
    return Verdict::illegal;
  unsigned phase =
      phaseBefore(*op, [&](Value value) { return levelOf(value).phase; });
  if (phase > kMostPhases) {
    why = llvm::formatv("a row would be traversed more than {0} times",
                        kMostPhases);
    return Verdict::illegal;
  }
  for (Value value : op->getResults())
    change(value, {*results, phase});
  return Verdict::legal;
}

VerticalFusion::Verdict VerticalFusion::Trial::run() {
  Verdict verdict = Verdict::legal;
  if (!spansDomain()) {
    why = llvm::formatv("no list would give the {0} of the merged sweep",
                        fit == Fit::rows ? "columns" : "rows");
    return Verdict::blockedByReader;
  }
  auto &results = fusion.groups[smaller].uniform;
  llvm::erase_if(
      results, [&](int number) { return fusion.sources[number].readers == 0; });
  if (fit != Fit::same)
    for (int number : results) {
      Value result = fusion.sources[number].value;
      verdict = propagateResult(result, levelOf(yieldedAs(result)));
      if (verdict != Verdict::legal)
        return verdict;
    }
  fusion.forEachForwarded(choice.first, choice.second,
                          [&](const Source &source, const Reading &reading) {
                            if (verdict == Verdict::legal &&
                                failed(replaceArguments(source, reading)))
                              verdict = Verdict::illegal;
                          });
  while (verdict == Verdict::legal && !worklist.empty())
    for (OpOperand &use : worklist.pop_back_val().getUses())
      if (verdict == Verdict::legal)
        verdict = propagate(use);
  return verdict;
}

void VerticalFusion::Trial::commit() {
  if (fit != Fit::same)
    fusion.embed(smaller, fit);
  for (auto [value, place] : changed)
    fusion.levels[value] = place;
  llvm::append_range(fusion.groups[larger].uniform, uniform);
}

/// Gives the values of a group over vectors the levels that they have in the
/// sweep over a matrix that it becomes a part of.
void VerticalFusion::embed(int group, Fit fit) {
  for (Operation *member : graph.membersOf(group)) {
    auto sweep = cast<SweepOp>(member);
    auto embedLevel = [&](Value value) {
      LevelOf &level = levels[value].level;
      level.level = embedded(level.level, fit);
    };
    if (sweep.getDomainRank(0) > 0)
      fits[sweep] = fit;
    for (Value argument : sweep.getSegmentBlock(0).getArguments())
      embedLevel(argument);
    for (Operation &op : sweep.getSegmentBlock(0)) {
      for (Value value : op.getResults())
        embedLevel(value);
      if (auto reduce = dyn_cast<fused::ReduceOp>(op))
        reduce.setFrom(embedded(*reduce.getFrom(), fit));
    }
  }
}

/// Whether the smaller of the two domains may lie in the larger as `fit` says.
/// If so, the levels become those of the merged sweep.
VerticalFusion::Verdict VerticalFusion::tryFit(const Choice &choice, Fit fit,
                                               std::string &why) {
  ScopedDiagnosticHandler handler(program.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (why.empty())
                                      why = diagnostic.str();
                                    return success();
                                  });
  Trial trial(*this, choice, fit, why);
  Verdict verdict = trial.run();
  if (verdict == Verdict::legal)
    trial.commit();
  return verdict;
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

/// The reason why a merged sweep is not legal: the first value that the second
/// group needs and that is complete only after the first group, or else
/// `diagnostic`.
std::string VerticalFusion::reasonAgainst(const Choice &choice,
                                          StringRef diagnostic) const {
  std::string reason = diagnostic.str();
  std::pair<int, unsigned> earliest(graph.size(), 0);
  forEachForwarded(
      choice.first, choice.second,
      [&](const Source &source, const Reading &reading) {
        for (BlockArgument argument : reading.arguments) {
          Value yielded = yieldedAs(source.value);
          LevelOf of = yielded ? levels.lookup(yielded).level
                               : LevelOf{Level::list, true};
          Operation *sweep = argument.getOwner()->getParentOp();
          std::pair place(graph.numberOf(sweep), argument.getArgNumber());
          if (!of.after || earliest < place)
            continue;
          earliest = place;
          reason = llvm::formatv(
              "it needs {0} of {1}, which is complete only after the sweep "
              "that computes it",
              quoted(source.value), whole(of.level));
        }
      });
  return reason;
}
