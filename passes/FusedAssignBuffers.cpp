//===- FusedAssignBuffers.cpp - a buffer for every value ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the parts of the pass, and the attributes for the result.
//
//===----------------------------------------------------------------------===//

#include "dialect/Names.h"
#include "passes/BufferAssigner.h"
#include "passes/Passes.h"
#include "runtime/support/Text.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDASSIGNBUFFERS
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;

LogicalResult BufferAssigner::writeAttributes() {
  MLIRContext *context = program.getContext();
  Builder builder(context);
  auto final = [&](int buffer) -> int64_t {
    return buffer < static_cast<int>(numArguments)
               ? buffer
               : buffers[buffer - numArguments].number;
  };
  UniqueNames names(/*first=*/2);
  for (BlockArgument argument : program.getBody().getArguments())
    names.take(nameOf(argument));
  SmallVector<Attribute> entries;
  SmallVector<NewBuffer *> byNumber;
  for (NewBuffer &buffer : buffers) {
    size_t number = buffer.number - numArguments;
    if (byNumber.size() <= number)
      byNumber.resize(number + 1);
    if (!byNumber[number])
      byNumber[number] = &buffer;
  }
  for (NewBuffer *buffer : byNumber) {
    std::string base = buffer->name.empty()
                           ? stringifyBufferRole(buffer->role).str()
                           : buffer->name;
    std::string name = names.unique(base);
    SmallVector<std::pair<int64_t, int64_t>> extents;
    auto unknown = [&](StringRef what) {
      return emitError(buffer->first.getLoc())
             << "expected an argument of program '" << program.getName()
             << "' with the " << what << " of '" << name << "' of type "
             << buffer->type << ", found none";
    };
    for (int extent : buffer->shape.extents) {
      auto source = domains.sourceOf(extent);
      if (!source)
        return unknown("extents");
      extents.emplace_back(source->first, source->second);
    }
    int64_t sameMembers = -1;
    if (isList(buffer->type)) {
      auto members = domains.membersSource(buffer->shape.members);
      if (!members)
        return unknown("members");
      sameMembers = *members;
    }
    entries.push_back(BufferAttr::get(context, name, buffer->role, buffer->type,
                                      extents, sameMembers));
  }
  program.setBuffersAttr(builder.getArrayAttr(entries));
  SmallVector<int64_t> results;
  for (int buffer : programResultBuffers)
    results.push_back(final(buffer));
  program.setResultBuffersAttr(builder.getDenseI64ArrayAttr(results));
  program.walk([&](Operation *op) {
    if (!isa<SweepOp, LoopOp>(op))
      return;
    SmallVector<int64_t> numbers;
    for (Value result : op->getResults()) {
      int buffer = bufferOf(result);
      numbers.push_back(buffer < 0 ? -1 : final(buffer));
    }
    auto resultBuffers = builder.getDenseI64ArrayAttr(numbers);
    if (auto sweep = dyn_cast<SweepOp>(op))
      return sweep.setResultBuffersAttr(resultBuffers);
    auto loop = cast<LoopOp>(op);
    loop.setResultBuffersAttr(resultBuffers);
    loop.setConditionBufferAttr(
        builder.getI64IntegerAttr(final(flagBuffers.lookup(loop))));
  });
  return success();
}

void BufferAssigner::countCopies(Block &block) {
  auto yield = cast<YieldOp>(block.getTerminator());
  for (auto loop : block.getOps<LoopOp>()) {
    for (auto [init, carried] : llvm::zip(loop.getInits(), loop.getCarried()))
      numCopies += bufferOf(init) != bufferOf(carried);
    countCopies(loop.getBody().front());
  }
  if (auto loop = dyn_cast<LoopOp>(block.getParentOp())) {
    for (auto [value, carried] :
         llvm::zip(yield.getValues(), loop.getCarried()))
      numCopies += bufferOf(value) != bufferOf(carried);
    numCopies += bufferOf(yield.getMore()) != flagBuffers.lookup(loop);
  } else {
    for (auto [value, result] :
         llvm::zip(yield.getValues(), programResultBuffers))
      numCopies += bufferOf(value) != result;
  }
}

/// Outlining makes every result of a loop a carried value; a program written in
/// fused IR may lack that.
static LogicalResult checkCarriesAll(LoopOp loop) {
  unsigned results = loop.getNumResults() - 1;
  if (loop.getInits().size() == results)
    return success();
  return loop.emitOpError("expected an initial value for each of its ")
         << counted(results, "result")
         << " besides the number of iterations, found "
         << loop.getInits().size();
}

LogicalResult BufferAssigner::run() {
  auto checked = program.walk([](LoopOp loop) {
    return failed(checkCarriesAll(loop)) ? WalkResult::interrupt()
                                         : WalkResult::advance();
  });
  if (checked.wasInterrupted())
    return failure();
  Block &body = program.getBody().front();
  numArguments = body.getNumArguments();
  for (BlockArgument argument : body.getArguments())
    set(argument, argument.getArgNumber());
  auto yield = cast<YieldOp>(body.getTerminator());
  for (unsigned k = 0; k < numArguments; ++k)
    if (int64_t result = foreach::donatedTo(program, k); result >= 0)
      readFirst(yield.getValues()[result], body.getArgument(k));
  program.walk([&](LoopOp loop) {
    for (auto [value, carried] :
         llvm::zip(loop.getYield().getValues(), loop.getCarried()))
      if (value != carried)
        readFirst(value, carried);
  });
  begins[program] = position++;
  number(body);
  ends[program] = position++;
  requestProgramResults();
  requestLoopValues(body);
  assignTemporaries(body);
  shareTemporaries();
  countCopies(body);
  return writeAttributes();
}

TrafficList fused::trafficWithCopies(ProgramOp program) {
  // A later pass may remove the cause of an error; otherwise it is emitted by
  // fused-assign-buffers.
  ScopedDiagnosticHandler ignore(program.getContext(),
                                 [](Diagnostic &) { return success(); });
  OwningOpRef<ProgramOp> copy(program.clone());
  bool hasBuffers = succeeded(BufferAssigner(*copy, /*remarks=*/false).run());
  Domains domains(*copy);
  TrafficList traffic = trafficOf(*copy, domains);
  if (!hasBuffers)
    return traffic;
  if (auto buffers = Buffers::read(*copy); succeeded(buffers))
    addTraffic(traffic, trafficOf(copiesOf(*copy, *buffers), domains));
  return traffic;
}

namespace {
struct FusedAssignBuffers
    : heddle::impl::FusedAssignBuffersBase<FusedAssignBuffers> {
  using FusedAssignBuffersBase::FusedAssignBuffersBase;

  void runOnOperation() override {
    BufferAssigner assigner(getOperation(), remarks);
    if (failed(assigner.run()))
      signalPassFailure();
    numInPlace += assigner.numInPlace;
    numTemporaries += assigner.numTemporaries;
    numCopies += assigner.numCopies;
  }
};
} // namespace
