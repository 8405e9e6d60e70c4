//===- Status.h - Errors of the runtime -----------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that can fail return llvm::Error or llvm::Expected with a
// StatusError: a code, which decides the exit code of a tool and the status of
// the C interface, and a message, which says what was expected and what was
// found. Only the standard library throws, if there is no memory; the C
// interface catches its exceptions. Asserts are for our own bugs.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_STATUS_H
#define HEDDLE_RUNTIME_SUPPORT_STATUS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

#include <string>
#include <utility>

namespace heddle::runtime {

enum class StatusCode {
  Ok = 0,
  /// The operation or a check failed (exit code 1).
  Failed = 1,
  /// A mistake in the usage, the program, the plan or the buffers (exit code
  /// 2).
  BadInput = 2,
  /// There is no GPU, driver, NVRTC or compiler (exit code 1).
  Unavailable = 3,
};

/// The error type of the runtime.
class StatusError : public llvm::ErrorInfo<StatusError> {
public:
  static char ID;

  StatusError(StatusCode code, std::string text)
      : statusCode(code), message(std::move(text)) {}

  StatusCode code() const { return statusCode; }
  const std::string &text() const { return message; }

  void log(llvm::raw_ostream &os) const override { os << message; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  StatusCode statusCode;
  std::string message;
};

/// An error with `code` and the message llvm::formatv(format, arguments...).
template <typename... Args>
llvm::Error makeError(StatusCode code, const char *format,
                      Args &&...arguments) {
  if constexpr (sizeof...(Args) == 0)
    return llvm::make_error<StatusError>(code, std::string(format));
  else
    return llvm::make_error<StatusError>(
        code, llvm::formatv(format, std::forward<Args>(arguments)...).str());
}

/// The code of an error (Failed for LLVM's own errors) and its message.
std::pair<StatusCode, std::string> takeError(llvm::Error error);

/// The same error with `context` before its message.
llvm::Error withContext(const llvm::Twine &context, llvm::Error error);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_STATUS_H
