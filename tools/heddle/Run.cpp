//===- Run.cpp - heddle run -----------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs steps of a program on data generated from a seed, and checks the
// results on request.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "OutputFile.h"
#include "RunReport.h"

#include "runtime/support/Text.h"

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <chrono>
#include <cmath>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

static const OptionSpec options[] = {
    {"--target", "TARGET",
     "cuda or cpu (default: cuda if a GPU is present, otherwise cpu)"},
    {"--shapes", "FILE[:MODEL]",
     "shapes of the members of every list: a JSON file\n"
     "{\"MODEL\": [[dim, ...], ...]} (default: ten small tensors)"},
    {"--dtype", "DTYPE",
     "element type of a standard program: f64, f32, f16 or bf16"},
    {"--steps", "N", "number of steps (default: 3)"},
    {"--seed", "N", "seed of the input data (default: 0)"},
    {"--set", "NAME=VALUE", "set a scalar argument; repeatable",
     /*repeatable=*/true},
    {"--data", "FILE.npz",
     "arrays of the arguments, a file of numpy.savez; their\n"
     "shapes take the place of --shapes"},
    {"--fill", "NAME=KIND",
     "contents of a list; KIND is a word below, or KIND:FACTOR;\n"
     "repeatable",
     /*repeatable=*/true},
    {"--check", "",
     "compare the results with the reference interpreter; exit\n"
     "with code 1 if an element is outside of its range"},
    {"--allow-unchecked", "",
     "let --check pass results that it cannot check: one number\n"
     "throughout, no elements, or less than a tenth of them\n"
     "checked, because the others are NaN or may be anything"},
    {"--json", "[FILE]", "write JSON to FILE or to standard output"}};

static std::string describeContents() {
  std::string text;
  for (const ContentsWord &word : contentsWords())
    text += formatv("  {0,-12} {1}\n", word.word, word.meaning);
  return text;
}

static std::string details() {
  return R"(PROGRAM is a .mlir file, '-' for standard input, or a standard program.

Input data:
  inputs (gradients, costs)  normal, standard deviation 1; new ones in every step
  parameters                 normal, standard deviation 0.02
  state                      the initial value that the program declares, or 0
  weights (vectors that are only read, with the initial value 1)
                             positive, with a sum of 1 in each member; new ones in every step
  scalar arguments           --set, else the default that the program declares, else 1 (integers: 8)

Each shape becomes one member of every list: flattened for lists of rank 1, with its leading dimensions
collapsed into rows for lists of rank 2, and as one value for lists of rank 0.

KIND of --fill, times FACTOR:
)" + describeContents() +
         R"(
FILE.npz of --data has, for each list without an initial value, the array NAME.0, NAME.1, ... of each member (or NAME,
if it has one member), in the list's element type; NAME also holds a scalar. The arrays are the same in every step.
Compressed files, and files with Python objects, are refused.

--check evaluates the same steps in the reference interpreter, in double precision and with the range of each element:
the values of all evaluations whose operations are within their documented accuracy. The check passes if every element
is in its range. In a loop whose ranges become wide, an element must also be as close to the exact one as perturbed
evaluations are, in which every operation is off by at least one unit in the last place. The check fails if it compares
next to nothing: a result of one number throughout, which is no constant of the program, or one of which nine tenths
are NaN or may be anything, or if all vectors and matrices of the results are empty. A check of adamw needs 160 bytes of host memory per parameter.

examples:
  heddle run adamw --shapes examples/shapes/models.json:resnet50 --check
  heddle run sgd:momentum=0.9,nesterov=true --target cpu --steps 100 --set lr=0.01
  heddle emit adamw --stage foreach > rule.mlir && heddle run rule.mlir --check
  heddle run sinkhorn --fill C=distances --set eps=0.01 --check
  heddle run sgd --data arrays.npz --check

)" + describePrograms();
}

const CommandSpec runCommand = {"run", "PROGRAM",
                                "Run steps of a program and check the results.",
                                options, details};

//===----------------------------------------------------------------------===//
// Reading the command line
//===----------------------------------------------------------------------===//

/// Reads all of `text` as a number. Refuses an exponent without digits, a
/// number beyond the range of a double, and an integer that a double does not
/// hold.
static std::optional<double> readNumber(StringRef text) {
  double value = 0;
  if (text.empty() || StringRef("eEpP+-").contains(text.back()) ||
      text.getAsDouble(value))
    return std::nullopt;
  if (std::isinf(value) && any_of(text, isDigit))
    return std::nullopt;
  APInt integer;
  StringRef digits =
      text.drop_while([](char c) { return c == '-' || c == '+'; });
  if (!digits.empty() && all_of(digits, isDigit) &&
      !digits.getAsInteger(10, integer) &&
      integer.getActiveBits() > 53 + integer.countr_zero())
    return std::nullopt;
  return value;
}

