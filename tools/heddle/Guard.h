//===- Guard.h - every failure of the tool is an error and a code ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_GUARD_H
#define HEDDLE_TOOLS_HEDDLE_GUARD_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle::cli {

/// The exit code of `body`. If memory runs out, or LLVM has a fatal error,
/// prints an error and returns or exits with 1. Temporary files are removed.
int runGuarded(llvm::function_ref<int()> body);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_GUARD_H
