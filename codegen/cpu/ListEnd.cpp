//===- ListEnd.cpp - the end of the list ----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs when all members are done: combines the states of tiles or members, and
// computes the epilogue from the list values that the segments yield, rounded
// to the types of their results. All reads precede all writes, because a result
// may replace an operand.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Storage.h"
#include "codegen/cpu/SweepFunctions.h"

using heddle::fused::Level;
using llvm::Value;

namespace heddle::cpu {

namespace {
/// The list values of one segment.
class SegmentEnd : public SegmentEmitter {
public:
  SegmentEnd(SweepContext &context, const Segment &segment,
             Value *memberDescriptors, Value *memberCount, Value *arguments)
      : SegmentEmitter(context, segment, /*descriptor=*/nullptr, arguments),
        memberDescriptors(memberDescriptors), memberCount(memberCount) {}

  void emit();
  /// Computes the results of the epilogue from the values of the segments.
  void emitEpilogue(llvm::ArrayRef<Value *> entering);
  void storeResults();
  void storeEpilogueResults();
  Value *whereHolds() { return flag(); }
  /// The list values in the types that their results store.
  llvm::SmallVector<std::pair<mlir::Type, Value *>> yielded();

private:
  void combineMembers(const SegmentReduction &reduction);
  void combineTiles(const SegmentReduction &reduction);
  Value *memberField(Value *m, int64_t afterCount, const llvm::Twine &name);
  /// Calls `action` if member descriptor `m` is of this segment.
  void ifOwn(Value *m, llvm::function_ref<void()> action);

  Value *memberDescriptors, *memberCount;
};
} // namespace

void SegmentEnd::combineMembers(const SegmentReduction &reduction) {
  Reduction states = reductionOf(reduction);
  Value *kept = scratch(reduction, ScratchPer::member);
  Lanes lanes = states.makeLanes("list");
  Value *used = ir.smaller(memberCount, ir.i64(layout.threads));
  states.clearLanes(lanes, used);
  ir.loop(memberCount, "member", [&](Value *m) {
    auto combine = [&] {
      Value *t = b.CreateURem(m, ir.i64(layout.threads));
      State state = states.load(states.address(kept, m));
      states.storeLane(states.combine(states.loadLane(lanes, t), state), lanes,
                       t);
    };
    ifOwn(m, combine);
  });
  setResults(reduction, states, states.overBlock(lanes, used));
}

Value *SegmentEnd::memberField(Value *m, int64_t afterCount,
                               const llvm::Twine &name) {
  Value *descriptor =
      ir.element(b.getInt8Ty(), memberDescriptors,
                 b.CreateMul(m, ir.i64(context.descriptorBytes())));
  return ir.field(b.getInt32Ty(), descriptor,
                  context.countOffset() + afterCount, name);
}

void SegmentEnd::ifOwn(Value *m, llvm::function_ref<void()> action) {
  if (layout.segments.size() == 1)
    return action();
  ir.when(
      b.CreateICmpEQ(memberField(m, 16, "segment"), b.getInt32(segment.number)),
      action);
}

/// The tiles of a segment follow each other.
void SegmentEnd::combineTiles(const SegmentReduction &reduction) {
  Value *first = ir.local(b.getInt64Ty(), 1, "first_tile");
  Value *count = ir.local(b.getInt64Ty(), 1, "tiles");
  b.CreateStore(ir.i64(0), first);
  b.CreateStore(ir.i64(0), count);
  auto number = [&](Value *at) { return b.CreateLoad(b.getInt64Ty(), at); };
  auto field = [&](Value *m, int64_t at, const llvm::Twine &name) {
    return b.CreateZExt(memberField(m, at, name), b.getInt64Ty());
  };
  ir.loop(memberCount, "member", [&](Value *m) {
    ifOwn(m, [&] {
      ir.when(b.CreateICmpEQ(number(count), ir.i64(0)),
              [&] { b.CreateStore(field(m, 8, "first_tile"), first); });
      b.CreateStore(b.CreateAdd(number(count), field(m, 12, "tiles")), count);
    });
  });
  Reduction states = reductionOf(reduction);
  Value *partials =
      states.address(scratch(reduction, ScratchPer::tile), number(first));
  setResults(reduction, states, states.overList(partials, number(count)));
}

void SegmentEnd::emit() {
  llvm::SmallVector<mlir::Value> roots;
  for (const SegmentResult &result : segment.results)
    if (result.at == Level::list)
      roots.push_back(result.value);
  for (const SegmentReduction &reduction : segment.reductions)
    if (reduction.to != Level::list)
      continue;
    else if (layout.scratchOf(reduction.op, ScratchPer::tile) >= 0)
      combineTiles(reduction);
    else
      combineMembers(reduction);
  compute(
      segment.needed(roots, [](Level level) { return level == Level::list; }),
      {});
}

llvm::SmallVector<std::pair<mlir::Type, Value *>> SegmentEnd::yielded() {
  llvm::SmallVector<std::pair<mlir::Type, Value *>> result;
  for (const SegmentResult &r : segment.results)
    if (r.at == Level::list)
      result.emplace_back(
          r.storage, convert(ir, get(r.value), r.value.getType(), r.storage));
  return result;
}

void SegmentEnd::storeResults() {
  for (const SegmentResult &result : segment.results)
    if (result.at == Level::list && result.isStored())
      storeScalar(-1 - result.slot, result.value.getType(), get(result.value));
}

void SegmentEnd::emitEpilogue(llvm::ArrayRef<Value *> entering) {
  mlir::Block &body = context.sweep.getEpilogue().front();
  size_t bound = body.getNumArguments() - entering.size();
  for (auto [argument, value] : llvm::zip(body.getArguments(), entering))
    set(argument, value);
  for (size_t k = 0; k < bound; ++k) {
    mlir::BlockArgument argument = body.getArgument(entering.size() + k);
    set(argument, loadScalar(layout.epilogueInputs[k], argument.getType()));
  }
  for (mlir::Operation &op : body.without_terminator())
    emitOp(op);
}

void SegmentEnd::storeEpilogueResults() {
  auto values = context.sweep.getEpilogueYield().getValues();
  for (auto [value, slot] : llvm::zip(values, layout.epilogueResults))
    if (slot != SegmentLayout::kNowhere)
      storeScalar(slot, value.getType(), get(value));
}

void emitListEnd(SweepContext &context, llvm::ArrayRef<Segment> segments,
                 Value *members, Value *count, Value *arguments) {
  Ir &ir = context.ir;
  std::vector<SegmentEnd> ends;
  for (const Segment &segment : segments)
    ends.emplace_back(context, segment, members, count, arguments);
  if (Value *holds = ends.front().whereHolds())
    ir.when(ir.b.CreateNot(holds), [&] { ir.b.CreateRetVoid(); });
  for (SegmentEnd &end : ends)
    end.emit();
  if (context.sweep.hasEpilogue()) {
    llvm::SmallVector<Value *> entering;
    mlir::Block &body = context.sweep.getEpilogue().front();
    for (SegmentEnd &end : ends)
      for (auto [storage, value] : end.yielded()) {
        mlir::Type type = body.getArgument(entering.size()).getType();
        entering.push_back(convert(ir, value, storage, type));
      }
    ends.front().emitEpilogue(entering);
  }
  for (SegmentEnd &end : ends)
    end.storeResults();
  if (context.sweep.hasEpilogue())
    ends.front().storeEpilogueResults();
}

} // namespace heddle::cpu
