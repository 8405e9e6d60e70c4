//===- MemberEnd.cpp - the end of a member --------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs when all tiles of a member are done: combines the partials of the tiles,
// then computes the values that exist once per member or column. All reads
// precede all writes, because a result may replace an operand.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/SweepFunctions.h"
#include "dialect/Bindings.h"

using heddle::fused::Level;
using llvm::Value;

namespace heddle::cpu {

namespace {
class MemberEnd : public SegmentEmitter {
public:
  using SegmentEmitter::SegmentEmitter;
  void emit();

private:
  void combineTiles(const SegmentReduction &reduction);
  void combineColumns(const SegmentReduction &reduction);
  void emitColumns();
  void keepForList(const SegmentReduction &reduction, Reduction &states,
                   const State &state);
  /// The index of this member descriptor; inactive members have no descriptor.
  Value *index();

  Value *firstTile = nullptr, *tiles = nullptr, *columns = nullptr,
        *columnBase = nullptr;
};
} // namespace

Value *MemberEnd::index() {
  Value *bytes = b.CreateSub(b.CreatePtrToInt(descriptor, b.getInt64Ty()),
                             b.CreatePtrToInt(members(), b.getInt64Ty()));
  return b.CreateExactSDiv(bytes, ir.i64(context.descriptorBytes()));
}

void MemberEnd::keepForList(const SegmentReduction &reduction,
                            Reduction &states, const State &state) {
  states.store(state,
               states.address(scratch(reduction, ScratchPer::member), index()));
}

void MemberEnd::combineTiles(const SegmentReduction &reduction) {
  Reduction states = reductionOf(reduction);
  Value *partials =
      states.address(scratch(reduction, ScratchPer::tile), firstTile);
  setResults(reduction, states, states.overStates(partials, tiles));
}

/// Combines tiles pairwise into the state of the first of each pair, so that
/// the rounding error grows with the logarithm of the number of tiles.
void MemberEnd::combineColumns(const SegmentReduction &reduction) {
  Reduction states = reductionOf(reduction);
  auto tag = scratchTag(layout.scratchOf(reduction.op, ScratchPer::tileColumn));
  Value *total =
      states.address(scratch(reduction, ScratchPer::tileColumn), columnBase);
  Value *leading = b.CreateBinaryIntrinsic(
      llvm::Intrinsic::ctlz, b.CreateSub(tiles, ir.i64(1)), b.getFalse());
  Value *levels = b.CreateSub(ir.i64(64), leading);
  ir.loop(levels, "level", [&](Value *level) {
    Value *step = b.CreateShl(ir.i64(1), level);
    Value *twice = b.CreateShl(step, ir.i64(1));
    Value *pairs =
        b.CreateUDiv(b.CreateSub(b.CreateAdd(tiles, step), ir.i64(1)), twice);
    ir.loop(pairs, "pair", [&](Value *pair) {
      Value *first = b.CreateMul(pair, twice);
      Value *left = states.address(total, b.CreateMul(first, columns));
      Value *right =
          states.address(total, b.CreateMul(b.CreateAdd(first, step), columns));
      ir.loop(columns, "column", [&](Value *j) {
        State combined =
            states.combine(states.load(states.address(left, j), tag),
                           states.load(states.address(right, j), tag));
        states.store(combined, states.address(left, j), tag);
      });
    });
  });
}

void MemberEnd::emitColumns() {
  llvm::SmallVector<mlir::Value> roots;
  for (const SegmentResult &result : segment.results)
    if (result.at == Level::column && result.isStored())
      roots.push_back(result.value);
  for (const SegmentReduction &reduction : segment.reductions)
    if (reduction.ofCompleteColumns)
      roots.push_back(fused::ReduceOp(reduction.op).getValue());
  if (roots.empty())
    return;
  auto needed =
      segment.needed(roots, [](Level level) { return level == Level::column; });
  llvm::SmallVector<std::pair<SegmentReduction, Value *>> combined;
  for (const SegmentReduction &reduction : segment.reductions)
    if (reduction.to == Level::column) {
      combineColumns(reduction);
      Value *total = reductionOf(reduction).address(
          scratch(reduction, ScratchPer::tileColumn), columnBase);
      combined.emplace_back(reduction, total);
    }
  Value *threads = ir.i64(layout.threads);
  struct OverColumns {
    SegmentReduction reduction;
    Reduction states;
    Lanes lanes;
  };
  llvm::SmallVector<OverColumns, 2> ofMember;
  for (const SegmentReduction &reduction : segment.reductions)
    if (reduction.ofCompleteColumns) {
      Reduction states = reductionOf(reduction);
      ofMember.push_back({reduction, states, states.makeLanes("columns")});
      states.clearLanes(ofMember.back().lanes, ir.smaller(columns, threads));
    }
  ir.loop(columns, "column", [&](Value *j) {
    Position at;
    at.index[kJ] = j;
    for (auto &[reduction, total] : combined) {
      Reduction states = reductionOf(reduction);
      State state = states.load(
          states.address(total, j),
          scratchTag(layout.scratchOf(reduction.op, ScratchPer::tileColumn)));
      setResults(reduction, states, state);
    }
    compute(needed, at);
    for (const SegmentResult &result : segment.results)
      if (result.at == Level::column && result.isStored())
        store(result, at);
    for (OverColumns &over : ofMember) {
      Value *lane = b.CreateURem(j, threads);
      Value *value = get(fused::ReduceOp(over.reduction.op).getValue());
      over.states.storeLane(
          over.states.combine(over.states.loadLane(over.lanes, lane),
                              over.states.lift(value, j)),
          over.lanes, lane);
    }
  });
  for (OverColumns &over : ofMember)
    setResults(over.reduction, over.states,
               over.states.overBlock(over.lanes, ir.smaller(columns, threads)));
}

void MemberEnd::emit() {
  ofMember = true;
  // The values of a skipped member still contribute to the values of the list.
  if (Value *holds = flag())
    ir.when(b.CreateNot(holds), [&] { b.CreateRetVoid(); });
  firstTile = field(context.countOffset() + 8, "first_tile");
  tiles = field(context.countOffset() + 12, "tiles");
  if (layout.rank == 2) {
    columns = wideField(context.columnsOffset(), "columns");
    columnBase = wideField(context.columnsOffset() + 8, "column_base");
  }
  llvm::SmallVector<mlir::Value> roots;
  for (const SegmentResult &result : segment.results)
    if (result.isStored() &&
        (result.at == Level::member || result.at == Level::column))
      roots.push_back(result.value);
  for (const SegmentReduction &reduction : segment.reductions) {
    if (reduction.from == Level::member || reduction.ofCompleteColumns)
      roots.push_back(fused::ReduceOp(reduction.op).getValue());
    else if (reduction.to == Level::member)
      combineTiles(reduction);
  }
  auto needed = segment.needed(roots, [](Level level) {
    return level <= Level::member || level == Level::column;
  });
  compute(needed, {}, [&](mlir::Value value) {
    return segment.levelOf(value) <= Level::member &&
           !segment.isAfterColumns(value);
  });
  emitColumns();
  compute(needed, {},
          [&](mlir::Value value) { return segment.isAfterColumns(value); });
  for (const SegmentReduction &reduction : segment.reductions)
    if (reduction.from == Level::member) {
      // A position counts all members of the list, including inactive ones.
      Reduction states = reductionOf(reduction);
      mlir::Value value = fused::ReduceOp(reduction.op).getValue();
      Value *position = field(context.countOffset() + 20, "index");
      keepForList(reduction, states, states.lift(get(value), position));
    }
  for (const SegmentResult &result : segment.results)
    if (result.at == Level::member && result.isStored())
      store(result, {});
}

void emitMemberEnd(SweepContext &context, const Segment &segment,
                   Value *descriptor, Value *arguments) {
  MemberEnd(context, segment, descriptor, arguments).emit();
}

} // namespace heddle::cpu
