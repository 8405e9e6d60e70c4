//===- DeviceSource.h - The source of the built-in kernels ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BUILTIN_DEVICESOURCE_H
#define HEDDLE_RUNTIME_BUILTIN_DEVICESOURCE_H

#include "llvm/ADT/StringRef.h"

namespace heddle::runtime {

/// The contents of a file of runtime/builtin/device, null-terminated. The build
/// embeds the files.
llvm::StringRef deviceSource(llvm::StringRef file);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BUILTIN_DEVICESOURCE_H
