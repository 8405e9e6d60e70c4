//===- BuiltinKernels.h - The built-in kernels ----------------------------===//
//
// Kernels that copy, fill, control loops and write tile descriptors. They
// belong to no program: each file of builtin/device is compiled once per
// architecture and loaded once per context.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BUILTIN_BUILTINKERNELS_H
#define HEDDLE_RUNTIME_BUILTIN_BUILTINKERNELS_H

#include "runtime/driver/CudaHandles.h"
#include "runtime/nvrtc/Nvrtc.h"

namespace heddle::runtime {

/// A kernel of builtin/device, compiled and loaded on first use.
llvm::Expected<CUfunction> builtinFunction(const ContextPtr &context,
                                           llvm::StringRef name);

/// The files of builtin/device that must be compiled.
inline constexpr llvm::StringLiteral kCopyFile = "copy.cu";
inline constexpr llvm::StringLiteral kExpandTilesFile = "expand_tiles.cu";

/// Compiles a file for `arch` unless this process has done so.
llvm::Error compileBuiltin(llvm::StringRef file, llvm::StringRef arch);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BUILTIN_BUILTINKERNELS_H
