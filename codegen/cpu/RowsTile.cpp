//===- RowsTile.cpp - a tile of the rows schedule -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes row after row, with one traversal of a row for each phase: a later
// traversal uses the row values that an earlier traversal reduced. Element
// values that several traversals need are recomputed from the row, which is in
// the cache. The lanes of a row, and the group of lanes that processes it,
// follow from the columns as on the device, because they determine the order of
// reductions.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/SweepFunctions.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"

using heddle::fused::Level;
using llvm::Value;

namespace heddle::cpu {

namespace {
class RowsTile : public SegmentEmitter {
public:
  RowsTile(SweepContext &context, const Segment &segment, Value *descriptor,
           Value *index, Value *arguments)
      : SegmentEmitter(context, segment, descriptor, arguments),
        tileIndex(index) {}
  void emit();

private:
  struct Running {
    SegmentReduction reduction;
    Reduction states;
    Lanes lanes;  // one for each thread
    Value *total; // the column states of the tile
    Lanes groups; // the column states of the groups
    Lanes ofRow;  // one for each part of a row
    mlir::Value value() const {
      return fused::ReduceOp(reduction.op).getValue();
    }
  };
  /// The work of one traversal of a row.
  struct Walk {
    llvm::SmallVector<Running *> reductions;
    llvm::SmallVector<const SegmentResult *> stores;
    Segment::Values values;
    bool isEmpty() const { return reductions.empty() && stores.empty(); }
  };

  void findWork();
  void findGroups();
  Value *itemsOfLane();
  void emitElementsBetween(Walk &walk, Value *r, Value *begin, Value *end);
  void emitParts(Walk &walk, Value *r);
  void emitRows();
  void combineGroups();
  void emitRow(Value *r);
  void emitWalk(Walk &walk, Value *r);
  void emitElement(Walk &walk, Value *r, Value *column, Value *lane);
  Value *usedBy(const Running &running);
  void reduceColumns(Running &running);
  void reduceRow(Running &running, Value *r);
  void keepForMember();
  void clearColumnsOfEmptyTile();

  static bool overElements(const Running &r) {
    return r.reduction.from == Level::element;
  }
  static bool toMemberOrList(const Running &r) {
    return r.reduction.to == Level::member || r.reduction.to == Level::list;
  }

