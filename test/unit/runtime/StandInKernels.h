//===- StandInKernels.h - Kernels of the stand-in driver ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels are found by name and run as C++ functions. If
// HEDDLE_STAND_IN_KERNELS is `any`, every other name is a kernel, too, that
// does nothing.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_RUNTIME_STANDINKERNELS_H
#define HEDDLE_TEST_UNIT_RUNTIME_STANDINKERNELS_H

#include <cuda.h>

#include <map>
#include <string>
#include <vector>

namespace stand_in {

using Arguments = std::vector<std::vector<char>>;

/// The values of the conditions of loops, which kernels set. A launch of a
/// graph runs on one thread.
extern thread_local std::map<CUgraphConditionalHandle, unsigned> conditions;

/// Whether HEDDLE_STAND_IN_KERNELS is `any`.
bool anyKernelExists();
bool kernelExists(const std::string &name);
/// The number of arguments of a kernel; 0 if it does nothing.
size_t argumentCount(const std::string &name);
/// The size of an argument, or more.
size_t argumentBytes(const std::string &name, size_t index);
void runKernel(const std::string &name, const Arguments &arguments,
               unsigned grid);

} // namespace stand_in

#endif // HEDDLE_TEST_UNIT_RUNTIME_STANDINKERNELS_H
