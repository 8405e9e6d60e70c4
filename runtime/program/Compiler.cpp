//===- Compiler.cpp - How the runtime reaches the compiler ----------------===//

#include "runtime/program/Compiler.h"

using namespace llvm;

namespace heddle::runtime {

// A function's static: usable from the static initialiser that installs the
// compiler.
static std::unique_ptr<Compiler> &installed() {
  static std::unique_ptr<Compiler> compiler;
  return compiler;
}

void Compiler::install(std::unique_ptr<Compiler> compiler) {
  installed() = std::move(compiler);
}

Expected<Compiler *> Compiler::get() {
  if (!installed())
    return makeError(
        StatusCode::Unavailable,
        "this build holds the runtime alone: expected a plan, found a program");
  return installed().get();
}

} // namespace heddle::runtime
