//===- ProgramNodes.cpp - the nodes of a program --------------------------===//
//
// A value is copied if its buffer differs from the buffer of its destination.
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/ProgramNodes.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace heddle {

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

BufferAccess BufferAccess::of(const SweepLayout &layout) {
  BufferAccess access;
  auto add = [&](const auto &slot) {
    if (slot.read)
      access.reads.insert(slot.buffer);
    if (slot.written)
      access.writes.insert(slot.buffer);
  };
  for (const SegmentLayout &segment : layout.segments)
    llvm::for_each(segment.operands, add);
  llvm::for_each(layout.scalars, add);
  return access;
}

void BufferAccess::add(const BufferAccess &other) {
  reads.insert_range(other.reads);
  writes.insert_range(other.writes);
}

bool BufferAccess::conflictsWith(const BufferAccess &other) const {
  auto overlap = [](const llvm::DenseSet<int> &a,
                    const llvm::DenseSet<int> &b) {
    return llvm::any_of(a, [&](int buffer) { return b.contains(buffer); });
  };
  return overlap(writes, other.reads) || overlap(reads, other.writes) ||
         overlap(writes, other.writes);
}

std::vector<int> BufferAccess::sortedWrites() const {
  std::vector<int> sorted(writes.begin(), writes.end());
  llvm::sort(sorted);
  return sorted;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void ProgramNodes::addCopy(int from, int to) {
  ProgramNode &node = nodes.emplace_back();
  node.kind = ProgramNodeKind::copy;
  node.from = from;
  node.to = to;
  node.access.reads.insert(from);
  node.access.writes.insert(to);
}

/// Adds the copies and the fill that precede a loop, and the loop.
LogicalResult ProgramNodes::addLoop(fused::LoopOp loop,
                                    const Buffers &buffers) {
  for (auto [init, carried] : llvm::zip(loop.getInits(), loop.getCarried()))
    if (buffers.of(init) != buffers.of(carried))
      addCopy(buffers.of(init), buffers.of(carried));
  if (Value active = loop.getActive()) {
    ProgramNode &fill = nodes.emplace_back();
    fill.kind = ProgramNodeKind::fill;
    fill.to = buffers.of(active);
    fill.access.writes.insert(fill.to);
  }
  auto body = of(loop.getBody().front(), buffers);
  if (failed(body))
    return failure();
  ProgramNode &node = nodes.emplace_back();
  node.kind = ProgramNodeKind::loop;
  node.op = loop;
  for (const ProgramNode &inner : body->nodes)
    node.access.add(inner.access);
  node.access.reads.insert(buffers.of(loop.getLimit()));
  node.access.reads.insert(body->condition);
  node.access.writes.insert(buffers.of(loop.getIterations()));
  return success();
}

LogicalResult ProgramNodes::addBlock(Block &block, const Buffers &buffers) {
  for (Operation &op : block.without_terminator()) {
    if (auto loop = dyn_cast<fused::LoopOp>(op)) {
      if (failed(addLoop(loop, buffers)))
        return failure();
      continue;
    }
    auto layout = SweepLayout::compute(cast<fused::SweepOp>(op), buffers);
    if (failed(layout))
      return failure();
    ProgramNode &node = nodes.emplace_back();
    node.kind = ProgramNodeKind::sweep;
    node.op = &op;
    node.access = BufferAccess::of(*layout);
  }
  return success();
}

LogicalResult ProgramNodes::addCopiesOfIteration(fused::LoopOp loop,
                                                 const Buffers &buffers) {
  auto yield = loop.getYield();
  llvm::DenseSet<int> copied;
  for (auto [value, result] : llvm::zip(yield.getValues(), loop.getResults())) {
    int from = buffers.of(value), to = buffers.of(result);
    if (to < 0 || from == to)
      continue;
    if (copied.contains(from))
      return loop.emitOpError("exchanges carried values, which its buffers do "
                              "not allow");
    addCopy(from, to);
    copied.insert(to);
  }
  // The flags that an iteration yields are the flags of the next iteration.
  condition = buffers.of(yield.getMore());
  if (Value active = loop.getActive())
    if (int to = buffers.of(active); to != condition) {
      addCopy(condition, to);
      condition = to;
    }
  return success();
}

void ProgramNodes::addCopiesOfResults(fused::ProgramOp program,
                                      const Buffers &buffers) {
  auto yield = cast<fused::YieldOp>(program.getBody().front().getTerminator());
  for (auto [k, value] : llvm::enumerate(yield.getValues())) {
    int from = buffers.of(value), to = bufferOfResult(program, k, buffers);
    if (from >= 0 && from != to)
      addCopy(from, to);
  }
}

FailureOr<ProgramNodes> ProgramNodes::of(Block &block, const Buffers &buffers) {
  ProgramNodes result;
  if (failed(result.addBlock(block, buffers)))
    return failure();
  if (auto loop = dyn_cast<fused::LoopOp>(block.getParentOp())) {
    if (failed(result.addCopiesOfIteration(loop, buffers)))
      return failure();
  } else {
    result.addCopiesOfResults(cast<fused::ProgramOp>(block.getParentOp()),
                              buffers);
  }
  result.findDependences();
  return result;
}

int bufferOfResult(fused::ProgramOp program, unsigned result,
                   const Buffers &buffers) {
  Block &block = program.getBody().front();
  auto yield = cast<fused::YieldOp>(block.getTerminator());
  int buffer = buffers.of(yield.getValues()[result]);
  if (buffer < 0)
    return buffer;
  for (BlockArgument argument : block.getArguments()) {
    auto donated = dyn_cast_or_null<IntegerAttr>(
        program.getArgAttr(argument.getArgNumber(), foreach::kDonateAttr));
    if (donated && donated.getInt() == static_cast<int64_t>(result))
      return argument.getArgNumber();
  }
  return buffer;
}

bool carriesInPlace(fused::LoopOp loop, const Buffers &buffers) {
  return llvm::all_of(llvm::zip(loop.getYield().getValues(), loop.getResults()),
                      [&](auto pair) {
                        int to = buffers.of(std::get<1>(pair));
                        return to < 0 || to == buffers.of(std::get<0>(pair));
                      });
}

//===----------------------------------------------------------------------===//
// Dependences
//===----------------------------------------------------------------------===//

void ProgramNodes::findDependences() {
  size_t count = nodes.size();
  std::vector<llvm::BitVector> after(count, llvm::BitVector(count));
  for (size_t to = 0; to < count; ++to)
    for (size_t from = to; from-- > 0;) {
      if (after[to].test(from) ||
          !nodes[from].access.conflictsWith(nodes[to].access))
        continue;
      dependences.emplace_back(from, to);
      after[to] |= after[from];
      after[to].set(from);
    }
}

bool ProgramNodes::followsOneSweep(int number) const {
  int count = 0;
  bool isPrevious = false;
  for (auto [from, to] : dependences)
    if (to == number) {
      ++count;
      isPrevious = from + 1 == number;
    }
  return count == 1 && isPrevious &&
         nodes[number].kind == ProgramNodeKind::sweep &&
         nodes[number - 1].kind == ProgramNodeKind::sweep;
}

} // namespace heddle
