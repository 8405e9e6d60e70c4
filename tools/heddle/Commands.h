//===- Commands.h - the commands of 'heddle' --------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One specification and one function per command; main.cpp lists them. A
// function returns the exit code, or an error whose code determines it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMMANDS_H
#define HEDDLE_TOOLS_HEDDLE_COMMANDS_H

#include "CommandLine.h"

namespace heddle::cli {

extern const CommandSpec emitCommand, explainCommand, runCommand, benchCommand,
    doctorCommand;

llvm::Expected<int> runEmit(const Arguments &arguments);
llvm::Expected<int> runExplain(const Arguments &arguments);
llvm::Expected<int> runRun(const Arguments &arguments);
llvm::Expected<int> runBench(const Arguments &arguments);
llvm::Expected<int> runDoctor(const Arguments &arguments);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_COMMANDS_H