/// Checks that `setting` has a name before '='.
static Error requireName(StringRef option, StringRef form, StringRef setting) {
  if (!setting.starts_with("="))
    return Error::success();
  return usageError("option '" + option + "' expects " + form + ", found '" +
                    setting + "', which has no name before '='");
}

static Error readScalars(const Arguments &arguments,
                         std::map<std::string, double> &scalars) {
  for (StringRef setting : arguments.all("--set")) {
    auto [name, text] = setting.split('=');
    std::optional<double> value = readNumber(text);
    if (Error error = requireName("--set", "NAME=VALUE", setting))
      return error;
    if (!value)
      return usageError(
          "option '--set' expects NAME=VALUE with a numeric VALUE "
          "that double precision can hold, found '" +
          setting + "'");
    auto [place, isNew] = scalars.try_emplace(name.str(), *value);
    if (!isNew)
      return usageError("option '--set' sets '" + name + "' twice, found '" +
                        setting + "' after another value: give it once");
  }
  return Error::success();
}

/// Reads `NAME=KIND[:FACTOR]` of --fill.
static Error readContents(const Arguments &arguments,
                          std::map<std::string, Contents> &contents) {
  SmallVector<StringRef> words;
  for (const ContentsWord &word : contentsWords())
    words.push_back(word.word);
  for (StringRef setting : arguments.all("--fill")) {
    auto [name, text] = setting.split('=');
    auto [kind, factor] = text.split(':');
    const auto *word =
        find_if(contentsWords(),
                [&, kind = kind](const auto &w) { return w.word == kind; });
    if (Error error = requireName("--fill", "NAME=KIND", setting))
      return error;
    if (word == contentsWords().end())
      return usageError("option '--fill' expects NAME=KIND with one of " +
                        listed(words, "") + ", found '" + setting + "'" +
                        suggestion(kind, words));
    Contents chosen = word->contents;
    if (text.contains(':')) {
      std::optional<double> value = readNumber(factor);
      if (!value || !std::isfinite(*value))
        return usageError("option '--fill' expects NAME=KIND:FACTOR with a "
                          "finite number as FACTOR, found '" +
                          setting + "'");
      chosen.value *= *value;
    }
    if (!contents.try_emplace(name.str(), chosen).second)
      return usageError("option '--fill' names '" + name + "' twice, found '" +
                        setting + "' after another kind: give it once");
  }
  return Error::success();
}

