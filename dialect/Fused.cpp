//===- Fused.cpp - the fused dialect --------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules and syntax of the operations in FusedOps.td. FusedSweep.cpp has those
// of sweeps, FusedDecisions.cpp those of attributes.
//
//===----------------------------------------------------------------------===//

#include "dialect/Fused.h"
#include "dialect/ArgumentTypes.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "dialect/ReduceKinds.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "runtime/support/Text.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;

#include "dialect/FusedDialect.cpp.inc"
#include "dialect/FusedEnums.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/FusedOps.cpp.inc"

void FusedDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialect/FusedOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

/// Checks the parsed attributes here, because an attribute of the wrong kind
/// does not reach the verifier.
template <typename Op>
static ParseResult checkAttributes(OpAsmParser &parser, OperationState &state,
                                   SMLoc at) {
  auto error = [&] {
    return parser.emitError(at) << "'" << Op::getOperationName() << "' op ";
  };
  if (auto twice = state.attributes.findDuplicate())
    return error() << "expected '" << twice->getName().getValue()
                   << "' once, found it twice";
  return Op::verifyInherentAttrs(state.name, state.attributes, error);
}

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &state) {
  auto buildType = [](Builder &builder, ArrayRef<Type> arguments,
                      ArrayRef<Type> results,
                      function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(arguments, results);
  };
  SMLoc at = parser.getNameLoc();
  if (function_interface_impl::parseFunctionOp(
          parser, state, /*allowVariadic=*/false,
          getFunctionTypeAttrName(state.name), buildType,
          getArgAttrsAttrName(state.name), getResAttrsAttrName(state.name)))
    return failure();
  return checkAttributes<ProgramOp>(parser, state, at);
}

void ProgramOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

LogicalResult ProgramOp::verify() {
  if (failed(foreach::verifyArgumentTypes(*this)))
    return failure();
  if (failed(verifyTraffic(*this)))
    return failure();
  return verifyEnd(*this, getBody(), YieldOp::getOperationName());
}

LogicalResult ProgramOp::verifyRegions() {
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  if (yield.getMore() ||
      TypeRange(yield.getValues()) != TypeRange(getResultTypes()))
    return emitOpError("expected to end with a yield of its results, of types ")
           << getResultTypes();
  for (Operation &op : getBody().front().without_terminator())
    if (!isa<SweepOp, LoopOp>(op))
      return op.emitOpError("expected only sweeps and loops in a program");
  return verifyBuffers(*this);
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

ParseResult fused::ReduceOp::parse(OpAsmParser &parser, OperationState &state) {
  MLIRContext *context = parser.getContext();
  StringRef kindName, levelName, fromName;
  OpAsmParser::UnresolvedOperand value;
  SmallVector<OpAsmParser::UnresolvedOperand, 1> shift, sharing, inactive;
  Type type;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&kindName) || parser.parseKeyword(&levelName))
    return failure();
  auto kind = foreach::symbolizeReduceKind(kindName);
  auto level = symbolizeLevel(levelName);
  if (!kind || !level)
    return parser.emitError(at)
           << "expected a kind (" << foreach::reduceKindNames(/*means=*/false)
           << ") and a level (row, column, member, list), found '" << kindName
           << ' ' << levelName << "'";
  if (parser.parseOperand(value))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("from"))) {
    if (parser.parseKeyword(&fromName))
      return failure();
    auto from = symbolizeLevel(fromName);
    if (!from)
      return parser.emitError(at)
             << "expected a level after 'from', found '" << fromName << "'";
    state.addAttribute("from", LevelAttr::get(context, *from));
  }
  if ((succeeded(parser.parseOptionalKeyword("shift")) &&
       parser.parseOperand(shift.emplace_back())) ||
      (succeeded(parser.parseOptionalKeyword("sharing")) &&
       parser.parseOperand(sharing.emplace_back())) ||
      (succeeded(parser.parseOptionalKeyword("inactive")) &&
       parser.parseOperand(inactive.emplace_back())))
    return failure();
  if (parser.parseOptionalAttrDict(state.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(value, type, state.operands) ||
      parser.resolveOperands(shift, type, state.operands) ||
      parser.resolveOperands(sharing, type, state.operands) ||
      parser.resolveOperands(inactive, parser.getBuilder().getI1Type(),
                             state.operands))
    return failure();
  state.addAttribute("operandSegmentSizes",
                     parser.getBuilder().getDenseI32ArrayAttr(
                         {1, static_cast<int32_t>(shift.size()),
                          static_cast<int32_t>(sharing.size()),
                          static_cast<int32_t>(inactive.size())}));
  state.addAttribute("kind", ReduceKindAttr::get(context, *kind));
  state.addAttribute("level", LevelAttr::get(context, *level));
  state.addTypes(type);
  if (foreach::hasPosition(*kind))
    state.addTypes(parser.getBuilder().getI64Type());
  return checkAttributes<fused::ReduceOp>(parser, state, at);
}

