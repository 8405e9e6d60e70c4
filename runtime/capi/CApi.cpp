//===- CApi.cpp - Errors, strings and options of the C interface ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/CApi.h"

#include "runtime/support/Environment.h"

#include "heddle-version.h"
#include "runtime/support/Text.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::runtime {

Error badInput(const Twine &text) {
  return make_error<StatusError>(StatusCode::BadInput, text.str());
}

Error returnText(StringRef text, char **out, size_t *size) {
  char *copy = copyText(text);
  if (!copy)
    return makeError(StatusCode::Failed, "allocating {0} for a string failed",
                     counted(text.size(), "byte"));
  *out = copy;
  if (size)
    *size = text.size();
  return Error::success();
}

namespace {
struct Options {
  StringRef target, arch;
};

/// A field of the options, or an empty string if the caller has none: the
/// struct of an older heddle.h is shorter.
StringRef readField(const heddle_options *options,
                    const char *heddle_options::*field) {
  if (!options)
    return "";
  const char *end = reinterpret_cast<const char *>(&(options->*field) + 1);
  size_t size = end - reinterpret_cast<const char *>(options);
  const char *text = size <= options->struct_size ? options->*field : nullptr;
  return text ? text : "";
}

Options readOptions(const heddle_options *options) {
  return {readField(options, &heddle_options::target),
          readField(options, &heddle_options::arch)};
}
} // namespace

Error checkOptions(const heddle_options *options) {
  constexpr size_t least = offsetof(heddle_options, arch) + sizeof(char *);
  if (!options || options->struct_size >= least)
    return Error::success();
  return badInput("options: expected a struct_size of sizeof(heddle_options), "
                  "at least " +
                  Twine(least) + ", found " + Twine(options->struct_size));
}

Expected<CompileRequest>
makeRequest(const char *program, const heddle_options *options, bool inspect) {
  if (Error error = checkOptions(options))
    return std::move(error);
  if (Error error = checkEnvironment())
    return std::move(error);
  Options known = readOptions(options);
  std::string arch = known.arch.str();
  if (inspect && known.target != "cpu" && arch.empty()) {
    Expected<ContextPtr> context = Context::current();
    arch = context ? (*context)->arch() : "sm_90";
    if (!context)
      consumeError(context.takeError());
  }
  Expected<std::pair<Target, std::string>> target =
      chooseTarget(known.target, arch);
  if (!target)
    return target.takeError();
  return CompileRequest{program, target->first, target->second};
}

Expected<std::pair<Target, std::string>>
readTarget(const heddle_options *options, StringRef target) {
  if (Error error = checkOptions(options))
    return std::move(error);
  if (Error error = checkEnvironment())
    return std::move(error);
  Options known = readOptions(options);
  return chooseTarget(known.target.empty() ? target : known.target, known.arch);
}

Executable::Compile compileWhen(const heddle_options *options) {
  return readOptions(options).arch.empty() ? Executable::Compile::withBinding
                                           : Executable::Compile::now;
}

} // namespace heddle::runtime

extern "C" {

const char *heddle_version(void) { return HEDDLE_VERSION; }
void heddle_free(char *text) { std::free(text); }

} // extern "C"
