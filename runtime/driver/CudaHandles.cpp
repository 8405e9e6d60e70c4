//===- CudaHandles.cpp - Owning CUDA handles ------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/driver/CudaHandles.h"

#include "runtime/support/Statistics.h"
#include "runtime/support/Text.h"

#include <algorithm>
#include <cstdio>
#include <vector>

using namespace llvm;

namespace heddle::runtime {

void reportDestroyFailure(const Driver &driver, const char *what,
                          CUresult result) {
  // At the end of a process the driver may shut down before the last handle is
  // destroyed.
  if (result == CUDA_ERROR_DEINITIALIZED ||
      result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
    return;
  count(statistics().destroy_failures);
  // Destructors report here, so this allocates nothing.
  const char *name = nullptr;
  if (driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    name = "unknown error";
  std::fprintf(stderr, "heddle: cannot free the %s: %s (%d)\n", what, name,
               static_cast<int>(result));
}

Error nullError(StringRef call) {
  return makeError(StatusCode::Failed,
                   "{0}: expected an object, found null without an error",
                   call);
}

//===----------------------------------------------------------------------===//
// Context
//===----------------------------------------------------------------------===//

Expected<ContextPtr> Context::retain(int ordinal) {
  // All handles of a device share one Context, which its last handle destroys.
  static std::mutex mutex;
  static std::vector<std::weak_ptr<Context>> known;
  Expected<const Driver *> driver = Driver::get();
  if (!driver)
    return driver.takeError();
  const Driver &api = **driver;
  if (ordinal < 0 || ordinal >= api.deviceCount)
    return makeError(StatusCode::BadInput,
                     "device {0}: expected a device below {1}", ordinal,
                     api.deviceCount);
  std::lock_guard<std::mutex> lock(mutex);
  known.resize(api.deviceCount);
  if (ContextPtr context = known[ordinal].lock())
    return context;

  ContextPtr context(new Context(api, ordinal));
  int major = 0, minor = 0, write64 = 0;
  HEDDLE_DRIVER_CALL(api, cuDeviceGet, &context->device, ordinal);
  CUdevice device = context->device;
  HEDDLE_DRIVER_CALL(api, cuDeviceGetAttribute, &major,
                     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  HEDDLE_DRIVER_CALL(api, cuDeviceGetAttribute, &minor,
                     CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  HEDDLE_DRIVER_CALL(api, cuDeviceGetAttribute, &context->multiprocessorCount,
                     CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  HEDDLE_DRIVER_CALL(api, cuDeviceGetAttribute, &write64,
                     CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device);
  HEDDLE_DRIVER_CALL(api, cuDeviceGetAttribute, &context->l2Size,
                     CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
  HEDDLE_DRIVER_CALL(api, cuDeviceGetAttribute, &context->sharedSize,
                     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                     device);
  if (major < 1 || minor < 0 || context->multiprocessorCount < 1)
    return makeError(StatusCode::Unavailable,
                     "device {0}: expected a compute capability and "
                     "multiprocessors, found {1}.{2} and {3}",
                     ordinal, major, minor, context->multiprocessorCount);
  context->bulkCopies = major >= 9;
  context->writeValue64 = write64 != 0;
  context->overlaps = major >= 9 && api.graphAddDependencies;
  context->architecture = formatv("sm_{0}{1}", major, minor).str();
  char name[256] = {};
  HEDDLE_DRIVER_CALL(api, cuDeviceGetName, name, sizeof(name) - 1, device);
  context->deviceName = name;
  HEDDLE_DRIVER_CALL(api, cuDevicePrimaryCtxRetain, &context->context, device);
  if (!context->context)
    return nullError("cuDevicePrimaryCtxRetain");
  known[ordinal] = context;
  return context;
}

Expected<ContextPtr> Context::current() {
  Expected<const Driver *> driver = Driver::get();
  if (!driver)
    return driver.takeError();
  CUcontext context = nullptr;
  CUdevice device = 0;
  HEDDLE_DRIVER_CALL(**driver, cuCtxGetCurrent, &context);
  if (context)
    HEDDLE_DRIVER_CALL(**driver, cuCtxGetDevice, &device);
  return retain(device);
}

Context::~Context() {
  if (!context || !process.isHere())
    return;
  if (CUresult result = api.cuDevicePrimaryCtxRelease(device);
      result != CUDA_SUCCESS)
    reportDestroyFailure(api, "context", result);
}

Context::Scope::Scope(const Context &context) : context(context) {
  CUcontext current = nullptr;
  if (context.api.cuCtxGetCurrent(&current) == CUDA_SUCCESS &&
      current == context.context)
    return;
  // If this fails, the calls in the scope fail with an invalid context.
  pushed = context.api.cuCtxPushCurrent(context.context) == CUDA_SUCCESS;
}

Context::Scope::~Scope() {
  CUcontext popped = nullptr;
  if (pushed)
    context.api.cuCtxPopCurrent(&popped);
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

Expected<StreamHandle> createStream(ContextPtr context) {
  Context::Scope scope(*context);
  CUstream stream = nullptr;
  HEDDLE_DRIVER_CALL(context->driver(), cuStreamCreate, &stream,
                     CU_STREAM_NON_BLOCKING);
  if (!stream)
    return nullError("cuStreamCreate");
  return StreamHandle(std::move(context), stream, "stream");
}

Expected<EventHandle> createEvent(ContextPtr context, unsigned flags) {
  Context::Scope scope(*context);
  CUevent event = nullptr;
  HEDDLE_DRIVER_CALL(context->driver(), cuEventCreate, &event, flags);
  if (!event)
    return nullError("cuEventCreate");
  return EventHandle(std::move(context), event, "event");
}

Expected<GraphHandle> createGraph(ContextPtr context) {
  Context::Scope scope(*context);
  CUgraph graph = nullptr;
  HEDDLE_DRIVER_CALL(context->driver(), cuGraphCreate, &graph, 0);
  if (!graph)
    return nullError("cuGraphCreate");
  return GraphHandle(std::move(context), graph, "graph");
}

Expected<DeviceMemory> DeviceMemory::allocate(ContextPtr context,
                                              size_t bytes) {
  DeviceMemory memory;
  if (bytes == 0)
    return memory;
  Context::Scope scope(*context);
  const Driver &driver = context->driver();
  CUdeviceptr address = 0;
  if (CUresult result = driver.cuMemAlloc(&address, bytes);
      result != CUDA_SUCCESS) {
    size_t available = 0, total = 0;
    if (driver.cuMemGetInfo(&available, &total) == CUDA_SUCCESS)
      return makeError(StatusCode::Failed,
                       "allocating {0} on {1}: {2} ({3} of {4} bytes are free)",
                       counted(bytes, "byte"), context->name(),
                       driver.describe(result), available, total);
    return makeError(StatusCode::Failed, "allocating {0} on {1}: {2}",
                     counted(bytes, "byte"), context->name(),
                     driver.describe(result));
  }
  if (address == 0 || address % 256 != 0)
    return makeError(StatusCode::Failed,
                     "cuMemAlloc: expected an address aligned to 256 bytes, "
                     "found {0}",
                     reinterpret_cast<void *>(address));
  count(statistics().allocations);
  memory.bytes = bytes;
  memory.memory = MemoryHandle(std::move(context), address, "device memory");
  return memory;
}

Expected<std::shared_ptr<Module>> Module::load(ContextPtr context,
                                               ArrayRef<char> image) {
  Context::Scope scope(*context);
  const Driver &driver = context->driver();
  std::vector<char> log(16384, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  auto module = std::make_shared<Module>();
  CUmodule handle = nullptr;
  if (CUresult result =
          driver.cuModuleLoadDataEx(&handle, image.data(), 2, options, values);
      result != CUDA_SUCCESS) {
    StringRef text = StringRef(log.data()).trim();
    return makeError(StatusCode::Failed,
                     "loading a module on {0} ({1}): {2}{3}{4}",
                     context->name(), context->arch(), driver.describe(result),
                     text.empty() ? "" : "\n", text);
  }
  if (!handle)
    return nullError("cuModuleLoadDataEx");
  count(statistics().module_loads);
  module->handle = ModuleHandle(std::move(context), handle, "module");
  return module;
}

Expected<Module::Function *> Module::find(StringRef name) {
  Function &function = functions[name];
  if (function.handle)
    return &function;
  const ContextPtr &owner = handle.owner();
  const Driver &driver = owner->driver();
  Context::Scope scope(*owner);
  CUfunction found = nullptr;
  if (CUresult result =
          driver.cuModuleGetFunction(&found, handle.get(), name.str().c_str());
      result != CUDA_SUCCESS)
    return makeError(StatusCode::BadInput,
                     "the plan's source has no kernel '{0}': {1}", name,
                     driver.describe(result));
  if (!found)
    return nullError("cuModuleGetFunction");
  constexpr size_t mostParameters = 4096;
  size_t offset = 0, bytes = 0, count = 0;
  if (driver.funcGetParamInfo) {
    while (count < mostParameters &&
           driver.funcGetParamInfo(found, count, &offset, &bytes) ==
               CUDA_SUCCESS) {
      function.largest = std::max(function.largest, bytes);
      ++count;
    }
    function.parameters = count;
  }
  function.handle = found;
  return &function;
}

Expected<CUfunction> Module::function(StringRef name) {
  std::lock_guard<std::mutex> lock(mutex);
  Expected<Function *> found = find(name);
  if (!found)
    return found.takeError();
  return (*found)->handle;
}

Expected<CUfunction> Module::function(StringRef name, size_t arguments,
                                      size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  Expected<Function *> found = find(name);
  if (!found)
    return found.takeError();
  const Function &function = **found;
  if (function.parameters &&
      (*function.parameters != arguments || function.largest > bytes))
    return makeError(StatusCode::BadInput,
                     "kernel '{0}': expected {1} of at most {2} "
                     "bytes, as the plan has arguments, found {3} of at most "
                     "{4} bytes",
                     name, counted(arguments, "parameter"), bytes,
                     *function.parameters, function.largest);
  return function.handle;
}

} // namespace heddle::runtime
