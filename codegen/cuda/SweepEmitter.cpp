//===- SweepEmitter.cpp - what all schedules print the same way -----------===//
//
// Operands, scalars, values computed ahead, and the functions of a segment;
// MemberEnd.cpp has what happens when a member or the list is complete.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/SweepEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::fused::Level;

namespace heddle::cuda {

/// Whether `op` serves hints alone, which the walks here have no use for.
static bool isOnlyHinted(Operation *op) {
  return op->getNumResults() > 0 &&
         llvm::all_of(op->getResults(), fused::isOnlyHinted);
}

SegmentEmitter::SegmentEmitter(raw_indented_ostream &os, fused::SweepOp sweep,
                               const SweepLayout &layout,
                               const SweepNames &names, const Buffers &buffers,
                               unsigned segment)
    : os(os), sweep(sweep), layout(layout), names(names), buffers(buffers),
      segment(segment), slots(layout.segments[segment]),
      body(sweep.getSegmentBlock(segment)),
      levels(*fused::Levels::infer(sweep, segment)),
      resultTypes(sweep.getSegmentResults(segment).getTypes()),
      schedule(sweep.getScheduleAttr().getKind()) {
  for (Operation &op : body)
    if (auto reduce = dyn_cast<fused::ReduceOp>(op);
        reduce && !isOnlyHinted(reduce))
      reductions.push_back(reduce);
}

std::string SegmentEmitter::functionName(StringRef part) const {
  std::string name = names.sweep + "_" + part.str();
  return layout.segments.size() == 1 ? name
                                     : name + "_" + std::to_string(segment);
}

bool SegmentEmitter::isElement(Operation *op) const {
  return llvm::any_of(op->getResults(), [&](Value value) {
    return levels.of(value).level == Level::element;
  });
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

/// Whether a value is printed where it is used instead of being declared.
static bool isInlined(Operation *op) {
  if (isa<arith::ConstantOp, foreach::TripOp>(op))
    return true;
  return op->getNumResults() == 1 && op->getResult(0).hasOneUse() &&
         nameOf(op->getResult(0)).empty() &&
         !isa<fused::ReduceOp, fused::PrecomputeOp>(op);
}

Expression SegmentEmitter::expression(Value value) {
  if (scope.knows(value))
    return {scope[value], Expression::primary};
  Operation *op = value.getDefiningOp();
  if (auto record = dyn_cast_or_null<fused::RecordOp>(op))
    return expression(record.getValue());
  if (isa_and_nonnull<foreach::TripOp>(op))
    return {tripText(), Expression::primary};
  auto printed =
      op ? printScalar(op, [&](Value operand) { return expression(operand); })
         : std::nullopt;
  // declareOps reports what cannot be printed, emit what has no name.
  lost |= !printed;
  return printed.value_or(Expression{"0", Expression::primary});
}

LogicalResult SegmentEmitter::declareOps(Filter wanted) {
  for (Operation &op : body.without_terminator()) {
    if (isa<fused::ReduceOp, fused::RecordOp, fused::PrecomputeOp,
            foreach::TripOp>(op) ||
        !wanted(&op) || scope.knows(op.getResult(0)))
      continue;
    // The terminator reads accumulators and stores after the loop that declares
    // a value, so what it yields is declared.
    if (isInlined(&op) && !isa<fused::YieldOp>(*op.getResult(0).user_begin()) &&
        !isa<arith::ConstantOp>(op) && wanted(*op.getResult(0).user_begin()))
      continue;
    if (isa<arith::ConstantOp>(op))
      continue;
    auto printed =
        printScalar(&op, [&](Value operand) { return expression(operand); });
    if (!printed)
      return op.emitOpError("has no CUDA text");
    Value result = op.getResult(0);
    os << "const " << computedType(result.getType()) << ' '
       << scope.declare(result) << " = " << printed->text << ";\n";
  }
  return success();
}

std::string SegmentEmitter::storedExpression(Value value, Type storage) {
  std::string printed = text(value);
  if (value.getType() == storage)
    return printed;
  return ("heddle::convert<" + storedType(storage) + ">(" + printed + ")")
      .str();
}

std::string kindOf(fused::ReduceOp op) {
  return ("heddle::" + foreach::stringifyReduceKind(op.getKind()) + "<" +
          computedType(op.getValue().getType()) + ">")
      .str();
}

std::string stateOf(fused::ReduceOp op) {
  StringRef type = computedType(op.getValue().getType());
  switch (op.getKind()) {
  case fused::ReduceKind::any:
  case fused::ReduceKind::all:
    return "int";
  case fused::ReduceKind::logsumexp:
    return ("heddle::log_sum<" + type + ">").str();
  case fused::ReduceKind::argmax:
    return ("heddle::at_most<" + type + ">").str();
  default:
    return type.str();
  }
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

std::string SegmentEmitter::nameOfSlot(const OperandSlot &slot) const {
  return buffers[slot.buffer].name + (slot.index == kLength   ? "_length"
                                      : slot.index == kStride ? "_stride"
                                                              : "");
}

void SegmentEmitter::declarePointers(
    llvm::function_ref<bool(unsigned)> wanted) {
  for (auto [k, slot] : llvm::enumerate(slots.operands)) {
    std::string name = scope.fresh(nameOfSlot(slot));
    pointers.push_back(name);
    bool isNumber = isNumberOfOperand(slot);
    if (wanted && !wanted(isNumber ? k - 1 : k))
      continue;
    if (isNumber) {
      os << "const long long " << name
         << " = reinterpret_cast<long long>(tile.operand[" << k << "]);\n";
      continue;
    }
    StringRef type = storedType(slot.storage);
    StringRef qualifier = slot.written ? "" : "const ";
    os << qualifier << type << " *__restrict__ const " << name
       << " = static_cast<" << qualifier << type << " *>(tile.operand[" << k
       << "]);\n";
  }
}

std::string SegmentEmitter::tripOf(int32_t index) const {
  return index == kFirst ? "0" : tripText() + (index == kNext ? " + 1" : "");
}

void SegmentEmitter::declareScalarInputs(
    llvm::function_ref<bool(Value)> wanted) {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level > Level::member || argument.use_empty() ||
        (wanted && !wanted(argument)))
      continue;
    StringRef type = computedType(argument.getType());
    bool ofList = slot < 0;
    if (!ofList && isEntryIndex(slots.operands[slot].index)) {
      if (fused::isRecordedIn(argument))
        continue;
      os << "const " << type << ' ' << scope.declare(argument, "scalar")
         << " = heddle::at_trip<" << type << ">(" << pointers[slot] << ", "
         << pointers[slot + 1] << ", " << tripOf(slots.operands[slot].index)
         << ");\n";
      continue;
    }
    Type storage = ofList ? layout.scalars[-1 - slot].storage
                          : slots.operands[slot].storage;
    std::string from =
        "*" + (ofList ? names.scalars[-1 - slot] : pointers[slot]);
    std::string name = scope.declare(argument, "scalar");
    os << "const " << type << ' ' << name << " = ";
    if (storage == argument.getType())
      os << from << ";\n";
    else
      os << "heddle::convert<" << type << ">(" << from << ");\n";
  }
}

//===----------------------------------------------------------------------===//
// Values computed ahead
//===----------------------------------------------------------------------===//

LogicalResult SegmentEmitter::declareAhead() {
  for (Operation &op : body) {
    auto ahead = dyn_cast<fused::PrecomputeOp>(op);
    if (!ahead)
      continue;
    int area = layout.scratchOf(&op, ScratchPer::member);
    std::string kept = scope.fresh("kept_" + names.scratch[area]);
    std::string condition = kept + ".valid";
    std::string call = names.scratchTypes[area] + "_of(";
    os << "const " << names.scratchTypes[area] << ' ' << kept << " = "
       << names.scratch[area] << "[tile.member];\n";
    for (auto [argument, input] :
         llvm::zip(ahead.getBody().getArguments(), ahead.getInputs())) {
      condition += " && heddle::same_bits(" + kept + "." +
                   identifierFrom(nameOf(argument)) + "_was, " + text(input) +
                   ")";
      call += text(input) + ", ";
    }
    for (auto [k, result] : llvm::enumerate(ahead.getResults())) {
      StringRef type = computedType(result.getType());
      std::string name = scope.declare(result, "ahead");
      os << type << ' ' << name << " = " << kept << ".value_" << k << ";\n";
      call += (k ? ", " : "") + name;
    }
    std::string flag = scope.fresh("stale");
    os << "const bool " << flag << " = !(" << condition << ");\n"
       << "if (" << flag << ")\n  " << call << ");\n";
    stale += (stale.empty() ? "" : " || ") + flag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Launches before and behind, and the other tiles of the member
//===----------------------------------------------------------------------===//

bool SegmentEmitter::waitsAtOnce() const {
  return names.hasPrevious &&
         fused::SweepOp(sweep).getLaunchAttr().getWaits()[segment] ==
             fused::Wait::first;
}

void SegmentEmitter::waitForPrevious() {
  if (names.hasPrevious && !waitsAtOnce())
    os << "heddle::wait_for_previous();\n";
}

bool SegmentEmitter::isUsedInWalk(Value value) const {
  if (slots.columns)
    return usedByElements.contains(value);
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (fused::isHint(use) || isOnlyHinted(user))
      continue;
    if (isa<fused::PrecomputeOp>(user))
      return true;
    if (isa<fused::YieldOp>(user)) {
      int slot = slots.results[use.getOperandNumber()];
      if (slot >= 0 && !isWrittenAtEnd(slots.operands[slot].index))
        return true;
      continue;
    }
    if (auto reduce = dyn_cast<fused::ReduceOp>(user)) {
      if (levels.countedBy(reduce) > Level::member)
        return true;
      continue;
    }
    fused::LevelOf level = levels.of(user->getResult(0));
    // Elements and rows that nothing is made of are computed all the same.
    if (!level.after &&
        (level.level > Level::member || isUsedInWalk(user->getResult(0))))
      return true;
  }
  return false;
}

bool SegmentEmitter::isBound(unsigned slot,
                             llvm::function_ref<bool(Value)> toSuch) const {
  return llvm::any_of(
      llvm::zip(body.getArguments(), slots.inputs), [&](auto pair) {
        auto [argument, input] = pair;
        return input == static_cast<int>(slot) && toSuch(argument);
      });
}

bool SegmentEmitter::isUsedInWalk(unsigned slot) const {
  return (llvm::is_contained(slots.results, static_cast<int>(slot)) &&
          !isWrittenAtEnd(slots.operands[slot].index)) ||
         isBound(slot, [&](Value argument) { return isUsedInWalk(argument); });
}

void SegmentEmitter::arriveEarly() {
  // Every scalar of the member that its end overwrites has been read when the
  // condition below is known.
  std::string seen = stale;
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs))
    if (slot >= 0 && slots.operands[slot].index == kScalar &&
        slots.operands[slot].written && scope.knows(argument))
      seen += (seen.empty() ? "" : " || ") + scope[argument] +
              (isa<FloatType>(argument.getType()) ? " != " + scope[argument]
                                                  : " == 0");
  os << "const unsigned arrived = heddle::arrive_early(&table.tickets[tile."
        "member], tile.tiles, "
     << (seen.empty() ? "false" : seen) << ");\n";
}

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

