//===- SweepLayout.cpp - operands and scratch areas of a sweep ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slots are numbered in the order of the operands, then of the results.
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/SweepLayout.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "dialect/ReduceKinds.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;
using heddle::fused::Level;

namespace heddle {

int64_t storageBytes(Type type) {
  return std::max<int64_t>(1, type.getIntOrFloatBitWidth() / 8);
}

int64_t stateBytes(fused::ReduceKind kind, Type type) {
  using foreach::StateType;
  const foreach::ReduceKindInfo &info = foreach::infoOf(kind);
  int64_t bytes = 0, widest = 1;
  for (StateType part : {info.first.type, info.second.type}) {
    if (part == StateType::absent)
      continue;
    int64_t size = part == StateType::element    ? storageBytes(type)
                   : part == StateType::position ? 8
                                                 : 4;
    bytes = llvm::alignTo(bytes, size) + size;
    widest = std::max(widest, size);
  }
  return llvm::alignTo(bytes, widest);
}

PrecomputeLayout::PrecomputeLayout(fused::PrecomputeOp op) {
  int64_t at = 4, widest = 4;
  auto add = [&](Type type, SmallVector<int64_t> &offsets) {
    int64_t size = storageBytes(type);
    widest = std::max(widest, size);
    at = llvm::alignTo(at, size);
    offsets.push_back(at);
    at += size;
  };
  for (Type type : op.getInputs().getTypes())
    add(type, inputs);
  for (Type type : op.getResultTypes())
    add(type, results);
  bytes = llvm::alignTo(at, widest);
}

namespace {
class Builder {
public:
  Builder(fused::SweepOp sweep, const Buffers &buffers, SweepLayout &layout)
      : sweep(sweep), buffers(buffers), layout(layout) {}
  LogicalResult build();

private:
  LogicalResult addSegment(unsigned number);
  bool replacesScalarOfElements(unsigned number);
  void findDistanceSlots();
  void addScratch(unsigned number, const fused::Levels &levels);
  int scalar(Value value, bool written, bool inEpilogue = false);
  void addIteration();
  int operand(SegmentLayout &segment, int buffer, int32_t index, Type type,
              bool written);
  int32_t indexOfResult(Value yielded, Type type, const fused::Levels &levels,
                        int64_t rank);

