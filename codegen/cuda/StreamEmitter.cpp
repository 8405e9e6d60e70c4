//===- StreamEmitter.cpp - the stream schedule ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every thread loads a few consecutive elements of each operand, 16 bytes at a
// time, computes, and stores them.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/StreamEmitter.h"
#include "codegen/layout/BranchlessMath.h"
#include "dialect/Bindings.h"
#include "dialect/ReduceKinds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::fused::Level;

namespace heddle::cuda {

/// Elements are held in the compute type of their storage and widened where
/// they are used: a sum in double of floats holds floats.
static Type heldType(const OperandSlot &slot) {
  return foreach::computeType(slot.storage);
}

std::string StreamEmitter::access(StringRef function, bool evictFirst) const {
  return ("heddle::" + function + (repeats() > 1 ? "_round" : "") + "<" +
          Twine(layout.threads) + (evictFirst ? ", EvictFirst>" : ">"))
      .str();
}

std::string StreamEmitter::accessArguments(int slot, StringRef array) const {
  bool inRounds = repeats() > 1;
  return ((inRounds ? "(all_there, " : "(whole, ") + pointers[slot] +
          ", tile.count, " + (inRounds ? "round, " : "") + array + ");\n")
      .str();
}

void StreamEmitter::loadElements(bool allRounds) {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::element || argument.use_empty())
      continue;
    os << computedType(heldType(slots.operands[slot])) << ' '
       << scope.declare(argument, "x");
    if (allRounds)
      os << "[" << repeats() << "]";
    os << "[" << slots.vector << "];\n";
  }
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::element || argument.use_empty())
      continue;
    if (allRounds)
      os << "heddle::load_rounds<" << layout.threads << ">(" << pointers[slot]
         << ", " << scope[argument] << ");\n";
    else // an operand that the sweep replaces is not read again
      os << access("load", slots.operands[slot].written)
         << accessArguments(slot, scope[argument]);
  }
}

bool StreamEmitter::writesElements() const {
  return llvm::any_of(slots.results, [&](int slot) {
    return slot >= 0 && !isMemberIndex(slots.operands[slot].index);
  });
}

//===----------------------------------------------------------------------===//
// Arrays of the results
//===----------------------------------------------------------------------===//

/// The position of the statement that computes `op`, or of which `op` is a
/// part.
unsigned StreamEmitter::positionOf(Operation *op) const {
  if (isa<fused::ReduceOp>(op)) // accumulated after all elements are computed
    return positions.size();
  return positions.lookup(op);
}

/// The position of the last statement that reads the elements of `argument`.
unsigned StreamEmitter::lastReadOf(BlockArgument argument) const {
  unsigned last = 0;
  for (OpOperand &use : argument.getUses()) {
    if (fused::isHint(use))
      continue;
    Operation *user = use.getOwner();
    if (isa<fused::YieldOp>(user))
      return UINT_MAX;
    while (isInlined(user))
      user = *user->getResult(0).user_begin();
    last = std::max(last, positionOf(user));
  }
  return last;
}

void StreamEmitter::assignOutputs(StringRef index) {
  homes.clear();
  outputs.assign(slots.results.size(), "");
  isAssigned.assign(slots.results.size(), false);
  for (Operation &op : body)
    positions.try_emplace(&op, positions.size());
  llvm::DenseMap<int, SmallVector<BlockArgument, 1>> loadedFrom;
  for (auto [argument, input] : llvm::zip(body.getArguments(), slots.inputs))
    if (input >= 0 && !argument.use_empty())
      loadedFrom[input].push_back(argument);
  auto yield = sweep.getSegmentYield(segment);
  for (auto [k, slot] : llvm::enumerate(slots.results)) {
    if (slot < 0 || isMemberIndex(slots.operands[slot].index))
      continue;
    Value value = yield.getValues()[k];
    SmallVector<BlockArgument, 1> loaded = loadedFrom.lookup(slot);
    Operation *op = value.getDefiningOp();
    bool isReplaced = loaded.size() == 1 && op &&
                      value.getType() == heldType(slots.operands[slot]) &&
                      lastReadOf(loaded.front()) != UINT_MAX;
    if (isReplaced) {
      // The updated elements replace the loaded elements, directly where they
      // are computed unless the loaded elements are used later.
      outputs[k] = scope[loaded.front()];
      isAssigned[k] = isElement(op) && !homes.contains(value) &&
                      lastReadOf(loaded.front()) <= positionOf(op);
      if (isAssigned[k])
        homes[value] = outputs[k] + index.str();
      continue;
    }
    StringRef name = buffers[slots.operands[slot].buffer].name;
    outputs[k] =
        scope.fresh(loaded.empty() ? name.str() : (name + "_next").str());
    isAssigned[k] = op && isElement(op) && !homes.contains(value);
    if (isAssigned[k])
      homes[value] = outputs[k] + index.str();
    os << computedType(value.getType()) << ' ' << outputs[k];
    if (!index.empty())
      os << "[" << slots.vector << "]";
    os << ";\n";
  }
}

