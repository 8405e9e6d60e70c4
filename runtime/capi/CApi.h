//===- CApi.h - Shared by the files of the C interface --------------------===//
//
// Translates between heddle.h and the runtime: arguments are checked for null,
// errors become a status and the last error of the thread. Nothing here throws;
// the runtime is compiled without exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CAPI_CAPI_H
#define HEDDLE_RUNTIME_CAPI_CAPI_H

#include "runtime/heddle.h"
#include "runtime/program/Executable.h"
#include "runtime/program/ProgramGraph.h"

struct heddle_executable {
  std::shared_ptr<heddle::runtime::Executable> executable;
  std::vector<int> arguments; ///< buffers of the arguments, in plan order
};

struct heddle_graph {
  std::unique_ptr<heddle::runtime::ProgramGraph> graph;
};

struct heddle_memory {
  heddle::runtime::ContextPtr context; ///< null: host memory
  heddle::runtime::DeviceMemory device;
  char *host = nullptr;
  size_t bytes = 0;
};

namespace heddle::runtime {

/// The status of `error`, whose text becomes heddle_last_error().
heddle_status finishCall(llvm::Error error);

llvm::Error badInput(const llvm::Twine &text);

/// BadInput if any of the pointers is null.
template <typename... Pointers>
llvm::Error requireAll(const char *function, Pointers *...pointers) {
  if (((pointers == nullptr) || ...))
    return badInput(llvm::Twine(function) +
                    ": expected no null pointer, found one");
  return llvm::Error::success();
}

/// A copy of `text` for the caller to free, with a null character at its end.
llvm::Error giveText(llvm::StringRef text, char **out, size_t *size = nullptr);

/// The request that the options describe. With `inspect`, no GPU is needed:
/// without a GPU and without a name, the architecture is sm_90.
llvm::Expected<CompileRequest> makeRequest(const char *program,
                                           const heddle_options *options,
                                           bool inspect = false);
/// The target and the architecture that the options name; `target` if they name
/// none.
llvm::Expected<std::pair<Target, std::string>>
readTarget(const heddle_options *options, llvm::StringRef target);

/// An executable for a named architecture compiles all of its kernels at once:
/// the device at hand may be another one. Else a panel loop's program waits for
/// the first binding, with which the size class compiles.
Executable::Compile compileWhen(const heddle_options *options);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CAPI_CAPI_H
