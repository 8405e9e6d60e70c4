//===- FusedSweep.cpp - one visit of a domain -----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts, syntax and rules of `fused.sweep`.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Fused.h"
#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "mlir/IR/Builders.h"
#include "runtime/support/Text.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The operands or results of a segment, of which `ends` are the ends.
template <typename Range>
static Range partOf(Range all, ArrayRef<int32_t> ends, unsigned segment) {
  unsigned begin = segment == 0 ? 0 : ends[segment - 1];
  return all.slice(begin, ends[segment] - begin);
}

OperandRange SweepOp::getSegmentInputs(unsigned segment) {
  return partOf(getInputs(), getInputEnds(), segment);
}

ArrayRef<int32_t> SweepOp::getSegmentIndices(unsigned segment) {
  return partOf(getIndices(), getInputEnds(), segment);
}

ResultRange SweepOp::getSegmentResults(unsigned segment) {
  return partOf<ResultRange>(getResults(), getResultEnds(), segment);
}

ResultRange SweepOp::getEpilogueResults() {
  auto ends = getResultEnds();
  return getResults().drop_front(ends.empty() ? 0 : ends.back());
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
  unsigned end = getNumResults() - getEpilogueResults().size();
  for (unsigned k = 0; k < end; ++k)
    if (!isList(getResult(k).getType()))
      positions.push_back(k);
  return positions;
}

/// The segment with the first end after `position`.
static unsigned segmentAt(ArrayRef<int32_t> ends, unsigned position) {
  return llvm::upper_bound(ends, static_cast<int32_t>(position)) - ends.begin();
}

unsigned SweepOp::getSegmentOfInput(unsigned input) {
  return segmentAt(getInputEnds(), input);
}

unsigned SweepOp::getSegmentOfResult(unsigned result) {
  return segmentAt(getResultEnds(), result);
}

fused::RecordOp SweepOp::getRecord(unsigned result) {
  unsigned segment = getSegmentOfResult(result);
  if (segment == getNumSegments())
    return {};
  unsigned first = segment == 0 ? 0 : getResultEnds()[segment - 1];
  return getSegmentYield(segment)
      .getValues()[result - first]
      .getDefiningOp<fused::RecordOp>();
}

bool fused::isRecordedIn(Value argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    auto record = dyn_cast<fused::RecordOp>(user);
    return record && record.getInto() == argument;
  });
}

