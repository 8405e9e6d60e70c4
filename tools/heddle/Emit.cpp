//===- Emit.cpp - heddle emit ---------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program at any stage of its compilation.
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
     "foreach  the program as foreach IR\n"
     "fused    kernels, sweeps and schedules\n"
     "cuda     CUDA C++ text (default)\n"
     "plan     buffers, tables, launches and their order, as JSON\n"
     "ptx, cubin  what NVRTC makes of the text"},
    {"--arch", "ARCH",
     "architecture, as sm_90 (default: that of the GPU, else sm_90)"},
    {"-o", "FILE", "write to FILE instead of standard output"}};

static std::string details() {
  return R"(PROGRAM is the path of a .mlir file, '-' for standard input, or a standard program.

examples:
  heddle emit adamw --stage foreach           the module anybody could have written
  heddle emit adamw:amsgrad=true              its CUDA text
  heddle emit clip_by_global_norm+adamw --stage plan
  heddle emit rule.mlir --arch sm_100 --stage cubin -o rule.cubin

)" + describePrograms();
}

const CommandSpec emitCommand = {
    "emit", "PROGRAM", "Prints a program at a stage of its compilation.",
    options, details};

Expected<int> runEmit(const Arguments &arguments) {
  static const StringRef stages[] = {"foreach", "fused", "cuda",
                                     "plan",    "ptx",   "cubin"};
  StringRef stage = arguments.get("--stage", "cuda");
  if (!is_contained(stages, stage))
    return usageError("option '--stage' expects " +
                      join(ArrayRef(stages), ", ") + ", found '" + stage + "'" +
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
    return usageError("a cubin is no text: expected '-o FILE'");

  auto text = toExpected(
      heddle::emit(*program, stage.str(), {/*target=*/"cuda", *arch}));
  if (!text)
    return text.takeError();
  if (Error error = output->write(*text))
    return std::move(error);
  return 0;
}

} // namespace heddle::cli
