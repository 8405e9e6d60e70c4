//===- FaultyDriver.cpp - A GPU's driver of which a call fails ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime gets every function of the driver from cuGetProcAddress, behind a
// function that counts its calls and lets one of them fail.
//
//===----------------------------------------------------------------------===//

#include "FaultyDriver.h"

#include "runtime/driver/Driver.h"
#include "test/unit/runtime/StandInExport.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>

using heddle::runtime::Driver;

static std::atomic<long> failAt{0}, calls{0};

EXPORT void heddle_faulty_driver_fail(long nth) {
  calls = 0;
  failAt = nth;
}
EXPORT long heddle_faulty_driver_calls(void) { return calls; }

/// If such a call did nothing, the driver would keep an object or a state that
/// the library cannot release.
static bool releases(std::string_view name) {
  for (std::string_view word : {"Destroy", "Free", "Unload", "Release", "Pop",
                                "EndCapture", "ExchangeStreamCaptureMode"})
    if (name.find(word) != name.npos)
      return true;
  return false;
}

/// A function of the driver, as the runtime gets it.
template <auto Member> struct Entry;
template <typename... Arguments, CUresult (*Driver::*Member)(Arguments...)>
struct Entry<Member> {
  static inline CUresult (*function)(Arguments...) = nullptr;
  static inline bool release = false;

  static CUresult call(Arguments... arguments) {
    if (++calls != failAt)
      return function(arguments...);
    if (release)
      function(arguments...);
    return CUDA_ERROR_UNKNOWN;
  }
  /// Takes the driver's function, and returns the one that counts.
  static void *countCallsOf(void *found, const char *name) {
    function = reinterpret_cast<CUresult (*)(Arguments...)>(found);
    release = releases(name);
    return reinterpret_cast<void *>(&call);
  }
};

static void *countCallsOf(void *found, const char *name) {
#define HEDDLE_COUNT(member, text)                                             \
  if (std::strcmp(name, text) == 0)                                            \
    return Entry<&Driver::member>::countCallsOf(found, name);
#define HEDDLE_COUNT_FUNCTION(function, version)                               \
  HEDDLE_COUNT(function, #function)
  HEDDLE_DRIVER_FUNCTIONS(HEDDLE_COUNT_FUNCTION)
  HEDDLE_OPTIONAL_DRIVER_FUNCTIONS(HEDDLE_COUNT_FUNCTION)
  HEDDLE_COUNT(graphAddNode, "cuGraphAddNode")
  HEDDLE_COUNT(graphAddDependencies, "cuGraphAddDependencies")
  HEDDLE_COUNT(funcGetParamInfo, "cuFuncGetParamInfo")
  return found;
}

EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function,
                                    int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult *found) {
  using Get = decltype(&cuGetProcAddress_v2);
  static const Get get = [] {
    const char *other = std::getenv("HEDDLE_FAULTY_DRIVER_OF");
    void *driver = dlopen(other ? other : "libcuda.so.1", RTLD_NOW);
    return driver ? reinterpret_cast<Get>(dlsym(driver, "cuGetProcAddress_v2"))
                  : nullptr;
  }();
  if (!get)
    return CUDA_ERROR_NOT_FOUND;
  CUresult result = get(name, function, version, flags, found);
  if (result == CUDA_SUCCESS && *function)
    *function = countCallsOf(*function, name);
  return result;
}
