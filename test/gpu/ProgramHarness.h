//===- ProgramHarness.h - Programs run on cuda and on cpu -----------------===//
//
// Everything that a program reads and writes lies in one arena: each member of
// each list at an address of its own, poison between them. The arena has the
// same layout on both targets, so what a run did is one image of bytes, and
// images are compared whole: members as numbers, the rest as it was.
//
// The data of a member follows from its key, wherever the member stands.
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

/// What the tests themselves need of the driver, with the context of device 0
/// current and a stream in it.
struct CudaDriver {
#define HEDDLE_DECLARE(name) decltype(&::name) name = nullptr;
  HEDDLE_TEST_DRIVER_FUNCTIONS(HEDDLE_DECLARE)
#undef HEDDLE_DECLARE
  CUstream stream = nullptr;

  /// Null where there is no GPU.
  static const CudaDriver *get();
};

/// "cpu", and "cuda" where there is a GPU.
const std::vector<std::string> &targets();

/// Ends a test whose cpu half is done where there is no GPU.
#define HEDDLE_SKIP_WITHOUT_GPU()                                              \
  if (!CudaDriver::get())                                                      \
  GTEST_SKIP() << "no GPU: the cpu half alone has run"

/// Compiles a program once per process and target.
const Executable &compiled(const std::string &program,
                           const std::string &target);

testing::AssertionResult succeeded(const Status &status);
testing::AssertionResult refused(const Status &status, const std::string &part);

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

using Bytes = std::vector<unsigned char>;

size_t sizeOf(heddle_dtype dtype);
double toDouble(heddle_dtype dtype, const unsigned char *bytes);
/// Low bits are cut off.
void fromDouble(heddle_dtype dtype, double value, unsigned char *bytes);
/// The same bits, or two NaNs.
bool same(heddle_dtype dtype, const unsigned char *a, const unsigned char *b);

//===----------------------------------------------------------------------===//
// Members and where they lie
//===----------------------------------------------------------------------===//

using Extents = std::vector<int64_t>;

struct Member {
  uint64_t key = 0;
  Extents extents;
  bool inactive = false;
};

/// Members of these sizes, with keys from 0.
std::vector<Member> vectors(const std::vector<int64_t> &sizes);
/// 0, 1, 2, 3, 5, around a block's and a tile's sizes, 4099, 70001.
const std::vector<int64_t> &raggedSizes();

struct Problem {
  std::vector<Member> members;
  /// Those of the lists whose names end so, where they are others.
  std::map<std::string, std::vector<Member>> families;
  /// The extents that a member has in a list; by default those of the member,
  /// flattened for rank 1.
  std::function<Extents(const std::string &list, const Member &)> extentsIn;
  /// An element's value; without one, random bits of a moderate number.
  std::function<std::optional<double>(const std::string &list,
                                      const Member &member, int64_t element)>
      value;
  /// By how many elements a list is away from aligned addresses.
  std::map<std::string, int> misaligned;
};

/// A list, or a scalar (one member without extents), in the arena.
struct Place {
  std::string name;
  heddle_dtype dtype;
  bool isList = false, isResult = false, written = false;
  std::vector<Member> members;
  std::vector<Extents> extents;
  std::vector<int64_t> counts;
  std::vector<size_t> offsets;
};

/// The arena's contents at one time.
struct Image {
  std::shared_ptr<const std::vector<Place>> places;
  Bytes bytes;

  const Place &place(const std::string &name) const;
  const unsigned char *data(const Place &place, size_t member) const {
    return bytes.data() + place.offsets[member];
  }
  std::vector<double> values(const std::string &name, size_t member = 0) const;
};

/// Every member of every place has the same numbers (the layouts are equal).
void expectSame(const Image &expected, const Image &found);
/// Members of equal keys have the same numbers in every list of both images,
/// wherever they lie.
void expectSameMembers(const Image &expected, const Image &found);
/// Nothing changed but active members of what may be written.
void expectUntouched(const Image &before, const Image &after);
/// Nothing changed at all.
void expectEqual(const Image &before, const Image &after);

//===----------------------------------------------------------------------===//
// A run
//===----------------------------------------------------------------------===//

/// A graph whose lists, results and scalar results are bound to an arena.
class Trial {
public:
  Trial(const std::string &program, const std::string &target, Problem problem);

  /// Binds all of the arena to another graph of the same executable.
  void bind(Graph &graph);
  void set(const std::string &scalar, double value);
  /// Binds a scalar to a place in the arena that holds `value`; nothing, like
  /// unbindScalar, where there is no such scalar.
  void bindScalar(const std::string &scalar, double value);
  void unbindScalar(const std::string &scalar);
  /// Whether there is a scalar argument of that name.
  bool hasScalar(const std::string &name) const;
  /// Overwrites every element of the lists whose names begin so.
  void overwrite(const std::string &prefix, double value);
  /// Submits steps, and does not wait.
  void step(int times = 1);
  /// Waits, and reads the arena.
  Image read();

  const Image &before() const { return initial; }
  Graph &graph() { return *owned; }
  void *stream() const { return onStream; }
  void *address(const std::string &name, size_t member = 0) const;
  /// What bindList takes.
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
