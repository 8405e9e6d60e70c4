//===- FusedSweep.cpp - one traversal of a domain -------------------------===//
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

ResultRange SweepOp::getEpilogueResults() {
  return getResults().drop_front(
      sumBefore(getResultCounts(), getResultCounts().size()));
}

fused::YieldOp SweepOp::getSegmentYield(unsigned segment) {
  return cast<fused::YieldOp>(getSegmentBlock(segment).getTerminator());
}

fused::YieldOp SweepOp::getEpilogueYield() {
  return cast<fused::YieldOp>(getEpilogue().front().getTerminator());
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

bool SweepOp::usesIteration() {
  if (llvm::any_of(getIndices(), movesWithIterations))
    return true;
  return (*this)
      ->walk([](foreach::IterationOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

SweepOp fused::createSweep(OpBuilder &builder, Location loc,
                           ArrayRef<SegmentSpec> segments,
                           ValueRange epilogueInputs, TypeRange epilogueTypes,
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
  llvm::append_range(types, epilogueTypes);
  return SweepOp::create(builder, loc, types, inputs, epilogueInputs, where,
                         indices, inputCounts, resultCounts, reversed,
                         /*schedule=*/ScheduleAttr(), /*name=*/StringAttr(),
                         /*result_buffers=*/DenseI64ArrayAttr(),
                         /*launch=*/LaunchAttr(), segments.size());
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

namespace {
/// The parsed parts, until all operands can be resolved.
struct SweepParts {
  SmallVector<OpAsmParser::UnresolvedOperand> operands, epilogueOperands;
  SmallVector<Type> operandTypes, epilogueTypes, resultTypes;
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

/// `[%sum : f64, ...]`, the list values that the epilogue takes, and its body.
static ParseResult parseEpilogue(OpAsmParser &parser, SweepParts &parts,
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
  parts.epilogueOperands = bindings.operands;
  parts.epilogueTypes = bindings.types;
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
  if (parseDecisions(parser, state) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  Region *epilogue = state.addRegion();
  do {
    if (parseSegment(parser, parts, *state.addRegion()))
      return failure();
  } while (succeeded(parser.parseOptionalKeyword("and")));
  if (succeeded(parser.parseOptionalKeyword("epilogue")) &&
      parseEpilogue(parser, parts, *epilogue))
    return failure();
  SMLoc at = parser.getCurrentLocation();
  if (parser.resolveOperands(parts.operands, parts.operandTypes, at,
                             state.operands) ||
      parser.resolveOperands(parts.epilogueOperands, parts.epilogueTypes, at,
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
                          static_cast<int32_t>(parts.epilogueOperands.size()),
                          whereType ? 1 : 0}));
  state.addTypes(parts.resultTypes);
  // An attribute of the wrong kind would be lost.
  auto error = [&] {
    return parser.emitError(parser.getNameLoc()) << "'fused.sweep' op ";
  };
  if (auto twice = state.attributes.findDuplicate())
    return error() << "expected '" << twice->getName().getValue()
                   << "' once, found it twice";
  return verifyInherentAttrs(state.name, state.attributes, error);
}

void SweepOp::print(OpAsmPrinter &printer) {
  if (getReversed())
    printer << " reversed";
  if (Value where = getWhere())
    printer << " where " << where << " : " << where.getType();
  if (auto schedule = getScheduleAttr())
    printer << " schedule " << schedule;
  printDecisions(printer, *this);
  SmallVector<StringRef> elided = {"indices",      "inputCounts",
                                   "resultCounts", "reversed",
                                   "schedule",     "operandSegmentSizes"};
  llvm::append_range(elided, decisionAttrs());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), elided);
  for (unsigned s = 0; s < getNumSegments(); ++s) {
    printer << (s ? " and " : " ");
    printBindings(printer, getSegmentInputs(s), getSegmentIndices(s),
                  getSegmentBlock(s).getArguments());
    printResults(printer, getSegmentResults(s).getTypes());
    printer << ' ';
    printer.printRegion(getSegments()[s], /*printEntryBlockArgs=*/false);
  }
  if (!hasEpilogue())
    return;
  printer << " epilogue [";
  auto arguments = getEpilogue().getArguments();
  size_t values = arguments.size() - getEpilogueInputs().size();
  llvm::interleaveComma(
      arguments.take_front(values), printer,
      [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << "] ";
  SmallVector<int32_t> indices(getEpilogueInputs().size(), kScalar);
  printBindings(printer, getEpilogueInputs(), indices,
                arguments.drop_front(values));
  printResults(printer, getEpilogueResults().getTypes());
  printer << ' ';
  printer.printRegion(getEpilogue(), /*printEntryBlockArgs=*/false);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// The article before the name of a level.
static StringRef anArticle(Level level) {
  return level == Level::element ? "an" : "a";
}

LogicalResult fused::verifyResult(SweepOp op, unsigned position, Value value,
                                  LevelOf of, int64_t rank) {
  Type type = op.getResult(position).getType();
  auto error = [&]() -> InFlightDiagnostic {
    return op.emitOpError("result #") << position << " of type " << type << ' ';
  };
  if (!isStorable(value.getType(), storageType(type)))
    return error() << "cannot hold values of type " << value.getType();
  StringRef level = stringifyLevel(of.level);
  if (value.getDefiningOp<fused::RecordOp>()) {
    if (!isList(type) || rankOf(type) != 1)
      return error() << "expected a list of rank 1 for a recorded value";
    return success();
  }
  if (!isList(type)) {
    if (of.level != Level::list)
      return error() << "expected a list value, found " << anArticle(of.level)
                     << ' ' << level << " value";
    return success();
  }
  if (of.level == Level::list && of.after)
    return error()
           << "expected a value that each member has, found a list value that "
              "is complete only after the sweep";
  int64_t typeRank = rankOf(type);
  bool fits = typeRank == 0 ? of.level <= Level::member
              : typeRank == rank
                  ? !of.after
                  : rank == 2 && typeRank == 1 &&
                        (of.level == Level::row || of.level == Level::column);
  if (!fits)
    return error() << "cannot hold " << anArticle(of.level) << ' ' << level
                   << " value"
                   << (of.after ? " that is complete only after "
                                  "the sweep"
                                : "")
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
        return isa<fused::ReduceOp, fused::RecordOp, PrecomputeOp>(inner);
      })))
    return failure();
  if (llvm::none_of(inputs.getTypes(), isList))
    return op.emitOpError("segment #")
           << segment << " expected at least one list among its operands";
  auto levels = Levels::infer(op, segment);
  if (failed(levels))
    return failure();
  for (auto record : body.getOps<fused::RecordOp>()) {
    auto into = dyn_cast<BlockArgument>(record.getInto());
    if (!into ||
        op.getSegmentIndices(segment)[into.getArgNumber()] != kIteration ||
        !into.hasOneUse() || !record->hasOneUse() ||
        !isa<fused::YieldOp>(*record->user_begin()))
      return record.emitOpError(
          "expected to be yielded, and to be the only user of an argument that "
          "is bound to a vector at [iteration]");
  }
  auto yield = op.getSegmentYield(segment);
  auto results = op.getSegmentResults(segment);
  if (yield.getMore() || yield.getValues().size() != results.size())
    return op.emitOpError("segment #")
           << segment << " expected to yield " << results.size()
           << " values, found " << yield.getValues().size();
  for (auto [result, value] : llvm::zip(results, yield.getValues()))
    if (failed(verifyResult(op, result.getResultNumber(), value,
                            levels->of(value), op.getDomainRank(segment))))
      return failure();
  return success();
}

static LogicalResult verifyEpilogue(SweepOp op) {
  if (failed(
          verifyEnd(op, op.getEpilogue(), fused::YieldOp::getOperationName())))
    return failure();
  Block &body = op.getEpilogue().front();
  SmallVector<unsigned> lists = op.getListResults();
  auto inputs = op.getEpilogueInputs();
  if (body.getNumArguments() != lists.size() + inputs.size())
    return op.emitOpError("expected the epilogue to take ")
           << lists.size() << " list values of the segments and "
           << inputs.size() << " bound scalars, found "
           << body.getNumArguments() << " arguments";
  for (auto [k, position] : llvm::enumerate(lists))
    if (!isStorable(body.getArgument(k).getType(),
                    storageType(op.getResult(position).getType())))
      return op.emitOpError("result #")
             << position << " of type " << op.getResult(position).getType()
             << " cannot hold values of type " << body.getArgument(k).getType()
             << ", which the epilogue takes for it";
  for (auto [k, input] : llvm::enumerate(inputs))
    if (failed(verifyBound(op, k, storageType(input.getType()),
                           body.getArgument(lists.size() + k))))
      return failure();
  if (failed(verifyBody(op, body)))
    return failure();
  auto yielded = op.getEpilogueYield().getValues();
  auto results = op.getEpilogueResults();
  if (yielded.size() != results.size())
    return op.emitOpError("expected the epilogue to yield ")
           << results.size() << " values, found " << yielded.size();
  for (auto [result, value] : llvm::zip(results, yielded))
    if (isList(result.getType()) ||
        !isStorable(value.getType(), storageType(result.getType())))
      return op.emitOpError("result #")
             << result.getResultNumber() << " of type " << result.getType()
             << " cannot hold values of type " << value.getType()
             << ", which the epilogue yields for it";
  return success();
}

static LogicalResult verifySchedule(SweepOp op, ScheduleAttr schedule) {
  unsigned segments = op.getNumSegments();
  auto isPositive = [](int64_t number) { return number > 0; };
  if (schedule.getThreads() <= 0 || schedule.getThreads() % 32 ||
      schedule.getThreads() > 1024)
    return op.emitOpError("expected a schedule with a multiple of 32 threads, "
                          "at most 1024, found ")
           << schedule.getThreads();
  if (schedule.getVector().size() != segments ||
      schedule.getTile().size() != segments)
    return op.emitOpError("expected a schedule with a vector and a tile for "
                          "each of its ")
           << segments << " segments, found " << schedule.getVector().size()
           << " vectors and " << schedule.getTile().size() << " tiles";
  if (!llvm::all_of(schedule.getVector(), isPositive) ||
      !llvm::all_of(schedule.getTile(), isPositive))
    return op.emitOpError("expected a schedule with vectors and tiles that are "
                          "positive numbers, found ")
           << schedule;
  if (schedule.getColumns() < 0 ||
      (schedule.getColumns() > 0 &&
       (schedule.getKind() != ScheduleKind::rows ||
        isa_and_nonnull<LoopOp>(op->getParentOp()))))
    return op.emitOpError("expected a positive number of columns, in a "
                          "schedule by 'rows' outside of loops, found ")
           << schedule.getColumns() << " columns";
  return success();
}

LogicalResult SweepOp::verify() {
  unsigned segments = getNumSegments();
  auto isNegative = [](int32_t count) { return count < 0; };
  if (segments == 0 || getInputCounts().size() != segments ||
      getResultCounts().size() != segments)
    return emitOpError("expected at least one segment, and counts of operands "
                       "and results for each, found ")
           << segments << " segments, " << getInputCounts().size()
           << " counts of operands and " << getResultCounts().size()
           << " of results";
  if (llvm::any_of(getInputCounts(), isNegative) ||
      llvm::any_of(getResultCounts(), isNegative) ||
      sumBefore(getInputCounts(), segments) != getInputs().size() ||
      getIndices().size() != getInputs().size() ||
      sumBefore(getResultCounts(), segments) > getNumResults())
    return emitOpError("expected counts that add up to its ")
           << getInputs().size() << " operands and indices and to at most its "
           << getNumResults() << " results";
  if (!hasEpilogue() &&
      sumBefore(getResultCounts(), segments) != getNumResults())
    return emitOpError("expected an epilogue, because it has results that no "
                       "segment yields");
  for (unsigned s = 0; s < segments; ++s) {
    if ((getDomainRank(s) == 2) != (getDomainRank(0) == 2))
      return emitOpError("expected segments with domains of rank 2 only, or "
                         "of lower ranks only, found ranks ")
             << getDomainRank(0) << " and " << getDomainRank(s);
    if (failed(verifySegment(*this, s)))
      return failure();
  }
  if (auto schedule = getScheduleAttr())
    if (failed(verifySchedule(*this, schedule)))
      return failure();
  if (failed(verifyLaunch(*this)))
    return failure();
  return hasEpilogue() ? verifyEpilogue(*this) : success();
}
