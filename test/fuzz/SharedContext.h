//===- SharedContext.h - One MLIR context for many inputs -------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most inputs are refused early, and creating a context takes longer than that.
// A context keeps every type and attribute that it ever made, so it is replaced
// now and then.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_FUZZ_SHAREDCONTEXT_H
#define HEDDLE_TEST_FUZZ_SHAREDCONTEXT_H

#include "codegen/compiler/ProgramCompiler.h"
#include "mlir/IR/MLIRContext.h"

namespace heddle::fuzz {

class SharedContext {
public:
  /// The context of the next input. Nothing of an earlier input may be in use.
  mlir::MLIRContext &get() {
    if (uses++ % inputsPerContext == 0)
      context = createContext();
    return *context;
  }

private:
  static constexpr size_t inputsPerContext = 256;
  std::unique_ptr<mlir::MLIRContext> context;
  size_t uses = 0;
};

} // namespace heddle::fuzz

#endif // HEDDLE_TEST_FUZZ_SHAREDCONTEXT_H
