//===- BufferRequests.cpp - the buffers in which values are needed --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the results of the program backwards: results have buffers, carried
// values have one, and a sweep writes to the buffer in which its result is
// needed, if nothing needs the old content. Other values get temporaries.
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

int BufferAssigner::place(Value value) const {
  auto found = places.find(value);
  return found == places.end() ? -1 : found->second;
}

void BufferAssigner::set(Value value, int buffer) { places[value] = buffer; }

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
  buffer.end = lastUse(value);
  return numArguments + buffers.size() - 1;
}

void BufferAssigner::extend(int buffer, int begin, int end) {
  if (buffer < static_cast<int>(numArguments))
    return;
  NewBuffer &of = buffers[buffer - numArguments];
  of.begin = std::min(of.begin, begin);
  of.end = std::max(of.end, end);
}

/// Assigns `buffer`, which holds `old` before (or nothing, if null), to
/// `value`. If that is not legal, assigns a temporary from which `value` is
/// copied.
void BufferAssigner::want(Value value, int buffer, Value old) {
  if (places.contains(value))
    return;
  if (auto loop = value.getDefiningOp<LoopOp>())
    return wantLoop(loop, cast<OpResult>(value).getResultNumber(), buffer, old);
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
        << " in the end: " << why;
  set(value, addBuffer(value, BufferRole::temporary));
}

void BufferAssigner::wantLoop(LoopOp loop, unsigned result, int buffer,
                              Value old) {
  Value value = loop.getResult(result);
  if (result + 1 == loop.getNumResults()) {
    // The buffer of the number of iterations is written before the loop begins.
    if (!mayReplace(value, old)) {
      buffer = addBuffer(value, BufferRole::temporary);
    }
    set(value, buffer);
    return;
  }
  Value init = loop.getInits()[result];
  // The old content of the buffer must not be needed when the loop runs: the
  // initial value is copied to, or computed in, the buffer before.
  if (!mayReplace(value, old)) {
    if (remarks)
      mlir::emitRemark(loop.getLoc())
          << quoted(value) << " is copied to the buffer of " << quoted(old)
          << " in the end: it is read again later";
    buffer = addBuffer(value, BufferRole::temporary);
    old = {};
  } else if (old) {
    ++numInPlace;
  }
  set(value, buffer);
  BlockArgument carried = loop.getCarried()[result];
  set(carried, buffer);
  extend(buffer, beginOf(loop), std::max(endOf(loop), lastUse(value)));
  // An initial value that only this loop reads when it runs is computed in the
  // buffer.
  if (init.getDefiningOp() && init.getParentBlock() == loop->getBlock() &&
      !places.contains(init)) {
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
        places.erase(init);
        wantLoop(inner, cast<OpResult>(init).getResultNumber(), buffer, old);
      }
      extend(buffer, beginOf(init.getDefiningOp()), endOf(loop));
    }
  }
}

void BufferAssigner::placeProgramResults() {
  Block &body = program.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<BlockArgument> replaced(yield.getValues().size());
  // The argument in whose buffer a value is in the end.
  llvm::DenseMap<Value, int> homes;
  for (auto [k, argument] :
       llvm::enumerate(foreach::replacedArguments(program)))
    if (argument >= 0) {
      replaced[k] = body.getArgument(argument);
      homes[yield.getValues()[k]] = argument;
    }
  resultPlaces.assign(yield.getValues().size(), -1);
  // Donated buffers first: another result of the same value shares them.
  for (bool donated : {true, false})
    for (auto [k, value] : llvm::enumerate(yield.getValues())) {
      if (static_cast<bool>(replaced[k]) != donated)
        continue;
      if (donated) {
        resultPlaces[k] = replaced[k].getArgNumber();
        if (value != replaced[k])
          want(value, resultPlaces[k], replaced[k]);
      } else if (int known = place(value); known >= 0) {
        // A temporary that is copied to an argument's buffer is in that buffer
        // in the end.
        resultPlaces[k] = homes.lookup_or(value, known);
      } else {
        resultPlaces[k] = addBuffer(value, BufferRole::result);
        want(value, resultPlaces[k], {});
      }
    }
}

/// Assigns buffers to the carried values of every loop in `block`, and requests
/// them for the values that its body yields.
void BufferAssigner::placeLoops(Block &block) {
  for (auto loop : block.getOps<LoopOp>()) {
    for (unsigned k = 0; k < loop.getInits().size(); ++k)
      if (!places.contains(loop.getResult(k)))
        wantLoop(loop, k, addBuffer(loop.getResult(k), BufferRole::temporary),
                 {});
    // Targets count in a device scalar, whatever the type of the result is.
    Value iterations = loop.getIterations();
    auto i32 = scalarOf(IntegerType::get(loop.getContext(), 32));
    if (!places.contains(iterations))
      set(iterations, addBuffer(iterations, BufferRole::temporary, i32));
    extend(place(iterations), beginOf(loop), endOf(loop));
    YieldOp yield = loop.getYield();
    for (auto [k, value] :
         llvm::enumerate(yield.getValues().take_front(loop.getInits().size())))
      if (value != loop.getCarried()[k]) {
        want(value, place(loop.getResult(k)), loop.getCarried()[k]);
        // Members that have stopped keep the value that was copied for them
        // last.
        if (place(value) != place(loop.getResult(k)))
          extend(place(value), beginOf(loop), endOf(loop));
      }
    Value more = yield.getMore();
    Value active = loop.getActive();
    int flags = addBuffer(active ? active : more, BufferRole::temporary);
    extend(flags, beginOf(loop), endOf(loop));
    if (active)
      set(active, flags);
    want(more, flags, active);
    if (place(more) != flags)
      extend(place(more), beginOf(loop), endOf(loop));
    flagBuffers[loop] = flags;
    placeLoops(loop.getBody().front());
  }
}

void BufferAssigner::placeRest(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<LoopOp>(op))
      placeRest(loop.getBody().front());
    if (!isa<SweepOp>(op))
      continue;
    for (Value result : op.getResults())
      if (!places.contains(result) && !result.use_empty())
        set(result, addBuffer(result, BufferRole::temporary));
  }
}