bool StreamEmitter::reducesElements() const {
  return llvm::any_of(reductions,
                      [&](fused::ReduceOp op) { return isReduced(op); });
}

/// Divisions and square roots of elements have branchless forms while
/// `branchless` has a name.
std::optional<Expression> StreamEmitter::printOp(Operation *op) {
  if (branchless.empty() || !hasBranchlessForm(op) || !isElement(op))
    return SegmentEmitter::printOp(op);
  if (isa<math::SqrtOp>(op))
    return Expression{branchless + ".root(" + text(op->getOperand(0)) + ")",
                      Expression::primary};
  Operation *numerator = op->getOperand(0).getDefiningOp();
  bool isRoot = isa_and_nonnull<math::SqrtOp>(numerator) &&
                isElement(numerator);
  return Expression{branchless + (isRoot ? ".divide_root(" : ".divide(") +
                        text(op->getOperand(0)) + ", " +
                        text(op->getOperand(1)) + ")",
                    Expression::primary};
}

/// Prints the computation of one element: `index` selects it in the arrays of
/// the thread.
LogicalResult StreamEmitter::emitElement(StringRef index) {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::element || argument.use_empty())
      continue;
    std::string variable = scope[argument], element = variable + index.str();
    if (argument.getType() != heldType(slots.operands[slot])) {
      std::string wide =
          scope.fresh(variable + typeSuffix(argument.getType()));
      os << "const " << computedType(argument.getType()) << ' ' << wide
         << " = " << element << ";\n";
      element = wide;
    }
    scope.bind(argument, element);
  }
  return declareOps([&](Operation *op) { return isElement(op); });
}

/// Prints the computation on the elements that a thread holds: those of one
/// round, or of all rounds of a whole tile.
LogicalResult StreamEmitter::emitRound(bool allRounds) {
  auto yield = sweep.getSegmentYield(segment);
  assignOutputs("[k]");
  if (usesBranchlessMath(sweep, slots, segment)) {
    branchless = scope.freshOwn("math");
    os << "heddle::branchless_math " << branchless << ";\n";
  }
  if (allRounds) {
    os << "#pragma unroll\n"
       << "for (int round = 0; round < " << repeats() << "; ++round)\n";
    os.indent();
  }
  os << "#pragma unroll\n"
     << "for (int k = 0; k < " << slots.vector << "; ++k) {\n";
  os.indent();
  {
    Scope::Nested block(scope);
    if (failed(emitElement(allRounds ? "[round][k]" : "[k]")))
      return failure();
    combineElements(allRounds);
    for (auto [k, name] : llvm::enumerate(outputs))
      if (!name.empty() && !isAssigned[k])
        os << name << "[k] = " << text(yield.getValues()[k]) << ";\n";
  }
  os.unindent() << "}\n";
  if (allRounds)
    os.unindent();
  if (branchless.empty()) {
    storeElements();
    return success();
  }
  os << "if (" << branchless << ".exact) {\n";
  branchless.clear();
  os.indent();
  storeElements();
  os.unindent() << "} else {\n";
  os.indent();
  if (failed(emitElementByElement()))
    return failure();
  os.unindent() << "}\n";
  return success();
}

void StreamEmitter::storeElements() {
  for (auto [k, slot] : llvm::enumerate(slots.results))
    if (!outputs[k].empty())
      os << access("store", /*evictFirst=*/true)
         << accessArguments(slot, outputs[k]);
}

