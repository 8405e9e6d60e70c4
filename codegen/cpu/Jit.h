//===- Jit.h - machine code in this process ---------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owns compiled code. The addresses that it returns are valid during its
// lifetime.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_JIT_H
#define HEDDLE_CODEGEN_CPU_JIT_H

#include "codegen/cpu/Host.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

namespace heddle::cpu {

class Jit {
public:
  /// Compiles an optimized module for this host.
  static llvm::Expected<std::unique_ptr<Jit>>
  compile(const Host &host, llvm::orc::ThreadSafeModule module);

  llvm::Expected<void *> lookup(llvm::StringRef name);

private:
  explicit Jit(std::unique_ptr<llvm::orc::LLJIT> jit) : jit(std::move(jit)) {}

  /// The messages that LLVM reports to its session; the errors that LLVM
  /// returns only name symbols.
  std::string reported;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

/// The functions outside the module that its code may call, by name.
llvm::ArrayRef<std::pair<llvm::StringLiteral, void *>> librarySymbols();

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_JIT_H
