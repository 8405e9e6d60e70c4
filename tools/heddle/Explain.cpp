//===- Explain.cpp - heddle explain ---------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What fusion bought, how far the limit is, and why.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "OutputFile.h"
#include "ShapesFile.h"
#include "Support.h"

using namespace llvm;

namespace heddle::cli {

static const OptionSpec options[] = {
    {"--shapes", "FILE[:MODEL]",
     "members to count bytes and launches for: a JSON file\n"
     "{\"MODEL\": [[dim, ...], ...]} (default: 1000 x 1000)"},
    {"--arch", "ARCH",
     "architecture, as sm_90 (default: that of the GPU, else sm_90)"},
    {"--json", "[FILE]", "JSON, to FILE or to standard output"},
    {"-o", "FILE", "write to FILE instead of standard output"}};

static std::string details() {
  return R"(Bytes per element are counted for the lists of the highest rank; in a loop, for one trip. The floor is
the bytes that one step must move over the rate at which the GPU copies its own memory: measured where
there is a GPU of the architecture, otherwise that of the card which the output names.

examples:
  heddle explain adamw
  heddle explain clip_by_global_norm+adamw --shapes examples/shapes/models.json:resnet50
  heddle explain rule.mlir --json

)" + describePrograms();
}

const CommandSpec explainCommand = {
    "explain", "PROGRAM",
    "Says which kernels a program becomes, what they move, and why.", options,
    details};

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
    return usageError("expected one file to write to, found '" + path +
                      "' and '" + arguments.get("-o") + "'");
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
  if (Error error = output->write(text))
    return std::move(error);
  return 0;
}

} // namespace heddle::cli