static Expected<RunRequest> readRequest(const Arguments &arguments) {
  RunRequest request;
  StringRef target = arguments.get("--target");
  if (arguments.has("--target") && target != "cuda" && target != "cpu")
    return usageError("option '--target' expects cuda or cpu, found '" +
                      target + "'");
  request.settings.options.target = target.str();
  auto steps = arguments.integer("--steps", 3, 1);
  if (!steps)
    return steps.takeError();
  request.steps = *steps;
  auto seed = arguments.integer("--seed", 0, 0);
  if (!seed)
    return seed.takeError();
  request.settings.seed = *seed;
  if (Error error = readScalars(arguments, request.settings.scalars))
    return std::move(error);
  static const StringRef dtypes[] = {"f64", "f32", "f16", "bf16"};
  StringRef dtype = arguments.get("--dtype");
  if (arguments.has("--dtype") && !is_contained(dtypes, dtype))
    return usageError("option '--dtype' expects f64, f32, f16 or bf16, found "
                      "'" +
                      dtype + "'" + suggestion(dtype, dtypes));
  if (Error error = readContents(arguments, request.settings.contents))
    return std::move(error);
  request.settings.dataFile = arguments.get("--data").str();
  if (arguments.has("--data") && arguments.has("--shapes"))
    return usageError("options '--data' and '--shapes' cannot be combined: the "
                      "arrays have shapes");
  Model model = builtInModel();
  if (arguments.has("--shapes")) {
    auto read = readModel(arguments.get("--shapes"));
    if (!read)
      return read.takeError();
    model = std::move(*read);
  }
  request.model = model.name;
  request.elements = model.elements();
  request.settings.shapes = std::move(model.shapes);
  request.settings.origin = std::move(model.origin);
  request.check = arguments.has("--check");
  request.allowUnchecked = arguments.has("--allow-unchecked");
  if (request.allowUnchecked && !request.check)
    return usageError("option '--allow-unchecked' expects '--check', found "
                      "none: without it, no element is checked");
  auto program = readProgram(arguments.operand());
  if (!program)
    return program.takeError();
  request.settings.program = std::move(*program);
  if (arguments.has("--dtype")) {
    auto typed = withDType(request.settings.program, dtype);
    if (!typed)
      return typed.takeError();
    request.settings.program = std::move(*typed);
  }
  return request;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static Expected<ResultSummary> summarize(RunSession &session, size_t index) {
  const Plan &plan = session.getPlan();
  int number = plan.results[index].buffer;
  const PlanBuffer &buffer = plan.buffers[number];
  ResultSummary summary;
  summary.name = plan.results[index].name;
  summary.dtype = dtypeName(buffer.dtype).str();
  uint64_t hash = 0;
  auto add = [&](ArrayRef<char> bytes) {
    uint64_t parts[] = {
        hash,
        xxh3_64bits(ArrayRef<uint8_t>(
            reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()))};
    hash = xxh3_64bits(ArrayRef<uint8_t>(
        reinterpret_cast<const uint8_t *>(parts), sizeof(parts)));
  };
  if (buffer.kind == BufferKind::Scalar) {
    auto value = session.readScalar(index);
    if (!value)
      return value.takeError();
    summary.members = summary.elements = 1;
    summary.value = *value;
    add(ArrayRef<char>(reinterpret_cast<const char *>(&*value),
                       sizeof(double)));
  } else {
    summary.members = session.getShapes().of(number).size();
    summary.elements = session.getShapes().elementsOf(number);
    std::vector<double> elements;
    auto look = [&](ArrayRef<char> piece) {
      add(piece);
      elements.resize(piece.size() / dtypeSize(buffer.dtype));
      loadElements(buffer.dtype, piece.data(), elements.size(),
                   elements.data());
      for (double element : elements) {
        summary.notNumbers += std::isnan(element);
        if (summary.first.size() < ResultSummary::kShown)
          summary.first.push_back(element);
      }
    };
    for (int64_t member = 0; member < summary.members; ++member)
      if (Error error = session.readResult(index, member, look))
        return std::move(error);
  }
  summary.checksum = formatv("{0:x-16}", hash);
  return summary;
}

/// Runs the steps one by one and returns their median time.
static Expected<double> runSteps(RunSession &session, int64_t steps,
                                 Progress &progress) {
  heddle::Graph &graph = session.getGraph();
  if (Error error = toError(graph.prepare()))
    return std::move(error);
  std::vector<double> times;
  for (int64_t step = 0; step < steps; ++step) {
    progress.show("running step " + Twine(step + 1) + " of " + Twine(steps) +
                  " ...");
    if (Error error = session.beginStep(step))
      return std::move(error);
    auto begin = std::chrono::steady_clock::now();
    if (Error error = toError(graph.replay()))
      return std::move(error);
    if (Error error = toError(graph.synchronize()))
      return std::move(error);
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  return times[times.size() / 2];
}

static Expected<RunReport> execute(RunRequest &request, Progress &progress) {
  RunReport report;
  auto session = RunSession::create(request.settings, progress);
  if (!session)
    return session.takeError();
  if (!request.settings.dataFile.empty()) {
    Model model = {request.settings.dataFile, (*session)->getSettings().shapes,
                   ""};
    request.model = model.name;
    request.elements = model.elements();
    request.settings.shapes = std::move(model.shapes);
  }
  report.arch = (*session)->arch();
  report.compileSeconds = (*session)->getCompileSeconds();
  // The traffic does not depend on the GPU, but the floor does.
  auto explained =
      explain(request.settings.program, shapesToJSON(request.settings.shapes),
              {"cuda", (*session)->onCpu() ? "" : report.arch});
  if (!explained)
    return explained.takeError();
  report.explained = std::move(*explained);
  auto seconds = runSteps(**session, request.steps, progress);
  if (!seconds)
    return seconds.takeError();
  report.stepSeconds = *seconds;
  const Plan &plan = (*session)->getPlan();
  for (size_t index = 0; index < plan.results.size(); ++index) {
    progress.show("reading result '" + plan.results[index].name + "' ...");
    auto summary = summarize(**session, index);
    if (!summary)
      return summary.takeError();
    report.results.push_back(std::move(*summary));
  }
  for (const auto &[name, value] : (*session)->getScalars())
    if (std::isnan(value))
      report.nanScalars.push_back(name);
  if (request.check) {
    auto checks = checkResults(**session, request.settings.program,
                               request.steps, progress);
    if (!checks)
      return checks.takeError();
    report.checks = std::move(*checks);
  }
  // Timing replays the program, which changes its state, so it comes last.
  if (!(*session)->onCpu()) {
    progress.show("timing replays ...");
    auto measured = toExpected((*session)->getGraph().measure());
    if (!measured)
      return measured.takeError();
    report.stepSeconds = *measured;
  }
  return report;
}

Expected<int> runRun(const Arguments &arguments) {
  auto request = readRequest(arguments);
  if (!request)
    return request.takeError();
  auto output = OutputFile::open(arguments.get("--json"));
  if (!output)
    return output.takeError();
  Progress progress;
  auto report = execute(*request, progress);
  progress.clear();
  if (!report)
    return report.takeError();
  if (arguments.has("--json")) {
    if (report->arch == "cpu" && request->settings.options.target.empty())
      errs() << "heddle: note: no usable GPU found; used the cpu target\n";
    if (Error error = output->write(printJSON(toJSON(*request, *report))))
      return std::move(error);
  } else {
    print(*request, *report);
  }
  return report->passed(*request) ? 0 : 1;
}

} // namespace heddle::cli
