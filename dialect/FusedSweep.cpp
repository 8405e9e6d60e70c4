//===- FusedSweep.cpp - one pass over a domain ----------------------------===//
//
// Parts, syntax and rules of `fused.sweep`.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Fused.h"
#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static unsigned sumBefore(ArrayRef<int32_t> counts, unsigned end) {
  unsigned sum = 0;
  for (int32_t count : counts.take_front(end))
    sum += count;
  return sum;
}

OperandRange SweepOp::getSegmentInputs(unsigned segment) {
  return getInputs().slice(sumBefore(getInputCounts(), segment),
                           getInputCounts()[segment]);
}

ArrayRef<int32_t> SweepOp::getSegmentIndices(unsigned segment) {
  return getIndices().slice(sumBefore(getInputCounts(), segment),
                            getInputCounts()[segment]);
}

ResultRange SweepOp::getSegmentResults(unsigned segment) {
  return getResults().slice(sumBefore(getResultCounts(), segment),
                            getResultCounts()[segment]);
}

ResultRange SweepOp::getFinishResults() {
  return getResults().drop_front(
      sumBefore(getResultCounts(), getResultCounts().size()));
}

fused::YieldOp SweepOp::getSegmentYield(unsigned segment) {
  return cast<fused::YieldOp>(getSegmentBlock(segment).getTerminator());
}

fused::YieldOp SweepOp::getFinishYield() {
  return cast<fused::YieldOp>(getFinish().front().getTerminator());
}

int64_t SweepOp::getDomainRank(unsigned segment) {
  return domainRank(getSegmentIndices(segment));
}

SmallVector<unsigned> SweepOp::getListResults() {
  SmallVector<unsigned> positions;
  unsigned end = sumBefore(getResultCounts(), getResultCounts().size());
  for (unsigned k = 0; k < end; ++k)
    if (!isList(getResult(k).getType()))
      positions.push_back(k);
  return positions;
}

fused::RecordOp SweepOp::getRecord(unsigned result) {
  for (unsigned s = 0; s < getNumSegments(); ++s) {
    auto counts = getResultCounts();
    unsigned first = sumBefore(counts, s);
    if (result >= first && result < first + counts[s])
      return getSegmentYield(s)
          .getValues()[result - first]
          .getDefiningOp<fused::RecordOp>();
  }
  return {};
}

bool fused::isRecordedIn(Value argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto record = dyn_cast<fused::RecordOp>(user);
    return record && record.getInto() == argument;
  });
}

