//===- Steps.cpp - the order in which a program is executed ---------------===//
//
// A value is copied if it is needed in another buffer than the one it lives in.
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/Steps.h"
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
  for (auto [k, value] : llvm::enumerate(yield.getValues())) {
    int from = buffers.of(value), to = bufferOfResult(program, k, buffers);
    if (from >= 0 && from != to)
      addCopy(from, to);
  }
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

void Steps::findDependences() {
  size_t count = steps.size();
  std::vector<llvm::BitVector> after(count, llvm::BitVector(count));
  for (size_t to = 0; to < count; ++to)
    for (size_t from = to; from-- > 0;) {
      if (after[to].test(from) ||
          !steps[from].access.conflictsWith(steps[to].access))
        continue;
      dependences.emplace_back(from, to);
      after[to] |= after[from];
      after[to].set(from);
    }
}

bool Steps::followsOneSweep(int number) const {
  int count = 0;
  bool isPrevious = false;
  for (auto [from, to] : dependences)
    if (to == number) {
      ++count;
      isPrevious = from + 1 == number;
    }
  return count == 1 && isPrevious && steps[number].kind == StepKind::sweep &&
         steps[number - 1].kind == StepKind::sweep;
}

} // namespace heddle
