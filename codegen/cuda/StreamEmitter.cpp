//===- StreamEmitter.cpp - a tile of consecutive elements per block -------===//
//
// Every thread takes a few consecutive elements of each operand, 16 bytes at a
// time, computes, and stores them.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/SweepEmitter.h"
#include "dialect/Bindings.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::fused::Level;

namespace heddle::cuda {

/// Elements are held as they are computed from their storage, and widened where
/// they are used: a sum in double of floats holds floats.
static Type heldType(const OperandSlot &slot) {
  return foreach::computeType(slot.storage);
}

void StreamEmitter::declareElements() {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::element || argument.use_empty())
      continue;
    std::string array = scope.declare(argument, "x");
    os << computedType(heldType(slots.operands[slot])) << ' ' << array;
    if (loadsAhead())
      os << "[" << repeats() << "]";
    os << "[" << slots.vector << "];\n";
  }
}

void StreamEmitter::loadElements() {
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::element || argument.use_empty())
      continue;
    if (loadsAhead()) {
      os << "heddle::load_rounds<false, " << layout.threads << ">(whole, "
         << pointers[slot] << ", tile.count, " << scope[argument] << ");\n";
      continue;
    }
    // What the sweep itself replaces is not read again.
    os << "heddle::load<" << access(slots.operands[slot].written) << ">(whole, "
       << pointers[slot] << ", tile.count, " << scope[argument]
       << (repeats() > 1 ? ", round" : "") << ");\n";
  }
}

void StreamEmitter::beginRounds(bool unrolled) {
  if (repeats() == 1)
    return;
  os << (unrolled ? "#pragma unroll\n" : "#pragma unroll 1\n")
     << "for (int round = 0; round < " << repeats() << "; ++round) {\n";
  os.indent();
}

void StreamEmitter::endRounds() {
  if (repeats() > 1)
    os.unindent() << "}\n";
}

bool StreamEmitter::writesElements() const {
  return llvm::any_of(slots.results, [&](int slot) {
    return slot >= 0 && slots.operands[slot].index != kScalar;
  });
}

std::string StreamEmitter::access(bool passing) const {
  return std::string(reducesElements() ? "true" : "false") +
         (passing ? ", Passing, " : ", false, ") +
         std::to_string(layout.threads);
}

bool StreamEmitter::reducesElements() const {
  return llvm::any_of(reductions, [&](fused::ReduceOp op) {
    return layout.scratchOf(op, ScratchPer::tile) >= 0;
  });
}

LogicalResult StreamEmitter::emitElements() {
  auto yield = sweep.getSegmentYield(segment);
  SmallVector<unsigned> written;
  for (auto [k, slot] : llvm::enumerate(slots.results))
    if (slot >= 0 && slots.operands[slot].index != kScalar)
      written.push_back(k);
  auto isReduced = [&](fused::ReduceOp op) {
    return layout.scratchOf(op, ScratchPer::tile) >= 0;
  };
  declareAccumulators(
      [&](Operation *op) { return isReduced(cast<fused::ReduceOp>(op)); });
  outputs.resize(slots.results.size());
  if (written.empty() && !reducesElements())
    return success();
  beginRounds(loadsAhead());
  if (repeats() > 1 && !loadsAhead()) {
    declareElements();
    loadElements();
  }
  for (unsigned k : written) {
    outputs[k] =
        scope.fresh(buffers[slots.operands[slots.results[k]].buffer].name + "_new");
    os << computedType(yield.getValues()[k].getType()) << ' ' << outputs[k] << "[" << slots.vector << "];\n";
  }
  os << "#pragma unroll\n"
     << "for (int k = 0; k < " << slots.vector << "; ++k) {\n";
  os.indent();
  // Inside the loop an operand is one element of its array.
  for (auto [argument, slot] : llvm::zip(body.getArguments(), slots.inputs)) {
    if (levels.of(argument).level != Level::element || argument.use_empty())
      continue;
    std::string element = scope[argument] + (loadsAhead() ? "[round][k]" : "[k]");
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
  if (reducesElements())
    os << "const int at = heddle::place<true, " << layout.threads << ", "
       << slots.vector << ">(whole, k" << (repeats() > 1 ? ", round" : "")
       << ");\n"
       << "if (whole || at < tile.count) {\n";
  for (fused::ReduceOp op : reductions) {
    if (!isReduced(op))
      continue;
    std::string part = accumulators[op];
    bool position = op.getKind() == fused::ReduceKind::argmax;
    os << "  " << part << " = " << kindOf(op) << "::combine(" << part << ", "
       << kindOf(op) << "::lift(" << text(op.getValue())
       << (position ? ", tile.first + at" : "") << "));\n";
  }
  if (reducesElements())
    os << "}\n";
  for (unsigned k : written)
    os << outputs[k] << "[k] = " << text(yield.getValues()[k]) << ";\n";
  os.unindent() << "}\n";
  storeElements();
  endRounds();
  return success();
}

void StreamEmitter::storeElements() {
  for (auto [k, slot] : llvm::enumerate(slots.results))
    if (!outputs[k].empty())
      os << "heddle::store<" << access(/*passing=*/true) << ">(whole, "
         << pointers[slot] << ", tile.count, " << outputs[k]
         << (repeats() > 1 ? ", round" : "") << ");\n";
}

std::string StreamEmitter::wholeTile() {
  std::string condition = "tile.count == " + std::to_string(slots.tile) + " && ";
  std::string list;
  for (auto [name, slot] : llvm::zip(pointers, slots.operands))
    if (slot.index != kScalar)
      list += (list.empty() ? "" : ", ") + name;
  if (list.empty())
    return {};
  return condition + "heddle::are_aligned(" + list + ")";
}

LogicalResult StreamEmitter::emitWalk() {
  if (repeats() == 1 || loadsAhead()) {
    declareElements();
    loadElements();
  }
  waitForPrevious();
  declareScalarInputs([&](Value argument) { return isUsedInWalk(argument); });
  if (failed(declareAhead()) ||
      failed(declareOps([&](Operation *op) {
        fused::LevelOf level = levels.of(op->getResult(0));
        return !level.after && level.level <= Level::member &&
               isUsedInWalk(op->getResult(0));
      })))
    return failure();
  if (arrivesEarly())
    arriveEarly();
  if (failed(emitElements()))
    return failure();
  storePartials();
  return success();
}

} // namespace heddle::cuda
