//===- CApi.h - Shared by the files of the C interface --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Translates between heddle.h and the runtime. Checks pointers for null, and
// turns errors and exceptions into a status and the thread's last message.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CAPI_CAPI_H
#define HEDDLE_RUNTIME_CAPI_CAPI_H

#include "runtime/heddle.h"
#include "runtime/program/Executable.h"
#include "runtime/program/ProgramGraph.h"
#include "runtime/support/Fork.h"

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

/// Runs the body of a function of the C interface. Turns an error into a status
/// and a message for heddle_last_error(). Does the same with an exception,
/// which means that memory cannot be allocated, or a fatal error of LLVM.
heddle_status callGuarded(llvm::function_ref<llvm::Error()> body);

/// callGuarded() for a body that runs LLVM or MLIR.
heddle_status callCompiler(llvm::function_ref<llvm::Error()> body);

/// The result of `call`, which uses the compiler of this process.
template <typename Call>
auto useCompiler(Call call) -> decltype(call(std::declval<Compiler &>())) {
  llvm::Expected<Compiler *> compiler = Compiler::get();
  if (!compiler)
    return compiler.takeError();
  Compiler::Use use;
  return call(**compiler);
}

/// Runs the body of a function that frees a handle. No exception leaves it; the
/// rest of the handle is not freed after an exception.
void freeGuarded(llvm::function_ref<void()> body);

llvm::Error badInput(const llvm::Twine &text);

/// BadInput if one of the pointers is null. `names` has their names, separated
/// by commas.
template <typename... Pointers>
llvm::Error requireAll(const char *function, llvm::StringRef names,
                       Pointers *...pointers) {
  for (bool isNull : {pointers == nullptr...}) {
    auto [name, others] = names.split(", ");
    if (isNull)
      return badInput(llvm::Twine(function) + ": expected an address for '" +
                      name + "', found null");
    names = others;
  }
  return llvm::Error::success();
}
/// requireAll() for parameters, whose names it takes.
#define HEDDLE_REQUIRE(function, ...)                                          \
  ::heddle::runtime::requireAll(function, #__VA_ARGS__, __VA_ARGS__)

/// A null-terminated copy of `text` that free() frees; null if there is no
/// memory.
char *copyText(llvm::StringRef text);

/// Sets *out to a null-terminated copy of `text`, which the caller frees.
llvm::Error returnText(llvm::StringRef text, char **out,
                       size_t *size = nullptr);

/// Refuses a struct that is shorter than that of the first heddle.h, such as
/// one whose struct_size was not set.
llvm::Error checkOptions(const heddle_options *options);

/// The request that the options describe, in an environment without errors.
/// With `inspect`, no GPU is needed: the default architecture is then that of
/// the GPU or, without a GPU, sm_90.
llvm::Expected<CompileRequest> makeRequest(const char *program,
                                           const heddle_options *options,
                                           bool inspect = false);
/// The target and the architecture that the options name, in an environment
/// without errors. The default target is
/// `target`.
llvm::Expected<std::pair<Target, std::string>>
readTarget(const heddle_options *options, llvm::StringRef target);

/// When the kernels are compiled. If the options name an architecture: at once,
/// because the GPU of this machine may be another one. Otherwise, a program
/// with a panel loop is compiled at the first binding, together with its size
/// class.
Executable::Compile compileWhen(const heddle_options *options);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CAPI_CAPI_H
