//===- Explain.cpp - heddle explain ---------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shows the kernels of a program, the bytes that they move, the floor and the
// decisions of the compiler.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "OutputFile.h"
#include "ShapesFile.h"
#include "Support.h"

#include "runtime/support/Text.h"

using namespace llvm;

namespace heddle::cli {

static const OptionSpec options[] = {
    {"--shapes", "FILE[:MODEL]",
     "shapes of the members: a JSON file {\"MODEL\": [[dim, ...], ...]}\n"
     "(default: one member of 1000 x 1000)"},
    {"--arch", "ARCH",
     "architecture such as sm_90 (default: the GPU's, or sm_90 without a GPU)"},
    {"--json", "[FILE]", "write JSON to FILE or to standard output"},
    {"-o", "FILE", "write to FILE instead of standard output"}};

static std::string details() {
  return R"(The output has these parts:
  traffic   bytes that a step reads and writes, per element of the lists of the highest rank and in total;
            "before fusion" counts every operation as a kernel of its own
  floor     the time to move these bytes at the copy bandwidth: measured if a GPU of the architecture is
            present, otherwise the nominal bandwidth of the GPU that the output names
  launches  kernels, copies and fills of a step
  kernel    one launch of a __global__ function: its sweeps, its schedule and the reason for the schedule
  copies    values that are copied to another buffer in the end, because their place is read until then
  remarks   decisions of the passes, with reasons

For a loop, traffic, floor and launches count one iteration.

examples:
  heddle explain adamw
  heddle explain clip_by_global_norm+adamw --shapes examples/shapes/models.json:resnet50
  heddle explain rule.mlir --json=rule.json

)" + describePrograms();
}

const CommandSpec explainCommand = {
    "explain", "PROGRAM",
    "Show the kernels of a program, the bytes they move, and the decisions of "
    "the compiler.",
    options, details};

Expected<int> runExplain(const Arguments &arguments) {
  auto arch = readArch(arguments);
  if (!arch)
    return arch.takeError();
  std::string shapes;
  if (arguments.has("--shapes")) {
    auto model = readModel(arguments.get("--shapes"));
    if (!model)
      return model.takeError();
    shapes = shapesToJSON(model->shapes);
  }
  auto program = readProgram(arguments.operand());
  if (!program)
    return program.takeError();
  StringRef path = arguments.get("--json");
  if (!path.empty() && arguments.has("-o"))
    return usageError("options '--json' and '-o' name two output files, '" +
                      path + "' and '" + arguments.get("-o") +
                      "'; give only one");
  auto output = OutputFile::open(path.empty() ? arguments.get("-o") : path);
  if (!output)
    return output.takeError();
  heddle::Options wanted{"cuda", *arch};
  heddle_options known = heddle::detail::raw(wanted);
  char *text = nullptr;
  if (Error error =
          toError(heddle_explain(program->c_str(), shapes.c_str(),
                                 arguments.has("--json"), &known, &text)))
    return std::move(error);
  heddle::detail::Owned<char> owned(text);
  if (Error error = output->write(runtime::printable(text)))
    return std::move(error);
  return 0;
}

} // namespace heddle::cli