  Value *tileIndex, *first = nullptr, *count = nullptr, *columns = nullptr,
                    *columnBase = nullptr;
  /// The lanes of a row and their binary logarithm, the groups of so many lanes
  /// in a block, whether rows are held, and whether a lane has adjacent
  /// columns.
  Value *lanesOfRow = nullptr, *laneBits = nullptr, *groupCount = nullptr,
        *isHeld = nullptr, *isAdjacent = nullptr;
  Value *group = nullptr; // the first lane of the row's group
  bool perGroup = false;  // each group has its own column states
  llvm::SmallVector<Running, 4> running;
  llvm::SmallVector<Walk, 2> walks;
  Segment::Values needed;
};
} // namespace

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

void RowsTile::findWork() {
  llvm::SmallVector<mlir::Value> roots;
  for (const SegmentResult &result : segment.results)
    if (result.isStored() &&
        (result.at == Level::element || result.at == Level::row))
      roots.push_back(result.value);
  for (const SegmentReduction &reduction : segment.reductions) {
    if (reduction.from == Level::member || reduction.ofCompleteColumns)
      continue;
    Reduction states = reductionOf(reduction);
    Running r{reduction, states, {}, nullptr};
    if (reduction.to == Level::column) {
      r.total = states.address(scratch(reduction, ScratchPer::tileColumn),
                               columnBase);
      r.groups =
          states.makeLanes("column", int64_t(layout.threads) * kHeldItems);
    } else
      r.lanes = states.makeLanes(stringifyLevel(reduction.to));
    if (reduction.to == Level::row)
      r.ofRow = states.makeLanes("of_row");
    roots.push_back(r.value());
    running.push_back(std::move(r));
  }
  needed = segment.needed(roots, [](Level) { return true; });

  int last = 0, lastOfElements = 0;
  for (mlir::Value value : needed)
    last = std::max(last, segment.phaseOf(value));
  for (const Running &r : running)
    if (overElements(r))
      lastOfElements = std::max(lastOfElements, segment.phaseOf(r.value()));
  for (const SegmentResult &result : segment.results)
    if (result.at == Level::element && result.isStored())
      lastOfElements = std::max(lastOfElements, segment.phaseOf(result.value));
  walks.resize(last + 1);
  for (Running &r : running)
    if (overElements(r))
      walks[segment.phaseOf(r.value())].reductions.push_back(&r);
  for (const SegmentResult &result : segment.results)
    if (result.at == Level::element && result.isStored()) {
      // A result in place is stored after every traversal that reads the row.
      bool inPlace = slots.operands[result.slot].read;
      walks[inPlace ? lastOfElements : segment.phaseOf(result.value)]
          .stores.push_back(&result);
    }
  for (Walk &walk : walks) {
    llvm::SmallVector<mlir::Value> inWalk;
    for (Running *r : walk.reductions)
      inWalk.push_back(r->value());
    for (const SegmentResult *result : walk.stores)
      inWalk.push_back(result->value);
    walk.values = segment.needed(inWalk, [](Level level) {
      return level == Level::element || level == Level::column;
    });
  }
}

//===----------------------------------------------------------------------===//
// A row
//===----------------------------------------------------------------------===//

void RowsTile::emitElement(Walk &walk, Value *r, Value *column, Value *lane) {
  Position at;
  at.index[kI] = r;
  at.index[kJ] = column;
  compute(walk.values, at);
  for (Running *running : walk.reductions) {
    Reduction &states = running->states;
    Value *value = get(running->value());
    if (running->reduction.to == Level::column && perGroup) {
      // Items of a lane are `threads` states apart.
      Value *item = b.CreateLShr(column, laneBits);
      Value *place = b.CreateAnd(column, b.CreateSub(lanesOfRow, ir.i64(1)));
      Value *at = b.CreateAdd(b.CreateAdd(group, place),
                              b.CreateMul(item, ir.i64(layout.threads)));
      State state = states.combine(states.loadLane(running->groups, at),
                                   states.lift(value, b.CreateAdd(first, r)));
      states.storeLane(state, running->groups, at);
      continue;
    }
    if (running->reduction.to == Level::column) {
      // The value of the first row starts the state of a column.
      auto tag = scratchTag(
          layout.scratchOf(running->reduction.op, ScratchPer::tileColumn));
      Value *address = states.address(running->total, column);
      State state = states.lift(value, b.CreateAdd(first, r));
      State combined = states.combine(states.load(address, tag), state);
      Value *starts = b.CreateICmpEQ(r, ir.i64(0));
      for (size_t k = 0; k < state.size(); ++k)
        state[k] = b.CreateSelect(starts, state[k], combined[k]);
      states.store(state, address, tag);
      continue;
    }
    Value *position =
        running->reduction.to == Level::row
            ? column
            : b.CreateAdd(b.CreateMul(b.CreateAdd(first, r), columns), column);
    Value *own =
        running->reduction.to == Level::row ? lane : b.CreateAdd(group, lane);
    State combined = states.combine(states.loadLane(running->lanes, own),
                                    states.lift(value, position));
    states.storeLane(combined, running->lanes, own);
  }
  for (const SegmentResult *result : walk.stores)
    store(*result, at);
}

/// Lane t takes columns begin + t, begin + t + lanes, ..., or begin + 4t to
/// begin + 4t + 3, then those 4 lanes further on. There is a loop for each
/// case, so that LLVM knows the distance of two lanes and can vectorize both.
void RowsTile::emitElementsBetween(Walk &walk, Value *r, Value *begin,
                                   Value *end) {
  auto emit = [&](int64_t adjacent) {
    Value *span = b.CreateMul(lanesOfRow, ir.i64(adjacent));
    Value *rounds = b.CreateUDiv(
        b.CreateAdd(b.CreateSub(end, begin), b.CreateSub(span, ir.i64(1))),
        span);
    ir.loop(rounds, "round", [&](Value *round) {
      Value *base = b.CreateAdd(begin, b.CreateMul(round, span));
      Value *left = ir.smaller(
          b.CreateUDiv(b.CreateSub(end, base), ir.i64(adjacent)), lanesOfRow);
      ir.loop(ir.i64(adjacent), "adjacent", [&](Value *k) {
        ir.loop(left, "lane", [&](Value *t) {
          Value *own = b.CreateAdd(b.CreateMul(t, ir.i64(adjacent)), k);
          emitElement(walk, r, b.CreateAdd(base, own), t);
        });
      });
    });
  };
  ir.when(isAdjacent, [&] { emit(kAdjacentInRow); });
  ir.when(b.CreateNot(isAdjacent), [&] { emit(1); });
}

/// Combines the lanes of each part of the row, then the parts as if each were a
/// lane. row_parts.cuh divides rows in the same way.
void RowsTile::emitParts(Walk &walk, Value *r) {
  int64_t whole = layout.wholeColumns;
  auto countOf = [&](int64_t ofPart) {
    return ir.smaller(ir.ceilDiv(columns, ofPart),
                      ir.i64((runtime::kHeldPartsColumns - 1) / ofPart + 1));
  };
  Value *count = countOf(runtime::partColumns(whole));
  if (layout.longParts)
    count = b.CreateSelect(
        b.CreateICmpSLE(columns, ir.i64(runtime::mostShortColumns(whole))),
        count, countOf(runtime::longPartColumns(whole)));
  count =
      b.CreateSelect(b.CreateICmpSLE(columns, ir.i64(whole)), ir.i64(1), count);
  Value *isWhole = b.CreateICmpEQ(count, ir.i64(1));
  Value *even =
      b.CreateUDiv(b.CreateAdd(columns, b.CreateSub(count, ir.i64(1))), count);
  Value *length = b.CreateSelect(
      isWhole, columns,
      b.CreateAnd(b.CreateAdd(even, ir.i64(runtime::kPartMultiple - 1)),
                  ir.i64(-runtime::kPartMultiple)));
  Value *used = ir.smaller(columns, lanesOfRow);
  llvm::SmallVector<Running *> overRow;
  llvm::copy_if(
      walk.reductions, std::back_inserter(overRow),
      [](Running *running) { return running->reduction.to == Level::row; });
  ir.when(b.CreateNot(isWhole), [&] {
    for (Running *running : overRow)
      running->states.clearLanes(running->ofRow, count);
  });
  ir.loop(count, "part", [&](Value *part) {
    // The last parts may have no columns.
    Value *begin = ir.smaller(b.CreateMul(part, length), columns);
    Value *end = ir.smaller(b.CreateAdd(begin, length), columns);
    for (Running *running : overRow)
      running->states.clearLanes(running->lanes, used);
    emitElementsBetween(walk, r, begin, end);
    for (Running *running : overRow) {
      Reduction &states = running->states;
      states.storeLane(states.overBlock(running->lanes, used), running->ofRow,
                       part);
    }
  });
  ir.when(b.CreateNot(isWhole), [&] {
    for (Running *running : overRow)
      running->states.storeLane(
          running->states.overBlock(running->ofRow, count), running->ofRow,
          ir.i64(0));
  });
  for (Running *running : overRow)
    setResults(running->reduction, running->states,
               running->states.loadLane(running->ofRow, ir.i64(0)));
}

void RowsTile::emitWalk(Walk &walk, Value *r) {
  auto toRow = [](Running *running) {
    return running->reduction.to == Level::row;
  };
  bool hasLanes = llvm::any_of(walk.reductions, [](Running *running) {
    return running->reduction.to != Level::column;
  });
  if (!hasLanes)
    return ir.loop(columns, "column", [&](Value *column) {
      emitElement(walk, r, column, nullptr);
    });
  if (llvm::any_of(walk.reductions, toRow))
    emitParts(walk, r);
  else
    emitElementsBetween(walk, r, ir.i64(0), columns);
}

void RowsTile::emitRow(Value *r) {
  Position at;
  at.index[kI] = r;
  for (auto [phase, walk] : llvm::enumerate(walks)) {
    compute(needed, at, [&](mlir::Value value) {
      return segment.levelOf(value) == Level::row &&
             segment.phaseOf(value) == static_cast<int>(phase);
    });
    if (!walk.isEmpty())
      emitWalk(walk, r);
  }
  for (Running &running : running)
    if (running.reduction.from == Level::row)
      reduceRow(running, r);
  for (const SegmentResult &result : segment.results)
    if (result.at == Level::row && result.isStored())
      store(result, at);
}

/// Combines a row value with those of the previous rows.
void RowsTile::reduceRow(Running &running, Value *r) {
  Reduction &states = running.states;
  State state = states.lift(get(running.value()), b.CreateAdd(first, r));
  State combined = states.combine(states.loadLane(running.lanes, group), state);
  states.storeLane(combined, running.lanes, group);
}

//===----------------------------------------------------------------------===//
// A tile
//===----------------------------------------------------------------------===//

/// A member's first tile reduces the column values.
void RowsTile::reduceColumns(Running &running) {
  Reduction &states = running.states;
  auto values = segment.needed(
      running.value(), [](Level level) { return level == Level::column; });
  ir.loop(ir.ceilDiv(columns, layout.threads), "round", [&](Value *round) {
    Value *base = b.CreateMul(round, ir.i64(layout.threads));
    Value *left =
        ir.smaller(b.CreateSub(columns, base), ir.i64(layout.threads));
    ir.loop(left, "lane", [&](Value *t) {
      Position at;
      at.index[kJ] = b.CreateAdd(base, t);
      compute(values, at);
      State state = states.lift(get(running.value()), at.index[kJ]);
      State combined = states.combine(states.loadLane(running.lanes, t), state);
      states.storeLane(combined, running.lanes, t);
    });
  });
}

/// The lanes that a reduction over the member uses.
Value *RowsTile::usedBy(const Running &r) {
  Value *threads = ir.i64(layout.threads);
  if (r.reduction.from == Level::row)
    return b.CreateSelect(isHeld, threads, ir.i64(1));
  Value *ofColumns = ir.smaller(columns, threads);
  return r.reduction.from == Level::column
             ? ofColumns
             : b.CreateSelect(isHeld, threads, ofColumns);
}

void RowsTile::keepForMember() {
  for (Running &r : running) {
    if (!toMemberOrList(r))
      continue;
    if (r.reduction.from == Level::column)
      ir.when(b.CreateICmpEQ(first, ir.i64(0)), [&] { reduceColumns(r); });
    State state = r.states.overBlock(r.lanes, usedBy(r));
    r.states.store(
        state,
        r.states.address(scratch(r.reduction, ScratchPer::tile), tileIndex));
  }
}

/// In a tile without rows the column states are neutral elements.
void RowsTile::clearColumnsOfEmptyTile() {
  if (llvm::none_of(running, [](const Running &r) {
        return r.reduction.to == Level::column;
      }))
    return;
  ir.when(b.CreateICmpEQ(count, ir.i64(0)), [&] {
    ir.loop(columns, "column", [&](Value *j) {
      for (Running &r : running)
        if (r.reduction.to == Level::column)
          r.states.store(r.states.neutral(), r.states.address(r.total, j));
    });
  });
}

/// The lanes are the least power of two that is enough if each has kHeldItems
/// elements of a row; without held rows, a block.
void RowsTile::findGroups() {
  Value *least = b.CreateUDiv(b.CreateAdd(columns, ir.i64(kHeldItems - 1)),
                              ir.i64(kHeldItems));
  Value *leading = b.CreateBinaryIntrinsic(
      llvm::Intrinsic::ctlz,
      b.CreateSub(
          b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, least, ir.i64(1)),
          ir.i64(1)),
      b.getFalse());
  isHeld = b.CreateICmpSLE(columns,
                           ir.i64(std::min(slots.held.columns, kBlockColumns)));
  laneBits = b.CreateSelect(isHeld, b.CreateSub(ir.i64(64), leading),
                            ir.i64(llvm::Log2_64(layout.threads)));
  lanesOfRow = b.CreateShl(ir.i64(1), laneBits);
  groupCount = b.CreateLShr(ir.i64(layout.threads), laneBits);
  Value *isMultiple = b.CreateICmpEQ(
      b.CreateAnd(columns, ir.i64(kAdjacentInRow - 1)), ir.i64(0));
  isAdjacent = b.CreateAnd(
      isMultiple,
      b.CreateICmpSLE(columns, ir.i64(mostAdjacentColumns(context.sweep, layout,
                                                          segment.number))));
}

