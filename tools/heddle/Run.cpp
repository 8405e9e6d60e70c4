//===- Run.cpp - heddle run -----------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of a program on data made from a seed, and whether they are right.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "OutputFile.h"
#include "RunCheck.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <chrono>
#include <cmath>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

static const OptionSpec options[] = {
    {"--target", "TARGET",
     "cuda or cpu (default: cuda where there is a GPU, else cpu)"},
    {"--shapes", "FILE[:MODEL]",
     "one member of every list for each entry of a JSON file\n"
     "{\"MODEL\": [[dim, ...], ...]} (default: a small ragged list)"},
    {"--dtype", "DTYPE",
     "f64, f32, f16 or bf16: the dtype of a standard program's lists"},
    {"--steps", "N", "steps to run (default 3)"},
    {"--seed", "N", "the seed of the data (default 0)"},
    {"--set", "NAME=VALUE", "value of a scalar argument; may be repeated"},
    {"--check", "",
     "compare with the reference interpreter; exit code 1 if\n"
     "the error is larger than it may be"},
    {"--json", "[FILE]", "JSON, to FILE or to standard output"}};

static std::string details() {
  return R"(Lists are filled from the seed: gradients and other inputs like N(0, 1), parameters like 0.02 N(0, 1), state
with what the program says, or 0. Scalars have their defaults; one without a default is 1 (8 where it is an
integer). A list of rank 1 takes each entry flattened, one of rank 2 with its leading dimensions collapsed
into rows, one of rank 0 holds one value per member.

--check evaluates the same steps in the reference interpreter, in double precision and as a plain float32
evaluation would. Errors are printed in units of the plain evaluation's RMS error; the check holds where the
RMS error of every result is at most 1.5 of them. Where the program loops, the unit is at least what a unit
in the last place of its operations makes; of loops in panels on a GPU it may be 8. It takes about 80 bytes
of memory per parameter.

examples:
  heddle run adamw --shapes examples/shapes/models.json:resnet50 --check
  heddle run sgd:momentum=0.9,nesterov=true --target cpu --steps 100
  heddle run clip_by_global_norm+adamw --dtype bf16 --set lr=0.01 --json
  heddle emit adamw --stage foreach > rule.mlir && heddle run rule.mlir --check

)" + describePrograms();
}

const CommandSpec runCommand = {"run", "PROGRAM",
                                "Runs steps of a program, and checks them.",
                                options, details};

//===----------------------------------------------------------------------===//
// Reading the command line
//===----------------------------------------------------------------------===//

namespace {
struct RunRequest {
  RunSession::Settings settings;
  std::string model;
  int64_t steps = 0, elements = 0;
  bool check = false;
};
} // namespace

