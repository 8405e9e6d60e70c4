//===- StreamTile.cpp - a tile of the stream schedule ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without reductions, a tile is one loop over its elements. With reductions,
// the tile is processed in rounds of threads * vector elements: a first loop
// computes the elements of a round, stores results, and writes the values to
// reduce to a local array; a second loop combines these values into the lanes.
// The elements of thread t begin at t * vector.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/SweepFunctions.h"
#include "dialect/Bindings.h"

using heddle::fused::Level;
using llvm::Value;

namespace heddle::cpu {

namespace {
class StreamTile : public SegmentEmitter {
public:
  StreamTile(SweepContext &context, const Segment &segment, Value *descriptor,
             Value *index, Value *arguments)
      : SegmentEmitter(context, segment, descriptor, arguments),
        tileIndex(index) {}
  void emit();

private:
  struct Running {
    SegmentReduction reduction;
    Reduction states;
    Lanes lanes;
    Value *staged; // the values of the round
  };

  void emitElement(Value *element);
  void emitRounds();
  void combineRound(Running &running, Value *base, Value *count);

  Value *tileIndex, *first = nullptr, *count = nullptr;
  Segment::Values inLoop;
  llvm::SmallVector<Running, 2> running;
};
} // namespace

void StreamTile::emit() {
  if (Value *holds = flag())
    ir.when(b.CreateNot(holds), [&] { b.CreateRetVoid(); });
  first = wideField(context.countOffset(), "first");
  count = field(context.countOffset() + 8, "count");
  if (layout.rank == 2) {
    // Without row values, the rows are one range of elements.
    Value *columns = wideField(context.columnsOffset(), "columns");
    first = b.CreateMul(first, columns);
    count = b.CreateMul(count, columns);
  }

  llvm::SmallVector<mlir::Value> roots;
  for (const SegmentResult &result : segment.results)
    if (result.at == Level::element)
      roots.push_back(result.value);
  for (const SegmentReduction &reduction : segment.reductions)
    if (reduction.from == Level::element) {
      mlir::Value value = fused::ReduceOp(reduction.op).getValue();
      roots.push_back(value);
      Reduction states = reductionOf(reduction);
      Value *staged = ir.local(ir.memoryTypeOf(value.getType()),
                               layout.threads * slots.vector, "staged");
      running.push_back({reduction, states, states.makeLanes("tile"), staged});
    }
  auto needed = segment.needed(roots, [](Level) { return true; });
  compute(needed, {}, [&](mlir::Value value) {
    return segment.levelOf(value) <= Level::member;
  });
  for (mlir::Value value : needed)
    if (segment.levelOf(value) > Level::member)
      inLoop.insert(value);
  if (running.empty())
    ir.loop(count, "element", [&](Value *element) { emitElement(element); });
  else
    emitRounds();
}

void StreamTile::emitElement(Value *element) {
  Position at;
  at.index[kI] = element;
  compute(inLoop, at);
  for (const SegmentResult &result : segment.results)
    if (result.at == Level::element && result.isStored())
      store(result, at);
}

void StreamTile::emitRounds() {
  int64_t perRound = layout.threads * slots.vector;
  Value *used =
      ir.smaller(ir.ceilDiv(count, slots.vector), ir.i64(layout.threads));
  for (Running &r : running)
    r.states.clearLanes(r.lanes, used);
  ir.loop(ir.ceilDiv(count, perRound), "round", [&](Value *round) {
    Value *base = b.CreateMul(round, ir.i64(perRound));
    Value *left = ir.smaller(b.CreateSub(count, base), ir.i64(perRound));
    ir.loop(left, "element", [&](Value *k) {
      emitElement(b.CreateAdd(base, k));
      for (Running &r : running) {
        mlir::Value value = r.reduction.op.getValue();
        llvm::Type *type = ir.memoryTypeOf(value.getType());
        b.CreateStore(b.CreateZExtOrBitCast(get(value), type),
                      ir.element(type, r.staged, k));
      }
    });
    for (Running &r : running)
      combineRound(r, base, left);
  });
  for (Running &r : running) {
    State state = r.states.overBlock(r.lanes, used);
    r.states.store(
        state,
        r.states.address(scratch(r.reduction, ScratchPer::tile), tileIndex));
  }
}

void StreamTile::combineRound(Running &r, Value *base, Value *count) {
  llvm::Type *type = ir.memoryTypeOf(r.reduction.op.getValue().getType());
  Value *start = b.CreateAdd(first, base);
  auto take = [&](const State &state, Value *k) {
    Value *value = b.CreateLoad(type, ir.element(type, r.staged, k));
    return r.states.combine(state, r.states.lift(value, b.CreateAdd(start, k)));
  };
  // First the threads with all their elements, then the remaining elements,
  // which belong to the next thread.
  Value *full = b.CreateUDiv(count, ir.i64(slots.vector));
  ir.loop(full, "lane", [&](Value *t) {
    Value *at = b.CreateMul(t, ir.i64(slots.vector));
    State state = r.states.loadLane(r.lanes, t);
    for (int64_t k = 0; k < slots.vector; ++k)
      state = take(state, b.CreateAdd(at, ir.i64(k)));
    r.states.storeLane(state, r.lanes, t);
  });
  Value *at = b.CreateMul(full, ir.i64(slots.vector));
  ir.loop(b.CreateSub(count, at), "rest", [&](Value *k) {
    State state = r.states.loadLane(r.lanes, full);
    r.states.storeLane(take(state, b.CreateAdd(at, k)), r.lanes, full);
  });
}

void emitStreamTile(SweepContext &context, const Segment &segment,
                    Value *descriptor, Value *index, Value *arguments) {
  StreamTile(context, segment, descriptor, index, arguments).emit();
}

} // namespace heddle::cpu
