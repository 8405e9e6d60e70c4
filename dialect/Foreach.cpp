//===- Foreach.cpp - the foreach dialect ----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types, rules and syntax of the operations in ForeachOps.td.
//
//===----------------------------------------------------------------------===//

#include "dialect/Foreach.h"
#include "dialect/ArgumentTypes.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "dialect/ReduceKinds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/support/Text.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::foreach;

#include "dialect/ForeachDialect.cpp.inc"
#include "dialect/ForeachEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/ForeachTypes.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/ForeachOps.cpp.inc"

void ForeachDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/ForeachTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/ForeachOps.cpp.inc"
      >();
}

/// A value that folds to a constant becomes an `arith.constant`.
Operation *ForeachDialect::materializeConstant(OpBuilder &builder,
                                               Attribute value, Type type,
                                               Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

ListType ListType::get(int64_t rank, Type elementType) {
  SmallVector<int64_t> shape(rank, ShapedType::kDynamic);
  return get(elementType.getContext(),
             RankedTensorType::get(shape, elementType));
}

LogicalResult ListType::verify(function_ref<InFlightDiagnostic()> emitError,
                               RankedTensorType tensor) {
  if (tensor.getRank() > 2)
    return emitError() << "a list holds tensors of rank 0, 1 or 2, found "
                       << tensor << "; leading dimensions collapse when "
                       << "buffers are bound";
  if (tensor.getEncoding())
    return emitError() << "expected tensors without an encoding, found "
                       << tensor;
  if (llvm::any_of(tensor.getShape(), [](int64_t extent) {
        return !ShapedType::isDynamic(extent);
      }))
    return emitError() << "extents are bound at run time: write '?' for each, "
                          "found "
                       << tensor;
  Type element = tensor.getElementType();
  if (!isElementType(element))
    return emitError() << "elements are f64, f32, f16, bf16 or integers of 1, "
                          "8, 16, 32 or 64 bits, found "
                       << element;
  return success();
}

bool heddle::foreach::isElementType(Type type) {
  if (type.isF64() || type.isF32() || type.isF16() || type.isBF16())
    return true;
  return llvm::any_of(
      std::initializer_list<unsigned>{1, 8, 16, 32, 64},
      [&](unsigned bits) { return type.isSignlessInteger(bits); });
}

Type heddle::foreach::storageType(Type type) {
  if (auto list = dyn_cast<ListType>(type))
    return list.getElementType();
  return cast<RankedTensorType>(type).getElementType();
}

int64_t heddle::foreach::rankOf(Type type) {
  if (auto list = dyn_cast<ListType>(type))
    return list.getRank();
  return cast<RankedTensorType>(type).getRank();
}

Type heddle::foreach::computeType(Type type) {
  if (type.isF16() || type.isBF16())
    return Float32Type::get(type.getContext());
  return type;
}

RankedTensorType heddle::foreach::scalarOf(Type type) {
  return RankedTensorType::get({}, type);
}

//===----------------------------------------------------------------------===//
// Attributes of arguments
//===----------------------------------------------------------------------===//

int64_t foreach::donatedTo(FunctionOpInterface function, unsigned argument) {
  auto result = function.getArgAttrOfType<IntegerAttr>(argument, kDonateAttr);
  return result && result.getType().isSignlessInteger(64) ? result.getInt()
                                                          : -1;
}

SmallVector<int> foreach::replacedArguments(FunctionOpInterface function) {
  SmallVector<int> arguments(function.getNumResults(), -1);
  for (unsigned k = 0; k < function.getNumArguments(); ++k)
    if (int64_t result = donatedTo(function, k); result >= 0)
      arguments[result] = k;
  return arguments;
}

/// Checks once, at the first argument that is donated, that no two arguments
/// are donated to one result.
static LogicalResult verifyDonations(FunctionOpInterface function,
                                     unsigned first) {
  for (unsigned before = first; before-- > 0;)
    if (foreach::donatedTo(function, before) >= 0)
      return success();
  llvm::DenseMap<int64_t, unsigned> arguments;
  for (unsigned k = first; k < function.getNumArguments(); ++k) {
    // Later arguments are not yet checked.
    int64_t result = foreach::donatedTo(function, k);
    if (result < 0 || result >= static_cast<int64_t>(function.getNumResults()))
      continue;
    auto [found, isNew] = arguments.try_emplace(result, k);
    if (!isNew)
      return emitArgumentError(function, k)
             << " is donated to result #" << result << ", and so is "
             << describeArgument(function, found->second)
             << "; expected another result, or no 'foreach.donate'";
  }
  return success();
}

/// Checks that double precision, in which scalars and initial values are given,
/// can hold the value of an argument's attribute.
static LogicalResult verifyDouble(FunctionOpInterface function, unsigned index,
                                  NamedAttribute named) {
  auto integer = dyn_cast<IntegerAttr>(named.getValue());
  if (!integer)
    return success();
  APInt size = integer.getValue().abs();
  if (size.getActiveBits() <= 53 + size.countr_zero())
    return success();
  return emitArgumentError(function, index)
         << " has " << named.getName().getValue() << " = " << named.getValue()
         << "; expected an integer that double precision can hold";
}

/// The attributes of operations are part of their syntax.
LogicalResult ForeachDialect::verifyOperationAttribute(Operation *op,
                                                       NamedAttribute named) {
  return op->emitOpError("has unknown attribute '")
         << named.getName().getValue()
         << "'; expected no attribute of foreach here";
}

LogicalResult ForeachDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                       unsigned index,
                                                       NamedAttribute named) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError("has '")
           << named.getName().getValue() << "' on an argument; only arguments "
           << "of functions can have it";
  Type type = function.getArgumentTypes()[index];
  if (named.getName() == kDonateAttr) {
    auto result = dyn_cast<IntegerAttr>(named.getValue());
    if (!result || !result.getType().isSignlessInteger(64))
      return emitArgumentError(function, index)
             << " has " << kDonateAttr << " = " << named.getValue()
             << "; expected the number of a result, an integer of type i64 "
                "such as 0 : i64";
    if (result.getInt() < 0 ||
        result.getInt() >= static_cast<int64_t>(function.getNumResults()))
      return emitArgumentError(function, index)
             << " is donated to " << named.getValue()
             << "; expected the number of a result, below "
             << function.getNumResults();
    Type replaced = function.getResultTypes()[result.getInt()];
    if (replaced != type)
      return emitArgumentError(function, index)
             << " of type " << type << " is donated to result #"
             << result.getInt() << " of type " << replaced
             << "; expected a result of the same type";
    return verifyDonations(function, index);
  }
  if (named.getName() == kDefaultAttr) {
    auto value = dyn_cast<TypedAttr>(named.getValue());
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getRank() != 0 || !value ||
        value.getType() != storageType(type))
      return emitArgumentError(function, index)
             << " of type " << type << " has default " << named.getValue()
             << "; expected a device scalar and a number of its element type";
    return verifyDouble(function, index, named);
  }
  if (named.getName() == kPositiveAttr) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!isa<UnitAttr>(named.getValue()) || !tensor || tensor.getRank() != 0 ||
        !isa<FloatType>(tensor.getElementType()))
      return emitArgumentError(function, index)
             << " of type " << type << " has '" << kPositiveAttr
             << "'; expected a device scalar of floats and no value";
    auto value = function.getArgAttrOfType<FloatAttr>(index, kDefaultAttr);
    if (value && !(value.getValue().isFinite() && !value.getValue().isZero() &&
                   !value.getValue().isNegative()))
      return emitArgumentError(function, index)
             << " has '" << kPositiveAttr << "' and default " << value
             << "; expected a finite number above 0";
    return success();
  }
  if (named.getName() == kInitialAttr) {
    auto value = dyn_cast<TypedAttr>(named.getValue());
    if (!isList(type) || !value || value.getType() != storageType(type))
      return emitArgumentError(function, index)
             << " of type " << type << " has initial value " << named.getValue()
             << "; expected a list and a number of its element type"
             << (isList(type) ? "" : "; a device scalar has foreach.default");
    return verifyDouble(function, index, named);
  }
  return emitArgumentError(function, index)
         << " has unknown attribute '" << named.getName().getValue()
         << "'; expected '" << kDonateAttr << "', '" << kDefaultAttr << "', '"
         << kPositiveAttr << "' or '" << kInitialAttr << "'";
}