bool SweepOp::usesIteration() {
  if (llvm::any_of(getIndices(), dependsOnIteration))
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
  SmallVector<int32_t> indices, inputEnds, resultEnds;
  SmallVector<Type> types;
  for (const SegmentSpec &segment : segments) {
    llvm::append_range(inputs, segment.inputs);
    llvm::append_range(indices, segment.indices);
    llvm::append_range(types, segment.resultTypes);
    inputEnds.push_back(inputs.size());
    resultEnds.push_back(types.size());
  }
  llvm::append_range(types, epilogueTypes);
  return SweepOp::create(builder, loc, types, inputs, epilogueInputs, where,
                         indices, inputEnds, resultEnds, reversed,
                         /*schedule=*/ScheduleAttr(), /*name=*/StringAttr(),
                         /*result_buffers=*/DenseI64ArrayAttr(),
                         /*launch=*/LaunchAttr(), segments.size());
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

namespace {
/// The parsed parts of a sweep; operands are resolved at the end.
struct SweepParts {
  SmallVector<OpAsmParser::UnresolvedOperand> operands, epilogueOperands;
  SmallVector<Type> operandTypes, epilogueTypes, resultTypes;
  SmallVector<int32_t> indices, inputEnds, resultEnds;
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
  parts.inputEnds.push_back(parts.operands.size());
  parts.resultEnds.push_back(parts.resultTypes.size());
  return success();
}

/// Parses `[%sum : f64, ...]`, the list values that the epilogue takes, its
/// bindings and its body.
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
  state.addAttribute("inputEnds",
                     builder.getDenseI32ArrayAttr(parts.inputEnds));
  state.addAttribute("resultEnds",
                     builder.getDenseI32ArrayAttr(parts.resultEnds));
  state.addAttribute("operandSegmentSizes",
                     builder.getDenseI32ArrayAttr(
                         {static_cast<int32_t>(parts.operands.size()),
                          static_cast<int32_t>(parts.epilogueOperands.size()),
                          whereType ? 1 : 0}));
  state.addTypes(parts.resultTypes);
  // An attribute of the wrong kind does not reach the verifier.
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
  SmallVector<StringRef> elided = {"indices",    "inputEnds",
                                   "resultEnds", "reversed",
                                   "schedule",   "operandSegmentSizes"};
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
  Block &body = op.getSegmentBlock(segment);
  auto inputs = op.getSegmentInputs(segment);
  if (failed(verifyBindings(op, inputs, op.getSegmentIndices(segment), body)) ||
      failed(verifyBody(op, body, [](Operation *inner) {
        return isa<fused::ReduceOp, fused::RecordOp, PrecomputeOp>(inner);
      })))
    return failure();
  if (llvm::none_of(inputs.getTypes(), isList))
    return op.emitOpError("expected at least one list among the operands of "
                          "segment #")
           << segment;
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
  int64_t rank = op.getDomainRank(segment);
  if (yield.getMore() || yield.getValues().size() != results.size())
    return op.emitOpError("expected segment #")
           << segment << " to yield " << counted(results.size(), "value")
           << ", found " << yield.getValues().size();
  for (auto [result, value] : llvm::zip(results, yield.getValues()))
    if (failed(verifyResult(op, result.getResultNumber(), value,
                            levels->of(value), rank)))
      return failure();
  return success();
}

static LogicalResult verifyEpilogue(SweepOp op) {
  Block &body = op.getEpilogue().front();
  SmallVector<unsigned> lists = op.getListResults();
  auto inputs = op.getEpilogueInputs();
  if (body.getNumArguments() != lists.size() + inputs.size())
    return op.emitOpError("expected the epilogue to take ")
           << counted(lists.size(), "list value") << " of the segments and "
           << counted(inputs.size(), "bound scalar") << ", found "
           << counted(body.getNumArguments(), "argument");
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
           << counted(results.size(), "value") << ", found " << yielded.size();
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
           << counted(segments, "segment") << ", found "
           << counted(schedule.getVector().size(), "vector") << " and "
           << counted(schedule.getTile().size(), "tile");
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
           << counted(schedule.getColumns(), "column");
  return success();
}

/// Whether `ends` ascend from 0 to at most `size`.
static bool areEnds(ArrayRef<int32_t> ends, size_t size) {
  return llvm::is_sorted(ends) && ends.front() >= 0 &&
         static_cast<size_t>(ends.back()) <= size;
}

LogicalResult SweepOp::verify() {
  unsigned segments = getNumSegments();
  if (segments == 0 || getInputEnds().size() != segments ||
      getResultEnds().size() != segments)
    return emitOpError("expected at least one segment, and ends of operands "
                       "and results for each, found ")
           << counted(segments, "segment") << ", "
           << counted(getInputEnds().size(), "end") << " of operands and "
           << getResultEnds().size() << " of results";
  if (!areEnds(getInputEnds(), getInputs().size()) ||
      !areEnds(getResultEnds(), getNumResults()) ||
      getInputEnds().back() != static_cast<int64_t>(getInputs().size()) ||
      getIndices().size() != getInputs().size())
    return emitOpError("expected ends of operands that ascend to the number of "
                       "operands, ")
           << getInputs().size()
           << ", an index for each operand, and ends of results that ascend to "
              "at most the number of results, "
           << getNumResults();
  if (!hasEpilogue() &&
      getResultEnds().back() != static_cast<int64_t>(getNumResults()))
    return emitOpError("expected an epilogue, because it has results that no "
                       "segment yields");
  for (Region *region : getRegions())
    if ((region != &getEpilogue() || hasEpilogue()) &&
        failed(verifyEnd(*this, *region, YieldOp::getOperationName())))
      return failure();
  return success();
}

LogicalResult SweepOp::verifyRegions() {
  int64_t first = getDomainRank(0);
  for (unsigned s = 0; s < getNumSegments(); ++s) {
    if (int64_t rank = getDomainRank(s); (rank == 2) != (first == 2))
      return emitOpError("expected segments with domains of rank 2 only, or "
                         "of lower ranks only, found ranks ")
             << first << " and " << rank;
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
