//===- Environment.h - Variables of the environment -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A variable without a value counts as unset. A wrong number is an error of the
// functions that read a program or a plan, or make a graph. Code that cannot
// fail takes the default instead.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_ENVIRONMENT_H
#define HEDDLE_RUNTIME_SUPPORT_ENVIRONMENT_H

#include "runtime/support/Status.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace heddle::runtime {

/// The value of a variable, or an empty string.
llvm::StringRef environment(const char *name);

/// A variable whose value is a number.
struct NumberVariable {
  const char *name;
  uint64_t least;
  const char *meaning; ///< with its unit, for messages

  /// The number; nothing if the variable is unset or wrong.
  std::optional<uint64_t> read() const;
  /// An error if the variable is wrong.
  llvm::Error check() const;
};

inline constexpr NumberVariable kThreadsVariable = {"HEDDLE_THREADS", 1,
                                                    "threads"};
inline constexpr NumberVariable kCacheSizeVariable = {"HEDDLE_CACHE_SIZE", 0,
                                                      "MiB"};

/// Checks all variables whose values are numbers.
llvm::Error checkEnvironment();

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_ENVIRONMENT_H
