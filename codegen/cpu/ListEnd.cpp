//===- ListEnd.cpp - the end of the list ----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs when all members are done: combines the states of the members and
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
    if (layout.segments.size() == 1)
      return combine();
    Value *descriptor =
        ir.element(b.getInt8Ty(), memberDescriptors,
                   b.CreateMul(m, ir.i64(context.descriptorBytes())));
    Value *number = ir.field(b.getInt32Ty(), descriptor,
                             context.countOffset() + 16, "segment");
    ir.when(b.CreateICmpEQ(number, b.getInt32(segment.number)), combine);
  });
  setResults(reduction, states, states.overBlock(lanes, used));
}

void SegmentEnd::emit() {
  llvm::SmallVector<mlir::Value> roots;
  for (const SegmentResult &result : segment.results)
    if (result.at == Level::list)
      roots.push_back(result.value);
  for (const SegmentReduction &reduction : segment.reductions)
    if (reduction.to == Level::list)
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