//===----------------------------------------------------------------------===//
// Map
//===----------------------------------------------------------------------===//

static ParseResult parseBound(OpAsmParser &parser, OperationState &state) {
  Bindings bindings;
  SmallVector<Type> results;
  SMLoc at = parser.getCurrentLocation();
  if (parseBindings(parser, bindings) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parseSomeResults(parser, results) ||
      parser.resolveOperands(bindings.operands, bindings.types, at,
                             state.operands) ||
      parser.parseRegion(*state.addRegion(), bindings.arguments,
                         /*enableNameShadowing=*/true))
    return failure();
  state.addAttribute(
      "indices", parser.getBuilder().getDenseI32ArrayAttr(bindings.indices));
  state.addTypes(results);
  return success();
}

static void printBound(OpAsmPrinter &printer, Operation *op,
                       ArrayRef<int32_t> indices, ArrayRef<StringRef> elided) {
  Region &body = op->getRegion(0);
  printBindings(printer, op->getOperands(), indices, body.getArguments());
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), elided);
  printResults(printer, op->getResultTypes());
  printer << ' ';
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

ParseResult MapOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseBound(parser, state);
}

void MapOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printBound(printer, *this, getIndices(), {"indices"});
}

int64_t MapOp::getDomainRank() { return domainRank(getIndices()); }

