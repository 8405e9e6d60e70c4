//===- Emit.cpp - heddle emit ---------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints a program at any stage of its compilation.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "OutputFile.h"
#include "Support.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <unistd.h>

using namespace llvm;

namespace heddle::cli {

static const OptionSpec options[] = {
    {"--stage", "STAGE",
     "foreach  foreach IR: the computation (the input of the compiler)\n"
     "fused    fused IR: sweeps, schedules and buffers\n"
     "cuda     CUDA C++ source (default)\n"
     "plan     buffers, tables and graph nodes, as JSON\n"
     "ptx      PTX, compiled by NVRTC\n"
     "cubin    machine code, compiled by NVRTC"},
    {"--arch", "ARCH",
     "architecture such as sm_90 (default: the GPU's, or sm_90 without a GPU)"},
    {"-o", "FILE", "write to FILE instead of standard output"}};

static std::string details() {
  return R"(PROGRAM is a .mlir file, '-' for standard input, or a standard program. Stages ptx and cubin need NVRTC,
but no GPU.

examples:
  heddle emit adamw:amsgrad=true              print the CUDA C++ source
  heddle emit adamw --stage foreach > rule.mlir
                                              write AdamW to a file, as a start for your own rule
  heddle emit rule.mlir --stage cubin --arch sm_100 -o rule.cubin
                                              compile for the architecture of another GPU

)" + describePrograms();
}

const CommandSpec emitCommand = {
    "emit", "PROGRAM", "Print a program at any stage of its compilation.",
    options, details};

Expected<int> runEmit(const Arguments &arguments) {
  static const StringRef stages[] = {"foreach", "fused", "cuda",
                                     "plan",    "ptx",   "cubin"};
  StringRef stage = arguments.get("--stage", "cuda");
  if (!is_contained(stages, stage))
    return usageError("option '--stage' expects one of " +
                      join(ArrayRef(stages), ", ") + "; found '" + stage + "'" +
                      suggestion(stage, stages));
  auto arch = readArch(arguments);
  if (!arch)
    return arch.takeError();
  auto program = readProgram(arguments.operand());
  if (!program)
    return program.takeError();
  auto output = OutputFile::open(arguments.get("-o"));
  if (!output)
    return output.takeError();
  if (stage == "cubin" && output->isStandardOutput() && isatty(STDOUT_FILENO))
    return usageError("stage 'cubin' is binary and standard output is a "
                      "terminal; write to a file with '-o FILE'");

  auto text = toExpected(
      heddle::emit(*program, stage.str(), {/*target=*/"cuda", *arch}));
  if (!text)
    return text.takeError();
  if (Error error = output->write(*text))
    return std::move(error);
  return 0;
}

} // namespace heddle::cli