static Error readScalars(const Arguments &arguments,
                         std::map<std::string, double> &scalars) {
  for (StringRef setting : arguments.all("--set")) {
    auto [name, text] = setting.split('=');
    double value = 0;
    if (name.empty() || text.empty() || text.getAsDouble(value))
      return usageError("option '--set' expects NAME=VALUE with a number, "
                        "found '" +
                        setting + "'");
    scalars[name.str()] = value;
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
  request.check = arguments.has("--check");
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

namespace {
struct ResultSummary {
  std::string name, dtype;
  int64_t members = 0, elements = 0;
  std::string checksum;
  std::optional<double> value; ///< of a scalar
  /// Of a list the first elements, no more than are shown, and how many are
  /// NaN.
  std::vector<double> first;
  int64_t notNumbers = 0;

  /// A few elements say more than their checksum.
  static constexpr size_t kShown = 4;
  std::string shown() const;
};

struct RunReport {
  std::string arch;
  double compileSeconds = 0, stepSeconds = 0;
  json::Object explained;
  std::vector<ResultSummary> results;
  std::vector<ResultCheck> checks;

  bool holds() const {
    return all_of(checks, [](const ResultCheck &c) { return c.holds(); });
  }
};
} // namespace

static std::string number(double value) {
  std::string text;
  raw_string_ostream(text) << format("%.9g", value);
  return text;
}

std::string ResultSummary::shown() const {
  if (value)
    return number(*value);
  if (elements == 0 || elements > static_cast<int64_t>(kShown))
    return checksum + (notNumbers > 0
                           ? formatv(", {0} NaN", grouped(notNumbers)).str()
                           : "");
  std::string text;
  for (double element : first)
    text += (text.empty() ? "" : " ") + number(element);
  return text;
}

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

/// Runs the steps one by one; their median time.
static Expected<double> runSteps(RunSession &session, int64_t steps,
                                 Progress &progress) {
  heddle::Graph &graph = session.getGraph();
  if (Error error = toError(graph.prepare()))
    return std::move(error);
  std::vector<double> times;
  for (int64_t step = 0; step < steps; ++step) {
    progress.show("step " + Twine(step + 1) + " of " + Twine(steps) + " ...");
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

static Expected<RunReport> execute(const RunRequest &request,
                                   Progress &progress) {
  RunReport report;
  auto session = RunSession::create(request.settings, progress);
  if (!session)
    return session.takeError();
  report.arch = (*session)->arch();
  report.compileSeconds = (*session)->getCompileSeconds();
  // The traffic is the program's; the floor is that of the GPU it ran on.
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
    progress.show("reading '" + plan.results[index].name + "' ...");
    auto summary = summarize(**session, index);
    if (!summary)
      return summary.takeError();
    report.results.push_back(std::move(*summary));
  }
  if (request.check) {
    auto checks = checkResults(**session, request.settings.program,
                               request.steps, progress);
    if (!checks)
      return checks.takeError();
    report.checks = std::move(*checks);
  }
  // Timed last: it changes the state.
  if (!(*session)->onCpu()) {
    progress.show("timing ...");
    auto measured = toExpected((*session)->getGraph().measure());
    if (!measured)
      return measured.takeError();
    report.stepSeconds = *measured;
  }
  return report;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static json::Value finite(double number) {
  if (std::isfinite(number))
    return number;
  return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

static std::string programName(const RunRequest &request) {
  const std::string &program = request.settings.program;
  return program.find('\n') == std::string::npos ? program : "module text";
}

static json::Value toJSON(const RunRequest &request, const RunReport &report) {
  bool onCpu = report.arch == "cpu";
  json::Array results;
  for (const ResultSummary &result : report.results) {
    json::Object object{{"name", result.name},
                        {"dtype", result.dtype},
                        {"members", result.members},
                        {"elements", result.elements},
                        {"checksum", result.checksum}};
    if (result.value)
      object["value"] = finite(*result.value);
    else
      object["not_numbers"] = result.notNumbers;
    results.push_back(std::move(object));
  }
  json::Object object{
      {"program", programName(request)},
      {"target", onCpu ? "cpu" : "cuda"},
      {"arch", report.arch},
      {"model", request.model},
      {"members", static_cast<int64_t>(request.settings.shapes.size())},
      {"parameters", request.elements},
      {"steps", request.steps},
      {"seed", static_cast<int64_t>(request.settings.seed)},
      {"launches", *report.explained.getInteger("launches")},
      {"sweeps", *report.explained.getInteger("sweeps")},
      {"bytes_per_element", *report.explained.getNumber("bytes_per_element")},
      {"compile_ms", report.compileSeconds * 1e3},
      {"step_us", report.stepSeconds * 1e6},
      {"results", std::move(results)}};
  if (!onCpu) {
    double floor = *report.explained.getNumber("floor_us");
    object["floor_us"] = floor;
    object["ratio_to_floor"] =
        floor > 0 ? finite(report.stepSeconds * 1e6 / floor) : nullptr;
  }
  if (request.check) {
    json::Array checks;
    for (const ResultCheck &check : report.checks)
      checks.push_back(
          json::Object{{"name", check.name},
                       {"elements", check.elements},
                       {"holds", check.holds()},
                       {"bound", check.bound},
                       {"largest_error", finite(check.largest())},
                       {"rms_ratio", finite(check.ratio())},
                       {"rms_error", finite(check.rmsError)},
                       {"plain_rms_error", finite(check.plainRmsError)},
                       {"different_from_plain", check.different}});
    object["check"] =
        json::Object{{"holds", report.holds()}, {"results", std::move(checks)}};
  }
  return object;
}

static void printChecks(const RunReport &report) {
  outs() << "\nagainst the reference interpreter, in units of the RMS error of "
            "a plain evaluation\n";
  Table table({"result", "largest error", "RMS error", "bound",
               "unlike the plain evaluation", ""});
  for (const ResultCheck &check : report.checks)
    table.add({check.name, formatv("{0:f2}", check.largest()),
               formatv("{0:f3}", check.ratio()), formatv("{0:f1}", check.bound),
               formatv("{0} of {1}", grouped(check.different),
                       grouped(check.elements)),
               check.holds() ? paint(Colour::green, "holds")
                             : paint(Colour::red, "FAILS")});
  table.print();
  for (const ResultCheck &check : report.checks)
    if (check.notNumbers)
      outs() << formatv(
          "{0} of {1} elements of '{2}' are NaN, which agrees only "
          "with NaN\n",
          grouped(check.notNumbers), grouped(check.elements), check.name);
  outs() << (report.holds() ? paint(Colour::green, "check passed")
                            : paint(Colour::red, "check failed"))
         << '\n';
}

static void printReport(const RunRequest &request, const RunReport &report) {
  const json::Object &explained = report.explained;
  bool onCpu = report.arch == "cpu";
  auto line = [](StringRef what, const Twine &text) {
    outs() << formatv("{0,-14} {1}\n", what, text.str());
  };
  line("program", programName(request));
  if (onCpu)
    line("target", "cpu" + Twine(request.settings.options.target.empty()
                                     ? ", as there is no GPU that can be used"
                                     : ""));
  else
    line("target", report.arch + ", " +
                       *explained.getObject("bandwidth")->getString("source"));
  line("model", formatv("{0}: {1} members, {2} parameters", request.model,
                        grouped(request.settings.shapes.size()),
                        grouped(request.elements)));
  line("steps", formatv("{0}, seed {1}", request.steps, request.settings.seed));
  line("compiled in", duration(report.compileSeconds));
  line("launches",
       formatv("{0} per step, {1} sweep{2}", *explained.getInteger("launches"),
               *explained.getInteger("sweeps"),
               *explained.getInteger("sweeps") == 1 ? "" : "s"));
  double bytes = *explained.getNumber("bytes");
  line("traffic", formatv("{0:f1} B per element ({1:f1} before fusion)",
                          *explained.getNumber("bytes_per_element"),
                          *explained.getNumber("bytes_per_element_unfused")));
  line("time per step",
       formatv("{0}, {1:f1} GB/s", duration(report.stepSeconds),
               bytes / report.stepSeconds * 1e-9));
  double floor = *explained.getNumber("floor_us");
  if (!onCpu && floor > 0)
    line("floor",
         formatv(
             "{0:f1} us at {1:f0} GB/s; ratio {2:f3}", floor,
             *explained.getObject("bandwidth")->getNumber("bytes_per_second") *
                 1e-9,
             report.stepSeconds * 1e6 / floor));
  outs() << '\n';
  Table table({"result", "dtype", "members", "elements", "checksum or values"});
  for (const ResultSummary &result : report.results)
    table.add({result.name, result.dtype, grouped(result.members),
               grouped(result.elements), result.shown()});
  table.print();
  if (request.check)
    printChecks(report);
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
      errs() << "heddle: there is no GPU that can be used: ran on the cpu "
                "target\n";
    if (Error error = output->write(printJSON(toJSON(*request, *report))))
      return std::move(error);
  } else {
    printReport(*request, *report);
  }
  return report->holds() ? 0 : 1;
}

} // namespace heddle::cli
