//===- BytecodeFuzzer.cpp - MLIR's bytecode is refused --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's reader of bytecode trusts its input: mutated bytecode ends the process
// or never ends. So heddle reads text only. Every input, as bytecode, must be
// refused with an error that says so.
//
//===----------------------------------------------------------------------===//

#include "Fuzzer.h"
#include "SharedContext.h"

#include "codegen/compiler/ProgramCompiler.h"
#include "llvm/ADT/StringRef.h"

using namespace heddle;

static void run(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(fuzz::textOf(data, size));
  std::string program =
      bytes.starts_with("ML\xefR") ? bytes.str() : "ML\xefR" + bytes.str();
  static fuzz::SharedContext shared;
  Compilation compilation({}, &shared.get());
  llvm::Error error = compilation.read(program);
  if (!error)
    fuzz::finding("bytecode was accepted");
  if (!llvm::StringRef(toString(std::move(error))).contains("bytecode"))
    fuzz::finding("the error does not name bytecode");
}

const heddle::fuzz::Target heddle::fuzz::bytecodeTarget = {"bytecode", [] {},
                                                           run, mutateBytes};
