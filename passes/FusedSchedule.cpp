//===- FusedSchedule.cpp - how every sweep traverses its domain -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The partition into tiles fixes the order of reductions. So it depends on the
// types of the program only, never on the device or the extents.
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/DrawnNumbers.h"
#include "dialect/Bindings.h"
#include "dialect/FusedPanelAnalysis.h"
#include "dialect/Names.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Fusion.h"
#include "passes/MemberScalars.h"
#include "passes/Passes.h"
#include "passes/Scalars.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDSCHEDULE
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

static constexpr int64_t kThreads = 256;
/// Bytes of the widest access, and the smallest vector width of rows.
static constexpr int64_t kAccess = 16, kLeastVector = 4;
/// The most bytes that a thread loads at a time, if it maps elements of several
/// sizes.
static constexpr int64_t kLoaded = 80;
/// Rounds of a tile whose elements are only mapped, if one round is too short.
/// With more, blocks end less evenly.
static constexpr int64_t kMappedRounds = 2;
/// The same if a thread draws random numbers. Measured: with two rounds, the
/// instructions of a thread limit it; with six, short lists take longer.
static constexpr int64_t kDrawnRounds = 4;
/// The most bytes of a thread's elements for which the math of precomputed
/// scalars, which some steps need, leaves enough registers.
static constexpr int64_t kBesidePrecomputed = 64;
/// A segment that reduces elements has longer tiles, so that partials and
/// tickets cost less. Its partition does not depend on its other operations, so
/// a sum has the same bits with and without fusion.
static constexpr int64_t kReducedVector = 4, kReducedRounds = 8;
/// Rows of a row tile if columns are reduced.
static constexpr int64_t kColumnTileRows = 16;
/// For a row tile that several blocks share: its rows, the largest vector
/// width, and the words that a thread loads at a time.
static constexpr int64_t kSharedRows = 4, kSharedColumns = 8, kSharedWords = 32;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The vector width: the elements of one access of the smallest type. For
/// elements of several sizes, it is halved until a thread loads few enough
/// bytes, but not below one access of the largest type.
static int64_t vectorOf(SweepOp sweep, unsigned segment, bool rows) {
  ElementSizes sizes = elementSizes(sweep, segment);
  if (sizes.all().empty())
    return 1;
  int64_t vector = kAccess / sizes.smallest();
  if (rows)
    return std::max(kLeastVector, vector);
  while (vector * llvm::sum_of(sizes.read) > kLoaded &&
         vector > kAccess / sizes.largest())
    vector /= 2;
  return vector;
}

/// The rounds of a tile of a segment whose elements are only mapped. A thread
/// that processes elements of 16 bits executes many instructions for each byte.
/// Rounds share those that it executes once. If a thread has too many elements,
/// compilers need fewer registers for a loop over rounds than for one round.
/// With many scalars, most instructions of one round do not belong to elements,
/// unless these are doubles.
static int64_t mappedRounds(SweepOp sweep, unsigned segment, int64_t vector) {
  ElementSizes sizes = elementSizes(sweep, segment);
  bool packed = llvm::is_contained(sizes.all(), 2);
  bool crowded =
      !sweep.getSegmentBlock(segment).getOps<PrecomputeOp>().empty() &&
      vector * llvm::sum_of(sizes.read) > kBesidePrecomputed;
  bool busy = sizes.largest() <= 4 && hasManyMemberScalars(sweep, segment);
  auto levels = Levels::infer(sweep, segment);
  auto randoms = sweep.getSegmentBlock(segment).getOps<foreach::RandomOp>();
  if (packed && succeeded(levels) &&
      llvm::any_of(randoms, [&](foreach::RandomOp random) {
        return isDrawn(random, *levels);
      }))
    return kDrawnRounds;
  return packed || crowded || busy ? kMappedRounds : 1;
}

static bool reducesElements(SweepOp sweep, unsigned segment) {
  auto reduces = sweep.getSegmentBlock(segment).getOps<fused::ReduceOp>();
  auto levels = Levels::infer(sweep, segment);
  return succeeded(levels) &&
         llvm::any_of(reduces, [&](fused::ReduceOp reduce) {
           return levels->countedBy(reduce) > Level::member &&
                  !levels->reducesCompleteColumns(reduce);
         });
}

