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

/// The error of a failed call of heddle.hpp.
llvm::Error toError(const heddle::Status &status);
template <typename T> llvm::Expected<T> toExpected(heddle::Result<T> result) {
  if (result)
    return std::move(*result);
  return llvm::make_error<runtime::StatusError>(
      static_cast<runtime::StatusCode>(result.code()), result.error());
}

/// The program that PROGRAM names: standard input for "-", else the word.
llvm::Expected<std::string> readProgram(llvm::StringRef word);

/// Adds `dtype=DTYPE` to the options of a standard program.
llvm::Expected<std::string> withDType(llvm::StringRef program,
                                      llvm::StringRef dtype);

/// The value of --arch; empty if absent.
llvm::Expected<std::string> readArch(const Arguments &arguments);

/// The standard programs, for help texts.
enum class ProgramDetails { Summary, Options };
std::string describePrograms(ProgramDetails details = ProgramDetails::Options);
/// The environment variables, for help texts.
std::string describeEnvironment();

/// The output of `heddle explain --json`.
llvm::Expected<llvm::json::Object> explain(llvm::StringRef program,
                                           llvm::StringRef shapes,
                                           const heddle::Options &options);

/// `value` indented, with a newline at the end.
std::string printJSON(llvm::json::Value value);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_SUPPORT_H
