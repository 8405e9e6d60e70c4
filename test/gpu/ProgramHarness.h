//===- ProgramHarness.h - Programs run on cuda and on cpu -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program reads and writes one arena, which holds all members of all lists
// with poison between them. The arena has the same layout on both targets, so
// tests compare whole images of two runs: members by value, all other bytes for
// equality.
//
// The data of a member depends on its key, not on its position.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_GPU_PROGRAMHARNESS_H
#define HEDDLE_TEST_GPU_PROGRAMHARNESS_H

#include "heddle.hpp"

#include <cuda.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle::test {

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

#define HEDDLE_TEST_DRIVER_FUNCTIONS(X)                                        \
  X(cuInit)                                                                    \
  X(cuDeviceGetCount)                                                          \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuCtxSetCurrent)                                                           \
  X(cuGraphDestroy)                                                            \
  X(cuGraphExecDestroy)                                                        \
  X(cuGraphInstantiateWithFlags)                                               \
  X(cuGraphLaunch)                                                             \
  X(cuMemGetInfo)                                                              \
  X(cuMemsetD16)                                                               \
  X(cuStreamBeginCapture)                                                      \
  X(cuStreamCreate)                                                            \
  X(cuStreamEndCapture)                                                        \
  X(cuStreamSynchronize)

/// The driver functions that the tests use, and a stream. The context of device
/// 0 is current.
struct CudaDriver {
#define HEDDLE_DECLARE(name) decltype(&::name) name = nullptr;
  HEDDLE_TEST_DRIVER_FUNCTIONS(HEDDLE_DECLARE)
#undef HEDDLE_DECLARE
  CUstream stream = nullptr;

  /// Null without a GPU.
  static const CudaDriver *get();
};

/// "cpu", and "cuda" if a GPU is present.
const std::vector<std::string> &targets();

/// Without a GPU, ends a test after its cpu half.
#define HEDDLE_SKIP_WITHOUT_GPU()                                              \
  if (!CudaDriver::get())                                                      \
  GTEST_SKIP() << "no GPU: only the cpu half has run"

/// Compiles a program once per process and target.
const Executable &compiled(const std::string &program,
                           const std::string &target);

testing::AssertionResult succeeded(const Status &status);
testing::AssertionResult refused(const Status &status, const std::string &part);

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

using Bytes = std::vector<unsigned char>;

size_t sizeOf(heddle_dtype dtype);
double toDouble(heddle_dtype dtype, const unsigned char *bytes);
/// Stores `value` as `dtype`; truncates low bits.
void fromDouble(heddle_dtype dtype, double value, unsigned char *bytes);
/// Whether two elements have equal bits, or both are NaN.
bool same(heddle_dtype dtype, const unsigned char *a, const unsigned char *b);

//===----------------------------------------------------------------------===//
// Members and their addresses
//===----------------------------------------------------------------------===//

using Extents = std::vector<int64_t>;

struct Member {
  uint64_t key = 0;
  Extents extents;
  bool inactive = false;
};

/// Members of the given sizes, with keys from 0.
std::vector<Member> vectors(const std::vector<int64_t> &sizes);
/// 0, 1, 2, 3, 5, sizes around a block and a tile, 4099, 70001.
const std::vector<int64_t> &raggedSizes();

struct Problem {
  std::vector<Member> members;
  /// The members of lists whose name has a given suffix, if they differ.
  std::map<std::string, std::vector<Member>> families;
  /// The extents of a member in a list. Default: the extents of the member,
  /// flattened for rank 1.
  std::function<Extents(const std::string &list, const Member &)> extentsIn;
  /// The value of an element. Default: random bits of moderate magnitude.
  std::function<std::optional<double>(const std::string &list,
                                      const Member &member, int64_t element)>
      value;
  /// The offset of a list from aligned addresses, in elements.
  std::map<std::string, int> misaligned;
};

/// A list or a scalar (one member without extents) in the arena.
struct Place {
  std::string name;
  heddle_dtype dtype;
  bool isList = false, isResult = false, written = false;
  std::vector<Member> members;
  std::vector<Extents> extents;
  std::vector<int64_t> counts;
  std::vector<size_t> offsets;
};

/// The contents of the arena at one time.
struct Image {
  std::shared_ptr<const std::vector<Place>> places;
  Bytes bytes;

  const Place &place(const std::string &name) const;
  const unsigned char *data(const Place &place, size_t member) const {
    return bytes.data() + place.offsets[member];
  }
  std::vector<double> values(const std::string &name, size_t member = 0) const;
};

/// Expects equal values for all members. The layouts must be equal.
void expectSame(const Image &expected, const Image &found);
/// Expects equal values for members with equal keys in every list of both
/// images, at any address.
void expectSameMembers(const Image &expected, const Image &found);
/// Expects that only active members of writable lists changed.
void expectUntouched(const Image &before, const Image &after);
/// Expects no change.
void expectEqual(const Image &before, const Image &after);

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

/// A graph whose lists and results are bound to an arena.
class Trial {
public:
  Trial(const std::string &program, const std::string &target, Problem problem);

  /// Binds the arena to another graph of the same executable.
  void bind(Graph &graph);
  void set(const std::string &scalar, double value);
  /// Binds a scalar to arena memory with the given value. If there is no such
  /// scalar, this function and unbindScalar do nothing.
  void bindScalar(const std::string &scalar, double value);
  void unbindScalar(const std::string &scalar);
  /// Whether the program has a scalar argument of this name.
  bool hasScalar(const std::string &name) const;
  /// Overwrites every element of the lists with this name prefix.
  void overwrite(const std::string &prefix, double value);
  /// Submits steps without waiting.
  void step(int times = 1);
  /// Waits for the steps and reads the arena.
  Image read();

  const Image &before() const { return initial; }
  Graph &graph() { return *owned; }
  void *stream() const { return onStream; }
  void *address(const std::string &name, size_t member = 0) const;
  /// The tensors for bindList.
  std::vector<Tensor> tensors(const Place &place) const;

private:
  void fill(const Problem &problem, const Place &place, Bytes &bytes) const;

  const Executable &executable;
  std::shared_ptr<std::vector<Place>> places;
  std::map<std::string, size_t> slots;
  std::optional<Memory> arena;
  std::optional<Graph> owned;
  Image initial;
  void *onStream = nullptr;
};

} // namespace heddle::test

#endif // HEDDLE_TEST_GPU_PROGRAMHARNESS_H
