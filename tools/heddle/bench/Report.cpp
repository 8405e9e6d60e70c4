//===- Report.cpp - the report of the optimizer benchmark -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints times in microseconds.
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "Conditions.h"

#include "runtime/heddle.hpp"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

static json::Object conditions(const OptimizerReport &report,
                               const Device &device) {
  json::Object object = conditionsOf(device, report.copyBandwidth);
  object["protocol"] = kProtocol;
  object["compile_protocol"] =
      "program to loaded cubin, median of 5, after NVRTC's first compilation "
      "and the creation of the CUDA context; cold: an empty cache and a source "
      "that is new to NVRTC; warm: a cache hit";
  object["memory"] = "one allocation per kind of list with 16-byte aligned "
                     "members, shared by all candidates";
  object["gradients"] =
      report.gradients == InitialGradients::zero ? "zero" : "random";
  return object;
}

static json::Object rowToJSON(const OptimizerRow &row) {
  auto us = [](double seconds) { return seconds * 1e6; };
  json::Object object{
      {"optimizer", row.optimizer},
      {"program", row.program},
      {"model", row.model},
      {"dtype", row.types.name()},
      {"tensors", row.tensors},
      {"parameters", row.parameters},
      {"bytes_per_parameter", row.bytesPerParameter},
      {"floor_us", us(row.floor)},
      {"heddle_us", us(row.generated)},
      {"heddle_ratio", row.generated / row.floor},
      {"heddle_set_lr_us", us(row.generatedSet)},
      {"heddle_set_lr_ratio", row.generatedSet / row.floor},
      {"heddle_launches", row.launches},
      {"heddle_host_us", us(row.host)},
      {"heddle_rebind_us", us(row.rebind)},
      {"heddle_host_same_gradients_us", us(row.gradients.hostSame)},
      {"heddle_host_new_gradients_us", us(row.gradients.hostNew)},
      {"heddle_host_set_lr_us", us(row.gradients.hostSet)},
      {"heddle_bound_gradients_us", us(row.gradients.deviceSame)},
      {"heddle_new_gradients_us", us(row.gradients.deviceNew)}};
  if (row.handwritten > 0) {
    object["handwritten_us"] = us(row.handwritten);
    object["handwritten_ratio"] = row.handwritten / row.floor;
    object["handwritten_entry"] = row.handwrittenName;
    object["handwritten_launches"] = row.handwrittenLaunches;
    object["heddle_over_handwritten"] = row.generated / row.handwritten;
  }
  if (row.multiTensorApply > 0) {
    object["multi_tensor_apply_us"] = us(row.multiTensorApply);
    object["multi_tensor_apply_ratio"] = row.multiTensorApply / row.floor;
    object["multi_tensor_apply_launches"] = row.multiTensorApplyLaunches;
  }
  if (row.sameBits)
    object["same_bits_as_handwritten"] = *row.sameBits;
  return object;
}