/// The elements of a row that a lane has at most.
Value *RowsTile::itemsOfLane() {
  Value *most = b.CreateAdd(columns, b.CreateSub(lanesOfRow, ir.i64(1)));
  return b.CreateLShr(most, laneBits);
}

/// Combines the states that the groups have for each column of the tile.
void RowsTile::combineGroups() {
  for (Running &r : running) {
    if (r.reduction.to != Level::column)
      continue;
    auto tag =
        scratchTag(layout.scratchOf(r.reduction.op, ScratchPer::tileColumn));
    ir.loop(itemsOfLane(), "item", [&](Value *item) {
      Value *at = b.CreateMul(item, ir.i64(layout.threads));
      r.states.overGroups(r.groups, at, lanesOfRow);
      Value *base = b.CreateMul(item, lanesOfRow);
      ir.loop(ir.smaller(b.CreateSub(columns, base), lanesOfRow), "place",
              [&](Value *t) {
                r.states.store(r.states.loadLane(r.groups, b.CreateAdd(at, t)),
                               r.states.address(r.total, b.CreateAdd(base, t)),
                               tag);
              });
    });
  }
}

/// Processes the rows of the tile in order. Groups of lanes take rows in turn.
void RowsTile::emitRows() {
  auto rows = [&] {
    ir.loop(count, "row", [&](Value *r) {
      group = b.CreateMul(b.CreateAnd(r, b.CreateSub(groupCount, ir.i64(1))),
                          lanesOfRow);
      emitRow(r);
    });
  };
  bool reducesColumns = llvm::any_of(running, [](const Running &r) {
    return r.reduction.to == Level::column;
  });
  if (!reducesColumns)
    return rows();
  perGroup = true;
  ir.when(isHeld, [&] {
    for (Running &r : running)
      if (r.reduction.to == Level::column)
        r.states.clearLanes(r.groups,
                            b.CreateMul(itemsOfLane(), ir.i64(layout.threads)));
    rows();
    combineGroups();
  });
  perGroup = false;
  ir.when(b.CreateNot(isHeld), rows);
}

void RowsTile::emit() {
  if (Value *holds = flag())
    ir.when(b.CreateNot(holds), [&] { b.CreateRetVoid(); });
  columns = wideField(context.columnsOffset(), "columns");
  columnBase = wideField(context.columnsOffset() + 8, "column_base");
  first = wideField(context.countOffset(), "first");
  count = field(context.countOffset() + 8, "count");
  findWork();
  compute(needed, {}, [&](mlir::Value value) {
    return segment.levelOf(value) <= Level::member;
  });
  findGroups();
  for (Running &r : running)
    if (toMemberOrList(r))
      r.states.clearLanes(r.lanes, usedBy(r));
  clearColumnsOfEmptyTile();
  emitRows();
  keepForMember();
}

void emitRowsTile(SweepContext &context, const Segment &segment,
                  Value *descriptor, Value *index, Value *arguments) {
  RowsTile(context, segment, descriptor, index, arguments).emit();
}

} // namespace heddle::cpu