bool MapOp::isUniform() {
  return llvm::none_of(getInputs().getTypes(), isList) &&
         llvm::none_of(getResultTypes(), isList);
}

foreach
  ::YieldOp MapOp::getYield() {
    return cast<foreach::YieldOp>(getBody().front().getTerminator());
  }

/// Checks that a body yields numbers that it may compute with.
static LogicalResult verifyYielded(foreach::YieldOp yield) {
  for (Type type : yield.getValues().getTypes())
    if (type.isF16() || type.isBF16())
      return yield.emitOpError("yields ")
             << type << ", which is a storage type: bind operands 'as f32'";
  return success();
}

LogicalResult MapOp::verify() {
  return verifyEnd(*this, getBody(), YieldOp::getOperationName());
}

LogicalResult MapOp::verifyRegions() {
  Block &body = getBody().front();
  if (failed(verifyBindings(*this, getInputs(), getIndices(), body)) ||
      failed(verifyBody(*this, body)))
    return failure();
  if (getNumResults() == 0)
    return emitOpError("expected at least one result");
  auto yielded = getYield().getValues();
  if (getYield().getMore())
    return emitOpError("yields a 'while' flag; only loops have one");
  if (yielded.size() != getNumResults())
    return emitOpError("yields ") << counted(yielded.size(), "value") << " for "
                                  << counted(getNumResults(), "result");
  if (failed(verifyYielded(getYield())))
    return failure();
  bool anyList = llvm::any_of(getInputs().getTypes(), isList);
  int64_t rank = getDomainRank();
  for (auto [k, value] : llvm::enumerate(yielded)) {
    Type type = getResult(k).getType();
    if (!isStorable(value.getType(), storageType(type)))
      return emitOpError("result #") << k << " has elements of "
                                     << storageType(type) << " but the region "
                                     << "yields " << value.getType();
    if (isList(type) != anyList || rankOf(type) != rank)
      return emitOpError("result #")
             << k << " has type " << type << "; expected "
             << (anyList ? "a list of rank " : "a device scalar, of rank ")
             << rank << ", like the domain";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &state) {
  MLIRContext *context = parser.getContext();
  StringRef kindName, axisName;
  SMLoc kindAt = parser.getCurrentLocation();
  if (parser.parseKeyword(&kindName))
    return failure();
  auto kind = symbolizeReduceKind(kindName);
  if (!kind)
    return parser.emitError(kindAt) << "expected " << reduceKindNames()
                                    << ", found '" << kindName << "'";
  SMLoc axisAt;
  if (parser.parseKeyword("along") || parser.getCurrentLocation(&axisAt) ||
      parser.parseKeyword(&axisName))
    return failure();
  auto axis = symbolizeAxis(axisName);
  if (!axis)
    return parser.emitError(axisAt)
           << "expected i, j, member or list, found '" << axisName << "'";
  if (parseBound(parser, state))
    return failure();
  state.addAttribute("kind", ReduceKindAttr::get(context, *kind));
  state.addAttribute("axis", AxisAttr::get(context, *axis));
  return success();
}

void ReduceOp::print(OpAsmPrinter &printer) {
  printer << ' ' << stringifyReduceKind(getKind()) << " along "
          << stringifyAxis(getAxis()) << ' ';
  printBound(printer, *this, getIndices(), {"indices", "kind", "axis"});
}

int64_t ReduceOp::getDomainRank() { return domainRank(getIndices()); }

foreach
  ::YieldOp ReduceOp::getYield() {
    return cast<foreach::YieldOp>(getBody().front().getTerminator());
  }

Value ReduceOp::getReduced() { return getYield().getValues().front(); }

Value ReduceOp::getShift() {
  auto yielded = getYield().getValues();
  return yielded.size() > 1 ? yielded[1] : Value();
}

/// Checks that the shift depends only on operands of the result's level or a
/// lower one.
static LogicalResult verifyShift(foreach::ReduceOp op) {
  if (op.getKind() != ReduceKind::logsumexp)
    return op.emitOpError(
        "yields 2 values; only logsumexp takes a second one, a shift");
  Value shift = op.getShift();
  if (shift.getType() != op.getReduced().getType())
    return op.emitOpError("reduces values of ")
           << op.getReduced().getType() << " but its shift has type "
           << shift.getType();
  // The dimension of the domain that the result keeps.
  int32_t left = op.getAxis() == Axis::j                              ? kI
                 : op.getAxis() == Axis::i && op.getDomainRank() == 2 ? kJ
                                                                      : kScalar;
  SmallVector<Value> worklist = {shift};
  llvm::SmallPtrSet<Value, 8> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument) {
      llvm::append_range(worklist, value.getDefiningOp()->getOperands());
      continue;
    }
    unsigned k = argument.getArgNumber();
    int32_t index = op.getIndices()[k];
    bool isOne = op.getAxis() == Axis::list
                     ? !isList(op.getInputs()[k].getType())
                     : isMemberIndex(index) || (index & ~left) == 0;
    if (!isOne)
      return op.emitOpError("computes its shift from operand #")
             << k << ", which has more than one value for each result";
  }
  return success();
}

