//===- Launch.h - A kernel launch with its arguments ----------------------===//

#ifndef HEDDLE_RUNTIME_CUDA_LAUNCH_H
#define HEDDLE_RUNTIME_CUDA_LAUNCH_H

#include "runtime/binding/Tables.h"
#include "runtime/driver/Driver.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace heddle::runtime {

/// A kernel launch.
struct Launch {
  std::string name;
  CUfunction function = nullptr;
  unsigned grid = 1, block = 1, sharedBytes = 0;
  bool cooperative = false;
  /// The bytes of each argument, of which a table is the largest.
  std::vector<std::array<char, sizeof(DeviceTable)>> arguments;
  /// Arguments that are the value of a by-value scalar.
  struct Scalar {
    size_t argument;
    int buffer;
  };
  std::vector<Scalar> scalars;

  template <typename T> void add(const T &argument) {
    static_assert(sizeof(T) <= sizeof(DeviceTable),
                  "an argument of a plan is a table, a pointer or a scalar");
    std::memcpy(arguments.emplace_back().data(), &argument, sizeof(T));
  }
  /// Adds the value of a by-value scalar from its slot; the kernel reads as
  /// many bytes as its parameter has.
  void addScalar(int buffer, const char *slot) {
    scalars.push_back({arguments.size(), buffer});
    std::memcpy(arguments.emplace_back().data(), slot, sizeof(double));
  }

  /// Equal launches may differ in name, and in where scalars come from: scalars
  /// are compared by value.
  bool operator==(const Launch &other) const {
    return function == other.function && grid == other.grid &&
           block == other.block && sharedBytes == other.sharedBytes &&
           cooperative == other.cooperative && arguments == other.arguments;
  }

  /// Pointers to the arguments, as the driver takes them.
  std::vector<void *> pointers();
};

/// The parameters of a graph node that launches `launch`; `pointers` are those
/// of its arguments, and must outlive the result.
CUDA_KERNEL_NODE_PARAMS kernelNodeParameters(const Launch &launch,
                                             std::vector<void *> &pointers);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CUDA_LAUNCH_H