json::Object toJSON(const OptimizerReport &report, const Device &device) {
  json::Array rows, compileTimes;
  for (const OptimizerRow &row : report.rows)
    rows.push_back(rowToJSON(row));
  for (const CompileTime &time : report.compileTimes)
    compileTimes.push_back(json::Object{{"program", time.program},
                                        {"cold_ms", time.cold * 1e3},
                                        {"warm_ms", time.warm * 1e3}});
  json::Object counters;
  for (const auto &[change, changes] : report.counters) {
    json::Object object;
    for (const auto &[name, value] : changes)
      object[name] = static_cast<int64_t>(value);
    counters[change] = std::move(object);
  }
  return json::Object{{"benchmark", "optimizers"},
                      {"heddle", heddle::version()},
                      {"conditions", conditions(report, device)},
                      {"rows", std::move(rows)},
                      {"compile", std::move(compileTimes)},
                      {"rises_when_changing", std::move(counters)},
                      {"skipped", json::Array(report.skipped)}};
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static std::string us(double seconds) {
  return formatv("{0:f1}", seconds * 1e6);
}

static std::string ratio(double time, double floor) {
  return formatv("{0:f3}", time / floor);
}

/// Steps that bind gradients before each replay.
static void printGradients(ArrayRef<const OptimizerRow *> rows) {
  outs() << "gradients bound before every replay; times in us\n"
            "host: host time of binding and replay, with the same or new "
            "addresses, or lr set; device: gradients stay bound (two graphs in "
            "turn, if L2 may hold gradients); new: one graph, bound to two "
            "sets of gradients in turn\n";
  cli::Table table({"model", "tensors", "host, same", "host, new",
                    "host, lr set", "device", "device, new", "difference"});
  for (const OptimizerRow *row : rows) {
    const GradientTimes &times = row->gradients;
    table.add({row->model, std::to_string(row->tensors), us(times.hostSame),
               us(times.hostNew), us(times.hostSet), us(times.deviceSame),
               us(times.deviceNew), us(times.deviceNew - times.deviceSame)});
  }
  table.print();
}

static void printProgram(const OptimizerReport &report, StringRef program) {
  std::vector<const OptimizerRow *> rows;
  for (const OptimizerRow &row : report.rows)
    if (row.program == program)
      rows.push_back(&row);
  outs() << '\n'
         << cli::paint(cli::Colour::bold, program) << ", "
         << rows.front()->bytesPerParameter
         << " B per parameter; times in us; x: time / floor\n"
            "lr set: a new learning rate before every replay; host: host time "
            "of a replay; rebind: time to change all pointers; same bits: as "
            "by hand\n";
  bool other = rows.front()->multiTensorApply > 0;
  bool isByHand = rows.front()->handwritten > 0;
  std::vector<std::string> header = {"model",  "tensors", "params",   "floor",
                                     "heddle", "x",       "x, lr set"};
  if (isByHand)
    header.insert(header.end(), {"by hand", "x", "heddle/hand"});
  if (other)
    header.insert(header.end(), {"multi-tensor-apply", "x"});
  header.insert(header.end(), {"launches", "host", "rebind", "same bits"});
  cli::Table table(header);
  for (const OptimizerRow *row : rows) {
    std::vector<std::string> cells = {
        row->model,
        std::to_string(row->tensors),
        formatv("{0:f1} M", static_cast<double>(row->parameters) * 1e-6),
        us(row->floor),
        us(row->generated),
        ratio(row->generated, row->floor),
        ratio(row->generatedSet, row->floor)};
    if (isByHand) {
      cells.push_back(us(row->handwritten));
      cells.push_back(ratio(row->handwritten, row->floor));
      cells.push_back(ratio(row->generated, row->handwritten));
    }
    if (other) {
      cells.push_back(us(row->multiTensorApply));
      cells.push_back(ratio(row->multiTensorApply, row->floor));
    }
    cells.push_back(std::to_string(row->launches));
    cells.push_back(us(row->host));
    cells.push_back(us(row->rebind));
    cells.push_back(!row->sameBits ? "" : *row->sameBits ? "yes" : "no");
    table.add(std::move(cells));
  }
  table.print();
  outs() << '\n';
  printGradients(rows);
}

void print(const OptimizerReport &report, const Device &device) {
  printConditions(device, report.copyBandwidth);
  outs() << kProtocol << '\n';
  if (report.gradients == InitialGradients::zero)
    outs() << "gradients and moments of zero\n";
  SetVector<StringRef> programs;
  for (const Optimizer &optimizer : optimizers())
    for (const OptimizerRow &row : report.rows)
      if (row.optimizer == optimizer.name)
        programs.insert(row.program);
  for (StringRef program : programs)
    printProgram(report, program);
  outs() << '\n';
  cli::Table times({"compilation", "cold", "warm"});
  for (const CompileTime &time : report.compileTimes)
    times.add({time.program, formatv("{0:f0} ms", time.cold * 1e3),
               formatv("{0:f1} ms", time.warm * 1e3)});
  times.print();
  outs() << '\n';
  cli::Table counters({"change of", "compilations", "graph instantiations"});
  for (const auto &[change, changes] : report.counters)
    counters.add({change, std::to_string(changes.at("compilations")),
                  std::to_string(changes.at("graph_instantiations"))});
  counters.print();
  for (const std::string &reason : report.skipped)
    outs() << "skipped: " << reason << '\n';
}

} // namespace heddle::bench