std::string SegmentEmitter::freshFor(fused::ReduceOp op, StringRef what) {
  StringRef own = nameOf(op.getResult(0));
  return scope.fresh(((own.empty() ? StringRef("sum") : own) + what).str());
}

void SegmentEmitter::declareReduced(fused::ReduceOp op, StringRef state) {
  StringRef type = computedType(op.getResult(0).getType());
  if (op.getKind() == fused::ReduceKind::argmax)
    os << "const " << type << ' ' << scope.declare(op.getResult(0)) << " = "
       << state << ".value;\n"
       << "const long long " << scope.declare(op.getResult(1), "position")
       << " = " << state << ".position;\n";
  else
    os << "const " << type << ' ' << scope.declare(op.getResult(0)) << " = "
       << kindOf(op) << "::value(" << state << ");\n";
}

void SegmentEmitter::declareAccumulators(Filter wanted) {
  for (fused::ReduceOp op : reductions) {
    if (!wanted(op))
      continue;
    std::string name = freshFor(op, "_part");
    accumulators[op] = name;
    os << stateOf(op) << ' ' << name << " = " << kindOf(op) << "::neutral();\n";
  }
}

void SegmentEmitter::storePartials() {
  for (fused::ReduceOp op : reductions) {
    int area = layout.scratchOf(op, ScratchPer::tile);
    if (area < 0 || !accumulators.contains(op))
      continue;
    // A row value is the same in every thread: its states met already.
    bool perThread = levels.countedBy(op) != Level::row;
    std::string part = accumulators[op];
    if (perThread)
      os << part << " = heddle::over_block<" << kindOf(op) << ", "
         << layout.threads << ">(" << part << ");\n";
    os << "if (threadIdx.x == 0)\n  " << names.scratch[area]
       << "[tile_index] = " << part << ";\n";
  }
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

void SegmentEmitter::newScope() {
  scope = Scope();
  pointers.clear();
  accumulators.clear();
  stale.clear();
  for (const auto &list : {names.scalars, names.scratch})
    for (const std::string &name : list)
      scope.fresh(name);
}

void SegmentEmitter::beginFunction(StringRef part, StringRef type) {
  newScope();
  bool whole = part == "walk" && hasWholeForm;
  os << names.templateHead << "__device__ __forceinline__ " << type << ' '
     << functionName(part) << "("
     << (whole ? ("bool " + wholeName() + ", ").str() : "") << "const "
     << names.sweep << "_tile_row &tile, int tile_index, " << names.parameters
     << ") {\n";
  os.indent();
}

void SegmentEmitter::endFunction() { os.unindent() << "}\n\n"; }

std::string SegmentEmitter::callOf(StringRef part) {
  bool whole = part == "walk" && hasWholeForm;
  return functionName(part) + "<ByValue, Passing>(" +
         (whole ? (wholeName() + ", ").str() : "") + "tile, tile_index, " +
         names.arguments + ");\n";
}

LogicalResult SegmentEmitter::emitWalkFunction() {
  beginFunction("walk", arrivesEarly() ? "unsigned" : "void");
  declarePointers([&](unsigned slot) { return isUsedInWalk(slot); });
  if (failed(emitWalk()))
    return failure();
  if (arrivesEarly())
    os << "return arrived;\n";
  endFunction();
  return success();
}

void SegmentEmitter::emitTileFunction() {
  beginFunction("tile", "void");
  if (layout.columns && !slots.columns)
    os << "if (" << shareOfBlock() << " > 0)\n  return;\n";
  if (waitsAtOnce())
    os << "heddle::wait_for_previous();\n";
  if (hasWholeForm || !layout.whereOperand.empty())
    declarePointers([&](unsigned slot) {
      if (!isMemberIndex(slots.operands[slot].index))
        return hasWholeForm;
      return !layout.whereOperand.empty() &&
             static_cast<int>(slot) == layout.whereOperand[segment];
    });
  if (!layout.whereOperand.empty()) {
    os << "if (!*" << pointers[layout.whereOperand[segment]] << ") {";
    if (layout.endsList) {
      os << " // what the member had before still counts for the list\n";
      os.indent();
      os << "if (tile.first == 0 && heddle::arrives_last(&table.tickets[table."
            "member_count], table.member_count))\n  "
         << names.sweep << "_finish<ByValue, Passing>(" << names.arguments
         << ");\n"
         << "return;\n";
      os.unindent() << "}\n";
    } else {
      os << " return; }\n";
    }
  }
  if (std::string whole = wholeTile(); !whole.empty())
    os << "const bool " << wholeName() << " = " << whole << ";\n";
  os << (arrivesEarly() ? "const unsigned arrived = " : "") << callOf("walk");
  if (arrivesEarly())
    os << "if (threadIdx.x == 0 && arrived == tile.tiles - 1)\n  "
       << callOf("end");
  else if (slots.endsMembers && slots.columns)
    emitEndOfShares();
  else if (slots.tickets >= 0)
    os << "const bool is_last = " << callOf("meet") << "if (is_last)\n  "
       << callOf("end");
  else if (slots.endsMembers)
    os << "if (heddle::arrives_last(&table.tickets[tile.member], "
          "tile.tiles))\n  "
       << callOf("end");
  endFunction();
}

LogicalResult SegmentEmitter::emit() {
  newScope();
  findUsedAtEnd();
  for (const OperandSlot &slot : slots.operands)
    pointers.push_back(buffers[slot.buffer].name);
  hasWholeForm = !wholeTile().empty();
  if (slots.columns)
    usedByElements = fused::behind(fused::elementResults(sweep, segment));
  if (failed(emitWalkFunction()))
    return failure();
  if (slots.columns && slots.endsMembers && failed(emitCountFunction()))
    return failure();
  if (slots.tickets >= 0)
    emitMeetFunction();
  if (slots.endsMembers && failed(emitEndFunction()))
    return failure();
  emitTileFunction();
  if (lost)
    return sweep.emitOpError("computes with a value that its CUDA text does "
                             "not declare where it is needed");
  return success();
}

} // namespace heddle::cuda
