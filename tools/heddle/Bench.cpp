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
#include "bench/SinkhornReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

static const OptionSpec options[] = {
    {"--shapes", "FILE",
     "optimizers: shapes of models, {\"MODEL\": [[dim, ...], ...]} (default:\n"
     "those of examples/shapes/models.json); sinkhorn: shapes of problems,\n"
     "{\"DTYPE\": [[rows, columns], ...]} (default: those of\n"
     "examples/shapes/transport.json); both files are part of the tool"},
    {"--models", "A,B,...",
     "optimizers: only these models (default: all of the file)"},
    {"--optimizers", "A,B,...",
     "optimizers: only these of adamw, sgd, clip_adamw (default: all)"},
    {"--quick", "", "sinkhorn: two small problems"},
    {"--json", "[FILE]", "JSON, to FILE or to standard output"}};

static std::string details() {
  return R"(optimizers: AdamW, SGD with momentum, and clipping by the global norm with AdamW, over the parameters of real
models: heddle's replay, the hand-written kernels of test/bench/handwritten compiled by NVRTC with the same
options, and the floor (bytes that must move over the copy bandwidth, measured in the same run). It takes two
minutes.

sinkhorn: 100 iterations of the program 'sinkhorn' over dense matrices that are made on the GPU, beside the
kernels written by hand and the floor, one read of the matrix for each iteration; a solve that stops by itself,
the plan, and cold compilations. It takes about a minute; a file named by --json is written after each problem.

Both need a GPU.

examples:
  heddle bench optimizers
  heddle bench optimizers --models resnet50,bert-large --optimizers adamw
  heddle bench optimizers --json bench.json
  heddle bench sinkhorn --quick
  heddle bench sinkhorn --json sinkhorn.json

)" + describeEnvironment();
}

const CommandSpec benchCommand = {
    "bench", "optimizers|sinkhorn",
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

static Expected<int> benchOptimizers(const Arguments &arguments) {
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

static Expected<std::vector<bench::ProblemShape>>
readProblems(const Arguments &arguments) {
  if (arguments.has("--quick")) {
    if (arguments.has("--shapes"))
      return usageError("options '--quick' and '--shapes' exclude each other");
    return std::vector<bench::ProblemShape>{{501, 601, DType::F32},
                                            {1000, 1000, DType::F32}};
  }
  bool given = arguments.has("--shapes");
  StringRef file = given ? arguments.get("--shapes") : "transport.json";
  auto models =
      given ? readModelsFile(file) : readModels(bench::benchFile(file), file);
  if (!models)
    return models.takeError();
  auto problems = bench::problemShapes(*models);
  if (!problems)
    return withContext("shapes file '" + file + "'", problems.takeError());
  if (problems->empty())
    return usageError("shapes file '" + file +
                      "': there is nothing to measure");
  return problems;
}

static Expected<int> benchSinkhorn(const Arguments &arguments) {
  auto problems = readProblems(arguments);
  if (!problems)
    return problems.takeError();
  bool json = arguments.has("--json");
  StringRef path = arguments.get("--json");
  // Says now that the file cannot be written.
  auto output = OutputFile::open(path);
  if (!output)
    return output.takeError();

  auto device = bench::Device::open();
  if (!device)
    return device.takeError();
  auto write = [&](const bench::SinkhornReport &report) -> Error {
    auto file = OutputFile::open(path);
    if (!file)
      return file.takeError();
    return file->write(printJSON(bench::toJSON(report, **device)));
  };
  bool toStandardOutput = json && output->isStandardOutput();
  Progress progress;
  auto report = bench::measureSinkhorn(
      **device, *problems, progress,
      [&](const bench::SinkhornReport &report) -> Error {
        return json && !toStandardOutput ? write(report) : Error::success();
      });
  progress.clear();
  if (!report)
    return report.takeError();
  if (!toStandardOutput)
    bench::print(*report, **device);
  if (json)
    if (Error error = write(*report))
      return std::move(error);
  return any_of(report->rows, [](const bench::SinkhornRow &row) {
    return !row.failures.empty();
  });
}

/// Benchmarks, and the options that only they have.
static const struct {
  StringLiteral name;
  Expected<int> (*run)(const Arguments &arguments);
  SmallVector<StringRef, 2> options;
} benchmarks[] = {{"optimizers", benchOptimizers, {"--models", "--optimizers"}},
                  {"sinkhorn", benchSinkhorn, {"--quick"}}};

Expected<int> runBench(const Arguments &arguments) {
  for (const auto &benchmark : benchmarks) {
    if (arguments.operand() != benchmark.name)
      continue;
    for (const auto &other : benchmarks)
      for (StringRef option : other.options)
        if (other.name != benchmark.name && arguments.has(option))
          return usageError("option '" + option + "' belongs to heddle bench " +
                            other.name);
    return benchmark.run(arguments);
  }
  return usageError("heddle bench: there is no benchmark '" +
                    arguments.operand() + "'; expected optimizers or sinkhorn");
}

} // namespace heddle::cli
