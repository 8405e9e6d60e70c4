//===- Doctor.h - A report on this machine --------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CAPI_DOCTOR_H
#define HEDDLE_RUNTIME_CAPI_DOCTOR_H

#include "llvm/Support/JSON.h"

namespace heddle::runtime {

/// A report on the driver, the GPUs, NVRTC, the cache and the compiler. Each
/// part has "ok"; if it is false, "problem" says what is missing and how to get
/// it.
///
///   {"version",
///    "driver": {"ok", "path", "version"},
///    "devices": [{"ordinal", "name", "arch", "memory_bytes",
///                 "multiprocessors"}],
///    "nvrtc": {"ok", "path", "version", "architectures"},
///    "cache": {"ok", "directory", "max_bytes", "bytes"},
///    "compiler": {"ok"},
///    "environment": {NAME: value}}
llvm::json::Object inspectMachine();

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CAPI_DOCTOR_H
