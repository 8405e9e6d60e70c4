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
#include "codegen/layout/DrawnNumbers.h"
#include "dialect/Bindings.h"
#include "dialect/ReduceKinds.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::fused::Level;

namespace heddle::cuda {

std::string StreamEmitter::access(StringRef function, bool evictFirst) const {
  return ("heddle::" + function + (reducesElements() ? "_round" : "") + "<" +
          Twine(layout.threads) + (evictFirst ? ", EvictFirst>" : ">"))
      .str();
}

std::string StreamEmitter::accessArguments(int slot, StringRef array) const {
  std::string from = pointers[slot] + ", tile.count, ";
  if (reducesElements())
    return ("(all_there, " + from + "round, " + array + ");\n").str();
  return ("(whole, " + from + array + (repeats() > 1 ? ", round" : "") + ");\n")
      .str();
}

bool StreamEmitter::isPacked(const OperandSlot &slot) const {
  return slots.vector % 2 == 0 &&
         (slot.storage.isF16() || slot.storage.isBF16());
}

std::string StreamEmitter::elements(const OperandSlot &slot,
                                    const std::string &name) const {
  std::string vector = std::to_string(slots.vector);
  if (isPacked(slot))
    return ("heddle::packed<" + storedType(slot.storage) + ", " + vector +
            "> " + name)
        .str();
  return (computedType(heldType(slot)) + " " + name + "[" + vector + "]").str();
}

/// Declares the arrays of the loaded elements.
void StreamEmitter::declareElements(Held held) {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (!isElementArgument(argument))
      continue;
    std::string name = scope.declare(argument, "x");
    if (held != Held::round)
      name += "[" + std::to_string(repeats()) + "]";
    os << elements(slots.operands[slot], name) << ";\n";
  }
}

void StreamEmitter::loadElements(Held held) {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (!isElementArgument(argument))
      continue;
    if (held == Held::tile)
      os << "heddle::load_rounds<" << layout.threads << ">(" << pointers[slot]
         << ", " << scope[argument] << ");\n";
    else if (held == Held::part)
      os << "heddle::load_rounds<" << layout.threads << ", " << slots.vector
         << ">(aligned, " << pointers[slot] << ", tile.count, "
         << scope[argument] << ");\n";
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

void StreamEmitter::assignOutputs(StringRef index, bool declare) {
  homes.clear();
  outputs.assign(slots.results.size(), "");
  isAssigned.assign(slots.results.size(), false);
  for (Operation &op : body)
    positions.try_emplace(&op, positions.size());
  llvm::DenseMap<int, SmallVector<BlockArgument, 1>> loadedFrom;
  for (auto [argument, input] : llvm::zip(body.getArguments(), slots.inputs))
    if (input >= 0 && !argument.use_empty())
      loadedFrom[input].push_back(argument);
  // Drawn numbers are there before.
  auto isComputed = [&](Operation *op) {
    auto random = dyn_cast<foreach::RandomOp>(op);
    return isElement(op) && !(random && isDrawn(random, levels));
  };
  auto yield = sweep.getSegmentYield(segment);
  for (auto [k, slot] : llvm::enumerate(slots.results)) {
    if (slot < 0 || isMemberIndex(slots.operands[slot].index))
      continue;
    Value value = yield.getValues()[k];
    SmallVector<BlockArgument, 1> loaded = loadedFrom.lookup(slot);
    Operation *op = value.getDefiningOp();
    bool packed = !index.empty() && isPacked(slots.operands[slot]);
    bool isReplaced = loaded.size() == 1 && op &&
                      value.getType() == heldType(slots.operands[slot]) &&
                      lastReadOf(loaded.front()) != UINT_MAX;
    if (isReplaced) {
      // The updated elements replace the loaded elements, directly where they
      // are computed unless the loaded elements are used later.
      outputs[k] = scope[loaded.front()];
      isAssigned[k] = !packed && isComputed(op) && !homes.contains(value) &&
                      lastReadOf(loaded.front()) <= positionOf(op);
      if (isAssigned[k])
        homes[value] = outputs[k] + index.str();
      continue;
    }
    StringRef name = buffers[slots.operands[slot].buffer].name;
    outputs[k] =
        scope.fresh(loaded.empty() ? name.str() : (name + "_next").str());
    isAssigned[k] = !packed && op && isComputed(op) && !homes.contains(value);
    if (isAssigned[k])
      homes[value] = outputs[k] + index.str();
    if (packed)
      os << elements(slots.operands[slot], outputs[k]) << ";\n";
    else if (declare)
      os << computedType(value.getType()) << ' ' << outputs[k] << "["
         << slots.vector << "];\n";
  }
}

bool StreamEmitter::reducesElements() const {
  return llvm::any_of(reductions,
                      [&](fused::ReduceOp op) { return isReduced(op); });
}

/// In a `stream` sweep, a matrix is a vector.
Expression StreamEmitter::positionAlong(foreach::Axis) const {
  std::string sizes = "<" + std::to_string(layout.threads) + ", " +
                      std::to_string(slots.vector);
  if (reducesElements())
    return {"tile.first + heddle::position_in_round" + sizes + ">(round, k)",
            Expression::sum};
  return {"tile.first + heddle::position<false, " + sizes.substr(1) +
              ">(whole, k" + (repeats() > 1 ? ", round" : "") + ")",
          Expression::sum};
}

/// Prints the computation of one element: `index` selects it in the arrays of
/// the thread.
LogicalResult StreamEmitter::emitElement(StringRef index) {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (!isElementArgument(argument))
      continue;
    std::string variable = scope[argument], element = variable + index.str();
    if (argument.getType() != heldType(slots.operands[slot])) {
      std::string wide = scope.fresh(variable + typeSuffix(argument.getType()));
      os << "const " << computedType(argument.getType()) << ' ' << wide << " = "
         << element << ";\n";
      element = wide;
    }
    scope.bind(argument, element);
  }
  for (foreach::RandomOp op : drawnNumbers())
    if (!index.empty())
      scope.bind(op, scope[op] + "[k]");
  return declareOps([&](Operation *op) {
    return isElement(op) && !isInQuotient(op) && !isPositionOfDrawn(op, levels);
  });
}

