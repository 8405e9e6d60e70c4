//===- GraphRebinding.cpp - New addresses in the tables of a CUDA graph ---===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replays that were submitted before come before the kernels that write new
// addresses, because the caller orders the calls of a graph.
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
  Expected<CUfunction> function =
      builtinFunction(device, "heddle_move_operands");
  if (!function)
    return function.takeError();
  CUlaunchConfig config = {};
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 256;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  for (OperandMoves &moves :
       operandMoves(plan(), rebinding, moved, descriptors)) {
    config.gridDimX = (moves.threads() + 255) / 256;
    void *argument = &moves;
    HEDDLE_DRIVER_CALL(device->driver(), cuLaunchKernelEx, &config, *function,
                       &argument, nullptr);
  }
  return Error::success();
}

} // namespace heddle::runtime
