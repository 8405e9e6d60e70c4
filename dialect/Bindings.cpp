//===- Bindings.cpp - operands bound to the scalars of a region -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsing, printing and checking of bindings. The type of consecutive operands
// is written once, so an optimizer's five lists fit on one line.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Fused.h"
#include "dialect/Names.h"
#include "dialect/ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/support/Text.h"

using namespace mlir;
using heddle::foreach::computeType;
using heddle::foreach::ListType;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

namespace heddle {

int32_t defaultIndex(Type type) {
  static constexpr int32_t byRank[] = {kScalar, kI, kIJ};
  return byRank[rankOf(type)];
}

int64_t domainRank(ArrayRef<int32_t> indices) {
  int32_t all = 0;
  for (int32_t index : indices)
    all |= index;
  return all & kJ ? 2 : all & kI ? 1 : 0;
}

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

/// The entry index called `name`, or 0.
static int32_t entryNamed(StringRef name) {
  return llvm::StringSwitch<int32_t>(name)
      .Case("iteration", kIteration)
      .Case("next", kNext)
      .Case("first", kFirst)
      .Default(0);
}

static ParseResult parseIndex(OpAsmParser &parser, int32_t &index) {
  index = 0;
  do {
    SMLoc at = parser.getCurrentLocation();
    StringRef name;
    const char *expected =
        "expected index 'i' or 'j', or 'iteration', 'next' or 'first' alone";
    if (failed(parser.parseOptionalKeyword(&name)))
      return parser.emitError(at) << expected;
    if (int32_t entry = entryNamed(name); entry && index == 0) {
      index = entry;
      break;
    }
    if (name != "i" && name != "j")
      return parser.emitError(at) << expected << ", found '" << name << "'";
    int32_t bit = name == "i" ? kI : kJ;
    if (bit <= index)
      return parser.emitError(at)
             << "expected each index at most once and in the order '[i, j]'";
    index |= bit;
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseRSquare();
}

ParseResult parseBindings(OpAsmParser &parser, Bindings &bindings) {
  if (parser.parseLParen())
    return failure();
  if (succeeded(parser.parseOptionalRParen()))
    return success();
  constexpr int32_t unset = -1;
  size_t group = 0; // first operand whose type was not parsed yet
  do {
    OpAsmParser::Argument argument;
    OpAsmParser::UnresolvedOperand operand;
    int32_t index = unset;
    if (parser.parseArgument(argument) || parser.parseEqual() ||
        parser.parseOperand(operand))
      return failure();
    if (succeeded(parser.parseOptionalLSquare()) && parseIndex(parser, index))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("as")) &&
        parser.parseType(argument.type))
      return failure();
    argument.sourceLoc =
        namedLoc(parser.getEncodedSourceLoc(argument.ssaName.location),
                 argument.ssaName.name.drop_front());
    bindings.arguments.push_back(argument);
    bindings.operands.push_back(operand);
    bindings.indices.push_back(index);
    if (failed(parser.parseOptionalColon()))
      continue;
    Type type;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseType(type))
      return failure();
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!isa<ListType>(type) && !(tensor && tensor.getRank() == 0))
      return parser.emitError(at)
             << "expected a list or a device scalar (a tensor of rank 0), "
                "found "
             << type;
    for (; group < bindings.operands.size(); ++group) {
      bindings.types.push_back(type);
      if (!bindings.arguments[group].type)
        bindings.arguments[group].type = storageType(type);
      if (bindings.indices[group] == unset)
        bindings.indices[group] = defaultIndex(type);
    }
  } while (succeeded(parser.parseOptionalComma()));
  if (group != bindings.operands.size())
    return parser.emitError(parser.getCurrentLocation())
           << "expected ':' and the type of the operands before ')'";
  return parser.parseRParen();
}

static void printIndex(OpAsmPrinter &printer, int32_t index) {
  static constexpr StringRef ofDomain[] = {"", "[i]", "[j]", "[i, j]"};
  printer << (index == kIteration ? "[iteration]"
              : index == kNext    ? "[next]"
              : index == kFirst   ? "[first]"
                                  : ofDomain[index]);
}

