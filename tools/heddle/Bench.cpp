//===- Bench.cpp - heddle bench -------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures heddle, hand-written kernels and the floor in one run; bench/ has
// the benchmarks.
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
     "optimizers: models, {\"MODEL\": [[dim, ...], ...]}\n"
     "(default: a built-in copy of examples/shapes/models.json)\n"
     "sinkhorn: problems, {\"DTYPE\": [[rows, columns], ...]}\n"
     "(default: a built-in copy of examples/shapes/transport.json)"},
    {"--models", "A,B,...",
     "optimizers: models to measure (default: all models of the file)"},
    {"--optimizers", "A,B,...",
     "optimizers: any of adamw, sgd, clip_adamw (default: all)"},
    {"--quick", "", "sinkhorn: measure two small problems only"},
    {"--json", "[FILE]", "write JSON to FILE or to standard output"}};

static std::string details() {
  return R"(Both benchmarks need a GPU. They compare heddle with hand-written kernels (test/bench/handwritten, compiled
by NVRTC) and with the floor: the time to move the necessary bytes at the copy bandwidth measured in the run.

  optimizers  AdamW, SGD with momentum, and clipping by the global norm with AdamW, over the parameters of real
              models. Takes two minutes.
  sinkhorn    100 iterations of the program 'sinkhorn' over dense matrices; the floor is one read of the matrix
              per iteration. Also measures a solve that stops at its tolerance, the transport plan, and cold
              compilation. Takes one minute. The file of --json is updated after each problem.

examples:
  heddle bench optimizers --models resnet50,bert-large --optimizers adamw
  heddle bench optimizers --json=optimizers.json
  heddle bench sinkhorn --quick

)" + describeEnvironment();
}

const CommandSpec benchCommand = {
    "bench", "optimizers|sinkhorn",
    "Measure heddle, hand-written kernels and the floor side by side.", options,
    details};

/// Reads a comma-separated list of names, all of which must be in `known`.
static Expected<std::vector<StringRef>> readNames(const Arguments &arguments,
                                                  StringRef option,
                                                  ArrayRef<StringRef> known) {
  std::vector<StringRef> names;
  SmallVector<StringRef> words;
  arguments.get(option).split(words, ',', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    if (!is_contained(known, word))
      return usageError("option '" + option + "': unknown name '" + word + "'" +
                        suggestion(word, known) +
                        "\nNames: " + join(known, ", ") + ".");
    names.push_back(word);
  }
  if (arguments.has(option) && names.empty())
    return usageError("option '" + option +
                      "' expects names separated by commas, found none" +
                      "\nNames: " + join(known, ", ") + ".");
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
      return usageError(Twine(model.origin) +
                        ": expected shapes with elements to measure, found "
                        "none");
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
      return usageError("options '--quick' and '--shapes' cannot be combined");
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
    return usageError("shapes file '" + file + "': no problems to measure");
  return problems;
}

static Expected<int> benchSinkhorn(const Arguments &arguments) {
  auto problems = readProblems(arguments);
  if (!problems)
    return problems.takeError();
  bool json = arguments.has("--json");
  StringRef path = arguments.get("--json");
  // Fail before the measurements if the file cannot be written.
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

/// The benchmarks, and the options that apply to only one of them.
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
          return usageError("option '" + option +
                            "' applies only to 'heddle bench " + other.name +
                            "'");
    return benchmark.run(arguments);
  }
  SmallVector<StringRef> names;
  for (const auto &benchmark : benchmarks)
    names.push_back(benchmark.name);
  return usageError("'heddle bench' expects " + join(names, " or ") +
                    ", found '" + arguments.operand() + "'" +
                    suggestion(arguments.operand(), names) +
                    "\nTry 'heddle bench --help'.");
}

} // namespace heddle::cli