/// Prints the computation on the elements that a thread holds.
LogicalResult StreamEmitter::emitElements(Held held) {
  auto yield = sweep.getSegmentYield(segment);
  assignOutputs("[k]");
  bool braces = held == Held::part || !drawnNumbers().empty();
  if (held != Held::round) {
    os << "#pragma unroll\n"
       << "for (int round = 0; round < " << repeats() << "; ++round)"
       << (braces ? " {\n" : "\n");
    os.indent();
  }
  if (held == Held::part)
    os << "if (round * " << layout.threads * slots.vector
       << " >= tile.count)\n  break;\n";
  Scope::Nested ofRound(scope);
  drawNumbers();
  os << "#pragma unroll\n"
     << "for (int k = 0; k < " << slots.vector << "; ++k) {\n";
  os.indent();
  {
    Scope::Nested block(scope);
    if (failed(emitElement(held == Held::round ? "[k]" : "[round][k]")))
      return failure();
    combineElements(held);
    for (auto [k, name] : llvm::enumerate(outputs)) {
      if (name.empty() || isAssigned[k])
        continue;
      std::string value = text(yield.getValues()[k]);
      if (isPacked(slots.operands[slots.results[k]]))
        os << name << ".set(k, " << value << ");\n";
      else
        os << name << "[k] = " << value << ";\n";
    }
  }
  os.unindent() << "}\n";
  if (held != Held::round)
    os.unindent() << (braces ? "}\n" : "");
  return success();
}

LogicalResult StreamEmitter::emitRound(Held held) {
  if (failed(emitElements(held)))
    return failure();
  storeElements();
  return success();
}

void StreamEmitter::storeElements() {
  for (auto [k, slot] : llvm::enumerate(slots.results))
    if (!outputs[k].empty())
      os << access("store", /*evictFirst=*/true)
         << accessArguments(slot, outputs[k]);
}

bool StreamEmitter::isReduced(fused::ReduceOp op) const {
  return layout.scratchOf(op, ScratchPer::tile) >= 0;
}

void StreamEmitter::combineElements(Held held) {
  bool whole = held == Held::tile;
  if (!reducesElements())
    return;
  bool positions = llvm::any_of(reductions, [&](fused::ReduceOp op) {
    return isReduced(op) && foreach::hasPosition(op.getKind());
  });
  if (!whole || positions)
    os << "const int at = heddle::position_in_round<" << layout.threads << ", "
       << slots.vector << ">(round, k);\n";
  if (!whole) {
    os << "if (at < tile.count) {\n";
    os.indent();
  }
  for (fused::ReduceOp op : reductions)
    if (isReduced(op))
      accumulate(op, "tile.first + at");
  if (!whole)
    os.unindent() << "}\n";
}

LogicalResult StreamEmitter::emitAllRounds(Held held) {
  Scope::Nested block(scope);
  declareElements(held);
  loadElements(held);
  return emitRound(held);
}

/// Prints a tile of several rounds. If it is only read, all loads are issued
/// before the first element is used, also if it is the short last tile of a
/// member. Otherwise it is processed round by round.
LogicalResult StreamEmitter::emitReducedRounds() {
  if (!writesElements()) {
    os << "if (aligned && tile.count == " << slots.tile << ") {\n";
    os.indent();
    if (failed(emitAllRounds(Held::tile)))
      return failure();
    os.unindent() << "} else {\n";
    os.indent();
    if (failed(emitAllRounds(Held::part)))
      return failure();
    os.unindent() << "}\n";
    return success();
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
    declareElements(Held::round);
    loadElements(Held::round);
    if (failed(emitRound(Held::round)))
      return failure();
  }
  os.unindent() << "}\n";
  return success();
}

LogicalResult StreamEmitter::emitMappedRound() {
  if (!isBranchless)
    return emitRound(Held::round);
  emitBranchlessRound();
  return success();
}

/// Prints the rounds of a tile that is only mapped. The elements of the first
/// round have been loaded; those of another are loaded when the round before it
/// is complete.
LogicalResult StreamEmitter::emitMappedRounds() {
  int64_t elements = layout.threads * slots.vector;
  os << "#pragma unroll 1\n"
     << "while (true) {\n";
  os.indent();
  {
    Scope::Nested block(scope);
    if (failed(emitMappedRound()))
      return failure();
    os << "if (++round * " << elements << " >= tile.count)\n  break;\n"
       << "whole = aligned && tile.count >= (round + 1) * " << elements
       << ";\n";
    loadElements(Held::round);
  }
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
  if (!reducesElements()) {
    if (rounds)
      os << "int round = 0;\n"
         << "bool whole = aligned && tile.count >= "
         << layout.threads * slots.vector << ";\n";
    declareElements(Held::round);
    loadElements(Held::round);
  }
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
  declareDivisors();
  if (writesElements() || reducesElements())
    if (failed(reducesElements() ? emitReducedRounds()
               : rounds          ? emitMappedRounds()
                                 : emitMappedRound()))
      return failure();
  storePartials();
  return success();
}

} // namespace heddle::cuda
