//===- Status.h - How errors travel through the runtime -------------------===//
//
// Functions that can fail return llvm::Error or llvm::Expected carrying a
// StatusError: a code that decides the exit code of a tool and the status of
// the C ABI, and one text that says what was expected and what was found.
// Nothing throws. Asserts are for our own bugs.
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
  Failed = 1,   ///< The work failed or a check did not hold (exit code 1).
  BadInput = 2, ///< The caller's mistake: bad usage, program, plan or buffers
                ///< (exit code 2).
  Unavailable =
      3, ///< No GPU, no driver, no NVRTC or no compiler here (exit code 1).
};

/// The one error type of the runtime.
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

/// An error of `code` whose text is llvm::formatv(format, arguments...).
template <typename... Args>
llvm::Error makeError(StatusCode code, const char *format,
                      Args &&...arguments) {
  if constexpr (sizeof...(Args) == 0)
    return llvm::make_error<StatusError>(code, std::string(format));
  else
    return llvm::make_error<StatusError>(
        code, llvm::formatv(format, std::forward<Args>(arguments)...).str());
}

/// Takes an error apart: its code (Failed for errors of LLVM's own) and its
/// text.
std::pair<StatusCode, std::string> takeError(llvm::Error error);

/// The same error with `context` in front of its text.
llvm::Error withContext(const llvm::Twine &context, llvm::Error error);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_STATUS_H
