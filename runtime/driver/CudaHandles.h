//===- CudaHandles.h - Owning CUDA handles --------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every handle owns its CUDA object and keeps alive what the object depends on:
// a module its context, an executable graph its graph. If a handle exists, its
// object is valid. A destructor that fails calls reportDestroyFailure, except
// when the driver shuts down with the process.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_DRIVER_CUDAHANDLES_H
#define HEDDLE_RUNTIME_DRIVER_CUDAHANDLES_H

#include "runtime/driver/Driver.h"
#include "runtime/support/Fork.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace heddle::runtime {

/// Writes a failed destruction to standard error and counts it.
void reportDestroyFailure(const Driver &driver, const char *what,
                          CUresult result);

/// The error of a driver call that succeeded and returned null.
llvm::Error nullError(llvm::StringRef call);

/// The primary context of a device, retained.
class Context {
public:
  /// The context of device `ordinal`. BadInput if there is no such device,
  /// Unavailable without a driver.
  static llvm::Expected<std::shared_ptr<Context>> retain(int ordinal);
  /// The context of the device whose context is current on this thread, or of
  /// device 0.
  static llvm::Expected<std::shared_ptr<Context>> current();
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Driver &driver() const { return api; }
  /// The process that created the context. No other can use it.
  const Creator &creator() const { return process; }
  CUcontext handle() const { return context; }
  int ordinal() const { return deviceOrdinal; }
  int multiprocessors() const { return multiprocessorCount; }
  /// The architecture, such as "sm_90".
  const std::string &arch() const { return architecture; }
  const std::string &name() const { return deviceName; }
  /// Whether cuStreamWriteValue64 works. (The 32-bit form works on every
  /// supported device.)
  bool canWriteValue64() const { return writeValue64; }
  /// Whether the device and the driver support programmatic dependent launch.
  bool canOverlap() const { return overlaps; }
  int64_t l2Bytes() const { return l2Size; }
  /// The largest shared memory of a block, in bytes.
  int64_t sharedBytes() const { return sharedSize; }
  /// Whether the device has bulk copies, and clusters: both or neither.
  bool canCopyInBulk() const { return bulkCopies; }
  bool hasClusters() const { return bulkCopies; }

  /// Makes the context current on this thread for a scope. If it already is,
  /// this costs one driver call.
  class Scope {
  public:
    explicit Scope(const Context &context);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    const Context &context;
    bool pushed = false;
  };

private:
  Context(const Driver &api, int ordinal) : api(api), deviceOrdinal(ordinal) {}

  const Driver &api;
  const Creator process;
  int deviceOrdinal;
  CUdevice device = 0;
  CUcontext context = nullptr;
  int multiprocessorCount = 0;
  int l2Size = 0, sharedSize = 0;
  bool writeValue64 = false, overlaps = false, bulkCopies = false;
  std::string architecture, deviceName;
};

using ContextPtr = std::shared_ptr<Context>;

/// A CUDA object of type T that Driver::*Destroy frees. Move-only. The object
/// depends on `context` and `parent`.
template <typename T, auto Destroy> class CudaHandle {
public:
  CudaHandle() = default;
  CudaHandle(ContextPtr context, T handle, const char *what,
             std::shared_ptr<const void> parent = nullptr)
      : context(std::move(context)), parent(std::move(parent)), handle(handle),
        what(what) {}
  CudaHandle(CudaHandle &&other) noexcept { swap(other); }
  CudaHandle &operator=(CudaHandle &&other) noexcept {
    CudaHandle(std::move(other)).swap(*this);
    return *this;
  }
  ~CudaHandle() {
    // A child of fork() must not call the driver.
    if (!context || !handle || !context->creator().isHere())
      return;
    Context::Scope scope(*context);
    const Driver &driver = context->driver();
    if (CUresult result = (driver.*Destroy)(handle); result != CUDA_SUCCESS)
      reportDestroyFailure(driver, what, result);
  }

  T get() const { return handle; }
  explicit operator bool() const { return handle != T(); }
  const ContextPtr &owner() const { return context; }

private:
  void swap(CudaHandle &other) noexcept {
    std::swap(context, other.context);
    std::swap(parent, other.parent);
    std::swap(handle, other.handle);
    std::swap(what, other.what);
  }

  ContextPtr context;
  std::shared_ptr<const void> parent;
  T handle = T();
  const char *what = "";
};

using StreamHandle = CudaHandle<CUstream, &Driver::cuStreamDestroy>;
using EventHandle = CudaHandle<CUevent, &Driver::cuEventDestroy>;
using GraphHandle = CudaHandle<CUgraph, &Driver::cuGraphDestroy>;
using GraphExecHandle = CudaHandle<CUgraphExec, &Driver::cuGraphExecDestroy>;
using MemoryHandle = CudaHandle<CUdeviceptr, &Driver::cuMemFree>;
using ModuleHandle = CudaHandle<CUmodule, &Driver::cuModuleUnload>;

llvm::Expected<StreamHandle> createStream(ContextPtr context);
llvm::Expected<EventHandle> createEvent(ContextPtr context,
                                        unsigned flags = CU_EVENT_DEFAULT);
llvm::Expected<GraphHandle> createGraph(ContextPtr context);

/// Device memory of a fixed size.
class DeviceMemory {
public:
  DeviceMemory() = default;
  /// Allocates `bytes` bytes, aligned to 256 bytes; none for 0 bytes. The error
  /// has the requested and the free size.
  static llvm::Expected<DeviceMemory> allocate(ContextPtr context,
                                               size_t bytes);

  char *address() const { return reinterpret_cast<char *>(memory.get()); }
  size_t size() const { return bytes; }

private:
  MemoryHandle memory;
  size_t bytes = 0;
};

/// A module loaded into a context. Caches its functions.
class Module {
public:
  /// Loads a cubin, or PTX with a terminating null character. The error has the
  /// driver's log.
  static llvm::Expected<std::shared_ptr<Module>>
  load(ContextPtr context, llvm::ArrayRef<char> image);

  llvm::Expected<CUfunction> function(llvm::StringRef name);
  /// function() for launches with `arguments` arguments of at most `bytes`
  /// bytes. BadInput if the kernel has other parameters: the driver would read
  /// beyond the arguments. (A driver before CUDA 12.4 does not report them.)
  llvm::Expected<CUfunction> function(llvm::StringRef name, size_t arguments,
                                      size_t bytes);
  const ContextPtr &context() const { return handle.owner(); }

private:
  struct Function {
    CUfunction handle = nullptr;
    std::optional<size_t> parameters; ///< their number, once it is known
    size_t largest = 0;               ///< bytes of the largest parameter
  };

  llvm::Expected<Function *> find(llvm::StringRef name);

  ModuleHandle handle;
  std::mutex mutex;
  llvm::StringMap<Function> functions; ///< guarded by `mutex`
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_DRIVER_CUDAHANDLES_H
