//===- Environment.cpp - Variables of the environment ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Environment.h"

#include "runtime/support/Text.h"

#include <cstdlib>

using namespace llvm;

namespace heddle::runtime {

StringRef environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::optional<uint64_t> NumberVariable::read() const {
  uint64_t number = 0;
  if (environment(name).getAsInteger(10, number) || number < least)
    return std::nullopt;
  return number;
}

Error NumberVariable::check() const {
  StringRef text = environment(name);
  if (text.empty() || read())
    return Error::success();
  return makeError(StatusCode::BadInput,
                   "environment variable {0}: expected a whole number of {1}, "
                   "at least {2} and below 2^64, found '{3}'",
                   name, meaning, least, shortened(text));
}

Error checkEnvironment() {
  for (const NumberVariable &variable : {kThreadsVariable, kCacheSizeVariable})
    if (Error error = variable.check())
      return error;
  return Error::success();
}

} // namespace heddle::runtime