void printBindings(OpAsmPrinter &printer, ValueRange operands,
                   ArrayRef<int32_t> indices,
                   Block::BlockArgListType arguments) {
  printer << '(';
  int64_t rank = domainRank(indices);
  for (size_t k = 0; k < operands.size(); ++k) {
    Type type = operands[k].getType();
    if (k)
      printer << ", ";
    printer.printRegionArgument(arguments[k], /*argAttrs=*/{},
                                /*omitType=*/true);
    printer << " = " << operands[k];
    if (indices[k] != defaultIndex(type))
      printIndex(printer, indices[k]);
    // In a domain of rank 2 the index of every vector is printed.
    else if (rank == 2 && indices[k] != kScalar)
      printIndex(printer, indices[k]);
    if (arguments[k].getType() != storageType(type))
      printer << " as " << arguments[k].getType();
    if (k + 1 == operands.size() || operands[k + 1].getType() != type)
      printer << " : " << type;
  }
  printer << ')';
}

ParseResult parseResults(OpAsmParser &parser, SmallVectorImpl<Type> &types) {
  return parser.parseOptionalArrowTypeList(types);
}

ParseResult parseSomeResults(OpAsmParser &parser,
                             SmallVectorImpl<Type> &types) {
  SMLoc at = parser.getCurrentLocation();
  if (failed(parser.parseOptionalArrowTypeList(types)))
    return failure();
  if (parser.getCurrentLocation() == at)
    return parser.emitError(at) << "expected '->' and the types of the results";
  return success();
}

void printResults(OpAsmPrinter &printer, TypeRange types) {
  printer.printOptionalArrowTypeList(types);
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

bool isStorable(Type type, Type storage) {
  if (isa<FloatType>(type) && isa<FloatType>(storage))
    return true;
  return type == storage;
}

/// Checks that `op` rounds to nearest, as the operations of all targets do.
static LogicalResult verifyRounding(Operation &op) {
  auto rounding = dyn_cast<arith::ArithRoundingModeInterface>(op);
  if (!rounding || !rounding.getRoundingModeAttr())
    return success();
  arith::RoundingMode mode = rounding.getRoundingModeAttr().getValue();
  if (mode == arith::RoundingMode::to_nearest_even)
    return success();
  return op.emitOpError("expected rounding mode 'to_nearest_even', found '")
         << arith::stringifyRoundingMode(mode) << "'";
}

/// Checks that `op` may not be computed otherwise than written, except for
/// contraction.
static LogicalResult verifyFastMath(Operation &op) {
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  if (!fast || !fast.getFastMathFlagsAttr())
    return success();
  arith::FastMathFlags flags = fast.getFastMathFlagsAttr().getValue();
  if (arith::bitEnumContainsAll(arith::FastMathFlags::contract, flags))
    return success();
  return op.emitOpError("expected no fastmath flag but 'contract', found '")
         << arith::stringifyFastMathFlags(flags) << "'";
}

/// Checks that the integers of `op` wrap, and that shifts and divisions drop
/// bits: every target does so, and a fold must not assume otherwise.
static LogicalResult verifyWraps(Operation &op) {
  auto wraps = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op);
  if (wraps && wraps.getOverflowAttr() &&
      wraps.getOverflowAttr().getValue() != arith::IntegerOverflowFlags::none)
    return op.emitOpError("expected no overflow flag, because integers wrap; "
                          "found '")
           << arith::stringifyIntegerOverflowFlags(
                  wraps.getOverflowAttr().getValue())
           << "'";
  if (op.getInherentAttr("isExact").value_or(nullptr))
    return op.emitOpError("expected no flag 'exact', because shifts and "
                          "divisions may drop bits");
  return success();
}

