//===- BuiltinKernels.h - The built-in kernels ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies, fills, loop control, and the expansion of tile descriptors. They
// belong to no program. Each file of builtin/device is compiled once per
// architecture and loaded once per context.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BUILTIN_BUILTINKERNELS_H
#define HEDDLE_RUNTIME_BUILTIN_BUILTINKERNELS_H

#include "runtime/driver/CudaHandles.h"
#include "runtime/nvrtc/Nvrtc.h"

namespace heddle::runtime {

/// The function of a built-in kernel, which is compiled and loaded on first
/// use.
llvm::Expected<CUfunction> builtinFunction(const ContextPtr &context,
                                           llvm::StringRef name);

/// The files of builtin/device that are compiled; the others are PTX.
inline constexpr llvm::StringLiteral kCopyFile = "copy.cu";
inline constexpr llvm::StringLiteral kDescriptorsFile = "descriptors.cu";

/// Compiles a file of builtin/device for `arch`, once per process.
llvm::Error compileBuiltin(llvm::StringRef file, llvm::StringRef arch);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BUILTIN_BUILTINKERNELS_H
