//===- Nvrtc.h - CUDA C++ source to cubin or PTX --------------------------===//
//
// NVRTC is found without a GPU and without a driver, in this order:
// HEDDLE_NVRTC (a file or a folder), CUDA_HOME, CUDA_PATH, /usr/local/cuda, the
// wheel nvidia-cuda-nvrtc in a Python environment, the system loader. Results
// go through the disk cache. A hit does not load NVRTC, whose library takes
// longer to open than a warm start may take.
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

/// A source with everything that decides its image, except the architecture.
struct SourceText {
  std::string name; ///< shown in messages, as NAME.cu
  std::string text;
  std::map<std::string, std::string> headers; ///< by the names in #include
  std::vector<std::string> options; ///< of NVRTC, besides the architecture
  std::string program = {};         ///< whose folder dumps go to; empty: `name`

  llvm::StringRef folder() const { return program.empty() ? name : program; }
};

/// An option of NVRTC 12.4 and later for sources without textures, runtime
/// types and launches from the device: NVRTC parses a third less of its own
/// headers, one source at a time. Older versions compile without it; nvcc has
/// no such option.
inline constexpr llvm::StringLiteral kMinimalOption = "--minimal";

enum class ImageKind { Cubin, Ptx };

struct CompiledImage {
  std::string image; ///< a cubin, or PTX text (its terminating null character
                     ///< is not part of it)
  std::string log;   ///< NVRTC's log, warnings and ptxas output included; empty
                     ///< if it said nothing
  bool cached = false;
};

/// Compiles `source` for `arch` ("sm_90"), or takes the outcome from the disk
/// cache.
///
/// Unavailable without NVRTC; BadInput for an architecture that it does not
/// know; Failed if the source does not compile. That error carries the log, the
/// file in which the source was saved and a command that reproduces it.
llvm::Expected<CompiledImage>
compileSource(const SourceText &source, llvm::StringRef arch, ImageKind kind);

/// The loaded library.
class Nvrtc {
public:
  /// Loads NVRTC, once per process. Unavailable if there is none; the error
  /// lists the places searched.
  static llvm::Expected<const Nvrtc *> get();

  /// Compiles without the cache. `ptx` receives the PTX from which a cubin was
  /// assembled.
  llvm::Expected<CompiledImage> compile(const SourceText &source,
                                        llvm::StringRef arch, ImageKind kind,
                                        std::string *ptx = nullptr) const;

  int major() const { return majorVersion; }
  int minor() const { return minorVersion; }
  const std::string &path() const { return library.path(); }
  /// Compute capabilities, e.g. 75, 80, 90, 100, 120.
  const std::vector<int> &architectures() const { return archs; }

private:
  struct Functions;
  llvm::Error load();

  DynamicLibrary library;
  std::shared_ptr<Functions> api;
  int majorVersion = 0, minorVersion = 0;
  std::vector<int> archs;
};

/// The file that Nvrtc::get() would load, found without loading it; empty if it
/// is left to the system loader. BadInput if HEDDLE_NVRTC names something that
/// does not exist.
llvm::Expected<std::string> findNvrtc();

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_NVRTC_NVRTC_H
