//===- heddle.hpp - heddle for C++ ----------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owning handles over the C interface (heddle.h). Everything is in this header;
// no C++ type crosses the interface of the library.
//
//   auto executable = heddle::Executable::compile("rule.mlir");
//   if (!executable)
//     return fail(executable.error());
//   // On failure, value() prints the error and ends the process.
//   auto graph = heddle::Graph::create(*executable).value();
//   std::vector<heddle::Tensor> params, grads; // {address, {extents...}}
//   for (Layer &layer : model) {
//     params.push_back({layer.weight, {layer.rows, layer.columns}});
//     grads.push_back({layer.gradient, {layer.rows, layer.columns}});
//   }
//   graph.bindList("param", HEDDLE_F32, params).check();
//   graph.bindList("grad", HEDDLE_F32, grads).check();
//   // ... and the lists of the state
//   for (int step = 0; step < steps; ++step) {
//     backward(model, stream);
//     graph.setScalar("lr", schedule(step), stream).check();
//     graph.replay(stream).check(); // one graph launch
//   }
//   graph.synchronize(stream).check();
//
// Errors are values: a Status or a Result is true on success, and has error()
// and code() otherwise. Nothing throws. A call that fails with HEDDLE_BAD_INPUT
// has written nothing.
//
// Threads: any number of threads may use one Executable at once. A Graph
// belongs to one thread at a time.
//
// Streams: `stream` is a cudaStream_t or CUstream; null is the default stream.
// Calls return before the device has finished. The caller must order the calls
// of one graph. While the caller captures the stream, replay adds the step's
// kernels to the capture. The cpu target ignores `stream`; its calls return
// when their work is done.
//
// Lifetimes: a graph does not own bound memory, which must stay valid until the
// last replay that uses it has finished. A graph keeps its executable alive.
// Wait for the stream before you destroy a graph.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_HPP
#define HEDDLE_HPP

#include "heddle.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/// Success, or a code and a message.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(heddle_status code)
      : statusCode(code), text(code == HEDDLE_OK ? "" : heddle_last_error()) {}

  explicit operator bool() const { return statusCode == HEDDLE_OK; }
  heddle_status code() const { return statusCode; }
  const std::string &error() const { return text; }

  /// On failure, prints the error and ends the process.
  void check() const {
    if (statusCode == HEDDLE_OK)
      return;
    std::fprintf(stderr, "heddle: %s\n", text.c_str());
    std::exit(statusCode == HEDDLE_BAD_INPUT ? 2 : 1);
  }

private:
  heddle_status statusCode = HEDDLE_OK;
  std::string text;
};

/// A value or a failure.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : content(std::move(value)) {}
  Result(Status failure) : status(std::move(failure)) {}

  explicit operator bool() const { return content.has_value(); }
  heddle_status code() const { return status.code(); }
  const std::string &error() const { return status.error(); }

  T &operator*() & { return *content; }
  const T &operator*() const & { return *content; }
  T *operator->() { return &*content; }

  /// The value. On failure, prints the error and ends the process.
  T value() && {
    status.check();
    return std::move(*content);
  }

private:
  std::optional<T> content;
  Status status;
};

/// The caller's tensor: its address and extents, in elements.
struct Tensor {
  /// May be null if the member is inactive or empty.
  void *data = nullptr;
  std::vector<int64_t> extents;
  /// For a matrix that is part of a larger one: the number of elements from one
  /// row to the next. 0: dense.
  int64_t rowStride = 0;
};

/// The target of a compilation.
struct Options {
  /// "cuda" or "cpu". Empty: cuda if `arch` is set or there is a GPU, else cpu.
  std::string target = {};
  /// An architecture such as "sm_90". Empty: the architecture of the GPU.
  std::string arch = {};
};

namespace detail {
struct Free {
  void operator()(heddle_executable *p) const { heddle_executable_free(p); }
  void operator()(heddle_graph *p) const { heddle_graph_free(p); }
  void operator()(heddle_memory *p) const { heddle_memory_free(p); }
  void operator()(char *p) const { heddle_free(p); }
};
template <typename T> using Owned = std::unique_ptr<T, Free>;

inline heddle_options raw(const Options &options) {
  heddle_options result = {sizeof(heddle_options), nullptr, nullptr};
  if (!options.target.empty())
    result.target = options.target.c_str();
  if (!options.arch.empty())
    result.arch = options.arch.c_str();
  return result;
}

/// The arrays that the C interface takes for `tensors`.
struct Arrays {
  std::vector<void *> pointers;
  std::vector<int> ranks;
  std::vector<int64_t> extents, strides;