LogicalResult verifyBody(Operation *op, Block &body,
                         llvm::function_ref<bool(Operation *)> extra) {
  for (Operation &inner : body.without_terminator()) {
    if (extra && extra(&inner))
      continue;
    // The reader of programs replaces calls (Shorthands.h).
    if (isa<func::CallOp>(inner) &&
        isa<foreach::MapOp, foreach::ReduceOp, func::FuncOp>(op))
      continue;
    if (!isScalarOp(&inner)) {
      std::string place =
          isa<func::FuncOp>(op)
              ? "a function that bodies call"
              : ("the body of '" + op->getName().getStringRef() + "'").str();
      return emitNotScalar(inner, place);
    }
    if (failed(verifyRounding(inner)) || failed(verifyFastMath(inner)) ||
        failed(verifyWraps(inner)))
      return failure();
    // Fusion replaces a result that it no longer stores by a rounding to the
    // storage type and back.
    if (isa<arith::TruncFOp, arith::ExtFOp>(inner))
      continue;
    for (Type type : llvm::concat<const Type>(inner.getOperandTypes(),
                                              inner.getResultTypes()))
      if (type.isF16() || type.isBF16())
        return inner.emitOpError("computes in ")
               << type << ", which is a storage type: bind operands 'as f32'";
      else if (!type.isF32() && !type.isF64() && !type.isInteger(1) &&
               !type.isInteger(8) && !type.isInteger(16) &&
               !type.isInteger(32) && !type.isInteger(64))
        return inner.emitOpError("has type ")
               << type
               << "; expected f32, f64 or an integer of 1, 8, 16, 32 or 64 "
                  "bits";
  }
  return success();
}

LogicalResult verifyEnd(Operation *op, Region &region, StringRef yield) {
  if (region.hasOneBlock() && !region.front().empty() &&
      region.front().back().getName().getStringRef() == yield)
    return success();
  return op->emitOpError("expected its region to end with '") << yield << "'";
}

LogicalResult verifyBound(Operation *op, unsigned number, Type storage,
                          Value argument) {
  Type bound = argument.getType();
  if (bound == storage ||
      (isa<FloatType>(storage) && (bound.isF32() || bound.isF64())))
    return success();
  return op->emitOpError("binds operand #")
         << number << " of element type " << storage << " as " << bound
         << "; 'as' converts between floating-point types, to f32 or f64";
}

/// An error about operand `k`, at its place in the text.
static InFlightDiagnostic emitOperandError(Operation *op, Block &body,
                                           size_t k) {
  BlockArgument bound = body.getArgument(k);
  bool isPlaced = bound.getLoc()->findInstanceOf<FileLineColLoc>() != nullptr;
  StringRef name = nameOf(bound);
  return mlir::emitError(isPlaced ? bound.getLoc() : op->getLoc())
         << "'" << op->getName() << "' op operand "
         << (name.empty() ? "#" + std::to_string(k) : "'" + name.str() + "'");
}

/// The indices that an operand of rank `rank` may have.
static StringRef indicesOfRank(int64_t rank) {
  return rank == 2   ? "[i, j] or none"
         : rank == 1 ? "[i], [j], [iteration], [next], [first] or none"
                     : "none";
}

LogicalResult verifyBindings(Operation *op, ValueRange operands,
                             ArrayRef<int32_t> indices, Block &body) {
  if (indices.size() != operands.size())
    return op->emitOpError("has ")
           << counted(operands.size(), "operand") << " and "
           << counted(indices.size(), "index");
  if (body.getNumArguments() != operands.size())
    return op->emitOpError("binds ")
           << counted(operands.size(), "operand") << " to "
           << counted(body.getNumArguments(), "region argument");
  bool rows = llvm::any_of(indices, [](int32_t k) { return k & kI; });
  for (auto [k, operand] : llvm::enumerate(operands)) {
    Type type = operand.getType();
    int64_t rank = rankOf(type);
    int32_t index = indices[k];
    int64_t named =
        isEntryIndex(index) ? 1 : llvm::popcount(static_cast<uint32_t>(index));
    if (index < 0 || (index > kIJ && !isEntryIndex(index)) || named != rank)
      return emitOperandError(op, body, k)
             << " has rank " << rank << " and " << counted(named, "index")
             << "; expected " << indicesOfRank(rank);
    if (indices[k] == kJ && !rows)
      return emitOperandError(op, body, k)
             << " is indexed by j, but no operand by i; a vector without a "
                "matrix is indexed by i";
    if (dependsOnIteration(index) && failed(verifyInLoop(op)))
      return failure();
    if (failed(verifyBound(op, k, storageType(type), body.getArgument(k))))
      return failure();
  }
  return success();
}

