//===- GraphRebinding.cpp - New addresses of the lists of a CUDA graph ----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch for large lists takes the distances by which lists moved. For other
// lists, kernels write new addresses into descriptors. Replays that were
// submitted before come before these kernels, because the caller orders the
// calls of a graph.
//
//===----------------------------------------------------------------------===//

#include "runtime/builtin/BuiltinKernels.h"
#include "runtime/cuda/Graph.h"

using namespace llvm;

namespace heddle::runtime {

Error Graph::move(const Rebinding &rebinding, ArrayRef<MovedMember> moved,
                  void *streamHandle) {
  CUstream stream = static_cast<CUstream>(streamHandle);
  Context::Scope scope(*device);
  if (Error error = refuseInCapture(stream, "prepare"))
    return error;
  if (!instance.nodesOfDistances.empty() && !replayed) {
    Expected<EventHandle> event = createEvent(device, CU_EVENT_DISABLE_TIMING);
    if (!event)
      return event.takeError();
    replayed = std::move(*event);
  }
  auto takeDistance = [&](const Rebinding::Slot &slot, int64_t distance) {
    // A captured step reads the descriptors alone.
    if (captured)
      return false;
    size_t bytes = DescriptorLayout(plan().tables[slot.table]).bytes();
    for (unsigned node : instance.nodesOfDistances)
      if (instance.launches[node]->distances.add(
              slot.table, slot.offset % bytes / sizeof(void *),
              slot.offset / bytes, distance)) {
        instance.change(node);
        return instance.hasMoved = true;
      }
    return false;
  };
  bool hadMoved = instance.hasMoved;
  for (OperandMoves &moves :
       operandMoves(plan(), rebinding, moved, descriptors, takeDistance))
    if (Error error = launchMoves(moves, stream))
      return error;
  if (instance.hasMoved && !hadMoved)
    HEDDLE_DRIVER_CALL(device->driver(), cuEventRecord, replayed.get(), stream);
  return Error::success();
}

Error Graph::launchMoves(OperandMoves &moves, CUstream stream) {
  Expected<CUfunction> function =
      builtinFunction(device, "heddle_move_operands");
  if (!function)
    return function.takeError();
  CUlaunchConfig config = {};
  config.gridDimX = (moves.threads() + 255) / 256;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 256;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  void *argument = &moves;
  HEDDLE_DRIVER_CALL(device->driver(), cuLaunchKernelEx, &config, *function,
                     &argument, nullptr);
  return Error::success();
}

/// Launches the kernels that write moved addresses into the descriptors.
Error Graph::launchDistances(CUstream stream) {
  for (unsigned node : instance.nodesOfDistances) {
    const Distances &distances = instance.launches[node]->distances;
    for (OperandMoves &moves :
         distances.moves(plan(), descriptors[distances.table()]))
      if (Error error = launchMoves(moves, stream))
        return error;
  }
  return Error::success();
}

/// Writes moved addresses into the descriptors, before a step is captured: its
/// launches read no distances that change later. Waits for the submitted
/// replays, which read the descriptors.
Error Graph::writeDistances() {
  if (!instance.hasMoved)
    return Error::success();
  // If this fails, it may have written a part.
  binding.requireLayout();
  Error failure = whileCapturing([&]() -> Error {
    HEDDLE_DRIVER_CALL(device->driver(), cuEventSynchronize, replayed.get());
    if (Error error = createOwnStream())
      return error;
    Error launched = launchDistances(ownStream.get());
    // Also after an error: another layout follows, with other descriptors.
    if (CUresult result = device->driver().cuStreamSynchronize(ownStream.get());
        result && !launched)
      return driverError(device->driver(), result, "cuStreamSynchronize");
    return launched;
  });
  if (failure)
    return failure;
  for (unsigned node : instance.nodesOfDistances) {
    instance.launches[node]->distances.clear();
    instance.change(node);
  }
  instance.hasMoved = false;
  binding.accept();
  return Error::success();
}

} // namespace heddle::runtime
