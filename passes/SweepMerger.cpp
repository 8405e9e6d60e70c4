//===- SweepMerger.cpp - one sweep from several over one domain -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each body is copied once, however many sweeps become one.
//
//===----------------------------------------------------------------------===//

#include "passes/SweepMerger.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "passes/Scalars.h"
#include "passes/SweepBuilder.h"

using namespace mlir;
using heddle::foreach::storageType;

namespace heddle::fused {

int32_t indexIn(int32_t index, Fit fit) {
  return fit == Fit::columns && index == kI ? kJ : index;
}

namespace {
class SweepMerger {
public:
  SweepMerger(ArrayRef<SweepPart> parts, SweepOp last)
      : parts(parts), last(last), merged(last.getContext(), last.getWhere()) {}
  SweepOp run(OpBuilder &builder);

private:
  void add(const SweepPart &part);
  void bindAll(SweepOp sweep, Fit fit);
  void embedPositions(SweepOp sweep, Fit fit);
  void replace(BlockArgument argument, Value operand);
  Value forwarded(OpBuilder builder, Value operand, Type bound);
  void dropInternal();

  ArrayRef<SweepPart> parts;
  SweepOp last;
  SweepBuilder merged;
  /// The results of all parts, in order, and their copies.
  llvm::MapVector<Value, SweepBuilder::ResultRef> refs;
  IRMapping mapping;
};
} // namespace

/// The value of `operand`, a result of an earlier part.
Value SweepMerger::forwarded(OpBuilder builder, Value operand, Type bound) {
  return convertThrough(builder, operand.getLoc(),
                        merged.yielded(refs.lookup(operand)),
                        storageType(operand.getType()), bound);
}

/// Replaces `argument`, to which the result `operand` of an earlier part is
/// bound.
void SweepMerger::replace(BlockArgument argument, Value operand) {
  mapping.map(argument, forwarded(merged.at(0), operand, argument.getType()));
}

/// Maps the arguments of `sweep`. Operands are bound twice, because the binding
/// of an operand with another type can change the type of an argument to which
/// an earlier argument was mapped.
void SweepMerger::bindAll(SweepOp sweep, Fit fit) {
  for (bool settled : {false, true})
    for (auto [argument, operand, index] :
         llvm::zip_equal(sweep.getSegmentBlock(0).getArguments(),
                         sweep.getSegmentInputs(0), sweep.getSegmentIndices(0)))
      if (!refs.contains(operand))
        mapping.map(argument,
                    merged.bind(0, operand, indexIn(index, fit),
                                argument.getType(), nameOf(argument)));
      else if (settled && !mapping.contains(argument))
        replace(argument, operand);
}

/// The elements of a sweep over rows or columns are one dimension of the merged
/// sweep.
void SweepMerger::embedPositions(SweepOp sweep, Fit fit) {
  if (fit == Fit::same)
    return;
  auto axis = fit == Fit::rows ? foreach::Axis::i : foreach::Axis::j;
  for (Operation &op : sweep.getSegmentBlock(0)) {
    if (!isa<foreach::ExtentOp, foreach::IndexOp>(op))
      continue;
    setAxis(mapping.lookup(op.getResult(0)).getDefiningOp(), axis);
  }
}

void SweepMerger::add(const SweepPart &part) {
  SweepOp sweep = part.sweep;
  bindAll(sweep, part.fit);
  for (BlockArgument argument : part.roundedHere) {
    auto reader = cast<SweepOp>(argument.getOwner()->getParentOp());
    replace(argument, reader.getSegmentInputs(0)[argument.getArgNumber()]);
  }
  OpBuilder builder = merged.at(0);
  cloneBody(builder, sweep.getSegmentBlock(0), mapping);
  embedPositions(sweep, part.fit);
  SmallVector<SweepBuilder::ResultRef> own;
  for (auto [value, result] : llvm::zip_equal(
           sweep.getSegmentYield(0).getValues(), sweep.getSegmentResults(0)))
    own.push_back({0, merged.addResult(0, mapping.lookup(value),
                                       result.getType(), nameOf(result))});
  merged.appendEpilogue(sweep, own, [&](Value operand, Type bound) -> Value {
    auto found = refs.find(operand);
    if (found == refs.end())
      return {};
    if (found->second.segment < 0)
      return forwarded(merged.atEpilogue(), operand, bound);
    return merged.listValue(0, found->second.result, bound, nameOf(operand));
  });
  for (auto [result, ref] : llvm::zip_equal(sweep.getResults(), own))
    refs.insert({result, ref});
}

/// Omits results that only the merged sweeps read.
void SweepMerger::dropInternal() {
  llvm::SmallPtrSet<Operation *, 16> inside;
  for (const SweepPart &part : parts)
    inside.insert(part.sweep);
  for (auto [result, ref] : refs)
    if (llvm::all_of(result.getUsers(),
                     [&](Operation *user) { return inside.contains(user); }))
      merged.drop(ref);
}

SweepOp SweepMerger::run(OpBuilder &builder) {
  merged.addSegment();
  for (const SweepPart &part : parts)
    add(part);
  dropInternal();
  SweepOp sweep = merged.build(builder, last.getLoc());
  for (auto [result, ref] : refs)
    if (Value value = merged.result(ref))
      result.replaceAllUsesWith(value);
  for (SweepPart part : llvm::reverse(parts))
    part.sweep.erase();
  return sweep;
}

SweepOp mergeSweeps(OpBuilder &builder, ArrayRef<SweepPart> parts) {
  return SweepMerger(parts, parts.back().sweep).run(builder);
}

} // namespace heddle::fused