  fused::SweepOp sweep;
  const Buffers &buffers;
  SweepLayout &layout;
  /// The scalar slots by buffer, and the operand slots of the segment by buffer
  /// and index.
  llvm::DenseMap<int, int> scalars;
  llvm::DenseMap<std::pair<int, int32_t>, int> operands;
};
} // namespace

/// The scalar slot of `value`. An epilogue reads its operands from memory,
/// because by-value operands would require another entry.
int Builder::scalar(Value value, bool written, bool inEpilogue) {
  int buffer = buffers.of(value);
  if (buffer < 0)
    return SegmentLayout::kNowhere;
  auto [found, isNew] = scalars.try_emplace(buffer, layout.scalars.size());
  if (!isNew) {
    ScalarSlot &slot = layout.scalars[found->second];
    (written ? slot.written : slot.read) = true;
    return found->second;
  }
  const Buffer &named = buffers[buffer];
  layout.scalars.push_back(
      {buffer, storageType(value.getType()), !written, written,
       !inEpilogue && named.role == BufferRole::argument && !named.donated});
  return found->second;
}

/// Adds the device scalar in which the loop counts its iterations, whatever the
/// type of its result.
void Builder::addIteration() {
  auto loop = sweep->getParentOfType<fused::LoopOp>();
  layout.iteration = layout.scalars.size();
  int buffer = buffers.of(loop.getIterations());
  scalars[buffer] = *layout.iteration;
  layout.scalars.push_back({buffer, IntegerType::get(sweep.getContext(), 32),
                            /*read=*/true});
}

int Builder::operand(SegmentLayout &segment, int buffer, int32_t index,
                     Type type, bool written) {
  int position = segment.operands.size();
  auto [found, isNew] = operands.try_emplace({buffer, index}, position);
  if (!isNew) {
    OperandSlot &slot = segment.operands[found->second];
    (written ? slot.written : slot.read) = true;
    return found->second;
  }
  segment.operands.push_back(
      {buffer, index, storageType(type), !written, written});
  if (isEntryIndex(index))
    segment.operands.push_back({buffer, kLength, storageType(type)});
  if (index == kIJ)
    segment.operands.push_back({buffer, kStride, storageType(type)});
  return position;
}

int32_t Builder::indexOfResult(Value yielded, Type type,
                               const fused::Levels &levels, int64_t rank) {
  if (yielded.getDefiningOp<fused::RecordOp>())
    return kIteration;
  if (rankOf(type) != 1 || rank != 2)
    return defaultIndex(type);
  return levels.of(yielded).level == Level::column ? kJ : kI;
}

/// Elements of arguments that no operation of the program replaces. No slot in
/// which another segment has values of the members of such an argument: the
/// launch that ends members reads them, and takes no distances.
void Builder::findDistanceSlots() {
  llvm::BitVector slots(layout.pointers), others(layout.pointers);
  for (const SegmentLayout &segment : layout.segments)
    for (auto [position, slot] : llvm::enumerate(segment.operands)) {
      const Buffer &buffer = buffers[slot.buffer];
      if (foreach::isList(buffer.type) && buffer.role == BufferRole::argument &&
          !buffer.donated)
        (slot.index == kI ? slots : others).set(position);
    }
  slots.reset(others);
  layout.distanceSlots.assign(slots.set_bits_begin(), slots.set_bits_end());
}

LogicalResult Builder::addSegment(unsigned number) {
  auto levels = fused::Levels::infer(sweep, number);
  if (failed(levels))
    return failure();
  SegmentLayout &segment = layout.segments.emplace_back();
  operands.clear();
  int64_t rank = sweep.getDomainRank(number);
  auto schedule = sweep.getScheduleAttr();
  segment.tile = schedule.getTile()[number];
  segment.vector = schedule.getVector()[number];
  // A `stream` sweep visits a matrix as a vector.
  bool stream = schedule.getKind() == fused::ScheduleKind::stream;
  auto indexIn = [&](int32_t index) {
    return stream && index == kIJ ? kI : index;
  };
  auto indices = sweep.getSegmentIndices(number);
  for (auto [k, input] : llvm::enumerate(sweep.getSegmentInputs(number))) {
    if (!isList(input.getType())) {
      segment.inputs.push_back(-1 - scalar(input, /*written=*/false));
      continue;
    }
    int buffer = buffers.of(input);
    if (buffer < 0)
      return sweep.emitOpError("expected a buffer for each list that it reads, "
                               "found none for operand #")
             << k << " of segment #" << number;
    segment.inputs.push_back(operand(segment, buffer, indexIn(indices[k]),
                                     input.getType(),
                                     /*written=*/false));
  }
  auto yield = sweep.getSegmentYield(number);
  for (auto [result, value] :
       llvm::zip(sweep.getSegmentResults(number), yield.getValues())) {
    int buffer = buffers.of(result);
    Type type = result.getType();
    if (!isList(type))
      layout.endsList = true;
    else if (levels->isAfter(value) || rankOf(type) == 0)
      segment.endsMembers = true;
    else if (!stream && levels->of(value).level == Level::column)
      segment.endsMembers = segment.endsAfterStores = true;
    if (buffer < 0)
      segment.results.push_back(SegmentLayout::kNowhere);
    else if (!isList(type))
      segment.results.push_back(-1 - scalar(result, /*written=*/true));
    else
      segment.results.push_back(
          operand(segment, buffer,
                  indexIn(indexOfResult(value, type, *levels, rank)), type,
                  /*written=*/true));
  }
  if (Value where = sweep.getWhere()) {
    if (isList(where.getType()))
      layout.whereOperand.push_back(operand(segment, buffers.of(where), kScalar,
                                            where.getType(),
                                            /*written=*/false));
    else
      layout.whereScalar = scalar(where, /*written=*/false);
  }
  layout.pointers = std::max<int64_t>(layout.pointers, segment.operands.size());
  addScratch(number, *levels);
  layout.membersHaveEnds |=
      llvm::any_of(segment.operands, [](const OperandSlot &slot) {
        return slot.written && (isMemberIndex(slot.index) || slot.index == kJ);
      });
  // Blocks of a `rows` sweep take their tickets after the rows.
  segment.endsAfterStores |= !stream && segment.endsMembers;
  return success();
}

void Builder::addScratch(unsigned number, const fused::Levels &levels) {
  SegmentLayout &segment = layout.segments[number];
  for (Operation &op : sweep.getSegmentBlock(number)) {
    if (auto precompute = dyn_cast<fused::PrecomputeOp>(op)) {
      segment.endsMembers = layout.membersHaveEnds = true;
      layout.addScratch({ScratchPer::member, PrecomputeLayout(precompute).bytes,
                         /*zero=*/true, &op});
    }
    auto reduce = dyn_cast<fused::ReduceOp>(op);
    if (!reduce || reduce.getLevel() == Level::row)
      continue;
    int64_t bytes = stateBytes(reduce.getKind(), reduce.getValue().getType());
    if (reduce.getLevel() == Level::column) {
      segment.endsMembers = segment.endsAfterStores = true;
      layout.membersHaveEnds = true;
      if (segment.tickets < 0) {
        segment.tickets = layout.scratch.size();
        layout.addScratch(
            {ScratchPer::ticket, sizeof(int32_t), /*zero=*/true, &op});
      }
      layout.addScratch({ScratchPer::tileColumn, bytes, false, &op});
      continue;
    }
    // A reduction over a member has a partial per tile, unless it combines
    // columns that are complete after the sweep.
    bool overMember = levels.countedBy(reduce) > Level::member &&
                      !levels.reducesCompleteColumns(reduce);
    if (overMember)
      layout.addScratch({ScratchPer::tile, bytes, false, &op});
    segment.endsMembers = segment.endsAfterStores = true;
    if (reduce.getLevel() == Level::list)
      layout.endsList = true;
    // A reduction over a list combines partials of tiles, or values of members.
    if (reduce.getLevel() != Level::list || !overMember)
      layout.membersHaveEnds = true;
    if (reduce.getLevel() == Level::list && !overMember)
      layout.addScratch({ScratchPer::member, bytes, false, &op});
  }
}

/// Whether elements depend on a scalar that is replaced when the member or the
/// list is complete.
bool Builder::replacesScalarOfElements(unsigned number) {
  const SegmentLayout &segment = layout.segments[number];
  auto read = fused::backwardSlice(fused::elementResults(sweep, number));
  return llvm::any_of(
      llvm::zip(sweep.getSegmentBlock(number).getArguments(), segment.inputs),
      [&](auto pair) {
        auto [argument, slot] = pair;
        if (!read.contains(argument))
          return false;
        if (slot < 0)
          return layout.scalars[-1 - slot].written;
        const OperandSlot &operand = segment.operands[slot];
        return isMemberIndex(operand.index) && operand.written;
      });
}

LogicalResult Builder::build() {
  auto schedule = sweep.getScheduleAttr();
  if (!schedule)
    return sweep.emitOpError("has no schedule; run fused-schedule");
  layout.threads = schedule.getThreads();
  if (!sweep.getName())
    return sweep.emitOpError("has no name; run fused-prepare-cuda");
  layout.name = sweep.getName()->str();
  layout.rank = schedule.getKind() == fused::ScheduleKind::stream
                    ? std::min<int64_t>(1, sweep.getDomainRank(0))
                    : 2;
  layout.pointers = 0;
  if (sweep.usesIteration())
    addIteration();
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
    if (failed(addSegment(s)))
      return failure();
  layout.endsList |= sweep.hasEpilogue();
  if (schedule.getKind() == fused::ScheduleKind::stream)
    findDistanceSlots();
  // The list is complete when every member of every segment is.
  if (layout.endsList)
    for (SegmentLayout &segment : layout.segments)
      segment.endsMembers = segment.endsAfterStores = true;
  for (Value input : sweep.getEpilogueInputs())
    layout.epilogueInputs.push_back(
        scalar(input, /*written=*/false, /*inEpilogue=*/true));
  for (Value result : sweep.getEpilogueResults())
    layout.epilogueResults.push_back(scalar(result, /*written=*/true));
  // If blocks share a tile, the member's last block may write member scalars
  // before other blocks read them.
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    if (!schedule.getColumns() || fused::elementResults(sweep, s).empty())
      continue;
    if (replacesScalarOfElements(s))
      return sweep.emitOpError("expected no result in the buffer of a scalar "
                               "on which elements depend, because blocks "
                               "share rows");
    layout.columns = layout.segments[s].columns = schedule.getColumns();
  }
  if (layout.rank == 2) {
    layout.heldWords = heldWords(sweep, layout);
    layout.singleRows = singleRows(sweep, layout);
    layout.narrowRows = narrowRows(sweep, layout);
    layout.onlyReducesRows = onlyReducesRows(sweep, layout);
    layout.shortRows = shortRows(sweep, layout);
    layout.wideRows = wideRows(sweep, layout);
    layout.holdsWideRows = holdsWideRows(sweep, layout);
    for (auto [s, segment] : llvm::enumerate(layout.segments))
      segment.held = heldRows(sweep, layout, s);
  }
  if (dividesColumns(sweep, layout)) {
    layout.columnRange = kColumnRange;
    for (auto [s, segment] : llvm::enumerate(layout.segments))
      segment.held.tallUnits = tallUnits(sweep, s, segment.tile);
  }
  layout.rowParts = dividesRows(sweep, layout);
  if (!layout.rowParts) {
    layout.heldEntries = columnsOfHeldRows(sweep, layout);
    layout.warpEntries = columnsOfWarps(sweep, layout);
    return success();
  }
  layout.heldParts = holdsParts(sweep, layout);
  layout.wholeColumns = wholeColumns(sweep, layout);
  layout.severalParts = hasSeveralParts(sweep, layout);
  layout.longParts = holdsLongParts(sweep, layout);
  layout.heldEntries = columnsOfHeldRows(sweep, layout);
  layout.warpEntries = columnsOfWarps(sweep, layout);
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
    for (auto op : sweep.getSegmentBlock(s).getOps<fused::ReduceOp>())
      if (op.getLevel() == fused::Level::row)
        layout.addScratch(
            {ScratchPer::rowPart,
             2 * 2 * stateBytes(op.getKind(), op.getValue().getType()),
             /*zero=*/true, op});
  layout.addScratch({ScratchPer::once, sizeof(int32_t), /*zero=*/true, sweep});
  return success();
}

FailureOr<SweepLayout> SweepLayout::compute(fused::SweepOp sweep,
                                            const Buffers &buffers) {
  SweepLayout layout;
  if (failed(Builder(sweep, buffers, layout).build()))
    return failure();
  return layout;
}

void SweepLayout::addScratch(ScratchSlot slot) {
  scratchNumbers.try_emplace({slot.owner, static_cast<int>(slot.per)},
                             scratch.size());
  scratch.push_back(slot);
}

int SweepLayout::scratchOf(Operation *owner, ScratchPer per) const {
  return scratchNumbers.lookup_or({owner, static_cast<int>(per)}, -1);
}

} // namespace heddle
