//===- StandInFaults.cpp - Faults of the stand-in driver ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime gets every function of the driver from cuGetProcAddress, behind a
// function that counts its calls and lets one of them fail.
//
//===----------------------------------------------------------------------===//

#include "StandInDriver.h"
#include "StandInExport.h"
#include "StandInKernels.h"

#include <cuda.h>

#include <atomic>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

static std::atomic<int> fault{HEDDLE_STAND_IN_WORKS};
static std::atomic<long> faultAt{0}, calls{0};

EXPORT void heddle_stand_in_fault(heddle_stand_in_behavior behavior, long nth) {
  calls = 0;
  faultAt = nth;
  fault = behavior;
}
EXPORT long heddle_stand_in_calls(void) { return calls; }

// The library cannot free an object that it does not get, or whose release
// fails. These objects stay reachable, so that a leak is one of the library.
static void keep(uintptr_t object) {
  static std::mutex mutex;
  static auto &kept = *new std::vector<uintptr_t>;
  std::lock_guard lock(mutex);
  kept.push_back(object);
}

// The results of a call that is said to have succeeded: numbers that no device
// has, and no objects.
template <typename T> static void makeNonsense(T *, int) {}
static void makeNonsense(int *number, int behavior) {
  *number = behavior == HEDDLE_STAND_IN_ZERO   ? 0
            : behavior == HEDDLE_STAND_IN_HUGE ? INT_MAX
                                               : INT_MIN;
}
static void makeNonsense(size_t *number, int behavior) {
  *number = behavior == HEDDLE_STAND_IN_ZERO ? 0 : SIZE_MAX;
}
static void makeNonsense(float *number, int behavior) {
  *number = behavior == HEDDLE_STAND_IN_ZERO   ? 0
            : behavior == HEDDLE_STAND_IN_HUGE ? INFINITY
                                               : NAN;
}
static void makeNonsense(CUdeviceptr *address, int behavior) {
  keep(*address);
  *address = behavior == HEDDLE_STAND_IN_ZERO ? 0 : 1;
}
template <typename T> static void makeNonsense(T **object, int) {
  keep(reinterpret_cast<uintptr_t>(*object));
  *object = nullptr;
}
static void makeNonsense(CUstreamCaptureStatus *status, int behavior) {
  *status = static_cast<CUstreamCaptureStatus>(
      behavior == HEDDLE_STAND_IN_ZERO ? 0 : 77);
}

/// A function of the driver, as the runtime gets it.
template <auto Function> struct Entry;
template <typename... Arguments, CUresult (*Function)(Arguments...)>
struct Entry<Function> {
  static inline std::atomic<long> total{0};
  static CUresult call(Arguments... arguments) {
    ++total;
    int behavior = fault;
    bool here = behavior != HEDDLE_STAND_IN_WORKS && ++calls == faultAt.load();
    if (here && behavior == HEDDLE_STAND_IN_FAILS) {
      auto keepOnly = [](auto object) {
        if constexpr (std::is_pointer_v<decltype(object)>)
          keep(reinterpret_cast<uintptr_t>(object));
        else if constexpr (std::is_same_v<decltype(object), CUdeviceptr>)
          keep(object);
      };
      if constexpr (sizeof...(Arguments) == 1)
        keepOnly(arguments...);
      return CUDA_ERROR_UNKNOWN;
    }
    CUresult result = Function(arguments...);
    if (here && result == CUDA_SUCCESS) {
      // Results come first in the driver's functions.
      auto first = [behavior](auto result, auto...) {
        if constexpr (std::is_pointer_v<decltype(result)>)
          makeNonsense(result, behavior);
      };
      if constexpr (sizeof...(Arguments) > 0)
        first(arguments...);
      auto later = [behavior](auto result) {
        if constexpr (std::is_same_v<decltype(result), CUgraphNodeParams *>)
          result->conditional.phGraph_out = nullptr;
        if constexpr (std::is_same_v<decltype(result), CUstreamCaptureStatus *>)
          makeNonsense(result, behavior);
      };
      (later(arguments), ...);
    }
    return result;
  }
};

struct NamedEntry {
  void *function;
  std::atomic<long> *calls;
};