std::optional<int64_t> rankOfBody(Operation *op) {
  Operation *parent = op->getParentOp();
  if (auto map = dyn_cast_or_null<foreach::MapOp>(parent))
    return map.getDomainRank();
  if (auto reduce = dyn_cast_or_null<foreach::ReduceOp>(parent))
    return reduce.getDomainRank();
  if (auto sweep = dyn_cast_or_null<fused::SweepOp>(parent)) {
    // The first region is the epilogue.
    if (unsigned region = op->getParentRegion()->getRegionNumber())
      return sweep.getDomainRank(region - 1);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult verifyInLoop(Operation *op) {
  if (op->getParentOfType<foreach::WhileOp>() ||
      op->getParentOfType<fused::LoopOp>())
    return success();
  return op->emitOpError("uses the iteration number outside of a loop");
}

LogicalResult verifyRecord(Operation *op, Value into, Value record) {
  auto carried = dyn_cast<BlockArgument>(into);
  if (!carried || carried.getOwner() != record.getParentBlock() ||
      !isa<foreach::WhileOp, fused::LoopOp>(carried.getOwner()->getParentOp()))
    return op->emitOpError(
        "records in a vector that the loop around it does not carry");
  if (!carried.hasOneUse())
    return op->emitOpError("records in a vector that the same iteration reads");
  bool isCarried =
      record.hasOneUse() &&
      record.getUses().begin()->getOwner() ==
          carried.getOwner()->getTerminator() &&
      record.getUses().begin()->getOperandNumber() == carried.getArgNumber();
  if (!isCarried)
    return op->emitOpError("expected the loop to carry the result as value #")
           << carried.getArgNumber()
           << " in place of the vector, and no other use of it";
  return success();
}

ParseResult parseTypedArgument(OpAsmParser &parser,
                               OpAsmParser::Argument &argument) {
  if (parser.parseArgument(argument) || parser.parseColonType(argument.type))
    return failure();
  argument.sourceLoc =
      namedLoc(parser.getEncodedSourceLoc(argument.ssaName.location),
               argument.ssaName.name.drop_front());
  return success();
}

/// `active %flag : T`, the flags at the start of an iteration.
static ParseResult
parseActive(OpAsmParser &parser,
            SmallVectorImpl<OpAsmParser::Argument> &arguments) {
  if (failed(parser.parseOptionalKeyword("active")))
    return success();
  return parseTypedArgument(parser, arguments.emplace_back());
}

ParseResult parseLoop(OpAsmParser &parser, OperationState &state) {
  SmallVector<OpAsmParser::Argument> arguments;
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SmallVector<Type> types, results;
  OpAsmParser::UnresolvedOperand limit;
  if (parser.parseLParen())
    return failure();
  if (failed(parser.parseOptionalRParen())) {
    do {
      if (parser.parseArgument(arguments.emplace_back()) ||
          parser.parseEqual() || parser.parseOperand(inits.emplace_back()))
        return failure();
      auto &argument = arguments.back();
      argument.sourceLoc =
          namedLoc(parser.getEncodedSourceLoc(argument.ssaName.location),
                   argument.ssaName.name.drop_front());
      if (failed(parser.parseOptionalColon()))
        continue;
      Type type;
      if (parser.parseType(type))
        return failure();
      for (size_t k = types.size(); k < inits.size(); ++k) {
        types.push_back(type);
        arguments[k].type = type;
      }
    } while (succeeded(parser.parseOptionalComma()));
    if (types.size() != inits.size())
      return parser.emitError(parser.getCurrentLocation())
             << "expected ':' and the type of the carried values before ')'";
    if (parser.parseRParen())
      return failure();
  }
  Builder &builder = parser.getBuilder();
  auto limitType = RankedTensorType::get({}, builder.getI32Type());
  if (parser.parseKeyword("upto") || parser.parseOperand(limit) ||
      parseActive(parser, arguments) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parseSomeResults(parser, results) ||
      parser.resolveOperands(inits, types, parser.getCurrentLocation(),
                             state.operands) ||
      parser.resolveOperand(limit, limitType, state.operands) ||
      parser.parseRegion(*state.addRegion(), arguments))
    return failure();
  state.addTypes(results);
  return success();
}

void printLoop(OpAsmPrinter &printer, Operation *op, ValueRange inits,
               Value limit, ArrayRef<StringRef> elidedAttrs) {
  printer << " (";
  Block &body = op->getRegion(0).front();
  for (size_t k = 0; k < inits.size(); ++k) {
    if (k)
      printer << ", ";
    printer.printRegionArgument(body.getArgument(k), {}, /*omitType=*/true);
    printer << " = " << inits[k];
    if (k + 1 == inits.size() || inits[k + 1].getType() != inits[k].getType())
      printer << " : " << inits[k].getType();
  }
  printer << ") upto " << limit;
  if (body.getNumArguments() > inits.size()) {
    printer << " active ";
    printer.printRegionArgument(body.getArguments().back());
  }
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), elidedAttrs);
  printResults(printer, op->getResultTypes());
  printer << ' ';
  printer.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/false);
}