  explicit Arrays(const std::vector<Tensor> &tensors) {
    pointers.reserve(tensors.size());
    ranks.reserve(tensors.size());
    extents.reserve(2 * tensors.size());
    strides.reserve(tensors.size());
    for (const Tensor &tensor : tensors) {
      pointers.push_back(tensor.data);
      ranks.push_back(static_cast<int>(tensor.extents.size()));
      extents.insert(extents.end(), tensor.extents.begin(),
                     tensor.extents.end());
      strides.push_back(tensor.rowStride);
    }
  }
};
} // namespace detail

/// Compiled kernels and their plan. Immutable, shared between copies.
class Executable {
public:
  /// Compiles `program`: the path of a .mlir file, the text of a module, or a
  /// standard program with options, as in "NAME:option=value,option=value". '+'
  /// joins several standard programs.
  static Result<Executable> compile(const std::string &program,
                                    const Options &options = {}) {
    heddle_options known = detail::raw(options);
    heddle_executable *executable = nullptr;
    if (Status status = heddle_compile(program.c_str(), &known, &executable);
        !status)
      return status;
    return Executable(executable);
  }

  /// Makes an executable for the cuda target from a plan in JSON.
  static Result<Executable> fromPlan(const std::string &plan,
                                     const Options &options = {}) {
    heddle_options known = detail::raw(options);
    heddle_executable *executable = nullptr;
    if (Status status = heddle_load_plan(plan.c_str(), &known, &executable);
        !status)
      return status;
    return Executable(executable);
  }

  /// "cpu", or an architecture such as "sm_90".
  std::string arch() const { return heddle_executable_arch(handle.get()); }
  /// NVRTC's log; empty if there is none.
  std::string log() const { return heddle_executable_log(handle.get()); }

  std::vector<heddle_buffer_info> arguments() const {
    std::vector<heddle_buffer_info> list(heddle_argument_count(handle.get()));
    for (size_t index = 0; index < list.size(); ++index)
      Status(heddle_argument(handle.get(), index, &list[index])).check();
    return list;
  }
  std::vector<heddle_buffer_info> results() const {
    std::vector<heddle_buffer_info> list(heddle_result_count(handle.get()));
    for (size_t index = 0; index < list.size(); ++index)
      Status(heddle_result(handle.get(), index, &list[index])).check();
    return list;
  }

  /// The plan in JSON.
  Result<std::string> plan() const {
    char *text = nullptr;
    if (Status status = heddle_executable_plan(handle.get(), &text); !status)
      return status;
    return std::string(detail::Owned<char>(text).get());
  }

  heddle_executable *get() const { return handle.get(); }

private:
  explicit Executable(heddle_executable *executable)
      : handle(executable, detail::Free()) {}
  std::shared_ptr<heddle_executable> handle;
};

/// Memory of an executable's target, for callers without an allocator of their
/// own.
class Memory {
public:
  static Result<Memory> create(const Executable &executable, size_t bytes) {
    heddle_memory *memory = nullptr;
    if (Status status = heddle_memory_create(executable.get(), bytes, &memory);
        !status)
      return status;
    return Memory(memory);
  }
  /// Aligned to 256 bytes.
  void *address() const { return heddle_memory_address(handle.get()); }
  /// Copy `bytes` bytes to or from `offset`. Both wait for the device.
  Status write(size_t offset, const void *from, size_t bytes) {
    return heddle_memory_write(handle.get(), offset, from, bytes);
  }
  Status read(size_t offset, void *to, size_t bytes) const {
    return heddle_memory_read(handle.get(), offset, to, bytes);
  }

private:
  explicit Memory(heddle_memory *memory) : handle(memory) {}
  detail::Owned<heddle_memory> handle;
};

/// An executable bound to buffers. heddle.h has the contract of each function.
class Graph {
public:
  /// Creates a graph on the device whose context is current on this thread (on
  /// device 0 if there is none).
  static Result<Graph> create(const Executable &executable) {
    heddle_graph *graph = nullptr;
    if (Status status = heddle_graph_create(executable.get(), &graph); !status)
      return status;
    return Graph(graph);
  }

