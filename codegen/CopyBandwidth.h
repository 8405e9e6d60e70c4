//===- CopyBandwidth.h - what a device can move at best ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rate at which a GPU copies its own memory: bytes that must move, over
// this, is the floor that a step is compared with.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_COPYBANDWIDTH_H
#define HEDDLE_CODEGEN_COPYBANDWIDTH_H

#include "runtime/driver/CudaHandles.h"

namespace heddle {

/// Bytes read and written per second by a copy of `bytes` bytes (less where
/// memory is short) from the device to itself: the best of `samples`.
llvm::Expected<double> measureCopyBandwidth(const runtime::ContextPtr &context,
                                            size_t bytes, int samples);

/// What to reckon with for an architecture that is not at hand.
struct NominalDevice {
  llvm::StringRef name;
  double bytesPerSecond;
};
NominalDevice nominalDevice(llvm::StringRef arch);

} // namespace heddle

#endif // HEDDLE_CODEGEN_COPYBANDWIDTH_H
