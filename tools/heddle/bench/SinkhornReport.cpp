//===- SinkhornReport.cpp - the report of the Sinkhorn benchmark ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints times in milliseconds.
//
//===----------------------------------------------------------------------===//

#include "SinkhornReport.h"
#include "Conditions.h"

#include "runtime/heddle.hpp"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

static double ms(double seconds) { return seconds * 1e3; }

static json::Object conditions(const SinkhornReport &report,
                               const Device &device) {
  json::Object object = conditionsOf(device, report.copyBandwidth);
  object["protocol"] = kAdaptiveProtocol;
  object["compile_protocol"] =
      "median of 3; an empty cache and a source that is new to NVRTC; program: "
      "source to loaded cubin; class: from there to a graph prepared for the "
      "size class";
  object["problem"] = "costs uniform in [0, 1), equal weights, eps 0.05";
  object["iterations"] = kIterations;
  object["stop_tolerance"] = kTolerance;
  return object;
}

/// Returns the bytes per element and iteration that a copy moves in `seconds`.
static double bytesPerElement(const SinkhornRow &row, double seconds) {
  return dtypeSize(row.shape.dtype) * seconds / row.floor;
}

static json::Object rowToJSON(const SinkhornRow &row) {
  json::Object object{
      {"problem", row.shape.name()},
      {"program", row.program},
      {"rows", row.shape.rows},
      {"columns", row.shape.columns},
      {"dtype", dtypeName(row.shape.dtype)},
      {"fits", row.fits},
      {"bytes_per_element_and_iteration", dtypeSize(row.shape.dtype)},
      {"floor_ms", ms(row.floor)},
      {"launches", row.launches},
      {"failures", json::Array(row.failures)}};
  auto put = [&](const char *key, bool known, json::Value value) {
    if (known)
      object[key] = std::move(value);
  };
  bool generated = row.generated > 0, byHand = row.handwritten > 0;
  double loop = row.generated - row.overhead;
  put("panels", !row.panels.empty(), row.panels);
  put("heddle_ms", generated, ms(row.generated));
  put("heddle_loop_ms", generated, ms(loop));
  put("heddle_ratio", generated, row.generated / row.floor);
  put("heddle_loop_ratio", generated, loop / row.floor);
  put("heddle_bytes_per_element_and_iteration", generated,
      bytesPerElement(row, row.generated));
  put("heddle_iterations_per_second", generated, kIterations / row.generated);
  put("handwritten_ms", byHand, ms(row.handwritten));
  put("handwritten_ratio", byHand, row.handwritten / row.floor);
  put("handwritten_class", byHand, row.handwrittenClass);
  put("heddle_over_handwritten", generated && byHand,
      row.generated / row.handwritten);
  put("heddle_loop_over_handwritten", generated && byHand,
      loop / row.handwritten);
  put("stop_ms", row.stopping > 0, ms(row.stopping));
  put("stop_iterations", row.stopping > 0, row.iterations);
  put("stop_converged", row.stopping > 0, row.converged);
  put("handwritten_stop_iterations", row.handwrittenIterations > 0,
      row.handwrittenIterations);
  put("plan_ms", row.plan > 0, ms(row.plan));
  put("plan_floor_ms", row.plan > 0, ms(row.planFloor));
  put("plan_ratio", row.plan > 0, row.plan / row.planFloor);
  put("compile_program_ms", row.compileProgram > 0, ms(row.compileProgram));
  put("compile_class_ms", row.compileClass > 0, ms(row.compileClass));
  if (row.difference)
    object["difference_from_handwritten"] = *row.difference;
  if (row.sameBits)
    object["same_bits_every_replay"] = *row.sameBits;
  return object;
}

json::Object toJSON(const SinkhornReport &report, const Device &device) {
  json::Array rows;
  for (const SinkhornRow &row : report.rows)
    rows.push_back(rowToJSON(row));
  return json::Object{{"benchmark", "sinkhorn"},
                      {"heddle", heddle::version()},
                      {"conditions", conditions(report, device)},
                      {"rows", std::move(rows)},
                      {"skipped", json::Array(report.skipped)}};
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

static std::string number(double value, const char *format = "{0:f3}") {
  return value > 0 ? formatv(format, value).str() : "";
}

static std::string over(double time, double other) {
  return number(other > 0 ? time / other : 0);
}

void print(const SinkhornReport &report, const Device &device) {
  printConditions(device, report.copyBandwidth);
  outs()
      << kAdaptiveProtocol << "\n\n"
      << kIterations
      << " iterations; times in ms; x: time / floor; the floor is one read of "
         "the matrix per iteration\n"
         "loop: without the work before and after the iterations; B/element: "
         "bytes per element and iteration that a copy moves in the same time\n";
  cli::Table times({"problem", "fits", "floor", "heddle", "x", "loop",
                    "by hand", "x", "heddle/hand", "loop/hand", "iterations/s",
                    "B/element", "transport plan", "x"});
  cli::Table others({"problem", "iterations", "by hand", "solve ms",
                     "difference", "same bits", "compile program",
                     "compile class"});
  for (const SinkhornRow &row : report.rows) {
    double loop = row.generated > 0 ? row.generated - row.overhead : 0;
    times.add(
        {row.shape.name(), row.fits, number(ms(row.floor)),
         number(ms(row.generated)), over(row.generated, row.floor),
         number(ms(loop)), number(ms(row.handwritten)),
         over(row.handwritten, row.floor), over(row.generated, row.handwritten),
         over(loop, row.handwritten),
         number(row.generated > 0 ? kIterations / row.generated : 0, "{0:f0}"),
         number(row.generated > 0 ? bytesPerElement(row, row.generated) : 0,
                "{0:f2}"),
         number(ms(row.plan)), over(row.plan, row.planFloor)});
    others.add({row.shape.name(),
                row.stopping > 0 ? std::to_string(row.iterations) +
                                       (row.converged ? "" : ", not converged")
                                 : "",
                row.handwrittenIterations
                    ? std::to_string(row.handwrittenIterations)
                    : "",
                number(ms(row.stopping)),
                row.difference ? formatv("{0:e1}", *row.difference).str() : "",
                !row.sameBits   ? ""
                : *row.sameBits ? "yes"
                                : "no",
                number(ms(row.compileProgram), "{0:f0} ms"),
                number(ms(row.compileClass), "{0:f0} ms")});
  }
  times.print();
  outs() << "\na solve that stops at a tolerance of "
         << format("%g", kTolerance)
         << ": iterations of heddle and by hand, time of heddle\n"
            "difference: of the potentials from those by hand; same bits: in "
            "two replays; compile times: cold\n";
  others.print();
  outs() << '\n';
  for (const SinkhornRow &row : report.rows) {
    if (!row.panels.empty() || !row.handwrittenClass.empty())
      outs() << row.shape.name() << ": "
             << (row.panels.empty() ? "no panel schedule" : row.panels)
             << "; by hand: "
             << (row.handwrittenClass.empty() ? "none" : row.handwrittenClass)
             << '\n';
    for (const std::string &failure : row.failures)
      outs() << row.shape.name() << ": " << failure << '\n';
  }
  for (const std::string &reason : report.skipped)
    outs() << "skipped: " << reason << '\n';
}

} // namespace heddle::bench