/// Prints the computation on the elements of a thread with branches, one after
/// the other: it is rarely executed, so it needs few registers instead.
LogicalResult StreamEmitter::emitElementByElement() {
  bool rounds = repeats() > 1;
  os << "#pragma unroll 1\n"
     << "for (int k = 0; k < " << slots.vector << "; ++k) {\n";
  os.indent();
  {
    Scope::Nested block(scope);
    std::string at = scope.freshOwn("at");
    os << "const int " << at << " = ";
    if (rounds)
      os << "heddle::position_in_round<" << layout.threads << ", "
         << slots.vector << ">(round, k);\n";
    else
      os << "heddle::position<false, " << layout.threads << ", "
         << slots.vector << ">(whole, k);\n";
    os << "if (" << at << " >= tile.count)\n  break;\n";
    for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
      if (levels.of(argument).level != Level::element || argument.use_empty())
        continue;
      Type held = heldType(slots.operands[slot]);
      std::string name = scope.declare(argument, "x");
      os << computedType(held) << ' ' << name << " = "
         << converted(pointers[slot] + "[" + at + "]",
                      slots.operands[slot].storage, held)
         << ";\n";
    }
    assignOutputs("");
    if (failed(emitElement("")))
      return failure();
    auto yield = sweep.getSegmentYield(segment);
    for (auto [k, slot] : llvm::enumerate(slots.results)) {
      if (outputs[k].empty())
        continue;
      Value value = yield.getValues()[k];
      os << pointers[slot] << "[" << at << "] = "
         << converted(isAssigned[k] ? outputs[k] : text(value),
                      value.getType(), slots.operands[slot].storage)
         << ";\n";
    }
  }
  os.unindent() << "}\n";
  return success();
}

bool StreamEmitter::isReduced(fused::ReduceOp op) const {
  return layout.scratchOf(op, ScratchPer::tile) >= 0;
}

void StreamEmitter::combineElements(bool allRounds) {
  if (!reducesElements())
    return;
  bool positions = llvm::any_of(reductions, [&](fused::ReduceOp op) {
    return isReduced(op) && foreach::hasPosition(op.getKind());
  });
  if (!allRounds || positions)
    os << "const int at = heddle::position_in_round<" << layout.threads << ", "
       << slots.vector << ">(round, k);\n";
  if (!allRounds) {
    os << "if (at < tile.count) {\n";
    os.indent();
  }
  for (fused::ReduceOp op : reductions)
    if (isReduced(op))
      accumulate(op, "tile.first + at");
  if (!allRounds)
    os.unindent() << "}\n";
}

/// Prints a tile of several rounds. If the tile is whole and only read, all
/// loads are issued before the first element is used; any other tile is
/// processed round by round.
LogicalResult StreamEmitter::emitRounds() {
  if (!writesElements()) {
    os << "if (aligned && tile.count == " << slots.tile << ") {\n";
    os.indent();
    {
      Scope::Nested block(scope);
      loadElements(/*allRounds=*/true);
      if (failed(emitRound(/*allRounds=*/true)))
        return failure();
    }
    os.unindent() << "} else {\n";
    os.indent();
  }
  os << "#pragma unroll 1\n"
     << "for (int round = 0; round * " << layout.threads * slots.vector
     << " < tile.count; ++round) {\n";
  os.indent();
  {
    Scope::Nested block(scope);
    os << "const bool all_there = aligned && heddle::position_in_round<"
       << layout.threads << ", " << slots.vector << ">(round, "
       << slots.vector - 1 << ") < tile.count;\n";
    loadElements(/*allRounds=*/false);
    if (failed(emitRound(/*allRounds=*/false)))
      return failure();
  }
  os.unindent() << "}\n";
  if (!writesElements())
    os.unindent() << "}\n";
  return success();
}

std::string StreamEmitter::vectorCondition() {
  std::string list;
  for (auto [name, slot] : llvm::zip(pointers, slots.operands))
    if (!isMemberIndex(slot.index))
      list += (list.empty() ? "" : ", ") + name;
  if (list.empty())
    return {};
  std::string aligned = "heddle::are_aligned(" + list + ")";
  return repeats() > 1
             ? aligned
             : "tile.count == " + std::to_string(slots.tile) + " && " + aligned;
}

LogicalResult StreamEmitter::emitWalk() {
  bool rounds = repeats() > 1;
  if (!rounds)
    loadElements(/*allRounds=*/false);
  waitForDependency();
  declareScalarInputs([&](Value argument) { return isUsedInWalk(argument); });
  if (failed(declarePrecomputed()) || failed(declareOps([&](Operation *op) {
        fused::LevelOf level = levels.of(op->getResult(0));
        return !level.after && level.level <= Level::member &&
               isUsedInWalk(op->getResult(0));
      })))
    return failure();
  if (arrivesEarly())
    arriveEarly();
  declareAccumulators(
      [&](Operation *op) { return isReduced(cast<fused::ReduceOp>(op)); });
  if (writesElements() || reducesElements())
    if (failed(rounds ? emitRounds() : emitRound(/*allRounds=*/false)))
      return failure();
  storePartials();
  return success();
}

} // namespace heddle::cuda
