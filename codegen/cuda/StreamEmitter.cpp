//===- StreamEmitter.cpp - a tile of consecutive elements per block -------===//
//
// Every thread takes a few consecutive elements of each operand, 16 bytes at a
// time, computes, and stores them.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/SweepEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/ReduceKinds.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::fused::Level;

namespace heddle::cuda {

/// Elements are held as they are computed from their storage, and widened where
/// they are used: a sum in double of floats holds floats.
static Type heldType(const OperandSlot &slot) {
  return foreach::computeType(slot.storage);
}

void StreamEmitter::loadElements(bool allRounds) {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::element || argument.use_empty())
      continue;
    std::string array = scope.declare(argument, "x");
    os << computedType(heldType(slots.operands[slot])) << ' ' << array;
    if (allRounds)
      os << "[" << repeats() << "]";
    os << "[" << slots.vector << "];\n";
  }
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::element || argument.use_empty())
      continue;
    if (allRounds) {
      os << "heddle::load_rounds<" << layout.threads << ">(" << pointers[slot]
         << ", " << scope[argument] << ");\n";
      continue;
    }
    // What the sweep itself replaces is not read again.
    os << "heddle::load<" << access(slots.operands[slot].written) << ">("
       << (repeats() > 1 ? "there" : "whole") << ", " << pointers[slot]
       << ", tile.count, " << scope[argument]
       << (repeats() > 1 ? ", round" : "") << ");\n";
  }
}

bool StreamEmitter::writesElements() const {
  return llvm::any_of(slots.results, [&](int slot) {
    return slot >= 0 && !isMemberIndex(slots.operands[slot].index);
  });
}

std::string StreamEmitter::access(bool passing) const {
  // In a round each thread decides for itself whether it moves vectors, so that
  // all must agree on whose element is whose.
  bool inOrder = repeats() > 1;
  return std::string(inOrder ? "true" : "false") +
         (passing ? ", Passing, " : ", false, ") +
         std::to_string(layout.threads);
}

bool StreamEmitter::reducesElements() const {
  return llvm::any_of(reductions,
                      [&](fused::ReduceOp op) { return isReduced(op); });
}

/// What is computed of the elements that a thread holds: of one round, or of
/// all rounds of a whole tile.
LogicalResult StreamEmitter::emitRound(bool allRounds) {
  auto yield = sweep.getSegmentYield(segment);
  for (auto [k, slot] : llvm::enumerate(slots.results)) {
    if (slot < 0 || isMemberIndex(slots.operands[slot].index))
      continue;
    outputs[k] =
        scope.fresh(buffers[slots.operands[slot].buffer].name + "_new");
    os << computedType(yield.getValues()[k].getType()) << ' ' << outputs[k]
       << "[" << slots.vector << "];\n";
  }
  if (allRounds) {
    os << "#pragma unroll\n"
       << "for (int round = 0; round < " << repeats() << "; ++round)\n";
    os.indent();
  }
  os << "#pragma unroll\n"
     << "for (int k = 0; k < " << slots.vector << "; ++k) {\n";
  os.indent();
  // Inside the loop an operand is one element of its array.
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::element || argument.use_empty())
      continue;
    std::string element = scope[argument] + (allRounds ? "[round][k]" : "[k]");
    if (argument.getType() != heldType(slots.operands[slot])) {
      std::string wide = scope.fresh(scope[argument] + "_wide");
      os << "const " << computedType(argument.getType()) << ' ' << wide << " = "
         << element << ";\n";
      element = wide;
    }
    scope.bind(argument, element);
  }
  if (failed(declareOps([&](Operation *op) { return isElement(op); })))
    return failure();
  combineElements(allRounds);
  for (auto [k, name] : llvm::enumerate(outputs))
    if (!name.empty())
      os << name << "[k] = " << text(yield.getValues()[k]) << ";\n";
  os.unindent() << "}\n";
  if (allRounds)
    os.unindent();
  for (auto [k, slot] : llvm::enumerate(slots.results))
    if (!outputs[k].empty())
      os << "heddle::store<" << access(/*passing=*/true) << ">("
         << (repeats() > 1 ? "there" : "whole") << ", " << pointers[slot]
         << ", tile.count, " << outputs[k] << (repeats() > 1 ? ", round" : "")
         << ");\n";
  // The names end with the block that they were declared in.
  for (Operation &op : body)
    if (isElement(&op))
      for (Value result : op.getResults())
        scope.forget(result);
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
    os << "const int at = heddle::place<true, " << layout.threads << ", "
       << slots.vector << ">(true, k, round);\n";
  if (!allRounds) {
    os << "if (at < tile.count) {\n";
    os.indent();
  }
  for (fused::ReduceOp op : reductions) {
    if (!isReduced(op))
      continue;
    std::string part = accumulators[op];
    os << part << " = " << kindOf(op) << "::combine(" << part << ", "
       << kindOf(op) << "::lift(" << text(op.getValue())
       << (foreach::hasPosition(op.getKind()) ? ", tile.first + at" : "")
       << "));\n";
  }
  if (!allRounds)
    os.unindent() << "}\n";
}

/// A tile of several rounds. One that is whole and only read is on its way as a
/// whole before its first element is looked at; any other is taken round by
/// round.
LogicalResult StreamEmitter::emitRounds() {
  if (!writesElements()) {
    os << "if (aligned && tile.count == " << slots.tile << ") {\n";
    os.indent();
    loadElements(/*allRounds=*/true);
    if (failed(emitRound(/*allRounds=*/true)))
      return failure();
    os.unindent() << "} else {\n";
    os.indent();
  }
  os << "#pragma unroll 1\n"
     << "for (int round = 0; round * " << layout.threads * slots.vector
     << " < tile.count; ++round) {\n";
  os.indent();
  os << "const bool there = aligned && heddle::place<true, " << layout.threads
     << ", " << slots.vector << ">(true, " << slots.vector - 1
     << ", round) < tile.count;\n";
  loadElements(/*allRounds=*/false);
  if (failed(emitRound(/*allRounds=*/false)))
    return failure();
  os.unindent() << "}\n";
  if (!writesElements())
    os.unindent() << "}\n";
  return success();
}

std::string StreamEmitter::wholeTile() {
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
  outputs.assign(slots.results.size(), "");
  bool rounds = repeats() > 1;
  if (!rounds)
    loadElements(/*allRounds=*/false);
  waitForPrevious();
  declareScalarInputs([&](Value argument) { return isUsedInWalk(argument); });
  if (failed(declareAhead()) || failed(declareOps([&](Operation *op) {
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
