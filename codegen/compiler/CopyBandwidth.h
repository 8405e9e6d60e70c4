//===- CopyBandwidth.h - bandwidth of device-to-device copies ---*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The floor of a step is the number of bytes that it must move, divided by this
// bandwidth.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_COMPILER_COPYBANDWIDTH_H
#define HEDDLE_CODEGEN_COMPILER_COPYBANDWIDTH_H

#include "runtime/driver/CudaHandles.h"

namespace heddle {

/// The bytes read and written per second by a copy of `bytes` bytes (fewer if
/// memory is short) in device memory: the best of `samples` measurements.
llvm::Expected<double> measureCopyBandwidth(const runtime::ContextPtr &context,
                                            size_t bytes, int samples);

/// A typical GPU of an architecture, and its copy bandwidth.
struct NominalDevice {
  llvm::StringRef name;
  double bytesPerSecond;
};
NominalDevice nominalDevice(llvm::StringRef arch);

} // namespace heddle

#endif // HEDDLE_CODEGEN_COMPILER_COPYBANDWIDTH_H
