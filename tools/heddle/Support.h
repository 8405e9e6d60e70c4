//===- Support.h - what several commands do ---------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library's errors as errors of the tool, programs named on the command
// line, and the list of them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_SUPPORT_H
#define HEDDLE_TOOLS_HEDDLE_SUPPORT_H

#include "CommandLine.h"
#include "runtime/heddle.hpp"
#include "runtime/support/Status.h"
#include "llvm/Support/JSON.h"

namespace heddle::cli {

/// Failure of a call of heddle.hpp, or success.
llvm::Error toError(const heddle::Status &status);
template <typename T> llvm::Expected<T> toExpected(heddle::Result<T> result) {
  if (result)
    return std::move(*result);
  return llvm::make_error<runtime::StatusError>(
      static_cast<runtime::StatusCode>(result.code()), result.error());
}

/// What a PROGRAM word stands for: itself, or standard input for "-".
llvm::Expected<std::string> readProgram(llvm::StringRef word);

/// `program` with `dtype` as its option of that name, which standard programs
/// have.
llvm::Expected<std::string> withDType(llvm::StringRef program,
                                      llvm::StringRef dtype);

/// The architecture that --arch names, "" if it was not given.
llvm::Expected<std::string> readArch(const Arguments &arguments);

/// The standard programs and their options, for help texts.
std::string describePrograms();
/// The environment variables, for help texts.
std::string describeEnvironment();

/// What `heddle explain --json` would say.
llvm::Expected<llvm::json::Object> explain(llvm::StringRef program,
                                           llvm::StringRef shapes,
                                           const heddle::Options &options);

/// Prints `value` indented, and a newline at the end.
std::string printJSON(llvm::json::Value value);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_SUPPORT_H
