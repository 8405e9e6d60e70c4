//===- RunReport.cpp - the report of heddle run ---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON object holds everything; the text omits values that say little about
// the program.
//
//===----------------------------------------------------------------------===//

#include "RunReport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace heddle::cli {

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
  return program.find('\n') == std::string::npos ? program : "standard input";
}

json::Value toJSON(const RunRequest &request, const RunReport &report) {
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
      {"program", json::fixUTF8(programName(request))},
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
                       {"checked", check.checked()},
                       {"constant", check.isConstant()},
                       {"holds", check.holds(request.allowUnchecked)},
                       {"rms_error_ulp", finite(check.rmsError())},
                       {"largest_share", finite(check.largestShare)},
                       {"outside", check.outside},
                       {"unknown", check.unknown},
                       {"not_numbers", check.notNumbers}});
    object["check"] =
        json::Object{{"holds", report.passed(request)},
                     {"nothing_compared", compareNothing(report.checks)},
                     {"results", std::move(checks)}};
  }
  return object;
}

static std::string shortNumber(double value) {
  std::string text;
  raw_string_ostream(text) << format(value < 1e6 ? "%.2f" : "%.1e", value);
  return text;
}

/// `3 of 10 elements are`, `1 of 1 element is`.
static std::string someOf(int64_t count, int64_t all, StringRef singular = "",
                          StringRef plural = "") {
  std::string text = formatv("{0} of {1} element{2}", grouped(count),
                             grouped(all), all == 1 ? "" : "s");
  StringRef verb = count == 1 ? singular : plural;
  return verb.empty() ? text : text + " " + verb.str();
}

/// Prints facts about a result that are not in the table.
static void printNotes(const ResultCheck &check) {
  if (check.outside) {
    const CheckedElement &wrong = check.wrong;
    outs() << formatv(
        "'{0}': {1} range; the first is element {2} of member {3}: {4}, "
        "expected {5} ({6} to {7})\n",
        check.name,
        someOf(check.outside, check.elements, "is outside of its",
               "are outside of their"),
        wrong.position, wrong.member, number(wrong.found), number(wrong.exact),
        number(wrong.low), number(wrong.high));
  }
  if (check.notNumbers)
    outs() << formatv("'{0}': {1} NaN, as expected\n", check.name,
                      someOf(check.notNumbers, check.elements, "is", "are"));
  if (check.unknown)
    outs() << formatv("'{0}': {1} may be anything, because rounding decides\n",
                      check.name, someOf(check.unknown, check.elements));
  if (check.isConstant() && !check.isFill && !std::isnan(check.firstExact))
    outs() << formatv("'{0}': all {1} elements are {2}, so the check says "
                      "little (--allow-unchecked accepts this)\n",
                      check.name,
                      grouped(check.elements - check.notNumbers) +
                          (check.notNumbers ? " other" : ""),
                      number(check.firstExact));
  else if (!check.isChecked())
    outs() << formatv("'{0}': {1} could be checked (--allow-unchecked accepts "
                      "this)\n",
                      check.name,
                      check.checked() == 0
                          ? "no element"
                          : "only " + someOf(check.checked(), check.elements));
}

static std::string verdict(const ResultCheck &check, bool allowUnchecked) {
  if (check.isEmpty())
    return "empty";
  if (check.holds(allowUnchecked))
    return paint(Colour::green, "passed");
  return paint(Colour::red, check.isChecked() ? "FAILED" : "UNCHECKED");
}

static void printChecks(const RunRequest &request, const RunReport &report) {
  outs() << formatv("\nerrors against the reference interpreter, after {0} "
                    "step{1}\n",
                    request.steps, request.steps == 1 ? "" : "s");
  Table table({"result", "checked elements", "RMS error",
               "largest share of a range", "check"});
  for (const ResultCheck &check : report.checks)
    table.add({check.name,
               grouped(check.checked()) + " of " + grouped(check.elements),
               shortNumber(check.rmsError()) + " ulp",
               shortNumber(check.largestShare),
               verdict(check, request.allowUnchecked)});
  table.print();
  for (const ResultCheck &check : report.checks)
    printNotes(check);
  if (any_of(report.checks,
             [](const ResultCheck &check) { return check.notNumbers > 0; }))
    for (const std::string &name : report.nanScalars)
      outs() << formatv("scalar argument '{0}' is NaN\n", name);
  if (compareNothing(report.checks))
    outs() << (report.passed(request)
                   ? paint(Colour::yellow, "nothing was compared")
                   : paint(
                         Colour::red,
                         "check failed: nothing was compared, because the "
                         "results are empty (--allow-unchecked accepts this)"))
           << '\n';
  else
    outs() << (report.passed(request) ? paint(Colour::green, "check passed")
                                      : paint(Colour::red, "check failed"))
           << '\n';
}

void print(const RunRequest &request, const RunReport &report) {
  const json::Object &explained = report.explained;
  bool onCpu = report.arch == "cpu";
  // Launches and bytes count one iteration of a loop; times are of the whole
  // loop.
  bool loops = *explained.getBoolean("loops");
  auto line = [](StringRef label, const Twine &text) {
    outs() << formatv("{0,-14} {1}\n", label, text.str());
  };
  line("program", programName(request));
  if (onCpu)
    line("target", "cpu" + Twine(request.settings.options.target.empty()
                                     ? " (no usable GPU found)"
                                     : ""));
  else
    line("target", report.arch + ", " +
                       *explained.getObject("bandwidth")->getString("source"));
  line("model",
       formatv("{0}: {1} member{2}, {3} element{4}", request.model,
               grouped(request.settings.shapes.size()),
               request.settings.shapes.size() == 1 ? "" : "s",
               grouped(request.elements), request.elements == 1 ? "" : "s"));
  line("steps", formatv("{0}, seed {1}", request.steps, request.settings.seed));
  line("compile time", duration(report.compileSeconds));
  line("launches", formatv("{0} per step, {1} sweep{2}{3}",
                           *explained.getInteger("launches"),
                           *explained.getInteger("sweeps"),
                           *explained.getInteger("sweeps") == 1 ? "" : "s",
                           loops ? " (one iteration of each loop)" : ""));
  line("traffic", formatv("{0:f1} B per element ({1:f1} B before fusion{2})",
                          *explained.getNumber("bytes_per_element"),
                          *explained.getNumber("bytes_per_element_unfused"),
                          loops ? "; one iteration of each loop" : ""));
  std::string rate;
  if (!loops)
    rate = formatv(", {0:f1} GB/s",
                   *explained.getNumber("bytes") / report.stepSeconds * 1e-9);
  line("time per step", duration(report.stepSeconds) + rate);
  double floor = *explained.getNumber("floor_us");
  if (!onCpu && !loops && floor > 0)
    line("floor",
         formatv(
             "{0:f1} us at {1:f0} GB/s; time / floor = {2:f3}", floor,
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
    printChecks(request, report);
}

} // namespace heddle::cli
