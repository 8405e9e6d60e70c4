//===- SinkhornListReport.cpp - the report about lists --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints times in milliseconds.
//
//===----------------------------------------------------------------------===//

#include "SinkhornListReport.h"
#include "Conditions.h"
#include "Sinkhorn.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

static double ms(double seconds) { return seconds * 1e3; }

static json::Object rowToJSON(const SinkhornListRow &row) {
  json::Object object{{"list", row.list},
                      {"program", row.program},
                      {"dtype", dtypeName(row.dtype)},
                      {"problems", row.problems},
                      {"elements", row.elements},
                      {"bytes", row.bytes},
                      {"floor_ms", ms(row.floor)},
                      {"launches", row.launches},
                      {"failures", json::Array(row.failures)}};
  if (row.generated > 0) {
    object["heddle_ms"] = ms(row.generated);
    object["heddle_ratio"] = row.generated / row.floor;
  }
  if (row.handwritten > 0) {
    object["handwritten_ms"] = ms(row.handwritten);
    object["handwritten_ratio"] = row.handwritten / row.floor;
    object["handwritten_class"] = row.handwrittenClass;
    if (row.generated > 0)
      object["heddle_over_handwritten"] = row.generated / row.handwritten;
  }
  if (row.difference)
    object["difference_from_handwritten"] = *row.difference;
  if (row.sameBits)
    object["same_bits_every_replay"] = *row.sameBits;
  return object;
}

json::Object toJSON(const SinkhornListReport &report, const Device &device) {
  json::Object conditions = conditionsOf(device, report.copyBandwidth);
  conditions["protocol"] = kAdaptiveProtocol;
  conditions["problem"] = "costs uniform in [0, 1), equal weights, eps 0.05";
  conditions["iterations"] = kIterations;
  json::Array rows;
  for (const SinkhornListRow &row : report.rows)
    rows.push_back(rowToJSON(row));
  return json::Object{{"benchmark", "sinkhorn lists"},
                      {"heddle", heddle::version()},
                      {"conditions", std::move(conditions)},
                      {"rows", std::move(rows)},
                      {"skipped", json::Array(report.skipped)}};
}

static std::string number(double value) {
  return value > 0 ? formatv("{0:f3}", value).str() : "";
}

static std::string over(double time, double other) {
  return number(other > 0 ? time / other : 0);
}

void print(const SinkhornListReport &report, const Device &device) {
  printConditions(device, report.copyBandwidth);
  outs() << kAdaptiveProtocol << "\n\n"
         << kIterations
         << " iterations of all problems of a list in one solve; times in ms; "
            "x: time / floor; MB: one read of every matrix per iteration; "
            "floor: at the copy bandwidth\n"
            "by hand: equal problems only, without stabilization; difference: "
            "of the potentials from those by hand; same bits: in two replays\n";
  cli::Table table({"list", "problems", "elements", "MB", "floor", "heddle",
                    "x", "by hand", "x", "heddle/hand", "difference",
                    "same bits"});
  for (const SinkhornListRow &row : report.rows)
    table.add({row.list + " " + dtypeName(row.dtype).str(),
               cli::grouped(row.problems), cli::grouped(row.elements),
               formatv("{0:f1}", row.bytes * 1e-6), number(ms(row.floor)),
               number(ms(row.generated)), over(row.generated, row.floor),
               number(ms(row.handwritten)), over(row.handwritten, row.floor),
               over(row.generated, row.handwritten),
               row.difference ? formatv("{0:e1}", *row.difference).str() : "",
               !row.sameBits   ? ""
               : *row.sameBits ? "yes"
                               : "no"});
  table.print();
  outs() << '\n';
  for (const SinkhornListRow &row : report.rows) {
    std::string name = row.list + " " + dtypeName(row.dtype).str();
    if (!row.handwrittenClass.empty())
      outs() << name << ": by hand: " << row.handwrittenClass << '\n';
    for (const std::string &failure : row.failures)
      outs() << name << ": " << failure << '\n';
  }
  for (const std::string &reason : report.skipped)
    outs() << "skipped: " << reason << '\n';
}

} // namespace heddle::bench
