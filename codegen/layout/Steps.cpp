//===- Steps.cpp - the order in which a program is executed ---------------===//
//
// A value is copied if it is needed in another buffer than the one it lives in.
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/Steps.h"
#include "dialect/Steps.h"
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
// Steps
//===----------------------------------------------------------------------===//

void Steps::addCopy(int from, int to) {
  Step &step = steps.emplace_back();
  step.kind = StepKind::copy;
  step.from = from;
  step.to = to;
  step.access.reads.insert(from);
  step.access.writes.insert(to);
}

/// The loop, after the copies and the fill with which its first iteration
/// begins.
LogicalResult Steps::addLoop(fused::LoopOp loop, const Buffers &buffers) {
  for (auto [init, carried] : llvm::zip(loop.getInits(), loop.getCarried()))
    if (buffers.of(init) != buffers.of(carried))
      addCopy(buffers.of(init), buffers.of(carried));
  if (Value active = loop.getActive()) {
    Step &fill = steps.emplace_back();
    fill.kind = StepKind::fill;
    fill.to = buffers.of(active);
    fill.access.writes.insert(fill.to);
  }
  auto body = of(loop.getBody().front(), buffers);
  if (failed(body))
    return failure();
  Step &step = steps.emplace_back();
  step.kind = StepKind::loop;
  step.op = loop;
  for (const Step &inner : body->steps)
    step.access.add(inner.access);
  step.access.reads.insert(buffers.of(loop.getLimit()));
  step.access.reads.insert(body->condition);
  step.access.writes.insert(buffers.of(loop.getIterations()));
  return success();
}

LogicalResult Steps::addBlock(Block &block, const Buffers &buffers) {
  for (Operation &op : block.without_terminator()) {
    if (auto loop = dyn_cast<fused::LoopOp>(op)) {
      if (failed(addLoop(loop, buffers)))
        return failure();
      continue;
    }
    auto layout = SweepLayout::compute(cast<fused::SweepOp>(op), buffers);
    if (failed(layout))
      return failure();
    Step &step = steps.emplace_back();
    step.kind = StepKind::sweep;
    step.op = &op;
    step.access = BufferAccess::of(*layout);
  }
  return success();
}

LogicalResult Steps::addCopiesOfIteration(fused::LoopOp loop,
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
  // An iteration begins with the flags that the iteration before ended with.
  condition = buffers.of(yield.getMore());
  if (Value active = loop.getActive())
    if (int to = buffers.of(active); to != condition) {
      addCopy(condition, to);
      condition = to;
    }
  return success();
}

void Steps::addCopiesOfResults(fused::ProgramOp program,
                               const Buffers &buffers) {
  auto yield = cast<fused::YieldOp>(program.getBody().front().getTerminator());
  for (auto [value, to] :
       llvm::zip_equal(yield.getValues(), buffersOfResults(program, buffers)))
    if (int from = buffers.of(value); from >= 0 && from != to)
      addCopy(from, to);
}

FailureOr<Steps> Steps::of(Block &block, const Buffers &buffers) {
  Steps result;
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

SmallVector<int> buffersOfResults(fused::ProgramOp program,
                                  const Buffers &buffers) {
  auto yield = cast<fused::YieldOp>(program.getBody().front().getTerminator());
  SmallVector<int> places;
  for (auto [value, argument] : llvm::zip_equal(
           yield.getValues(), foreach::replacedArguments(program))) {
    int buffer = buffers.of(value);
    places.push_back(buffer >= 0 && argument >= 0 ? argument : buffer);
  }
  return places;
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

/// The steps on which step `to` depends directly or through others: for each
/// buffer, the last one that writes it, and those that have read it since.
SmallVector<int> Steps::BufferUses::update(int to, const BufferAccess &access) {
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
  countSteps(before.size() + access.reads.size() + access.writes.size());
  return before;
}

void Steps::findDependences() {
  size_t count = steps.size();
  std::vector<llvm::BitVector> after(count);
  BufferUses uses;
  for (size_t to = 0; to < count; ++to) {
    after[to].resize(count);
    SmallVector<int> before = uses.update(to, steps[to].access);
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

bool Steps::followsOneSweep(int number) const {
  auto [begin, end] = std::equal_range(
      dependences.begin(), dependences.end(), std::pair(0, number),
      [](auto a, auto b) { return a.second < b.second; });
  return end - begin == 1 && begin->first + 1 == number &&
         steps[number].kind == StepKind::sweep &&
         steps[number - 1].kind == StepKind::sweep;
}

} // namespace heddle
