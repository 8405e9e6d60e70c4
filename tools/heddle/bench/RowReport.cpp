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
    rows.push_back(std::move(object));
  }
  return json::Object{{"benchmark", "rows"},
                      {"heddle", heddle::version()},
                      {"conditions", std::move(conditions)},
                      {"rows", std::move(rows)},
                      {"skipped", json::Array(report.skipped)}};
}

static void printTable(ArrayRef<RowTimes> rows) {
  outs() << '\n'
         << cli::paint(cli::Colour::bold, rows.front().program) << ", "
         << dtypeName(rows.front().dtype) << '\n';
  cli::Table table({"input", "members", "elements", "MB", "floor", "heddle",
                    "x", "launches"});
  for (const RowTimes &row : rows) {
    bool measured = row.generated > 0;
    table.add(
        {row.input, cli::grouped(row.members), cli::grouped(row.elements),
         formatv("{0:f1}", static_cast<double>(row.bytes) * 1e-6),
         formatv("{0:f1}", us(row.floor)),
         measured ? formatv("{0:f1}", us(row.generated)).str() : "",
         measured ? formatv("{0:f3}", row.generated / row.floor).str() : "",
         std::to_string(row.launches)});
  }
  table.print();
}

void print(const RowReport &report, const Device &device) {
  printConditions(device, report.copyBandwidth);
  outs() << kAdaptiveProtocol
         << "\n\ntimes in us; MB: arguments and results, each moved once; "
            "floor: at the copy bandwidth; x: time / floor\n";
  for (ArrayRef<RowTimes> rest = report.rows; !rest.empty();) {
    size_t same = 0;
    while (same < rest.size() && rest[same].program == rest[0].program &&
           rest[same].dtype == rest[0].dtype)
      ++same;
    printTable(rest.take_front(same));
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