  /// Binds a list argument to one tensor per member, from the next prepare or
  /// replay on. The vector is copied, the tensors are not. New pointers cost
  /// some microseconds, never a compilation.
  Status bindList(const std::string &name, heddle_dtype dtype,
                  const std::vector<Tensor> &members) {
    detail::Arrays arrays(members);
    return heddle_bind_list_strided(handle.get(), name.c_str(), dtype,
                                    members.size(), arrays.pointers.data(),
                                    arrays.ranks.data(), arrays.extents.data(),
                                    arrays.strides.data());
  }
  /// Binds a scalar argument to a value in the target's memory, which every
  /// replay reads. Null: the graph's own value is used again.
  Status bindScalar(const std::string &name, heddle_dtype dtype,
                    void *address) {
    return heddle_bind_scalar(handle.get(), name.c_str(), dtype, address);
  }
  /// Binds a result to the caller's memory. No members: the graph's own memory
  /// is used again.
  Status bindResult(const std::string &name, heddle_dtype dtype,
                    const std::vector<Tensor> &members) {
    detail::Arrays arrays(members);
    return heddle_bind_result_strided(
        handle.get(), name.c_str(), dtype, members.size(),
        arrays.pointers.data(), arrays.ranks.data(), arrays.extents.data(),
        arrays.strides.data());
  }
  /// Marks the members whose mask is true as inactive: the step skips them in
  /// every list with the same members. An empty mask: all are active.
  Status setInactive(const std::string &name, const std::vector<bool> &mask) {
    std::vector<unsigned char> bytes(mask.begin(), mask.end());
    return heddle_set_inactive(handle.get(), name.c_str(), bytes.size(),
                               bytes.data());
  }
  /// Sets a scalar argument for all later replays on `stream`. Never compiles,
  /// prepares or waits.
  Status setScalar(const std::string &name, double value,
                   void *stream = nullptr) {
    return heddle_set_scalar(handle.get(), name.c_str(), value, stream);
  }

  /// Checks the bound buffers, and updates the tables and the graph. replay
  /// does this if a binding changed.
  Status prepare(void *stream = nullptr) {
    return heddle_prepare(handle.get(), stream);
  }
  /// Submits one step: one graph launch.
  Status replay(void *stream = nullptr) {
    return heddle_replay(handle.get(), stream);
  }
  /// Waits for a stream.
  Status synchronize(void *stream = nullptr) {
    return heddle_synchronize(handle.get(), stream);
  }

  /// The members of a result, after prepare. Addresses in the graph's own
  /// memory are valid until a binding changes.
  Result<std::vector<Tensor>> result(const std::string &name) {
    size_t members = 0;
    if (Status status =
            heddle_result_members(handle.get(), name.c_str(), &members);
        !status)
      return status;
    std::vector<Tensor> tensors(members);
    for (size_t member = 0; member < members; ++member) {
      int rank = 0;
      int64_t extents[2] = {};
      if (Status status = heddle_result_member(
              handle.get(), name.c_str(), member, &tensors[member].data, &rank,
              extents, &tensors[member].rowStride);
          !status)
        return status;
      tensors[member].extents.assign(extents, extents + rank);
    }
    return tensors;
  }
  /// The value of a scalar argument or result, after waiting for `stream`.
  Result<double> readScalar(const std::string &name, void *stream = nullptr) {
    double value = 0;
    if (Status status =
            heddle_read_scalar(handle.get(), name.c_str(), &value, stream);
        !status)
      return status;
    return value;
  }
  /// Device time of one replay in seconds: the median of `samples` runs of
  /// `replays` replays back to back.
  Result<double> measure(int replays = 20, int samples = 9) {
    double seconds = 0;
    if (Status status =
            heddle_measure(handle.get(), replays, samples, &seconds);
        !status)
      return status;
    return seconds;
  }

  heddle_graph *get() const { return handle.get(); }

private:
  explicit Graph(heddle_graph *graph) : handle(graph) {}
  detail::Owned<heddle_graph> handle;
};

/// The version, such as "0.1.0".
inline std::string version() { return heddle_version(); }

/// Compiles `program` up to a stage and returns the text of "foreach", "fused",
/// "cuda", "plan" or "ptx", or the bytes of "cubin".
inline Result<std::string> emit(const std::string &program,
                                const std::string &stage,
                                const Options &options = {}) {
  heddle_options known = detail::raw(options);
  char *text = nullptr;
  size_t size = 0;
  if (Status status =
          heddle_emit(program.c_str(), stage.c_str(), &known, &text, &size);
      !status)
    return status;
  return std::string(detail::Owned<char>(text).get(), size);
}

/// The value of a counter of this process; 0 if there is no such counter.
inline uint64_t statistic(const std::string &name) {
  uint64_t value = 0;
  return heddle_statistic(name.c_str(), &value) == HEDDLE_OK ? value : 0;
}

} // namespace heddle

#endif // HEDDLE_HPP