/// The functions that the runtime looks up by name.
static const std::map<std::string, NamedEntry> &entries() {
#define HEDDLE_ENTRY(symbol)                                                   \
  {                                                                            \
    #symbol, {                                                                 \
      reinterpret_cast<void *>(&Entry<&symbol>::call), &Entry<&symbol>::total  \
    }                                                                          \
  }
  static const std::map<std::string, NamedEntry> all = {
      HEDDLE_ENTRY(cuMemcpyDtoDAsync),
      HEDDLE_ENTRY(cuGraphAddDependencies),
      HEDDLE_ENTRY(cuThreadExchangeStreamCaptureMode),
      HEDDLE_ENTRY(cuStreamBeginCapture),
      HEDDLE_ENTRY(cuStreamEndCapture),
      HEDDLE_ENTRY(cuInit),
      HEDDLE_ENTRY(cuDriverGetVersion),
      HEDDLE_ENTRY(cuDeviceGetCount),
      HEDDLE_ENTRY(cuDeviceGet),
      HEDDLE_ENTRY(cuDeviceGetName),
      HEDDLE_ENTRY(cuDeviceTotalMem),
      HEDDLE_ENTRY(cuDeviceGetAttribute),
      HEDDLE_ENTRY(cuDevicePrimaryCtxRetain),
      HEDDLE_ENTRY(cuDevicePrimaryCtxRelease),
      HEDDLE_ENTRY(cuCtxGetCurrent),
      HEDDLE_ENTRY(cuCtxGetDevice),
      HEDDLE_ENTRY(cuCtxPushCurrent),
      HEDDLE_ENTRY(cuCtxPopCurrent),
      HEDDLE_ENTRY(cuCtxSynchronize),
      HEDDLE_ENTRY(cuGetErrorName),
      HEDDLE_ENTRY(cuGetErrorString),
      HEDDLE_ENTRY(cuMemAlloc),
      HEDDLE_ENTRY(cuMemFree),
      HEDDLE_ENTRY(cuMemGetInfo),
      HEDDLE_ENTRY(cuMemcpyHtoD),
      HEDDLE_ENTRY(cuMemcpyDtoH),
      HEDDLE_ENTRY(cuMemcpyHtoDAsync),
      HEDDLE_ENTRY(cuMemcpyDtoHAsync),
      HEDDLE_ENTRY(cuMemsetD8Async),
      HEDDLE_ENTRY(cuPointerGetAttributes),
      HEDDLE_ENTRY(cuModuleLoadDataEx),
      HEDDLE_ENTRY(cuModuleUnload),
      HEDDLE_ENTRY(cuModuleGetFunction),
      HEDDLE_ENTRY(cuFuncGetParamInfo),
      HEDDLE_ENTRY(cuFuncGetAttribute),
      HEDDLE_ENTRY(cuFuncSetAttribute),
      HEDDLE_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor),
      HEDDLE_ENTRY(cuOccupancyMaxActiveClusters),
      HEDDLE_ENTRY(cuStreamCreate),
      HEDDLE_ENTRY(cuStreamDestroy),
      HEDDLE_ENTRY(cuStreamSynchronize),
      HEDDLE_ENTRY(cuStreamIsCapturing),
      HEDDLE_ENTRY(cuStreamWriteValue32),
      HEDDLE_ENTRY(cuStreamWriteValue64),
      HEDDLE_ENTRY(cuEventCreate),
      HEDDLE_ENTRY(cuEventDestroy),
      HEDDLE_ENTRY(cuEventRecord),
      HEDDLE_ENTRY(cuEventSynchronize),
      HEDDLE_ENTRY(cuEventElapsedTime),
      HEDDLE_ENTRY(cuGraphCreate),
      HEDDLE_ENTRY(cuGraphDestroy),
      HEDDLE_ENTRY(cuGraphAddKernelNode),
      HEDDLE_ENTRY(cuGraphConditionalHandleCreate),
      HEDDLE_ENTRY(cuGraphAddNode),
      HEDDLE_ENTRY(cuGraphKernelNodeSetAttribute),
      HEDDLE_ENTRY(cuGraphKernelNodeSetParams),
      HEDDLE_ENTRY(cuGraphInstantiateWithFlags),
      HEDDLE_ENTRY(cuGraphExecDestroy),
      HEDDLE_ENTRY(cuGraphExecKernelNodeSetParams),
      HEDDLE_ENTRY(cuGraphExecUpdate),
      HEDDLE_ENTRY(cuGraphLaunch),
      HEDDLE_ENTRY(cuLaunchKernelEx),
  };
  return all;
}

EXPORT long heddle_stand_in_calls_of(const char *function) {
  auto entry = entries().find(function);
  return entry == entries().end() ? 0 : entry->second.calls->load();
}

EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int,
                                    cuuint64_t,
                                    CUdriverProcAddressQueryResult *found) {
  // Nothing is known about the parameters of `any` kernel.
  bool known = !stand_in::anyKernelExists() ||
               std::strcmp(name, "cuFuncGetParamInfo") != 0;
  auto entry = entries().find(name);
  *function =
      entry == entries().end() || !known ? nullptr : entry->second.function;
  *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS
                     : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}