static bool writesElements(SweepOp sweep, unsigned segment) {
  return !elementResults(sweep, segment).empty();
}

static bool reducesColumns(SweepOp sweep, unsigned segment) {
  auto reduces = sweep.getSegmentBlock(segment).getOps<fused::ReduceOp>();
  return llvm::any_of(reduces, [](fused::ReduceOp reduce) {
    return reduce.getLevel() == Level::column;
  });
}

/// The vector width if blocks share rows: the number of columns of each row for
/// which a thread loads all operands at once. (Rows begin at different offsets
/// within a 128-byte line, so column operands differ from row to row.)
static int64_t sharedVectorOf(SweepOp sweep) {
  int64_t most = 1;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    int64_t words = 0;
    auto read = backwardSlice(elementResults(sweep, s));
    for (auto [argument, index] :
         llvm::zip_equal(sweep.getSegmentBlock(s).getArguments(),
                         sweep.getSegmentIndices(s))) {
      if (!read.contains(argument))
        continue;
      int64_t rows = index == kIJ || index == kJ ? kSharedRows : 0;
      words += rows * (argument.getType().getIntOrFloatBitWidth() > 32 ? 2 : 1);
    }
    most = std::max(most, words);
  }
  return std::clamp<int64_t>(kSharedWords / most, 1, kSharedColumns);
}

/// The value of `operand`, an argument of the program, in the next step: the
/// result that replaces a donated argument, otherwise the argument itself. Null
/// if `operand` is no argument.
static Value inNextStep(ProgramOp program, Value operand) {
  auto argument = dyn_cast<BlockArgument>(operand);
  if (!argument || argument.getOwner() != &program.getBody().front())
    return {};
  int64_t result = foreach::donatedTo(program, argument.getArgNumber());
  auto yield = cast<YieldOp>(program.getBody().front().getTerminator());
  return result >= 0 ? yield.getValues()[result] : operand;
}

/// Whether blocks may share the rows of a segment that writes elements.
static bool sharesRowsOf(SweepOp sweep, unsigned segment) {
  Block &body = sweep.getSegmentBlock(segment);
  auto levels = Levels::infer(sweep, segment);
  if (failed(levels))
    return false;
  auto read = backwardSlice(elementResults(sweep, segment));
  for (Operation &op : body) {
    if (auto reduce = dyn_cast<fused::ReduceOp>(op);
        reduce && levels->countedBy(reduce) == Level::element)
      return false;
    // The member's last block replaces precomputed scalars.
    if (isa<PrecomputeOp>(op) &&
        llvm::any_of(op.getResults(),
                     [&](Value value) { return read.contains(value); }))
      return false;
  }
  // The member's last block replaces a donated member scalar.
  auto program = sweep->getParentOfType<ProgramOp>();
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), sweep.getSegmentInputs(segment)))
    if (Value next = inNextStep(program, operand);
        read.contains(argument) && rankOf(operand.getType()) == 0 && next &&
        next != operand)
      return false;
  return llvm::none_of(
      sweep.getSegmentResults(segment).getTypes(),
      [](Type type) { return isList(type) && rankOf(type) == 1; });
}

