//===- Support.h - helpers shared by the commands ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversion of the library's errors, programs named on the command line, and
// help texts that several commands print.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_SUPPORT_H
#define HEDDLE_TOOLS_HEDDLE_SUPPORT_H

#include "CommandLine.h"
#include "runtime/heddle.hpp"
#include "runtime/support/Status.h"
#include "llvm/Support/JSON.h"

namespace heddle::cli {

/// Converts the result of a call of heddle.hpp.
llvm::Error toError(const heddle::Status &status);
template <typename T> llvm::Expected<T> toExpected(heddle::Result<T> result) {
  if (result)
    return std::move(*result);
  return llvm::make_error<runtime::StatusError>(
      static_cast<runtime::StatusCode>(result.code()), result.error());
}

/// Returns the contents of standard input for "-", otherwise `word`.
llvm::Expected<std::string> readProgram(llvm::StringRef word);

/// Returns a standard program with the option `dtype=DTYPE` added.
llvm::Expected<std::string> withDType(llvm::StringRef program,
                                      llvm::StringRef dtype);

/// The value of --arch; empty if absent.
llvm::Expected<std::string> readArch(const Arguments &arguments);

/// Describes the standard programs, for help texts.
enum class ProgramDetails { Summary, Options };
std::string describePrograms(ProgramDetails details = ProgramDetails::Options);
/// Describes the environment variables, for help texts.
std::string describeEnvironment();

/// Returns the output of `heddle explain --json`.
llvm::Expected<llvm::json::Object> explain(llvm::StringRef program,
                                           llvm::StringRef shapes,
                                           const heddle::Options &options);

/// Returns `value` indented, with a newline at the end.
std::string printJSON(llvm::json::Value value);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_SUPPORT_H
