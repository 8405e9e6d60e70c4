//===- Launch.h - A kernel launch with its arguments ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CUDA_LAUNCH_H
#define HEDDLE_RUNTIME_CUDA_LAUNCH_H

#include "runtime/binding/Distances.h"
#include "runtime/binding/Tables.h"
#include "runtime/driver/Driver.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::runtime {

struct Launch {
  std::string name;
  CUfunction function = nullptr;
  /// The entry of the kernel, if it is compiled when it is first captured.
  std::string entry;
  unsigned grid = 1, block = 1, sharedBytes = 0;
  bool cooperative = false;
  /// Blocks of a cluster, if the kernel does not fix their number.
  unsigned cluster = 1;
  /// The bytes of each argument. A table is the largest argument.
  std::vector<std::array<char, sizeof(DeviceTable)>> arguments;
  /// An argument that is the value of a by-value scalar.
  struct Scalar {
    size_t argument;
    int buffer;
  };
  std::vector<Scalar> scalars;
  /// The last argument of a kernel that takes distances.
  Distances distances;

  template <typename T> void add(const T &argument) {
    static_assert(sizeof(T) <= sizeof(DeviceTable),
                  "an argument is at most as large as a table");
    std::memcpy(arguments.emplace_back().data(), &argument, sizeof(T));
  }
  /// Adds the value of a by-value scalar. The kernel reads as many bytes as its
  /// parameter has.
  void addScalar(int buffer, const char *value) {
    scalars.push_back({arguments.size(), buffer});
    std::memcpy(arguments.emplace_back().data(), value, sizeof(double));
  }

  /// Compares the parameters of the launch. Names may differ, and so may the
  /// buffers of scalars with equal values.
  bool operator==(const Launch &other) const {
    return function == other.function && grid == other.grid &&
           block == other.block && sharedBytes == other.sharedBytes &&
           cooperative == other.cooperative && cluster == other.cluster &&
           arguments == other.arguments && distances == other.distances;
  }

  /// Pointers to the arguments, for the driver.
  std::vector<void *> pointers();
};

/// The parameters of a graph node for `launch`. They refer to `pointers`, which
/// must be launch.pointers().
CUDA_KERNEL_NODE_PARAMS kernelNodeParameters(const Launch &launch,
                                             std::vector<void *> &pointers);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CUDA_LAUNCH_H