static bool usesPositions(SweepOp sweep) {
  return sweep->walk([](foreach::IndexOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Whether several blocks may share a row: no segment that writes elements
/// reduces elements or has row or column results. If each block processed whole
/// rows, more rows would be read at the same time, which is slower.
static bool sharesRows(SweepOp sweep) {
  if (!needsRows(sweep) || sweep.getWhere() ||
      isa<LoopOp>(sweep->getParentOp()) || usesPositions(sweep))
    return false;
  bool any = false;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    if (!writesElements(sweep, s))
      continue;
    any = true;
    if (!sharesRowsOf(sweep, s))
      return false;
  }
  return any;
}

/// The schedule of `sweep`. If a sweep in a loop does not get the panel
/// schedule, `remark` is set to the reason.
static ScheduleAttr scheduleFor(SweepOp sweep, std::string &remark) {
  bool rows = needsRows(sweep);
  bool columns = false;
  int64_t shared = sharesRows(sweep) ? sharedVectorOf(sweep) : 0;
  SmallVector<int64_t> vector, tile;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    bool reduces =
        !rows && sweep.getDomainRank(s) > 0 && reducesElements(sweep, s);
    int64_t v = reduces  ? kReducedVector
                : shared ? shared
                         : vectorOf(sweep, s, rows);
    vector.push_back(v);
    if (rows) {
      columns |= reducesColumns(sweep, s);
      tile.push_back(reducesColumns(sweep, s)             ? kColumnTileRows
                     : shared && writesElements(sweep, s) ? kSharedRows
                                                          : 1);
    } else if (sweep.getDomainRank(s) == 0) {
      tile.push_back(1);
    } else {
      tile.push_back(kThreads * v *
                     (reduces ? kReducedRounds : mappedRounds(sweep, s, v)));
    }
  }
  StringRef reason =
      !rows    ? (sweep.getDomainRank(0) == 2
                      ? "a matrix without row or column values is processed as "
                        "one vector"
                      : "elementwise, no row or column values")
      : shared ? "rows are only mapped, so blocks share them"
      : columns ? "rows are complete while they are on chip; a row tile gives "
                  "one partial per column"
                : "rows are complete while they are on chip";
  ScheduleKind kind = rows ? ScheduleKind::rows : ScheduleKind::stream;
  if (rows && isa<LoopOp>(sweep->getParentOp()) &&
      PanelAnalysis::of(sweep, remark)) {
    kind = ScheduleKind::panel;
    reason =
        "a loop that reduces rows and then columns in every iteration keeps "
        "columns on chip and reads each element once";
  }
  return ScheduleAttr::get(sweep.getContext(), kind, kThreads, vector, tile,
                           kThreads * shared, reason);
}

//===----------------------------------------------------------------------===//
// Precomputed scalars
//===----------------------------------------------------------------------===//

/// Whether the epilogue of `sweep` computes its result `number` from scalars
/// alone, so that every member can compute it before the list is complete.
static bool isOfScalars(SweepOp sweep, unsigned number) {
  unsigned before = sweep.getNumResults() - sweep.getEpilogueResults().size();
  if (!sweep.hasEpilogue() || number < before)
    return false;
  Value value = sweep.getEpilogueYield().getValues()[number - before];
  unsigned ofList = sweep.getListResults().size();
  return llvm::none_of(backwardSlice(value), [&](Value behind) {
    auto argument = dyn_cast<BlockArgument>(behind);
    bool isDependent = argument ? argument.getArgNumber() < ofList
                                : isExpensive(behind.getDefiningOp());
    return isDependent;
  });
}

/// Whether this step can compute the value of `operand` in the next step: the
/// program does not change `operand`, a member value of this segment replaces
/// it, or the epilogue replaces it by a value that depends on no reduction.
static bool isKnownBefore(ProgramOp program, SweepOp sweep, unsigned segment,
                          Value operand) {
  Value next = inNextStep(program, operand);
  if (!next || next == operand)
    return static_cast<bool>(next);
  if (next.getDefiningOp() != sweep)
    return false;
  unsigned number = cast<OpResult>(next).getResultNumber();
  if (!isList(operand.getType()))
    return isOfScalars(sweep, number);
  return rankOf(operand.getType()) == 0 &&
         sweep.getSegmentOfResult(number) == segment;
}

namespace {
struct FusedSchedule : heddle::impl::FusedScheduleBase<FusedSchedule> {
  using FusedScheduleBase::FusedScheduleBase;

  void runOnOperation() override {
    forEachBlock(getOperation(), [&](Block &block) {
      SweepOp before;
      for (Operation &op : block) {
        auto sweep = dyn_cast<SweepOp>(op);
        if (sweep)
          schedule(sweep, before);
        before = sweep;
      }
    });
  }

  void schedule(SweepOp sweep, SweepOp before);
  void movePrecomputable(SweepOp sweep, unsigned segment);

  std::string name; // of the sweep, for remarks
};
} // namespace

/// Moves expensive math on member and list scalars into `fused.precompute`.
void FusedSchedule::movePrecomputable(SweepOp sweep, unsigned segment) {
  ProgramOp program = getOperation();
  // A segment of rank 0 computes its scalars once per member anyway.
  if (sweep.getDomainRank(segment) == 0)
    return;
  auto levels = Levels::infer(sweep, segment);
  if (failed(levels))
    return;
  bool inProgram = sweep->getBlock() == &program.getBody().front();
  Block &body = sweep.getSegmentBlock(segment);
  llvm::DenseSet<Value> known;
  llvm::DenseSet<Operation *> movable;
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), sweep.getSegmentInputs(segment)))
    if (inProgram && !sweep.getWhere() &&
        levels->of(argument).level <= Level::member &&
        isKnownBefore(program, sweep, segment, operand))
      known.insert(argument);
  Operation *stays = nullptr;
  for (Operation &op : body.without_terminator()) {
    if (op.getNumResults() == 0 || isa<fused::ReduceOp, PrecomputeOp>(op))
      continue;
    LevelOf of = levels->of(op.getResult(0));
    if (of.after || of.level > Level::member)
      continue;
    // Numbers of iterations, extents and positions have no operands, and are
    // not known before.
    if (!foreach::dependsOnBody(&op) &&
        llvm::all_of(op.getOperands(),
                     [&](Value value) { return known.contains(value); })) {
      movable.insert(&op);
      known.insert(op.getResults().begin(), op.getResults().end());
    } else if (isExpensive(&op)) {
      stays = &op;
    }
  }
  if (stays && remarks)
    mlir::emitRemark(sweep.getLoc())
        << name << " computes '" << stays->getName()
        << "' of scalars in its body: the operands are not known before the "
           "step begins";
  Slice slice =
      expensiveSlice(body, [&](Operation *op) { return movable.contains(op); });
  if (slice.results.empty())
    return;

  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  SmallVector<Value> inputs(slice.inputs.begin(), slice.inputs.end());
  SmallVector<Type> types;
  for (Value value : slice.results)
    types.push_back(value.getType());
  auto precompute =
      PrecomputeOp::create(builder, sweep.getLoc(), types, inputs);
  Block &region = precompute.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, region.addArgument(input.getType(), input.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&region);
  for (Operation *op : slice.ops)
    inner.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value value : slice.results)
    yielded.push_back(mapping.lookup(value));
  YieldOp::create(inner, sweep.getLoc(), yielded);
  precompute->setLoc(UnknownLoc::get(precompute.getContext()));
  for (auto [k, to] : llvm::enumerate(precompute.getResults())) {
    Value from = slice.results[k];
    if (StringRef name = nameOf(from); !name.empty())
      setName(to, name);
    from.replaceUsesWithIf(to, [&](OpOperand &use) {
      return !slice.ops.contains(use.getOwner()) &&
             use.getOwner()->getParentOp() != precompute;
    });
  }
  for (Operation *op : llvm::reverse(slice.ops.getArrayRef()))
    if (op->use_empty())
      op->erase();
  ++numPrecomputed;
  if (remarks)
    mlir::emitRemark(sweep.getLoc())
        << name << " uses " << types.size()
        << (types.size() == 1 ? " scalar" : " scalars")
        << " per member that the previous step computed";
}

