//===- Driver.cpp - The CUDA driver, loaded at run time -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/driver/Driver.h"

#include "runtime/support/Environment.h"
#include "runtime/support/Fork.h"
#include "runtime/support/Text.h"

#include <mutex>
#include <optional>
#include <unistd.h>

using namespace llvm;

namespace heddle::runtime {

namespace {

using GetProcAddress = decltype(&::cuGetProcAddress);

Error resolve(GetProcAddress getProcAddress, const char *name, int version,
              bool required, void **function) {
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  CUresult result = getProcAddress(name, function, version,
                                   CU_GET_PROC_ADDRESS_DEFAULT, &found);
  if (result == CUDA_SUCCESS && *function &&
      numberOf(found) == CU_GET_PROC_ADDRESS_SUCCESS)
    return Error::success();
  *function = nullptr;
  if (!required)
    return Error::success();
  return makeError(StatusCode::Unavailable,
                   "the CUDA driver lacks {0} of CUDA {1}.{2}: expected a "
                   "driver for CUDA 12.0 or later",
                   name, version / 1000, version % 1000 / 10);
}

Error load(Driver &driver) {
  StringRef named = environment("HEDDLE_CUDA_DRIVER");
  Expected<DynamicLibrary> library =
      DynamicLibrary::open(named.empty() ? "libcuda.so.1" : named.str());
  if (!library) {
    auto [code, text] = takeError(library.takeError());
    return makeError(StatusCode::Unavailable,
                     "no CUDA driver: {0}{1}. {2}, or use the cpu target. To "
                     "emit, explain or compile for a named architecture, no "
                     "driver is needed",
                     named.empty() ? "" : "HEDDLE_CUDA_DRIVER: ", text,
                     named.empty() ? "Install NVIDIA's driver"
                                   : "Unset the variable, or name a driver");
  }
  driver.library = *library;
  auto getProcAddress =
      reinterpret_cast<GetProcAddress>(library->find("cuGetProcAddress_v2"));
  if (!getProcAddress)
    return makeError(StatusCode::Unavailable,
                     "{0} is older than CUDA 12.0: expected a newer driver",
                     library->path());
#define HEDDLE_RESOLVE(name, version)                                          \
  if (Error error = resolve(getProcAddress, #name, version, true,              \
                            reinterpret_cast<void **>(&driver.name)))          \
    return error;
  HEDDLE_DRIVER_FUNCTIONS(HEDDLE_RESOLVE)
#undef HEDDLE_RESOLVE
#define HEDDLE_RESOLVE(name, version)                                          \
  cantFail(resolve(getProcAddress, #name, version, false,                      \
                   reinterpret_cast<void **>(&driver.name)));
  HEDDLE_OPTIONAL_DRIVER_FUNCTIONS(HEDDLE_RESOLVE)
#undef HEDDLE_RESOLVE
  cantFail(resolve(getProcAddress, "cuGraphAddNode", 12030, false,
                   reinterpret_cast<void **>(&driver.graphAddNode)));
  cantFail(resolve(getProcAddress, "cuGraphAddDependencies", 12030, false,
                   reinterpret_cast<void **>(&driver.graphAddDependencies)));
  cantFail(resolve(getProcAddress, "cuFuncGetParamInfo", 12040, false,
                   reinterpret_cast<void **>(&driver.funcGetParamInfo)));
  return Error::success();
}

Error initialize(Driver &driver) {
  if (CUresult result = driver.cuInit(0); result != CUDA_SUCCESS)
    return makeError(StatusCode::Unavailable, "no GPU can be used: cuInit: {0}",
                     driver.describe(result));
  if (CUresult result = driver.cuDriverGetVersion(&driver.version);
      result != CUDA_SUCCESS)
    return makeError(StatusCode::Unavailable,
                     "no GPU can be used: cuDriverGetVersion: {0}",
                     driver.describe(result));
  if (CUresult result = driver.cuDeviceGetCount(&driver.deviceCount);
      result != CUDA_SUCCESS)
    return makeError(StatusCode::Unavailable,
                     "no GPU can be used: cuDeviceGetCount: {0}",
                     driver.describe(result));
  constexpr int mostDevices = 4096;
  if (driver.deviceCount < 1 || driver.deviceCount > mostDevices)
    return makeError(StatusCode::Unavailable,
                     "no GPU: the CUDA driver reports {0}",
                     counted(driver.deviceCount, "device"));
  return Error::success();
}

} // namespace

Expected<const Driver *> Driver::get() {
  static std::mutex mutex;
  static Driver driver;
  static std::optional<Creator> creator; ///< once the driver is initialized
  std::lock_guard<std::mutex> lock(mutex);
  // Only the first call loads the library, because none appears later in a
  // process. Initialising it may fail for a while.
  static std::pair<StatusCode, std::string> loaded = takeError(load(driver));
  if (loaded.first != StatusCode::Ok)
    return make_error<StatusError>(loaded.first, loaded.second);
  if (!creator) {
    if (Error error = initialize(driver))
      return std::move(error);
    creator.emplace();
  }
  if (!creator->isHere())
    return makeError(StatusCode::Unavailable,
                     "no GPU can be used in process {0}: the CUDA driver was "
                     "initialized before fork(), and does not work in the "
                     "child. Fork before the first call that uses the GPU, or "
                     "start a new program",
                     ::getpid());
  return &driver;
}

std::string Driver::describe(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (!cuGetErrorName || cuGetErrorName(result, &name) != CUDA_SUCCESS || !name)
    return formatv("CUDA error {0}", static_cast<int>(result)).str();
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS || !text)
    return name;
  return formatv("{0}: {1}", name, text).str();
}

Error driverError(const Driver &driver, CUresult result, StringRef call) {
  return makeError(StatusCode::Failed, "{0}: {1}", call,
                   driver.describe(result));
}

} // namespace heddle::runtime