LogicalResult ReduceOp::verify() {
  return verifyEnd(*this, getBody(), YieldOp::getOperationName());
}

LogicalResult ReduceOp::verifyRegions() {
  Block &body = getBody().front();
  if (failed(verifyBindings(*this, getInputs(), getIndices(), body)) ||
      failed(verifyBody(*this, body)))
    return failure();
  if (llvm::none_of(getInputs().getTypes(), isList))
    return emitOpError("expected a list among the operands; all of them are "
                       "device scalars");
  auto yielded = getYield().getValues();
  if (yielded.empty() || yielded.size() > 2 || getYield().getMore())
    return emitOpError("yields ") << counted(yielded.size(), "value")
                                  << "; expected the value to reduce";
  if (failed(verifyYielded(getYield())) ||
      (yielded.size() == 2 && failed(verifyShift(*this))))
    return failure();
  Type element = yielded.front().getType();
  if (!isReducible(getKind(), element))
    return emitOpError("cannot combine values of ")
           << element << " by " << stringifyReduceKind(getKind())
           << "; expected " << reducibleTypes(getKind());
  int64_t rank = getDomainRank();
  if (getAxis() == Axis::j && rank < 2)
    return emitOpError("reduces along j but its domain has rank ")
           << rank << "; expected " << (rank ? "i, member or list" : "list");
  if (getAxis() == Axis::i && rank < 1)
    return emitOpError("reduces along i but its domain has rank ")
           << rank << "; expected list";
  bool positions = hasPosition(getKind());
  if (positions && getAxis() == Axis::list && rank != 0)
    return emitOpError(
               "cannot give one position in a list whose members have rank ")
           << rank << "; reduce along member first, then along list";
  if (getNumResults() != (positions ? 2 : 1))
    return emitOpError("expected ")
           << (positions ? "2 results, the extreme value and its position"
                         : "1 result")
           << ", found " << getNumResults();
  int64_t left =
      getAxis() == Axis::member || getAxis() == Axis::list ? 0 : rank - 1;
  for (auto [k, type] : llvm::enumerate(getResultTypes())) {
    if (isList(type) != (getAxis() != Axis::list) || rankOf(type) != left)
      return emitOpError("result #")
             << k << " has type " << type << "; a reduction along "
             << stringifyAxis(getAxis()) << " gives "
             << (getAxis() == Axis::list ? "a device scalar, of rank "
                                         : "a list of rank ")
             << left;
    if (k == 1 && !storageType(type).isInteger(64))
      return emitOpError("the position has elements of ")
             << storageType(type) << "; expected i64";
    if (k == 0 && !isStorable(element, storageType(type)))
      return emitOpError("result has elements of ")
             << storageType(type) << " but the region yields " << element;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// While
//===----------------------------------------------------------------------===//

ParseResult WhileOp::parse(OpAsmParser &parser, OperationState &state) {
  return parseLoop(parser, state);
}

void WhileOp::print(OpAsmPrinter &printer) {
  printLoop(printer, *this, getInits(), getLimit());
}

foreach
  ::YieldOp WhileOp::getYield() {
    return cast<foreach::YieldOp>(getBody().front().getTerminator());
  }

LogicalResult WhileOp::verify() {
  return verifyEnd(*this, getBody(), YieldOp::getOperationName());
}

LogicalResult WhileOp::verifyRegions() {
  if (getBody().getNumArguments() != getInits().size())
    return emitOpError("carries ")
           << counted(getInits().size(), "value") << " but its region has "
           << counted(getBody().getNumArguments(), "argument");
  return verifyLoop(*this, getInits(), getYield().getValues(),
                    getYield().getMore(), /*hasActive=*/false);
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

LogicalResult RecordOp::verify() {
  Type vector = getInto().getType(), value = getValue().getType();
  if (!isList(vector) || rankOf(vector) != 1)
    return emitOpError("records in a value of type ")
           << vector << "; expected a vector for each member, a list of rank 1";
  if (rankOf(value) != 0)
    return emitOpError("records a value of type ")
           << value << "; expected a member scalar or a device scalar";
  if (!isStorable(storageType(value), storageType(vector)))
    return emitOpError("records a value of type ")
           << storageType(value) << " in a vector of " << storageType(vector);
  return verifyRecord(*this, getInto(), getResult());
}

LogicalResult IterationOp::verify() { return verifyInLoop(*this); }

//===----------------------------------------------------------------------===//
// Extents and positions
//===----------------------------------------------------------------------===//

/// Checks that the domain of the body around `op` has the dimension `axis`.
static LogicalResult verifyDimension(Operation *op, Axis axis) {
  std::optional<int64_t> rank = rankOfBody(op);
  if (!rank)
    return op->emitOpError("expected to be in the body of foreach.map or "
                           "foreach.reduce");
  if (*rank == 0)
    return op->emitOpError("is in a body over member scalars or device "
                           "scalars, which have no extents: use it in a map or "
                           "reduction over the elements");
  if (axis == Axis::list)
    return op->emitOpError("expected i, j or member, found list");
  if (axis == Axis::j && *rank == 1)
    return op->emitOpError("expected i or member in a domain of rank 1, found "
                           "j");
  return success();
}

LogicalResult ExtentOp::verify() { return verifyDimension(*this, getAxis()); }
LogicalResult IndexOp::verify() { return verifyDimension(*this, getAxis()); }

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

ParseResult IfOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::UnresolvedOperand condition;
  SmallVector<OpAsmParser::UnresolvedOperand> otherwise;
  SmallVector<Type> results;
  auto flag = RankedTensorType::get({}, parser.getBuilder().getI1Type());
  SMLoc resultsAt;
  if (parser.parseOperand(condition) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes) ||
      parser.getCurrentLocation(&resultsAt) || parseResults(parser, results) ||
      parser.resolveOperand(condition, flag, state.operands) ||
      parser.parseRegion(*state.addRegion()) || parser.parseKeyword("else"))
    return failure();
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseOperandList(otherwise, OpAsmParser::Delimiter::Paren))
    return failure();
  if (results.empty() && !otherwise.empty())
    return parser.emitError(resultsAt)
           << "expected '->' and the types of the results";
  if (parser.resolveOperands(otherwise, results, at, state.operands))
    return failure();
  state.addTypes(results);
  return success();
}

void IfOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getCondition();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  printResults(printer, getResultTypes());
  printer << ' ';
  printer.printRegion(getBody());
  printer << " else (" << getOtherwise() << ')';
}

foreach
  ::YieldOp IfOp::getYield() {
    return cast<foreach::YieldOp>(getBody().front().getTerminator());
  }

LogicalResult IfOp::verify() {
  return verifyEnd(*this, getBody(), YieldOp::getOperationName());
}

LogicalResult IfOp::verifyRegions() {
  auto yielded = getYield().getValues();
  if (getYield().getMore())
    return emitOpError("yields a 'while' flag; only loops have one");
  if (TypeRange(yielded) != TypeRange(getResultTypes()) ||
      TypeRange(getOtherwise()) != TypeRange(getResultTypes()))
    return emitOpError("expected the types of the results (")
           << getResultTypes() << ") from its region (" << yielded.getTypes()
           << ") and after 'else' (" << getOtherwise().getTypes() << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// Sign
//===----------------------------------------------------------------------===//

OpFoldResult SignOp::fold(FoldAdaptor adaptor) {
  auto value = dyn_cast_or_null<FloatAttr>(adaptor.getValue());
  if (!value)
    return {};
  const APFloat &number = value.getValue();
  if (number.isNaN() || number.isZero())
    return value;
  return FloatAttr::get(value.getType(), number.isNegative() ? -1.0 : 1.0);
}

//===----------------------------------------------------------------------===//
// Random rounding
//===----------------------------------------------------------------------===//

LogicalResult RoundOp::verify() {
  if (getTo().isF16() || getTo().isBF16())
    return success();
  return emitOpError("expected to round to f16 or bf16, found ") << getTo();
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static void nameArguments(Region &region, OpAsmSetValueNameFn set) {
  printNames(ValueRange(region.getArguments()), set);
}

void MapOp::getAsmBlockArgumentNames(Region &r, OpAsmSetValueNameFn set) {
  nameArguments(r, set);
}
void MapOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  printNames(getResults(), set);
}
void ReduceOp::getAsmBlockArgumentNames(Region &r, OpAsmSetValueNameFn set) {
  nameArguments(r, set);
}
void ReduceOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  printNames(getResults(), set);
}
void WhileOp::getAsmBlockArgumentNames(Region &r, OpAsmSetValueNameFn set) {
  nameArguments(r, set);
}
void WhileOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  printNames(getResults(), set);
}
void RecordOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  printNames(getResult(), set);
}
void IfOp::getAsmResultNames(OpAsmSetValueNameFn set) {
  printNames(getResults(), set);
}
