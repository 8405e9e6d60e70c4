//===- ProgramNodes.cpp - the nodes of a program --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
  node.body = std::make_shared<const ProgramNodes>(std::move(*body));
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
  // An argument is copied before its new value may replace it.
  const int arguments = program.getBody().getNumArguments();
  for (bool ofArguments : {true, false})
    for (auto [value, to] :
         llvm::zip(yield.getValues(), buffersOfResults(program)))
      if (int from = buffers.of(value);
          from >= 0 && from != to && (from < arguments) == ofArguments)
        addCopy(from, to);
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

SmallVector<int> buffersOfResults(fused::ProgramOp program) {
  auto numbers = program.getResultBuffers().value_or(ArrayRef<int64_t>());
  return SmallVector<int>(numbers.begin(), numbers.end());
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

/// The nodes on which node `to` depends directly or through others: for each
/// buffer, the last one that writes it, and those that have read it since.
SmallVector<int> ProgramNodes::BufferUses::update(int to,
                                                  const BufferAccess &access) {
  SmallVector<int> before;
  for (int buffer : access.reads)
    if (auto found = writers.find(buffer); found != writers.end())
      before.push_back(found->second);
  for (int buffer : access.writes) {
    if (auto found = writers.find(buffer); found != writers.end())
      before.push_back(found->second);
    llvm::append_range(before, readers[buffer]);
  }
  for (int buffer : access.reads)
    readers[buffer].push_back(to);
  for (int buffer : access.writes) {
    writers[buffer] = to;
    readers[buffer].clear();
  }
  return before;
}

void ProgramNodes::findDependences() {
  size_t count = nodes.size();
  std::vector<llvm::BitVector> after(count);
  BufferUses uses;
  for (size_t to = 0; to < count; ++to) {
    SmallVector<int> before = uses.update(to, nodes[to].access);
    if (before.empty())
      continue;
    after[to].resize(to);
    llvm::sort(before, std::greater<>());
    for (int from : before) {
      if (after[to].test(from))
        continue;
      dependences.emplace_back(from, to);
      after[to] |= after[from];
      after[to].set(from);
    }
  }
}

bool ProgramNodes::followsOneSweep(int number) const {
  auto [begin, end] = std::equal_range(
      dependences.begin(), dependences.end(), std::pair(0, number),
      [](auto a, auto b) { return a.second < b.second; });
  return end - begin == 1 && begin->first + 1 == number &&
         nodes[number].kind == ProgramNodeKind::sweep &&
         nodes[number - 1].kind == ProgramNodeKind::sweep;
}

} // namespace heddle