void FusedSchedule::schedule(SweepOp sweep, SweepOp before) {
  if (remarks)
    name = nameForRemarks(sweep);
  // If blocks share rows, some blocks may still read precomputed scalars when
  // the member's last block replaces them.
  bool shares = sharesRows(sweep);
  if (precompute)
    for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
      if (!shares || !writesElements(sweep, s))
        movePrecomputable(sweep, s);
  std::string whyNoPanels;
  ScheduleAttr schedule = scheduleFor(sweep, whyNoPanels);
  sweep.setScheduleAttr(schedule);
  if (remarks)
    mlir::emitRemark(sweep.getLoc())
        << name << " has the schedule '"
        << stringifyScheduleKind(schedule.getKind())
        << "': " << schedule.getReason()
        << (whyNoPanels.empty() ? "" : "; not 'panel', because ")
        << whyNoPanels;
  if (!before)
    return;
  llvm::SmallPtrSet<Value, 16> inputsBefore(before.getInputs().begin(),
                                            before.getInputs().end());
  for (auto [operand, index] :
       llvm::zip_equal(sweep.getInputs(), sweep.getIndices())) {
    bool again = !isMemberIndex(index) &&
                 (operand.getDefiningOp() == before.getOperation() ||
                  inputsBefore.contains(operand));
    if (!again)
      continue;
    sweep.setReversed(!before.getReversed());
    numReversed += sweep.getReversed();
    if (remarks && sweep.getReversed())
      mlir::emitRemark(sweep.getLoc())
          << name << " is reversed: after the previous sweep, the end of "
          << quoted(operand) << " is in cache";
    return;
  }
}
