//===- Launch.cpp - A kernel launch with its arguments --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Launch.h"

using namespace llvm;

namespace heddle::runtime {

std::vector<void *> Launch::pointers() {
  std::vector<void *> result;
  for (auto &argument : arguments)
    result.push_back(argument.data());
  if (!distances.empty())
    result.push_back(distances.data());
  return result;
}

CUDA_KERNEL_NODE_PARAMS kernelNodeParameters(const Launch &launch,
                                             std::vector<void *> &pointers) {
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  parameters.func = launch.function;
  parameters.gridDimX = launch.grid;
  parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = launch.block;
  parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.sharedMemBytes = launch.sharedBytes;
  parameters.kernelParams = pointers.data();
  return parameters;
}

} // namespace heddle::runtime