void fused::ReduceOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyReduceKind(getKind()) << ' '
          << stringifyLevel(getLevel()) << ' ' << getValue();
  if (auto from = getFrom())
    printer << " from " << stringifyLevel(*from);
  if (Value shift = getShift())
    printer << " shift " << shift;
  if (Value sharing = getSharing())
    printer << " sharing " << sharing;
  if (Value inactive = getInactive())
    printer << " inactive " << inactive;
  printer.printOptionalAttrDict(
      (*this)->getAttrs(), {"kind", "level", "from", "operandSegmentSizes"});
  printer << " : " << getValue().getType();
}

LogicalResult fused::ReduceOp::verify() {
  if (getKind() == ReduceKind::mean)
    return emitOpError("expected a kind that combines states, found mean: "
                       "divide a sum by the number of its elements");
  bool positions = foreach::hasPosition(getKind());
  if (getNumResults() != (positions ? 2 : 1) ||
      getResult(0).getType() != getValue().getType() ||
      (positions && !getResult(1).getType().isInteger(64)))
    return emitOpError("expected ")
           << (positions ? "the extreme value and its position, an i64"
                         : "one result of its operand's type");
  if (!foreach::isReducible(getKind(), getValue().getType()))
    return emitOpError("cannot combine values of ")
           << getValue().getType() << " by " << stringifyReduceKind(getKind())
           << "; expected " << foreach::reducibleTypes(getKind());
  if (!getShift() && !getSharing() && !getInactive())
    return success();
  if (getKind() != ReduceKind::logsumexp)
    return emitOpError("expected 'shift', 'sharing' and 'inactive' at a "
                       "logsumexp only, found a reduction of kind ")
           << stringifyReduceKind(getKind());
  if (getShift() && getShift().getType() != getValue().getType())
    return emitOpError("expected a shift of the operand's type ")
           << getValue().getType() << ", found " << getShift().getType();
  if (getInactive() && getLevel() != Level::column)
    return emitOpError("expected 'inactive' at a reduction over columns, found "
                       "a reduction to level ")
           << stringifyLevel(getLevel());
  if (!getSharing())
    return success();
  auto shared = getSharing().getDefiningOp<fused::ReduceOp>();
  if (getLevel() != Level::column || !shared ||
      shared->getBlock() != (*this)->getBlock() ||
      !shared->isBeforeInBlock(*this) ||
      shared.getKind() != ReduceKind::logsumexp ||
      shared.getLevel() != Level::row)
    return emitOpError("expected a reduction over columns to share the "
                       "exponentials of a logsumexp over the rows of the same "
                       "segment");
  if (getSharing().getType() != getValue().getType())
    return emitOpError("expected to share exponentials of the operand's type ")
           << getValue().getType() << ", found " << getSharing().getType();
  return success();
}

bool fused::isHint(OpOperand &use) {
  return isa<fused::ReduceOp>(use.getOwner()) && use.getOperandNumber() > 0;
}

llvm::DenseSet<Value> fused::onlyHinted(Block &body) {
  llvm::DenseSet<Value> hinted;
  auto isHinted = [&](Value value) { return hinted.contains(value); };
  auto visit = [&](Value value) {
    bool all = llvm::all_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return isHint(use) || (user->getNumResults() > 0 &&
                             llvm::all_of(user->getResults(), isHinted));
    });
    if (all && !value.use_empty())
      hinted.insert(value);
  };
  for (Operation &op : llvm::reverse(body))
    llvm::for_each(op.getResults(), visit);
  llvm::for_each(body.getArguments(), visit);
  return hinted;
}

//===----------------------------------------------------------------------===//
// Precompute
//===----------------------------------------------------------------------===//

ParseResult PrecomputeOp::parse(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inputs;
  SmallVector<Type> types, results;
  auto parseInput = [&]() -> ParseResult {
    auto &argument = arguments.emplace_back();
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(inputs.emplace_back()))
      return failure();
    argument.sourceLoc =
        namedLoc(parser.getEncodedSourceLoc(argument.ssaName.location),
                 argument.ssaName.name.drop_front());
    return success();
  };
  if (parser.parseLParen() || parser.parseCommaSeparatedList(parseInput) ||
      parser.parseColonTypeList(types) || parser.parseRParen())
    return failure();
  if (types.size() != inputs.size())
    return parser.emitError(parser.getCurrentLocation())
           << "expected " << counted(inputs.size(), "type")
           << ", one for each operand, found " << types.size();
  for (auto [argument, type] : llvm::zip(arguments, types))
    argument.type = type;
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parseResults(parser, results) ||
      parser.resolveOperands(inputs, types, parser.getCurrentLocation(),
                             state.operands) ||
      parser.parseRegion(*state.addRegion(), arguments,
                         /*enableNameShadowing=*/true))
    return failure();
  state.addTypes(results);
  return success();
}

