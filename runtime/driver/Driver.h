//===- Driver.h - The CUDA driver, loaded at run time ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One table lists every driver function in use, with the CUDA version that
// introduced the interface in cuda.h. cuGetProcAddress returns the function of
// that version, so the signature is the same with a newer driver. Without a
// driver, the error of Driver::get() says what is missing and how to get it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_DRIVER_DRIVER_H
#define HEDDLE_RUNTIME_DRIVER_DRIVER_H

#include "runtime/support/DynamicLibrary.h"

#include "llvm/ADT/bit.h"

#include <cuda.h>
#include <type_traits>

namespace heddle::runtime {

// name, CUDA version of the interface
#define HEDDLE_DRIVER_FUNCTIONS(X)                                             \
  X(cuCtxGetCurrent, 4000)                                                     \
  X(cuCtxGetDevice, 2000)                                                      \
  X(cuCtxPopCurrent, 4000)                                                     \
  X(cuCtxPushCurrent, 4000)                                                    \
  X(cuCtxSynchronize, 2000)                                                    \
  X(cuDeviceGet, 2000)                                                         \
  X(cuDeviceGetAttribute, 2000)                                                \
  X(cuDeviceGetCount, 2000)                                                    \
  X(cuDeviceGetName, 2000)                                                     \
  X(cuDevicePrimaryCtxRelease, 11000)                                          \
  X(cuDevicePrimaryCtxRetain, 7000)                                            \
  X(cuDeviceTotalMem, 3020)                                                    \
  X(cuDriverGetVersion, 2020)                                                  \
  X(cuEventCreate, 2000)                                                       \
  X(cuEventDestroy, 4000)                                                      \
  X(cuEventElapsedTime, 2000)                                                  \
  X(cuEventRecord, 2000)                                                       \
  X(cuEventSynchronize, 2000)                                                  \
  X(cuFuncGetAttribute, 2020)                                                  \
  X(cuFuncSetAttribute, 9000)                                                  \
  X(cuGetErrorName, 6000)                                                      \
  X(cuGetErrorString, 6000)                                                    \
  X(cuGraphAddKernelNode, 12000)                                               \
  X(cuGraphCreate, 10000)                                                      \
  X(cuGraphDestroy, 10000)                                                     \
  X(cuGraphExecDestroy, 10000)                                                 \
  X(cuGraphExecKernelNodeSetParams, 12000)                                     \
  X(cuGraphExecUpdate, 12000)                                                  \
  X(cuGraphInstantiateWithFlags, 11040)                                        \
  X(cuGraphKernelNodeSetAttribute, 11000)                                      \
  X(cuGraphKernelNodeSetParams, 12000)                                         \
  X(cuGraphLaunch, 10000)                                                      \
  X(cuInit, 2000)                                                              \
  X(cuLaunchKernelEx, 11060)                                                   \
  X(cuMemAlloc, 3020)                                                          \
  X(cuMemFree, 3020)                                                           \
  X(cuMemGetInfo, 3020)                                                        \
  X(cuMemcpyDtoDAsync, 3020)                                                   \
  X(cuMemcpyDtoH, 3020)                                                        \
  X(cuMemcpyDtoHAsync, 3020)                                                   \
  X(cuMemcpyHtoD, 3020)                                                        \
  X(cuMemcpyHtoDAsync, 3020)                                                   \
  X(cuMemsetD8Async, 3020)                                                     \
  X(cuModuleGetFunction, 2000)                                                 \
  X(cuModuleLoadDataEx, 2010)                                                  \
  X(cuModuleUnload, 2000)                                                      \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                         \
  X(cuOccupancyMaxActiveClusters, 11070)                                       \
  X(cuPointerGetAttributes, 7000)                                              \
  X(cuStreamBeginCapture, 10010)                                               \
  X(cuStreamCreate, 2000)                                                      \
  X(cuStreamDestroy, 4000)                                                     \
  X(cuStreamEndCapture, 10000)                                                 \
  X(cuStreamIsCapturing, 10000)                                                \
  X(cuStreamSynchronize, 2000)                                                 \
  X(cuStreamWriteValue32, 11070)                                               \
  X(cuStreamWriteValue64, 11070)                                               \
  X(cuThreadExchangeStreamCaptureMode, 10010)

// Functions that are newer than the oldest supported driver (12.0). They are
// null if the driver lacks them.
#define HEDDLE_OPTIONAL_DRIVER_FUNCTIONS(X)                                    \
  X(cuGraphConditionalHandleCreate, 12030)

/// The driver's functions. Members are named as in cuda.h.
struct Driver {
#define HEDDLE_DECLARE(name, version) decltype(&::name) name = nullptr;
  HEDDLE_DRIVER_FUNCTIONS(HEDDLE_DECLARE)
  HEDDLE_OPTIONAL_DRIVER_FUNCTIONS(HEDDLE_DECLARE)
#undef HEDDLE_DECLARE
  // The forms with edge data. In cuda.h, their plain names are different
  // interfaces in CUDA 12 and CUDA 13.
  decltype(&::cuGraphAddNode_v2) graphAddNode = nullptr;
  decltype(&::cuGraphAddDependencies_v2) graphAddDependencies = nullptr;
  // Since CUDA 12.4; null in older drivers.
  CUresult (*funcGetParamInfo)(CUfunction, size_t, size_t *,
                               size_t *) = nullptr;

  DynamicLibrary library;
  /// 1000 * major + 10 * minor, such as 13000.
  int version = 0;
  int deviceCount = 0;

  /// Loads and initializes the driver, once per process: the library that
  /// HEDDLE_CUDA_DRIVER names, or libcuda.so.1. Unavailable without a driver or
  /// a GPU.
  static llvm::Expected<const Driver *> get();

  /// "name: description" of a result.
  std::string describe(CUresult result) const;
};

/// The error of a driver call that returned `result`.
llvm::Error driverError(const Driver &driver, CUresult result,
                        llvm::StringRef call);

/// The number in an enum that the driver has written. A newer driver may write
/// one that the enum of this cuda.h lacks, and a load of such an enum is
/// undefined.
template <typename Enum>
std::underlying_type_t<Enum> numberOf(const Enum &written) {
  return llvm::bit_cast<std::underlying_type_t<Enum>>(written);
}

/// Calls a driver function and returns from the enclosing function with an
/// error if it fails.
#define HEDDLE_DRIVER_CALL(driver, name, ...)                                  \
  do {                                                                         \
    const ::heddle::runtime::Driver &heddleDriver = (driver);                  \
    if (CUresult heddleResult = heddleDriver.name(__VA_ARGS__);                \
        heddleResult != CUDA_SUCCESS)                                          \
      return ::heddle::runtime::driverError(heddleDriver, heddleResult,        \
                                            #name);                            \
  } while (false)

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_DRIVER_DRIVER_H
