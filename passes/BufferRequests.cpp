//===- BufferRequests.cpp - the buffers in which values are needed --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Works from the results of the program backwards. Each result and each carried
// value has a buffer. A sweep writes to the buffer in which its result is
// needed, unless the old content is still read. Other values get temporaries.
//
//===----------------------------------------------------------------------===//

#include "dialect/Names.h"
#include "passes/BufferAssigner.h"
#include "passes/Fusion.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::scalarOf;

int BufferAssigner::bufferOf(Value value) const {
  auto found = assigned.find(value);
  return found == assigned.end() ? -1 : found->second;
}

void BufferAssigner::set(Value value, int buffer) { assigned[value] = buffer; }

int BufferAssigner::addBuffer(Value value, BufferRole role, Type type) {
  NewBuffer &buffer = buffers.emplace_back();
  buffer.type = type ? type : value.getType();
  if (isList(buffer.type))
    buffer.shape = domains.shapeOf(value);
  buffer.role = role;
  buffer.name = nameOf(value).str();
  buffer.first = buffer.last = value;
  buffer.begin = value.getDefiningOp()
                     ? beginOf(value.getDefiningOp())
                     : beginOf(value.getParentBlock()->getParentOp());
  // The caller reads a result when the program has ended. (One value may be
  // many results, so its uses are not searched for each of them.)
  buffer.end = role == BufferRole::result ? endOf(program) : lastUse(value);
  return numArguments + buffers.size() - 1;
}

void BufferAssigner::extend(int buffer, int begin, int end) {
  if (buffer < static_cast<int>(numArguments))
    return;
  NewBuffer &of = buffers[buffer - numArguments];
  of.begin = std::min(of.begin, begin);
  of.end = std::max(of.end, end);
}

/// Assigns `buffer` to `value`; until then it holds `old` (nothing, if null).
/// If that is not legal, assigns a temporary, from which `value` is copied to
/// `buffer`.
void BufferAssigner::request(Value value, int buffer, Value old) {
  if (assigned.contains(value))
    return;
  if (auto loop = value.getDefiningOp<LoopOp>())
    return requestLoop(loop, cast<OpResult>(value).getResultNumber(), buffer,
                       old);
  std::string why;
  if (mayReplace(value, old, &why)) {
    set(value, buffer);
    if (old)
      ++numInPlace;
    return;
  }
  if (remarks)
    mlir::emitRemark(value.getDefiningOp()->getLoc())
        << quoted(value) << " is copied to the buffer of " << quoted(old)
        << " at the end: " << why;
  set(value, addBuffer(value, BufferRole::temporary));
}

void BufferAssigner::requestLoop(LoopOp loop, unsigned result, int buffer,
                                 Value old) {
  Value value = loop.getResult(result);
  if (result + 1 == loop.getNumResults()) {
    // The iteration count is written before the loop begins.
    if (!mayReplace(value, old)) {
      buffer = addBuffer(value, BufferRole::temporary);
    }
    set(value, buffer);
    return;
  }
  Value init = loop.getInits()[result];
  // No operation in or after the loop may read the old content: the initial
  // value is copied to the buffer, or computed in it, before the loop.
  if (!mayReplace(value, old)) {
    if (remarks)
      mlir::emitRemark(loop.getLoc())
          << quoted(value) << " is copied to the buffer of " << quoted(old)
          << " at the end: the old value is read again later";
    buffer = addBuffer(value, BufferRole::temporary);
    old = {};
  } else if (old) {
    ++numInPlace;
  }
  set(value, buffer);
  BlockArgument carried = loop.getCarried()[result];
  set(carried, buffer);
  extend(buffer, beginOf(loop), std::max(endOf(loop), lastUse(value)));
  // An initial value that no operation in or after this loop reads otherwise is
  // computed in the buffer.
  if (init.getDefiningOp() && init.getParentBlock() == loop->getBlock() &&
      !assigned.contains(init)) {
    bool free = llvm::all_of(init.getUses(), [&](OpOperand &use) {
      Operation *user =
          loop->getBlock()->findAncestorOpInBlock(*use.getOwner());
      return user == loop.getOperation()
                 ? use.getOwner() == user && use.getOperandNumber() == result
                 : user && endOf(user) < beginOf(loop);
    });
    if (free && mayReplace(init, old)) {
      set(init, buffer);
      if (auto inner = init.getDefiningOp<LoopOp>()) {
        assigned.erase(init);
        requestLoop(inner, cast<OpResult>(init).getResultNumber(), buffer, old);
      }
      extend(buffer, beginOf(init.getDefiningOp()), endOf(loop));
    }
  }
}

