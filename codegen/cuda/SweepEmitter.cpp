//===- SweepEmitter.cpp - common parts of all schedules -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints operands, scalars, precomputed scalars, and the functions of a
// segment. MemberEnd.cpp prints the end of a member and of the list.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/SweepEmitter.h"
#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/Inlining.h"
#include "codegen/cuda/Precomputed.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "dialect/ReduceKinds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::fused::Level;

namespace heddle::cuda {

SegmentEmitter::SegmentEmitter(raw_indented_ostream &os, fused::SweepOp sweep,
                               const SweepLayout &layout,
                               const SweepNames &names, const Buffers &buffers,
                               unsigned segment)
    : os(os), sweep(sweep), layout(layout), names(names), buffers(buffers),
      segment(segment), slots(layout.segments[segment]),
      body(sweep.getSegmentBlock(segment)),
      levels(*fused::Levels::infer(sweep, segment)),
      hinted(fused::onlyHinted(body)), inlined(inlinedOps(body)) {
  for (auto reduce : body.getOps<fused::ReduceOp>())
    if (!llvm::all_of(reduce.getResults(),
                      [&](Value result) { return isOnlyHinted(result); }))
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

/// The number of rows, or of elements of a `stream` sweep, is in the member
/// descriptor only.
Expression SegmentEmitter::extentAlong(foreach::Axis axis) const {
  if (axis == foreach::Axis::j)
    return {"tile.columns", Expression::primary};
  std::string count = "static_cast<const " + names.memberType(layout) +
                      " *>(params.table.members)[tile.member].count";
  if (axis == foreach::Axis::i || layout.rank < 2)
    return {count, Expression::primary};
  return {count + " * tile.columns", Expression::product};
}

/// In a sweep by rows; each loop has variables of these names.
Expression SegmentEmitter::positionAlong(foreach::Axis axis) const {
  if (axis == foreach::Axis::j)
    return {"column", Expression::primary};
  if (axis == foreach::Axis::i)
    return {"tile.first + row", Expression::sum};
  return {"(tile.first + row) * tile.columns + column", Expression::sum};
}

std::optional<Expression> SegmentEmitter::printOp(Operation *op) {
  if (auto extent = dyn_cast<foreach::ExtentOp>(op))
    return extentAlong(extent.getAxis());
  if (auto index = dyn_cast<foreach::IndexOp>(op))
    return positionAlong(index.getAxis());
  return printScalar(op, [&](Value operand) { return expression(operand); });
}

Expression SegmentEmitter::expression(Value value) {
  if (scope.contains(value))
    return {scope[value], Expression::primary};
  Operation *op = value.getDefiningOp();
  if (auto record = dyn_cast_or_null<fused::RecordOp>(op))
    return expression(record.getValue());
  if (isa_and_nonnull<foreach::IterationOp>(op))
    return {currentIteration(), Expression::primary};
  auto printed = op ? printOp(op) : std::nullopt;
  // declareOps reports operations that cannot be printed, and emit reports
  // values without a name.
  lost |= !printed;
  return printed.value_or(Expression{"0", Expression::primary});
}

void SegmentEmitter::declareResult(Value result, StringRef text) {
  if (std::string home = homes.lookup(result); !home.empty()) {
    os << home << " = " << text << ";\n";
    scope.bind(result, home);
  } else {
    os << "const " << computedType(result.getType()) << ' '
       << scope.declare(result) << " = " << text << ";\n";
  }
}

LogicalResult SegmentEmitter::declareOps(Filter wanted) {
  for (Operation &op : body.without_terminator()) {
    if (isa<fused::ReduceOp, fused::RecordOp, fused::PrecomputeOp,
            foreach::IterationOp>(op) ||
        !wanted(&op) || scope.contains(op.getResult(0)))
      continue;
    if (isa<arith::ConstantOp>(op) ||
        (inlined.contains(&op) && wanted(*op.getResult(0).user_begin())))
      continue;
    auto printed = printOp(&op);
    if (!printed)
      return op.emitOpError("has no CUDA equivalent");
    declareResult(op.getResult(0), printed->text);
  }
  return success();
}

std::string converted(StringRef text, Type from, Type to) {
  if (from == to)
    return text.str();
  StringRef type = computedType(to);
  bool isWord = !type.contains(' ') && !type.contains(':');
  if (isWord && !from.isF16() && !from.isBF16())
    return (type + "(" + text + ")").str();
  return ("heddle::convert<" + type + ">(" + text + ")").str();
}

std::string SegmentEmitter::storedExpression(Value value, Type storage) {
  return converted(text(value), value.getType(), storage);
}

std::string kindOf(fused::ReduceOp op) {
  return ("heddle::" + foreach::stringifyReduceKind(op.getKind()) + "<" +
          computedType(op.getValue().getType()) + ">")
      .str();
}

std::string stateOf(fused::ReduceOp op) {
  std::string state = foreach::infoOf(op.getKind()).cudaState.str();
  if (size_t at = state.find("$T"); at != std::string::npos)
    state.replace(at, 2, computedType(op.getValue().getType()));
  return state;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static std::string nameOfSlot(const OperandSlot &slot, const Buffers &buffers) {
  return buffers[slot.buffer].name + (slot.index == kLength   ? "_length"
                                      : slot.index == kStride ? "_stride"
                                                              : "");
}

std::string SegmentEmitter::nameOfSlot(const OperandSlot &slot) const {
  return cuda::nameOfSlot(slot, buffers);
}

SmallVector<std::string> fieldNames(const SegmentLayout &segment,
                                    const Buffers &buffers) {
  Scope scope;
  for (StringRef field : {"first", "count", "member", "segment", "tiles",
                          "columns", "column_base", "unused"})
    scope.reserve(field);
  SmallVector<std::string> names;
  for (const OperandSlot &slot : segment.operands)
    names.push_back(scope.fresh(nameOfSlot(slot, buffers)));
  return names;
}

std::string SegmentEmitter::iterationOf(int32_t index) const {
  return index == kFirst ? "0"
                         : currentIteration() + (index == kNext ? " + 1" : "");
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
         << " = heddle::at_iteration<" << type << ">(" << pointers[slot] << ", "
         << pointers[slot + 1] << ", "
         << iterationOf(slots.operands[slot].index) << ");\n";
      continue;
    }
    Type storage = ofList ? layout.scalars[-1 - slot].storage
                          : slots.operands[slot].storage;
    std::string from =
        "*" + (ofList ? names.scalars[-1 - slot] : pointers[slot]);
    os << "const " << type << ' ' << scope.declare(argument, "scalar") << " = "
       << converted(from, storage, argument.getType()) << ";\n";
  }
}

//===----------------------------------------------------------------------===//
// Precomputed scalars
//===----------------------------------------------------------------------===//

LogicalResult SegmentEmitter::declarePrecomputed() {
  for (auto precompute : body.getOps<fused::PrecomputeOp>()) {
    PrecomputedFields fields(precompute);
    int area = layout.scratchOf(precompute, ScratchPer::member);
    std::string local = scope.fresh("precomputed");
    std::string flag = scope.fresh("stale");
    std::string arguments;
    os << names.scratchTypes[area] << ' ' << local << " = "
       << names.scratch[area] << "[tile.member];\n"
       << "const bool " << flag << " = !((" << local << ".valid != 0)";
    for (auto [field, input] :
         llvm::zip(fields.operands, precompute.getInputs())) {
      os << " &\n    heddle::same_bits(" << local << "." << field << ", "
         << text(input) << ")";
      arguments += (arguments.empty() ? "" : ", ") + text(input);
    }
    os << ");\n"
       << "if (" << flag << ")\n  " << local << " = " << names.precompute[area]
       << "(" << arguments << ");\n";
    for (auto [field, result] :
         llvm::zip(fields.results, precompute.getResults()))
      scope.bind(result, local + "." + field);
    stale += (stale.empty() ? "" : " || ") + flag;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Other launches, and the other tiles of the member
//===----------------------------------------------------------------------===//

bool SegmentEmitter::waitsAtOnce() const {
  return names.hasPrevious &&
         fused::SweepOp(sweep).getLaunchAttr().getWaits()[segment] ==
             fused::Wait::first;
}

void SegmentEmitter::waitForDependency() {
  if (names.hasPrevious && !waitsAtOnce())
    os << "heddle::wait_for_dependency();\n";
}

/// Whether the traversal uses the operand `use`. Requires the answers for all
/// later operations.
bool SegmentEmitter::isUseInWalk(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (fused::isHint(use) ||
      (user->getNumResults() > 0 &&
       llvm::all_of(user->getResults(),
                    [&](Value result) { return isOnlyHinted(result); })))
    return false;
  if (isa<fused::PrecomputeOp>(user))
    return true;
  if (isa<fused::YieldOp>(user)) {
    int slot = slots.results[use.getOperandNumber()];
    return slot >= 0 && !isWrittenAtEnd(slots.operands[slot].index);
  }
  if (auto reduce = dyn_cast<fused::ReduceOp>(user))
    return levels.countedBy(reduce) > Level::member &&
           !levels.reducesCompleteColumns(reduce);
  Value result = user->getResult(0);
  fused::LevelOf level = levels.of(result);
  // Element and row values are computed even if they are unused; column values
  // only where others need them.
  bool always = level.level > Level::member && level.level != Level::column;
  return !level.after && (always || isUsedInWalk(result));
}

void SegmentEmitter::findUsedInWalk(bool shared) {
  usedInWalk.clear();
  if (shared) {
    usedInWalk = fused::backwardSlice(fused::elementResults(sweep, segment));
    return;
  }
  auto visit = [&](Value value) {
    if (llvm::any_of(value.getUses(),
                     [&](OpOperand &use) { return isUseInWalk(use); }))
      usedInWalk.insert(value);
  };
  for (Operation &op : llvm::reverse(body))
    llvm::for_each(op.getResults(), visit);
  llvm::for_each(body.getArguments(), visit);
}

void SegmentEmitter::arriveEarly() {
  // The condition below depends on every scalar of the member that the end of
  // the member overwrites, so all of them have been read when it is known.
  std::string seen = stale;
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs))
    if (slot >= 0 && slots.operands[slot].index == kScalar &&
        slots.operands[slot].written && scope.contains(argument))
      seen += (seen.empty() ? "" : " || ") + scope[argument] +
              (isa<FloatType>(argument.getType()) ? " != " + scope[argument]
                                                  : " == 0");
  os << "const bool is_last =\n    "
        "heddle::arrive_early(&params.table.tickets"
        "[tile.member], tile.tiles, "
     << (seen.empty() ? "false" : seen) << ");\n";
}

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

std::string SegmentEmitter::freshFor(fused::ReduceOp op, StringRef suffix) {
  StringRef own = nameOf(op.getResult(0));
  return scope.fresh(((own.empty() ? StringRef("sum") : own) + suffix).str());
}

void SegmentEmitter::declareReduced(fused::ReduceOp op, StringRef state) {
  StringRef type = computedType(op.getResult(0).getType());
  if (foreach::hasPosition(op.getKind()))
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

void SegmentEmitter::accumulate(fused::ReduceOp op, const Twine &position) {
  std::string part = accumulators[op];
  bool isPositioned = foreach::hasPosition(op.getKind());
  os << part << " = " << kindOf(op) << "::combine(" << part << ", "
     << kindOf(op) << "::lift(" << text(op.getValue());
  if (isPositioned)
    os << ", " << position;
  os << "));\n";
}

void SegmentEmitter::storePartials(bool always) {
  for (fused::ReduceOp op : reductions) {
    int area = layout.scratchOf(op, ScratchPer::tile);
    if (area < 0 || !accumulators.contains(op))
      continue;
    // A row value has the same state in every thread, so the states need no
    // combination.
    bool perThread = always || levels.countedBy(op) != Level::row;
    std::string part = accumulators[op];
    if (perThread)
      os << part << " = heddle::over_block<" << kindOf(op) << ", "
         << layout.threads << ">(" << part << ");\n";
    os << "if (" << isFirstThread() << ")\n  " << names.scratch[area]
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
  homes.clear();
  stale.clear();
}

std::string SweepNames::memberType(const SweepLayout &layout) const {
  return ("heddle::member_descriptor<" +
          llvm::Twine(std::max<int64_t>(1, layout.pointers)) + ", " +
          llvm::Twine(layout.rank == 2 ? 2 : 1) + ">")
      .str();
}

std::string SegmentEmitter::tileType() const {
  std::string name = names.sweep + "_tile";
  return layout.segments.size() == 1 ? name
                                     : name + "_" + std::to_string(segment);
}

void SegmentEmitter::beginFunction() {
  newScope();
  for (const std::string &field : fieldNames(slots, buffers))
    pointers.push_back("tile." + field);
  names.functions->begin();
}

void SegmentEmitter::endFunction(StringRef comment, StringRef type,
                                 StringRef part) {
  names.functions->end(comment, type, functionName(part),
                       {{"const " + names.paramsType() + " &", "params"},
                        {"const " + tileType() + " &", "tile"},
                        {"int", "tile_index"},
                        {"int", "part_of_tile"},
                        {"bool", part == "walk" ? vectorFlag().str() : ""}});
}

std::string SegmentEmitter::callOf(
    StringRef part, ArrayRef<std::pair<StringRef, StringRef>> replaced) const {
  return names.functions->call(functionName(part), replaced);
}

LogicalResult SegmentEmitter::emitWalkFunction() {
  beginFunction();
  if (failed(emitWalk()))
    return failure();
  if (arrivesEarly())
    os << "return is_last;\n";
  endFunction("", arrivesEarly() ? "bool" : "void", "walk");
  return success();
}

LogicalResult SegmentEmitter::emitHeldFunction() {
  beginFunction();
  if (failed(emitHeldWalk()))
    return failure();
  endFunction("Processes a tile of rows that threads hold in registers.",
              "void", "held");
  return success();
}

LogicalResult SegmentEmitter::emitVectorFunction() {
  beginFunction();
  if (failed(emitVectors()))
    return failure();
  endFunction("Processes the elements of a tile as vectors.", "void", "mapped");
  return success();
}

/// The condition of one thread among those of all blocks that process the tile.
std::string SegmentEmitter::isFirstThread() const {
  return layout.rowParts ? "threadIdx.x == 0 && part_of_tile == 0"
                         : "threadIdx.x == 0";
}

/// The index of the first tile of the member. Tiles of held rows have more rows
/// in some members than in others.
std::string SegmentEmitter::firstTile() const {
  if (!slots.held.columns)
    return "tile_index - static_cast<int>(tile.first / " +
           std::to_string(slots.tile) + ")";
  return "heddle::first_tile<" + names.memberType(layout) +
         ">(params.table, tile.member)";
}

/// A member whose condition does not hold keeps its values, which still count
/// for the list.
void SegmentEmitter::emitSkippedTile() {
  os << "if (!*" << pointers[layout.whereOperand[segment]] << ")";
  if (!layout.endsList) {
    os << "\n  return;\n";
    return;
  }
  os << " {\n";
  os.indent();
  os << "if (tile.first == 0 && "
        "heddle::arrives_last(&params.table.tickets[params.table."
        "member_count], params.table.member_count))\n  "
     << names.functions->call(names.sweep + "_epilogue") << ";\n"
     << "return;\n";
  os.unindent() << "}\n";
}

/// Prints the function that processes a tile, unless it would only call the
/// traversal.
void SegmentEmitter::emitProcessFunction() {
  beginFunction();
  bool isAlone = layout.columns && !slots.columns;
  std::string whole = vectorCondition();
  if (!isAlone && !waitsAtOnce() && layout.whereOperand.empty() &&
      !tilesEndMembers() && slots.tickets < 0 && whole.empty() &&
      !slots.held.columns) {
    names.functions->drop();
    names.functions->alias(functionName("process"), functionName("walk"));
    return;
  }
  if (isAlone)
    os << "if (" << blockOfTile() << " > 0)\n  return;\n";
  if (layout.rowParts)
    os << "if (part_of_tile > 0 && part_of_tile >= "
       << (layout.severalParts ? "heddle::blocks_of_rows(params.table, "
                               : "heddle::parts_of_row(")
       << "tile.columns, " << layout.wholeColumns
       << (layout.longParts ? ", true" : "") << "))\n  return;\n";
  if (layout.columnRange)
    os << "if (" << blockOfTile()
       << " > 0 && (tile.columns <= " << slots.held.columns << " || "
       << layout.columnRange << "LL * " << blockOfTile()
       << " >= tile.columns)) // no columns are left\n"
       << "  return;\n";
  if (waitsAtOnce())
    os << "heddle::wait_for_dependency();\n";
  if (!layout.whereOperand.empty())
    emitSkippedTile();
  if (slots.held.columns)
    emitHeldTile();
  if (names.functions->takes(functionName("walk"), vectorFlag()))
    os << "const bool " << vectorFlag() << " = " << whole << ";\n";
  if (arrivesEarly())
    os << "if (" << callOf("walk") << ")\n  " << callOf("end") << ";\n";
  else if (!slots.held.columns || slots.columns)
    whenVectors.empty() ? emitWalkCall() : emitVectorCall();
  if (slots.endsMembers && slots.columns)
    emitEndOfSharedTile();
  else if (slots.tickets >= 0)
    os << "if (" << callOf("combine") << ")\n  " << callOf("end") << ";\n";
  else if (tilesEndMembers() && !arrivesEarly())
    os << "if (heddle::arrives_last(&params.table.tickets[tile.member], "
          "tile.tiles"
       << (layout.rowParts
               ? " * heddle::blocks_of_rows(params.table, tile.columns, " +
                     std::to_string(layout.wholeColumns) +
                     (layout.longParts ? ", true)" : ")")
               : "")
       << "))\n  " << callOf("end") << ";\n";
  endFunction("", "void", "process");
}

LogicalResult SegmentEmitter::emit() {
  newScope();
  findUsedAtEnd();
  if (slots.held.columns) {
    findUsedInWalk(/*shared=*/false);
    if (failed(emitHeldFunction()))
      return failure();
  }
  findUsedInWalk(/*shared=*/slots.columns > 0);
  if (failed(emitElementFunction()) || failed(emitWalkFunction()))
    return failure();
  if (hasVectorEntry(sweep) && slots.columns && failed(emitVectorFunction()))
    return failure();
  if (slots.columns && slots.endsMembers && failed(emitCountFunction()))
    return failure();
  if (slots.tickets >= 0)
    emitCombineFunction();
  if (tilesEndMembers() && failed(emitEndFunction()))
    return failure();
  emitProcessFunction();
  return checkLost();
}

LogicalResult SegmentEmitter::emitEndOfOwnLaunch() {
  if (slots.endsMembers && failed(emitEndFunction()))
    return failure();
  return checkLost();
}

LogicalResult SegmentEmitter::checkLost() {
  if (lost)
    return sweep.emitOpError("computes with a value that its CUDA source does "
                             "not declare where it is needed");
  return success();
}

} // namespace heddle::cuda
