//===- Compiler.cpp - The runtime's interface to the compiler -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/program/Compiler.h"

#include <atomic>

using namespace llvm;

namespace heddle::runtime {

// A static variable of a function, because a static initializer installs the
// compiler.
static std::unique_ptr<Compiler> &installed() {
  static std::unique_ptr<Compiler> compiler;
  return compiler;
}

void Compiler::install(std::unique_ptr<Compiler> compiler) {
  installed() = std::move(compiler);
}

/// Whether an exception has ended a use of the compiler.
static std::atomic<bool> isBroken{false};

Compiler::Use::~Use() {
  if (std::uncaught_exceptions() > exceptions)
    isBroken = true;
}

Expected<Compiler *> Compiler::get() {
  if (isBroken)
    return makeError(
        StatusCode::Unavailable,
        "expected a compiler that works, found one that an earlier compilation "
        "left half-way, without memory or after an internal error of LLVM: "
        "compile in a new process");
  if (!installed())
    return makeError(
        StatusCode::Unavailable,
        "this build has no compiler: expected a plan, found a program");
  return installed().get();
}

} // namespace heddle::runtime
