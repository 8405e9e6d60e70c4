//===- Bench.cpp - heddle bench -------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measurements side by side, in one run; bench/ holds what is measured.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "OutputFile.h"
#include "Support.h"
#include "bench/BenchFiles.h"
#include "bench/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

static const OptionSpec options[] = {
    {"--shapes", "FILE",
     "shapes of models, {\"MODEL\": [[dim, ...], ...]} (default: those of\n"
     "examples/shapes/models.json, which are part of the tool)"},
    {"--models", "A,B,...", "only these models (default: all of the file)"},
    {"--optimizers", "A,B,...",
     "only these of adamw, sgd, clip_adamw (default: all)"},
    {"--json", "[FILE]", "JSON, to FILE or to standard output"}};

static std::string details() {
  return R"(optimizers: AdamW, SGD with momentum, and clipping by the global norm with AdamW, over the parameters of real
models: heddle's replay, the hand-written kernels of test/bench/handwritten compiled by NVRTC with the same
options, and the floor (bytes that must move over the copy bandwidth, measured in the same run). It needs a
GPU and takes two minutes.

examples:
  heddle bench optimizers
  heddle bench optimizers --models resnet50,bert-large --optimizers adamw
  heddle bench optimizers --json bench.json

)" + describeEnvironment();
}

const CommandSpec benchCommand = {
    "bench", "optimizers",
    "Measures heddle, hand-written kernels and the floor side by side.",
    options, details};

/// The words of a list of names, each of which is one of `known`.
static Expected<std::vector<StringRef>> readNames(const Arguments &arguments,
                                                  StringRef option,
                                                  ArrayRef<StringRef> known) {
  std::vector<StringRef> names;
  SmallVector<StringRef> words;
  arguments.get(option).split(words, ',', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    if (!is_contained(known, word))
      return usageError("option '" + option + "' expects names out of " +
                        join(known, ", ") + ", found '" + word + "'" +
                        suggestion(word, known));
    names.push_back(word);
  }
  if (arguments.has(option) && names.empty())
    return usageError("option '" + option + "' expects names out of " +
                      join(known, ", "));
  return names;
}

static Expected<std::vector<Model>>
readChosenModels(const Arguments &arguments) {
  auto models =
      arguments.has("--shapes")
          ? readModelsFile(arguments.get("--shapes"))
          : readModels(bench::benchFile("models.json"), "models.json");
  if (!models)
    return models.takeError();
  SmallVector<StringRef> known;
  for (const Model &model : *models)
    known.push_back(model.name);
  auto names = readNames(arguments, "--models", known);
  if (!names)
    return names.takeError();
  std::vector<Model> chosen;
  for (const Model &model : *models)
    if (names->empty() || is_contained(*names, model.name))
      chosen.push_back(model);
  sort(chosen, [](const Model &a, const Model &b) {
    return std::pair(a.elements(), a.name) < std::pair(b.elements(), b.name);
  });
  for (const Model &model : chosen)
    if (model.elements() == 0)
      return usageError("model '" + Twine(model.name) +
                        "' has no elements: there is nothing to measure");
  return chosen;
}

Expected<int> runBench(const Arguments &arguments) {
  if (arguments.operand() != "optimizers")
    return usageError("heddle bench: there is no benchmark '" +
                      arguments.operand() + "'; expected optimizers");
  auto models = readChosenModels(arguments);
  if (!models)
    return models.takeError();
  SmallVector<StringRef> known;
  for (const bench::Optimizer &optimizer : bench::optimizers())
    known.push_back(optimizer.name);
  auto names = readNames(arguments, "--optimizers", known);
  if (!names)
    return names.takeError();
  SmallVector<bench::Optimizer> chosen;
  for (const bench::Optimizer &optimizer : bench::optimizers())
    if (names->empty() || is_contained(*names, optimizer.name))
      chosen.push_back(optimizer);
  auto output = OutputFile::open(arguments.get("--json"));
  if (!output)
    return output.takeError();

  auto device = bench::Device::open();
  if (!device)
    return device.takeError();
  Progress progress;
  auto report = bench::measureOptimizers(**device, *models, chosen, progress);
  progress.clear();
  if (!report)
    return report.takeError();
  bool toStandardOutput = arguments.has("--json") && output->isStandardOutput();
  if (!toStandardOutput)
    bench::print(*report, **device);
  if (arguments.has("--json"))
    if (Error error =
            output->write(printJSON(bench::toJSON(*report, **device))))
      return std::move(error);
  return 0;
}

} // namespace heddle::cli
