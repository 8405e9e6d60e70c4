//===- Segment.cpp - analysis of a segment of a sweep ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Segment.h"
#include "dialect/ReduceKinds.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;
using heddle::fused::Level;

namespace heddle::cpu {

static Level levelOfResult(Type type, Level value, int64_t rank,
                           bool recorded) {
  if (!isList(type))
    return Level::list;
  if (rankOf(type) == 0 || recorded)
    return Level::member;
  if (rankOf(type) == rank)
    return Level::element;
  return value == Level::column ? Level::column : Level::row;
}

Segment::Values Segment::needed(ArrayRef<Value> roots, Within within) const {
  Values result;
  SmallVector<Value> open(roots.begin(), roots.end());
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!within(levelOf(value)) || !result.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (auto record = dyn_cast_or_null<fused::RecordOp>(op))
      open.push_back(record.getValue());
    else if (op && !isa<fused::ReduceOp>(op))
      llvm::append_range(open, op->getOperands());
  }
  return result;
}

void Segment::findReductions() {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> open;
  for (const SegmentResult &result : results)
    open.push_back(result.value);
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (op && seen.insert(op).second)
      for (OpOperand &operand : op->getOpOperands())
        if (!fused::isHint(operand))
          open.push_back(operand.get());
  }
  for (auto op : block->getOps<fused::ReduceOp>()) {
    if (!seen.contains(op))
      continue;
    reductions.push_back({op, levels.countedBy(op), op.getLevel(),
                          levels.reducesCompleteColumns(op)});
  }
}

void Segment::findPhases() {
  for (Operation &op : block->without_terminator()) {
    int phase = 0;
    for (OpOperand &operand : op.getOpOperands())
      if (!fused::isHint(operand))
        phase = std::max(phase, phaseOf(operand.get()));
    auto reduce = dyn_cast<fused::ReduceOp>(op);
    if (reduce && reduce.getLevel() == Level::row)
      ++phase;
    for (Value value : op.getResults())
      phases[value] = phase;
  }
}

LogicalResult Segment::verify(fused::SweepOp sweep) const {
  auto schedule = sweep.getScheduleAttr();
  bool streams = schedule.getKind() == fused::ScheduleKind::stream;
  int64_t rank = sweep.getDomainRank(number);
  if (!streams && rank != 2)
    return sweep.emitOpError("visits matrices by rows but segment #")
           << number << " has a domain of rank " << rank;
  auto inRows = [](Level level) {
    return level == Level::row || level == Level::column;
  };
  for (const SegmentResult &result : results)
    if (streams && inRows(result.at))
      return sweep.emitOpError("has the schedule 'stream' but segment #")
             << number << " yields " << stringifyLevel(result.at) << " values";
  for (const SegmentReduction &reduction : reductions) {
    fused::ReduceOp op = reduction.op;
    Type type = op.getValue().getType();
    if (rank == 0 && reduction.from != Level::member)
      return op.emitOpError("reduces ")
             << stringifyLevel(reduction.from)
             << " values in a domain of member scalars";
    if (streams && (inRows(reduction.from) || inRows(reduction.to)))
      return op.emitOpError("reduces ")
             << stringifyLevel(reduction.from) << " values to "
             << stringifyLevel(reduction.to)
             << " values in a sweep with the schedule 'stream'";
    if (type.isF16() || type.isBF16())
      return op.emitOpError("combines values of ")
             << type << ", which is a storage type: bind operands 'as f32'";
    if (foreach::hasPosition(op.getKind()) && reduction.to == Level::list &&
        reduction.from != Level::member)
      return op.emitOpError("cannot give one position in the whole list; "
                            "expected one value per member");
  }
  return success();
}

FailureOr<Segment> Segment::analyse(fused::SweepOp sweep, unsigned number,
                                    const SweepLayout &layout) {
  auto levels = fused::Levels::infer(sweep, number);
  if (failed(levels))
    return failure();
  Segment segment(std::move(*levels));
  segment.number = number;
  segment.block = &sweep.getSegmentBlock(number);
  int64_t rank = sweep.getDomainRank(number);
  for (auto [result, value, slot] :
       llvm::zip(sweep.getSegmentResults(number),
                 sweep.getSegmentYield(number).getValues(),
                 layout.segments[number].results)) {
    Type type = result.getType();
    Level at = levelOfResult(
        type, segment.levelOf(value), rank,
        static_cast<bool>(value.getDefiningOp<fused::RecordOp>()));
    bool read = slot != SegmentLayout::kNowhere ||
                (at == Level::list && sweep.hasEpilogue());
    if (read)
      segment.results.push_back({value, storageType(type), at, slot});
  }
  segment.findReductions();
  segment.findPhases();
  if (failed(segment.verify(sweep)))
    return failure();
  return segment;
}

} // namespace heddle::cpu