LogicalResult verifyLoop(Operation *op, ValueRange inits, ValueRange yielded,
                         Value more, bool hasActive) {
  Block &body = op->getRegion(0).front();
  // A foreach.while without a flag runs as often as its limit says.
  if (!more && !isa<foreach::WhileOp>(op))
    return op->emitOpError(
        "expected its region to end with 'yield ... while' and a flag");
  auto carried = body.getArguments().take_front(
      std::min<size_t>(inits.size(), body.getNumArguments()));
  if (TypeRange(ValueRange(carried)) != TypeRange(inits))
    return op->emitOpError("carries values whose types differ from those of "
                           "the region's arguments");
  bool perMember = more && foreach::isList(more.getType());
  size_t others = hasActive && perMember ? 1 : 0;
  if (body.getNumArguments() > inits.size() + others)
    return op->emitOpError("expected a region of at most ")
           << counted(inits.size() + others, "argument") << ", found "
           << body.getNumArguments();
  if (yielded.size() < inits.size())
    return op->emitOpError("carries ")
           << counted(inits.size(), "value") << " but its region yields "
           << yielded.size();
  for (auto [k, init] : llvm::enumerate(inits))
    if (yielded[k].getType() != init.getType())
      return op->emitOpError("carries ")
             << init.getType() << " as value #" << k
             << " but its region yields " << yielded[k].getType();
  if (op->getNumResults() != yielded.size() + 1)
    return op->emitOpError("expected ")
           << counted(yielded.size() + 1, "result")
           << " (the yielded values and the number of iterations), "
              "found "
           << op->getNumResults();
  for (auto [k, value] : llvm::enumerate(yielded))
    if (op->getResult(k).getType() != value.getType())
      return op->emitOpError("result #")
             << k << " has type " << op->getResult(k).getType()
             << " but the region yields " << value.getType();
  Type i32 = IntegerType::get(op->getContext(), 32);
  Type iterations = perMember ? Type(ListType::get(0, i32))
                              : Type(RankedTensorType::get({}, i32));
  if (op->getResults().back().getType() != iterations)
    return op->emitOpError("expected the last result, the number of "
                           "iterations, to have type ")
           << iterations << (more ? ", like the flag" : "") << ", found "
           << op->getResults().back().getType();
  return success();
}

} // namespace heddle