bool SweepOp::usesTrip() {
  if (llvm::any_of(getIndices(), movesWithTrips))
    return true;
  return (*this)
      ->walk([](foreach::TripOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

SweepOp fused::createSweep(OpBuilder &builder, Location loc,
                           ArrayRef<SegmentSpec> segments,
                           ValueRange finishInputs, TypeRange finishTypes,
                           bool reversed, Value where) {
  SmallVector<Value> inputs;
  SmallVector<int32_t> indices, inputCounts, resultCounts;
  SmallVector<Type> types;
  for (const SegmentSpec &segment : segments) {
    llvm::append_range(inputs, segment.inputs);
    llvm::append_range(indices, segment.indices);
    llvm::append_range(types, segment.resultTypes);
    inputCounts.push_back(segment.inputs.size());
    resultCounts.push_back(segment.resultTypes.size());
  }
  llvm::append_range(types, finishTypes);
  return SweepOp::create(builder, loc, types, inputs, finishInputs, where,
                         indices, inputCounts, resultCounts, reversed,
                         /*schedule=*/ScheduleAttr(), segments.size());
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

namespace {
/// What parsing collects until all operands can be resolved.
struct SweepParts {
  SmallVector<OpAsmParser::UnresolvedOperand> operands, finishOperands;
  SmallVector<Type> operandTypes, finishTypes, resultTypes;
  SmallVector<int32_t> indices, inputCounts, resultCounts;
};
} // namespace

static ParseResult parseSegment(OpAsmParser &parser, SweepParts &parts,
                                Region &region) {
  Bindings bindings;
  SmallVector<Type> results;
  if (parseBindings(parser, bindings) || parseResults(parser, results) ||
      parser.parseRegion(region, bindings.arguments,
                         /*enableNameShadowing=*/true))
    return failure();
  llvm::append_range(parts.operands, bindings.operands);
  llvm::append_range(parts.operandTypes, bindings.types);
  llvm::append_range(parts.indices, bindings.indices);
  llvm::append_range(parts.resultTypes, results);
  parts.inputCounts.push_back(bindings.operands.size());
  parts.resultCounts.push_back(results.size());
  return success();
}

/// `[%sum : f64, ...]`, the list values by which `finish` is entered.
static ParseResult parseFinish(OpAsmParser &parser, SweepParts &parts,
                               Region &region) {
  SmallVector<OpAsmParser::Argument> arguments;
  auto parseValue = [&] {
    return parseTypedArgument(parser, arguments.emplace_back());
  };
  Bindings bindings;
  SmallVector<Type> results;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     parseValue) ||
      parseBindings(parser, bindings) || parseResults(parser, results))
    return failure();
  llvm::append_range(arguments, bindings.arguments);
  if (parser.parseRegion(region, arguments, /*enableNameShadowing=*/true))
    return failure();
  parts.finishOperands = bindings.operands;
  parts.finishTypes = bindings.types;
  llvm::append_range(parts.resultTypes, results);
  return success();
}

ParseResult SweepOp::parse(OpAsmParser &parser, OperationState &state) {
  SweepParts parts;
  Builder &builder = parser.getBuilder();
  if (succeeded(parser.parseOptionalKeyword("reversed")))
    state.addAttribute("reversed", builder.getUnitAttr());
  OpAsmParser::UnresolvedOperand where;
  Type whereType;
  if (succeeded(parser.parseOptionalKeyword("where")) &&
      (parser.parseOperand(where) || parser.parseColonType(whereType)))
    return failure();
  ScheduleAttr schedule;
  if (succeeded(parser.parseOptionalKeyword("schedule")) &&
      parser.parseAttribute(schedule, "schedule", state.attributes))
    return failure();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  Region *finish = state.addRegion();
  do {
    if (parseSegment(parser, parts, *state.addRegion()))
      return failure();
  } while (succeeded(parser.parseOptionalKeyword("and")));
  if (succeeded(parser.parseOptionalKeyword("finish")) &&
      parseFinish(parser, parts, *finish))
    return failure();
  SMLoc at = parser.getCurrentLocation();
  if (parser.resolveOperands(parts.operands, parts.operandTypes, at,
                             state.operands) ||
      parser.resolveOperands(parts.finishOperands, parts.finishTypes, at,
                             state.operands) ||
      (whereType && parser.resolveOperand(where, whereType, state.operands)))
    return failure();
  state.addAttribute("indices", builder.getDenseI32ArrayAttr(parts.indices));
  state.addAttribute("inputCounts",
                     builder.getDenseI32ArrayAttr(parts.inputCounts));
  state.addAttribute("resultCounts",
                     builder.getDenseI32ArrayAttr(parts.resultCounts));
  state.addAttribute("operandSegmentSizes",
                     builder.getDenseI32ArrayAttr(
                         {static_cast<int32_t>(parts.operands.size()),
                          static_cast<int32_t>(parts.finishOperands.size()),
                          whereType ? 1 : 0}));
  state.addTypes(parts.resultTypes);
  return success();
}

void SweepOp::print(OpAsmPrinter &printer) {
  if (getReversed())
    printer << " reversed";
  if (Value where = getWhere())
    printer << " where " << where << " : " << where.getType();
  if (auto schedule = getScheduleAttr())
    printer << " schedule " << schedule;
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {"indices", "inputCounts", "resultCounts",
                            "reversed", "schedule", "operandSegmentSizes"});
  for (unsigned s = 0; s < getNumSegments(); ++s) {
    printer << (s ? " and " : " ");
    printBindings(printer, getSegmentInputs(s), getSegmentIndices(s),
                  getSegmentBlock(s).getArguments());
    printResults(printer, getSegmentResults(s).getTypes());
    printer << ' ';
    printer.printRegion(getSegments()[s], /*printEntryBlockArgs=*/false);
  }
  if (!hasFinish())
    return;
  printer << " finish [";
  auto arguments = getFinish().getArguments();
  size_t values = arguments.size() - getFinishInputs().size();
  llvm::interleaveComma(
      arguments.take_front(values), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << "] ";
  SmallVector<int32_t> indices(getFinishInputs().size(), kScalar);
  printBindings(printer, getFinishInputs(), indices,
                arguments.drop_front(values));
  printResults(printer, getFinishResults().getTypes());
  printer << ' ';
  printer.printRegion(getFinish(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static LogicalResult verifyResult(SweepOp op, unsigned position, Value value,
                                  LevelOf of, int64_t rank) {
  Type type = op.getResult(position).getType();
  auto error = [&]() -> InFlightDiagnostic {
    return op.emitOpError("result #") << position << " of type " << type << ' ';
  };
  if (!isStorable(value.getType(), storageType(type)))
    return error() << "cannot hold a " << value.getType();
  StringRef level = stringifyLevel(of.level);
  if (value.getDefiningOp<fused::RecordOp>()) {
    if (!isList(type) || rankOf(type) != 1)
      return error() << "is recorded; expected a list of rank 1";
    return success();
  }
  if (!isList(type)) {
    if (of.level != Level::list)
      return error() << "is one for the whole list but its value is a " << level
                     << " value";
    return success();
  }
  if (of.level == Level::list && of.after)
    return error()
           << "is a list but its value is complete only after the whole "
              "list was visited";
  int64_t typeRank = rankOf(type);
  bool fits = typeRank == 0 ? of.level <= Level::member
              : typeRank == rank
                  ? !of.after
                  : rank == 2 && typeRank == 1 &&
                        (of.level == Level::row || of.level == Level::column);
  if (!fits)
    return error() << "has rank " << typeRank << " but its value is a " << level
                   << " value"
                   << (of.after ? ", complete after the sweep," : "")
                   << " of a domain of rank " << rank;
  return success();
}

static LogicalResult verifySegment(SweepOp op, unsigned segment) {
  if (failed(verifyEnd(op, op.getSegments()[segment],
                       fused::YieldOp::getOperationName())))
    return failure();
  Block &body = op.getSegmentBlock(segment);
  auto inputs = op.getSegmentInputs(segment);
  if (failed(verifyBindings(op, inputs, op.getSegmentIndices(segment), body)) ||
      failed(verifyBody(op, body, [](Operation *inner) {
        return isa<fused::ReduceOp, fused::RecordOp, AheadOp>(inner);
      })))
    return failure();
  if (llvm::none_of(inputs.getTypes(), isList))
    return op.emitOpError("segment #") << segment << " visits no list";
  auto levels = Levels::infer(op, segment);
  if (failed(levels))
    return failure();
  for (auto record : body.getOps<fused::RecordOp>()) {
    auto into = dyn_cast<BlockArgument>(record.getInto());
    if (!into || op.getSegmentIndices(segment)[into.getArgNumber()] != kTrip ||
        !into.hasOneUse() || !record->hasOneUse() ||
        !isa<fused::YieldOp>(*record->user_begin()))
      return record.emitOpError(
          "expected to be yielded, and alone to have an argument that is bound "
          "to a vector at [trip]");
  }
  auto yield = op.getSegmentYield(segment);
  auto results = op.getSegmentResults(segment);
  if (yield.getMore() || yield.getValues().size() != results.size())
    return op.emitOpError("segment #")
           << segment << " is to yield " << results.size() << " values";
  for (auto [result, value] : llvm::zip(results, yield.getValues()))
    if (failed(verifyResult(op, result.getResultNumber(), value,
                            levels->of(value), op.getDomainRank(segment))))
      return failure();
  return success();
}

static LogicalResult verifyFinish(SweepOp op) {
  if (failed(verifyEnd(op, op.getFinish(), fused::YieldOp::getOperationName())))
    return failure();
  Block &body = op.getFinish().front();
  SmallVector<unsigned> lists = op.getListResults();
  auto inputs = op.getFinishInputs();
  if (body.getNumArguments() != lists.size() + inputs.size())
    return op.emitOpError("'finish' takes ")
           << body.getNumArguments() << " values; expected the " << lists.size()
           << " list values of the segments and the " << inputs.size()
           << " scalars bound to it";
  for (auto [k, position] : llvm::enumerate(lists))
    if (!isStorable(body.getArgument(k).getType(),
                    storageType(op.getResult(position).getType())))
      return op.emitOpError("'finish' takes a ")
             << body.getArgument(k).getType() << " for result #" << position
             << " of type " << op.getResult(position).getType();
  for (auto [k, input] : llvm::enumerate(inputs))
    if (failed(verifyBound(op, k, storageType(input.getType()),
                           body.getArgument(lists.size() + k))))
      return failure();
  if (failed(verifyBody(op, body)))
    return failure();
  auto yielded = op.getFinishYield().getValues();
  auto results = op.getFinishResults();
  if (yielded.size() != results.size())
    return op.emitOpError("'finish' yields ")
           << yielded.size() << " values for " << results.size() << " results";
  for (auto [result, value] : llvm::zip(results, yielded))
    if (isList(result.getType()) ||
        !isStorable(value.getType(), storageType(result.getType())))
      return op.emitOpError("result #")
             << result.getResultNumber() << " of type " << result.getType()
             << " cannot hold the " << value.getType()
             << " that 'finish' yields for it";
  return success();
}

LogicalResult SweepOp::verify() {
  unsigned segments = getNumSegments();
  auto isNegative = [](int32_t count) { return count < 0; };
  if (segments == 0 || getInputCounts().size() != segments ||
      getResultCounts().size() != segments)
    return emitOpError("has ") << segments << " segments; expected as many as "
                               << "it counts operands and results for";
  if (llvm::any_of(getInputCounts(), isNegative) ||
      llvm::any_of(getResultCounts(), isNegative) ||
      sumBefore(getInputCounts(), segments) != getInputs().size() ||
      getIndices().size() != getInputs().size() ||
      sumBefore(getResultCounts(), segments) > getNumResults())
    return emitOpError("counts more or fewer operands, indices or results than "
                       "it has");
  if (!hasFinish() && sumBefore(getResultCounts(), segments) != getNumResults())
    return emitOpError("has results that no segment yields and no 'finish'");
  for (unsigned s = 0; s < segments; ++s) {
    if ((getDomainRank(s) == 2) != (getDomainRank(0) == 2))
      return emitOpError("joins domains of rank ")
             << getDomainRank(0) << " and " << getDomainRank(s);
    if (failed(verifySegment(*this, s)))
      return failure();
  }
  if (auto schedule = getScheduleAttr())
    if (schedule.getVector().size() != segments ||
        schedule.getTile().size() != segments)
      return emitOpError("has a schedule for ")
             << schedule.getTile().size() << " segments, expected " << segments;
  if (auto schedule = getScheduleAttr(); schedule && schedule.getColumns())
    if (schedule.getColumns() < 0 || schedule.getKind() != ScheduleKind::rows ||
        isa_and_nonnull<LoopOp>((*this)->getParentOp()))
      return emitOpError("has a schedule by ")
             << schedule.getColumns()
             << " columns; expected a positive number, of 'rows' outside of "
                "loops";
  return hasFinish() ? verifyFinish(*this) : success();
}
