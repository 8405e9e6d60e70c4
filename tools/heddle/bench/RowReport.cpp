//===- RowReport.cpp - the report of the benchmark of rows ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints times in microseconds.
//
//===----------------------------------------------------------------------===//

#include "RowReport.h"
#include "Conditions.h"

#include "runtime/heddle.hpp"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

static double us(double seconds) { return seconds * 1e6; }

json::Object toJSON(const RowReport &report, const Device &device) {
  json::Object conditions = conditionsOf(device, report.copyBandwidth);
  conditions["protocol"] = kAdaptiveProtocol;
  conditions["memory"] = "one allocation per list with 16-byte aligned members";
  json::Array rows;
  for (const RowTimes &row : report.rows) {
    json::Object object{{"program", row.program},
                        {"input", row.input},
                        {"dtype", dtypeName(row.dtype)},
                        {"members", row.members},
                        {"elements", row.elements},
                        {"bytes", row.bytes},
                        {"floor_us", us(row.floor)},
                        {"heddle_launches", row.launches},
                        {"failures", json::Array(row.failures)}};
    if (row.generated > 0) {
      object["heddle_us"] = us(row.generated);
      object["heddle_ratio"] = row.generated / row.floor;
    }
    if (row.handwritten > 0) {
      object["handwritten_us"] = us(row.handwritten);
      object["handwritten_ratio"] = row.handwritten / row.floor;
      object["handwritten_class"] = row.handwrittenName;
      object["heddle_over_handwritten"] = row.generated / row.handwritten;
    }
    if (row.difference)
      object["difference_from_handwritten"] = *row.difference;
    rows.push_back(std::move(object));
  }
  return json::Object{{"benchmark", report.benchmark},
                      {"heddle", heddle::version()},
                      {"conditions", std::move(conditions)},
                      {"rows", std::move(rows)},
                      {"skipped", json::Array(report.skipped)}};
}

static std::string number(double value, const char *format) {
  return value > 0 ? formatv(format, value).str() : "";
}

/// A table of one program and its inputs, or of one input and its programs.
static void printTable(ArrayRef<RowTimes> rows, bool byInput) {
  outs() << '\n'
         << cli::paint(cli::Colour::bold,
                       byInput ? rows.front().input : rows.front().program)
         << ", " << dtypeName(rows.front().dtype) << '\n';
  bool byHand =
      any_of(rows, [](const RowTimes &row) { return row.handwritten > 0; });
  std::vector<std::string> header = {byInput ? "program" : "input",
                                     "members",
                                     "elements",
                                     "MB",
                                     "floor",
                                     "heddle",
                                     "x",
                                     "launches"};
  if (byHand)
    header.insert(header.end(), {"by hand", "x", "heddle/hand", "difference"});
  cli::Table table(header);
  for (const RowTimes &row : rows) {
    std::vector<std::string> cells = {
        byInput ? row.program : row.input,
        cli::grouped(row.members),
        cli::grouped(row.elements),
        formatv("{0:f1}", static_cast<double>(row.bytes) * 1e-6),
        formatv("{0:f1}", us(row.floor)),
        number(us(row.generated), "{0:f1}"),
        number(row.generated / row.floor, "{0:f3}"),
        std::to_string(row.launches)};
    if (byHand) {
      bool both = row.generated > 0 && row.handwritten > 0;
      cells.push_back(number(us(row.handwritten), "{0:f1}"));
      cells.push_back(number(row.handwritten / row.floor, "{0:f3}"));
      cells.push_back(
          number(both ? row.generated / row.handwritten : 0, "{0:f3}"));
      cells.push_back(row.difference ? formatv("{0:e1}", *row.difference).str()
                                     : "");
    }
    table.add(std::move(cells));
  }
  table.print();
}

void print(const RowReport &report, const Device &device) {
  printConditions(device, report.copyBandwidth);
  outs() << kAdaptiveProtocol
         << "\n\ntimes in us; MB: arguments and results, each moved once; "
            "floor: at the copy bandwidth; x: time / floor\n";
  // Many programs have one table for each input.
  bool byInput = report.benchmark == "programs";
  std::map<std::string, size_t> places; // of inputs, in their order
  for (const RowTimes &row : report.rows)
    places.try_emplace(row.input, places.size());
  auto titleOf = [&](const RowTimes &row) {
    return std::tuple(row.dtype, byInput ? places[row.input] : 0,
                      byInput ? "" : row.program);
  };
  std::vector<RowTimes> rows = report.rows;
  if (byInput)
    sort(rows, [&](const RowTimes &a, const RowTimes &b) {
      return std::pair(titleOf(a), a.program) <
             std::pair(titleOf(b), b.program);
    });
  for (ArrayRef<RowTimes> rest = rows; !rest.empty();) {
    size_t same = 0;
    while (same < rest.size() && titleOf(rest[same]) == titleOf(rest[0]))
      ++same;
    printTable(rest.take_front(same), byInput);
    rest = rest.drop_front(same);
  }
  outs() << '\n';
  for (const RowTimes &row : report.rows)
    for (const std::string &failure : row.failures)
      outs() << row.program << " of " << row.input << " in "
             << dtypeName(row.dtype) << ": " << failure << '\n';
  for (const std::string &reason : report.skipped)
    outs() << "skipped: " << reason << '\n';
}

} // namespace heddle::bench
