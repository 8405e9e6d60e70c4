//===- Compiler.cpp - The runtime's interface to the compiler -------------===//

#include "runtime/program/Compiler.h"

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

Expected<Compiler *> Compiler::get() {
  if (!installed())
    return makeError(
        StatusCode::Unavailable,
        "this build has no compiler: expected a plan, found a program");
  return installed().get();
}

} // namespace heddle::runtime
