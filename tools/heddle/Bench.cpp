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
#include "bench/Choices.h"
#include "bench/Report.h"
#include "bench/RowReport.h"
#include "bench/SinkhornListReport.h"
#include "bench/SinkhornReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

static const OptionSpec options[] = {
    {"--shapes", "FILE",
     "optimizers, tail, rows, programs: models, {\"MODEL\": [[dim, ...], "
     "...]}\n"
     "(default: a built-in copy of examples/shapes/models.json)\n"
     "sinkhorn: problems, {\"DTYPE\": [[rows, columns], ...]}\n"
     "(default: a built-in copy of examples/shapes/transport.json)"},
    {"--models", "A,B,...",
     "optimizers, tail, rows, programs: models to measure (default: all\n"
     "models of the file; for programs, whisper-small of the built-in copy)"},
    {"--sizes", "A,B,...",
     "lists of matrices to measure, instead of the models or problems of a\n"
     "file; each is [MEMBERSx]ROWSxCOLUMNS, or several of these joined by\n"
     "'+'; 17..401 in place of a number makes the members uneven"},
    {"--dtype", "A,B,...",
     "element types to measure: f32 (default), f64, bf16, f16\n"
     "optimizers, tail: also PARAMETERS/STATE, such as bf16/f32\n"
     "sinkhorn: with --sizes or --lists"},
    {"--optimizers", "A,B,...",
     "optimizers: any of adamw, sgd, clip_adamw (the default), and of the\n"
     "other optimizers, for which there is no kernel by hand"},
    {"--zeros", "",
     "optimizers, tail: gradients of 0, as of embeddings that a batch does not "
     "use"},
    {"--programs", "A,B,...",
     "rows: any of row_softmax, row_sums, column_sums, adafactor\n"
     "programs: files of FOLDER, without .mlir (default: all)"},
    {"--lists", "",
     "sinkhorn: measure lists of small problems, each list in one solve"},
    {"--quick", "", "sinkhorn: measure two small problems only"},
    {"--json", "[FILE]", "write JSON to FILE or to standard output"}};

static std::string details() {
  return R"(All benchmarks need a GPU. They compare heddle with hand-written kernels (test/bench/handwritten, compiled
by NVRTC) and with the floor: the time to move the necessary bytes at the copy bandwidth measured in the run.

  optimizers  AdamW, SGD with momentum, and clipping by the global norm with AdamW, over the parameters of real
              models. Takes three minutes. --optimizers also measures others beside the floor.
  tail        Everything after the gradients of a training step, over the parameters of real models: unscaling, the check,
              clipping, AdamW, the average of the parameters, zeroed gradients and the update of the scale; and
              clipping with AdamW alone.
  rows        Softmax of rows, sums of rows and of columns, over matrices with rows of 1 to 10^6 elements; and the
              optimizer Adafactor over the parameters of real models. With --sizes, --shapes or --models, each
              program is measured over the lists that these name.
  programs    All programs of FOLDER (.mlir files), over the parameters of a model. The floor is the time to read every
              argument and write every result once. --dtype replaces f32 in the lines '!element = f32' and, for f64,
              '!real = f32' of a program.
  sinkhorn    100 iterations of the program 'sinkhorn' over dense matrices; the floor is one read of the matrix
              per iteration. Also measures a solve that stops at its tolerance, the transport plan, and cold
              compilation. Takes one minute. The file of --json is updated after each problem. With --lists or
              --sizes, each solve has a list of problems, and only its time is measured.

examples:
  heddle bench optimizers --models resnet50,bert-large --optimizers adamw
  heddle bench optimizers --models whisper-small --dtype bf16,f16,bf16/f32,f64
  heddle bench optimizers --sizes 100000x1x64 --json=optimizers.json
  heddle bench tail --models ghostnet_100,gpt2-xl --json=tail.json
  heddle bench rows --programs row_softmax --sizes 1000000x3,100000x64,4096x4096
  heddle bench programs test/programs --dtype f32,bf16 --json=programs.json
  heddle bench sinkhorn --quick
  heddle bench sinkhorn --sizes 1024x100x100,255x100x100+3001x2003 --dtype f32,bf16

)" + describeEnvironment();
}

const CommandSpec benchCommand = {
    "bench",
    "optimizers|tail|rows|programs|sinkhorn",
    "Measure heddle, hand-written kernels and the floor side by side.",
    options,
    details,
    /*second=*/"FOLDER"};

static Error exclude(const Arguments &arguments, StringRef option,
                     ArrayRef<StringRef> others) {
  for (StringRef other : others)
    if (arguments.has(option) && arguments.has(other))
      return usageError("options '" + option + "' and '" + other +
                        "' cannot be combined");
  return Error::success();
}