void PrecomputeOp::print(OpAsmPrinter &printer) {
  printer << " (";
  for (auto [k, input] : llvm::enumerate(getInputs())) {
    if (k)
      printer << ", ";
    printer.printRegionArgument(getBody().getArgument(k), {},
                                /*omitType=*/true);
    printer << " = " << input;
  }
  printer << " : " << getInputs().getTypes() << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printResults(printer, getResultTypes());
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

fused::YieldOp PrecomputeOp::getYield() {
  return cast<fused::YieldOp>(getBody().front().getTerminator());
}

LogicalResult PrecomputeOp::verify() {
  return verifyEnd(*this, getBody(), YieldOp::getOperationName());
}

LogicalResult PrecomputeOp::verifyRegions() {
  Block &body = getBody().front();
  if (TypeRange(body.getArgumentTypes()) != TypeRange(getInputs()))
    return emitOpError("expected arguments of the operands' types ")
           << getInputs().getTypes() << ", found " << body.getArgumentTypes();
  if (TypeRange(getYield().getValues()) != TypeRange(getResultTypes()))
    return emitOpError("expected to yield its results, of types ")
           << getResultTypes() << ", found "
           << getYield().getValues().getTypes();
  return verifyBody(*this, body);
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

ParseResult LoopOp::parse(OpAsmParser &parser, OperationState &state) {
  SMLoc at = parser.getNameLoc();
  if (parseDecisions(parser, state) || parseLoop(parser, state))
    return failure();
  return checkAttributes<LoopOp>(parser, state, at);
}

void LoopOp::print(OpAsmPrinter &printer) {
  printDecisions(printer, *this);
  printLoop(printer, *this, getInits(), getLimit(), decisionAttrs());
}

fused::YieldOp LoopOp::getYield() {
  return cast<fused::YieldOp>(getBody().front().getTerminator());
}

LogicalResult LoopOp::verify() {
  return verifyEnd(*this, getBody(), YieldOp::getOperationName());
}

/// Checks the carried values and the flags.
static LogicalResult verifyCarried(LoopOp loop) {
  YieldOp yield = loop.getYield();
  for (Operation &op : loop.getBody().front().without_terminator())
    if (!isa<SweepOp, LoopOp>(op))
      return op.emitOpError("expected only sweeps and loops in a loop");
  if (failed(verifyLoop(loop, loop.getInits(), yield.getValues(),
                        yield.getMore(), /*hasActive=*/true)))
    return failure();
  Type flag = yield.getMore().getType();
  Value active = loop.getActive();
  if (isList(flag) != static_cast<bool>(active) ||
      (active && active.getType() != flag))
    return loop.emitOpError("expected 'active' with the type of the flag, ")
           << flag << ", if and only if every member has a flag";
  return success();
}

static LogicalResult verifyRecords(SweepOp sweep, unsigned segment) {
  for (auto [result, value] :
       llvm::zip_equal(sweep.getSegmentResults(segment),
                       sweep.getSegmentYield(segment).getValues())) {
    auto record = value.getDefiningOp<fused::RecordOp>();
    if (!record)
      continue;
    auto into = cast<BlockArgument>(record.getInto());
    Value vector = sweep.getSegmentInputs(segment)[into.getArgNumber()];
    if (vector.getType() != result.getType())
      return sweep.emitOpError("expected to record in a vector of the result's "
                               "type ")
             << result.getType() << ", found " << vector.getType();
    if (failed(verifyRecord(sweep, vector, result)))
      return failure();
  }
  return success();
}

LogicalResult LoopOp::verifyRegions() {
  if (failed(verifyCarried(*this)))
    return failure();
  for (auto sweep : getBody().front().getOps<SweepOp>())
    for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
      if (failed(verifyRecords(sweep, s)))
        return failure();
  return verifyForms(*this);
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static void nameArguments(Region &region, OpAsmSetValueNameFn set) {
  printNames(ValueRange(region.getArguments()), set);
}

void ProgramOp::getAsmBlockArgumentNames(Region &r, OpAsmSetValueNameFn set) {
  nameArguments(r, set);
}
void SweepOp::getAsmBlockArgumentNames(Region &r, OpAsmSetValueNameFn set) {
  nameArguments(r, set);
}
void SweepOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  printNames(getResults(), set);
}
void fused::ReduceOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  printNames(getResults(), set);
}
void fused::RecordOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  printNames(getResult(), set);
}
void PrecomputeOp::getAsmBlockArgumentNames(Region &r,
                                            OpAsmSetValueNameFn set) {
  nameArguments(r, set);
}
void PrecomputeOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  printNames(getResults(), set);
}
void LoopOp::getAsmBlockArgumentNames(Region &r, OpAsmSetValueNameFn set) {
  nameArguments(r, set);
}
void LoopOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  printNames(getResults(), set);
}
