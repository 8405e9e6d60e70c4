//===- Nvrtc.h - CUDA C++ source to cubin or PTX --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVRTC needs neither a GPU nor a driver. The places searched are, in this
// order: HEDDLE_NVRTC (a file or a folder), CUDA_HOME, CUDA_PATH,
// /usr/local/cuda, the wheel nvidia-cuda-nvrtc in a Python environment, the
// system loader. Images are kept in the disk cache. A hit does not load NVRTC,
// because loading it takes longer than a warm compilation.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_NVRTC_NVRTC_H
#define HEDDLE_RUNTIME_NVRTC_NVRTC_H

#include "runtime/support/DynamicLibrary.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace heddle::runtime {

/// A CUDA C++ source with everything that affects its image, except the
/// architecture.
struct KernelSource {
  std::string name; ///< messages name the source NAME.cu
  std::string text;
  std::map<std::string, std::string> headers; ///< by name in #include
  std::vector<std::string> options; ///< of NVRTC, besides the architecture
  std::string program = {};         ///< the folder of dumps; empty: `name`

  llvm::StringRef folder() const { return program.empty() ? name : program; }
};

/// An option of NVRTC 12.4 and later, for sources without textures, runtime
/// types and launches from the device. With it, NVRTC parses a third less of
/// its own headers. Older versions compile without it, and nvcc does not have
/// it.
inline constexpr llvm::StringLiteral kMinimalOption = "--minimal";

enum class ImageKind { Cubin, Ptx };

struct CompiledImage {
  /// A cubin, or PTX without its terminating null character.
  std::string image;
  /// NVRTC's log with warnings and the output of ptxas; may be empty.
  std::string log;
  bool cached = false; ///< whether it comes from the disk cache
};

/// Compiles `source` for `arch` ("sm_90"), or takes the image from the disk
/// cache.
///
/// Unavailable without NVRTC. BadInput for an unsupported architecture. Failed
/// if the source does not compile; this error has the log, the file with the
/// saved source, and a command that reproduces it.
llvm::Expected<CompiledImage>
compileSource(const KernelSource &source, llvm::StringRef arch, ImageKind kind);

/// The loaded library.
class Nvrtc {
public:
  /// Loads NVRTC, once per process. Unavailable if there is none; the error
  /// lists the searched folders.
  static llvm::Expected<const Nvrtc *> get();

  /// Compiles without the cache. Sets *ptx to the PTX of a cubin.
  llvm::Expected<CompiledImage> compile(const KernelSource &source,
                                        llvm::StringRef arch, ImageKind kind,
                                        std::string *ptx = nullptr) const;

  int major() const { return majorVersion; }
  int minor() const { return minorVersion; }
  const std::string &path() const { return library.path(); }
  /// The supported compute capabilities, such as 75, 80, 90, 100, 120.
  const std::vector<int> &architectures() const { return archs; }

private:
  struct Functions;
  llvm::Error load();

  DynamicLibrary library;
  std::shared_ptr<Functions> api;
  int majorVersion = 0, minorVersion = 0;
  std::vector<int> archs;
};

/// The file that Nvrtc::get() loads, without loading it; empty if the system
/// loader searches for it. BadInput if HEDDLE_NVRTC does not name NVRTC's
/// library or a folder with it.
llvm::Expected<std::string> findNvrtc();

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_NVRTC_NVRTC_H