void BufferAssigner::requestProgramResults() {
  Block &body = program.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<BlockArgument> replaced(yield.getValues().size());
  for (auto [k, argument] :
       llvm::enumerate(foreach::replacedArguments(program)))
    if (argument >= 0)
      replaced[k] = body.getArgument(argument);
  programResultBuffers.assign(yield.getValues().size(), -1);
  // Donated buffers first. Every other result has a buffer of its own, because
  // the caller may bind memory to it; a value that is in another buffer already
  // is copied at the end.
  for (bool donated : {true, false})
    for (auto [k, value] : llvm::enumerate(yield.getValues())) {
      if (static_cast<bool>(replaced[k]) != donated)
        continue;
      if (donated) {
        programResultBuffers[k] = replaced[k].getArgNumber();
        if (value != replaced[k])
          request(value, programResultBuffers[k], replaced[k]);
      } else {
        programResultBuffers[k] = addBuffer(value, BufferRole::result);
        request(value, programResultBuffers[k], {});
      }
    }
}

/// Assigns buffers to the carried values of every loop in `block`, and requests
/// these buffers for the values that the loop's body yields.
void BufferAssigner::requestLoopValues(Block &block) {
  for (auto loop : block.getOps<LoopOp>()) {
    for (unsigned k = 0; k < loop.getInits().size(); ++k)
      if (!assigned.contains(loop.getResult(k)))
        requestLoop(loop, k,
                    addBuffer(loop.getResult(k), BufferRole::temporary), {});
    // Targets count iterations in a device scalar, whatever the result's type.
    Value iterations = loop.getIterations();
    auto i32 = scalarOf(IntegerType::get(loop.getContext(), 32));
    if (!assigned.contains(iterations))
      set(iterations, addBuffer(iterations, BufferRole::temporary, i32));
    extend(bufferOf(iterations), beginOf(loop), endOf(loop));
    YieldOp yield = loop.getYield();
    for (auto [k, value] :
         llvm::enumerate(yield.getValues().take_front(loop.getInits().size())))
      if (value != loop.getCarried()[k]) {
        request(value, bufferOf(loop.getResult(k)), loop.getCarried()[k]);
        // A value that is copied has a buffer of its own for the whole loop, so
        // a stopped member keeps its last value.
        if (bufferOf(value) != bufferOf(loop.getResult(k)))
          extend(bufferOf(value), beginOf(loop), endOf(loop));
      }
    Value more = yield.getMore();
    Value active = loop.getActive();
    int flags = addBuffer(active ? active : more, BufferRole::temporary);
    extend(flags, beginOf(loop), endOf(loop));
    if (active)
      set(active, flags);
    request(more, flags, active);
    if (bufferOf(more) != flags)
      extend(bufferOf(more), beginOf(loop), endOf(loop));
    flagBuffers[loop] = flags;
    requestLoopValues(loop.getBody().front());
  }
}

void BufferAssigner::assignTemporaries(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<LoopOp>(op))
      assignTemporaries(loop.getBody().front());
    if (!isa<SweepOp>(op))
      continue;
    for (Value result : op.getResults())
      if (!assigned.contains(result) && !result.use_empty())
        set(result, addBuffer(result, BufferRole::temporary));
  }
}