/// The items of `all` that `option` names; all if it is absent.
template <typename T>
static Expected<std::vector<T>> chooseNamed(const Arguments &arguments,
                                            StringRef option, ArrayRef<T> all) {
  SmallVector<StringRef> known;
  for (const T &item : all)
    known.push_back(item.name);
  auto names = bench::readNames(arguments, option, known);
  if (!names)
    return names.takeError();
  std::vector<T> chosen;
  for (const T &item : all)
    if (names->empty() || is_contained(*names, item.name))
      chosen.push_back(item);
  return chosen;
}

/// Prints a report, or writes it to the file of --json.
template <typename Report>
static Error publish(const Arguments &arguments, OutputFile &output,
                     const Report &report, const bench::Device &device) {
  if (!arguments.has("--json") || !output.isStandardOutput())
    bench::print(report, device);
  if (!arguments.has("--json"))
    return Error::success();
  return output.write(printJSON(bench::toJSON(report, device)));
}

/// The lists of --sizes, or else the models of --shapes and --models.
static Expected<std::vector<Model>> readLists(const Arguments &arguments) {
  if (Error error = exclude(arguments, "--sizes", {"--shapes", "--models"}))
    return std::move(error);
  return arguments.has("--sizes") ? bench::readSizes(arguments)
                                  : bench::readChosenModels(arguments);
}

/// Measures the optimizers of --optimizers, or else those that `isDefault` has.
static Expected<int>
benchSteps(const Arguments &arguments,
           function_ref<bool(const bench::Optimizer &)> isDefault) {
  bench::OptimizerChoice choice;
  auto models = readLists(arguments);
  if (!models)
    return models.takeError();
  choice.models = std::move(*models);
  auto chosen = chooseNamed(arguments, "--optimizers", bench::optimizers());
  if (!chosen)
    return chosen.takeError();
  choice.optimizers = std::move(*chosen);
  if (!arguments.has("--optimizers"))
    erase_if(choice.optimizers, [&](const bench::Optimizer &optimizer) {
      return !isDefault(optimizer);
    });
  auto types = bench::readElementTypes(arguments);
  if (!types)
    return types.takeError();
  choice.types = std::move(*types);
  if (arguments.has("--zeros"))
    choice.gradients = bench::InitialGradients::zero;
  auto output = OutputFile::open(arguments.get("--json"));
  if (!output)
    return output.takeError();

  auto device = bench::Device::open();
  if (!device)
    return device.takeError();
  Progress progress;
  auto report = bench::measureOptimizers(**device, choice, progress);
  progress.clear();
  if (!report)
    return report.takeError();
  if (Error error = publish(arguments, *output, *report, **device))
    return std::move(error);
  return 0;
}

static Expected<int> benchOptimizers(const Arguments &arguments) {
  return benchSteps(arguments, [](const bench::Optimizer &optimizer) {
    return optimizer.isByHand;
  });
}

static Expected<int> benchTail(const Arguments &arguments) {
  return benchSteps(arguments, [](const bench::Optimizer &optimizer) {
    return optimizer.name == "tail" || optimizer.name == "clip_adamw";
  });
}

/// Measures programs and publishes the report.
static Expected<int> measurePrograms(const Arguments &arguments,
                                     StringRef benchmark,
                                     ArrayRef<bench::RowChoice> choices) {
  auto types = bench::readDTypes(arguments);
  if (!types)
    return types.takeError();
  auto output = OutputFile::open(arguments.get("--json"));
  if (!output)
    return output.takeError();

  auto device = bench::Device::open();
  if (!device)
    return device.takeError();
  Progress progress;
  auto report =
      bench::measureRows(**device, benchmark, choices, *types, progress);
  progress.clear();
  if (!report)
    return report.takeError();
  if (Error error = publish(arguments, *output, *report, **device))
    return std::move(error);
  return any_of(report->rows, [](const bench::RowTimes &row) {
    return !row.failures.empty();
  });
}

static Expected<int> benchRows(const Arguments &arguments) {
  auto lists = readLists(arguments);
  if (!lists)
    return lists.takeError();
  auto programs = chooseNamed(arguments, "--programs", bench::rowPrograms());
  if (!programs)
    return programs.takeError();
  bool named = arguments.has("--sizes") || arguments.has("--shapes") ||
               arguments.has("--models");
  std::vector<bench::RowChoice> choices;
  for (const bench::RowProgram &program : *programs)
    choices.push_back({program, named || program.overModels
                                    ? *lists
                                    : bench::defaultMatrices()});
  return measurePrograms(arguments, "rows", choices);
}

/// The model over which programs are measured by default: 240 M parameters.
static constexpr StringLiteral kModelOfPrograms = "whisper-small";

