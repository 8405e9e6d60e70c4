//===- Status.cpp - Errors of the runtime ---------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Status.h"

#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace heddle::runtime {

char StatusError::ID = 0;

std::pair<StatusCode, std::string> takeError(Error error) {
  StatusCode code = StatusCode::Ok;
  std::string text;
  handleAllErrors(
      std::move(error),
      [&](const StatusError &status) {
        if (code == StatusCode::Ok)
          code = status.code();
        text += (text.empty() ? "" : "\n") + status.text();
      },
      [&](const ErrorInfoBase &other) {
        if (code == StatusCode::Ok)
          code = StatusCode::Failed;
        text += (text.empty() ? "" : "\n") + other.message();
      });
  return {code, text};
}

Error withContext(const Twine &context, Error error) {
  auto [code, text] = takeError(std::move(error));
  if (code == StatusCode::Ok)
    return Error::success();
  return make_error<StatusError>(code, (context + ": " + text).str());
}

} // namespace heddle::runtime