static Expected<int> benchPrograms(const Arguments &arguments) {
  auto all = bench::readPrograms(arguments.secondOperand());
  if (!all)
    return all.takeError();
  auto programs = chooseNamed(arguments, "--programs", ArrayRef(*all));
  if (!programs)
    return programs.takeError();
  auto lists = readLists(arguments);
  if (!lists)
    return lists.takeError();
  if (!arguments.has("--sizes") && !arguments.has("--shapes") &&
      !arguments.has("--models"))
    erase_if(*lists,
             [](const Model &model) { return model.name != kModelOfPrograms; });
  std::vector<bench::RowChoice> choices;
  for (const bench::RowProgram &program : *programs)
    choices.push_back({program, *lists});
  return measurePrograms(arguments, "programs", choices);
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

/// Measures problems one at a time, or lists of them; each has a report that is
/// written after every row.
template <typename Report>
static Expected<int>
publishRows(const Arguments &arguments,
            function_ref<Expected<Report>(bench::Device &, Progress &,
                                          function_ref<Error(const Report &)>)>
                measure) {
  bool json = arguments.has("--json");
  StringRef path = arguments.get("--json");
  // Fail before the measurements if the file cannot be written.
  auto output = OutputFile::open(path);
  if (!output)
    return output.takeError();

  auto device = bench::Device::open();
  if (!device)
    return device.takeError();
  auto write = [&](const Report &report) -> Error {
    auto file = OutputFile::open(path);
    if (!file)
      return file.takeError();
    return file->write(printJSON(bench::toJSON(report, **device)));
  };
  bool toStandardOutput = json && output->isStandardOutput();
  Progress progress;
  auto report = measure(**device, progress, [&](const Report &report) -> Error {
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
  return any_of(report->rows,
                [](const auto &row) { return !row.failures.empty(); });
}

static Expected<int> benchSinkhornLists(const Arguments &arguments) {
  for (StringRef option : {"--lists", "--sizes"})
    if (Error error = exclude(arguments, option, {"--quick", "--shapes"}))
      return std::move(error);
  if (Error error = exclude(arguments, "--lists", {"--sizes"}))
    return std::move(error);
  auto lists = bench::readSizes(arguments);
  if (!lists)
    return lists.takeError();
  if (lists->empty())
    *lists = bench::defaultProblemLists();
  auto types = bench::readDTypes(arguments);
  if (!types)
    return types.takeError();
  return publishRows<bench::SinkhornListReport>(
      arguments, [&](bench::Device &device, Progress &progress, auto measured) {
        return bench::measureSinkhornLists(device, *lists, *types, progress,
                                           measured);
      });
}

static Expected<int> benchSinkhorn(const Arguments &arguments) {
  if (arguments.has("--lists") || arguments.has("--sizes"))
    return benchSinkhornLists(arguments);
  if (arguments.has("--dtype"))
    return usageError("option '--dtype' of 'heddle bench sinkhorn' needs "
                      "'--sizes' or '--lists'; the file of '--shapes' names "
                      "the element types of its problems");
  auto problems = readProblems(arguments);
  if (!problems)
    return problems.takeError();
  return publishRows<bench::SinkhornReport>(
      arguments, [&](bench::Device &device, Progress &progress, auto measured) {
        return bench::measureSinkhorn(device, *problems, progress, measured);
      });
}

/// The benchmarks, and the options that do not apply to all of them.
static const struct {
  StringLiteral name;
  Expected<int> (*run)(const Arguments &arguments);
  SmallVector<StringRef, 3> options;
} benchmarks[] = {
    {"optimizers", benchOptimizers, {"--models", "--optimizers", "--zeros"}},
    {"tail", benchTail, {"--models", "--zeros"}},
    {"rows", benchRows, {"--models", "--programs"}},
    {"programs", benchPrograms, {"--models", "--programs"}},
    {"sinkhorn", benchSinkhorn, {"--quick", "--lists"}}};

/// Refuses options that apply to other benchmarks only.
static Error checkOptions(const Arguments &arguments, StringRef benchmark) {
  for (const OptionSpec &option : options) {
    SmallVector<std::string> owners;
    bool allowed = false;
    for (const auto &owner : benchmarks)
      if (is_contained(owner.options, option.name)) {
        owners.push_back(("'heddle bench " + owner.name + "'").str());
        allowed |= owner.name == benchmark;
      }
    if (!owners.empty() && !allowed && arguments.has(option.name))
      return usageError("option '" + option.name + "' applies only to " +
                        join(owners, " and "));
  }
  return Error::success();
}

Expected<int> runBench(const Arguments &arguments) {
  for (const auto &benchmark : benchmarks) {
    if (arguments.operand() != benchmark.name)
      continue;
    if (Error error = checkOptions(arguments, benchmark.name))
      return std::move(error);
    bool takesFolder = benchmark.name == "programs";
    if (takesFolder && arguments.secondOperand().empty())
      return usageError("'heddle bench programs' expects a folder of programs, "
                        "as in 'heddle bench programs FOLDER', found none");
    if (!takesFolder && !arguments.secondOperand().empty())
      return usageError("'heddle bench " + benchmark.name +
                        "' takes no folder, found '" +
                        arguments.secondOperand() + "'");
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
