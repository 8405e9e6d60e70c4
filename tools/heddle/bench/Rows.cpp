//===- Rows.cpp - the benchmark of programs over rows ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A failure is noted in its row and the benchmark continues.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "BenchFiles.h"
#include "BoundLists.h"
#include "Sizes.h"

#include "../Support.h"
#include "codegen/compiler/CopyBandwidth.h"

#include <algorithm>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

ArrayRef<RowProgram> rowPrograms() {
  static const RowProgram all[] = {{"row_softmax", false},
                                   {"row_sums", false},
                                   {"column_sums", false},
                                   {"adafactor", true}};
  return all;
}

std::string RowProgram::text(DType dtype) const {
  std::string module = benchFile((name + ".mlir").str()).str();
  auto replace = [&](StringRef line, DType with) {
    size_t at = module.find(line);
    assert(at != std::string::npos && "the program declares the type");
    module.replace(at, line.size(),
                   (line.drop_back(3) + dtypeName(with)).str());
  };
  replace("!element = f32", dtype);
  replace("!real    = f32", dtype == DType::F64 ? dtype : DType::F32);
  return module;
}

std::vector<cli::Model> defaultMatrices() {
  constexpr int64_t elements = 1 << 24;
  std::vector<std::string> sizes;
  for (int64_t width :
       {1, 3, 10, 30, 100, 300, 1000, 3000, 10'000, 100'000, 1'000'000})
    sizes.push_back(formatv("{0}x{1}", elements / width, width));
  for (StringRef goal : {"1000000x3", "100000x64", "4096x4096", "8x1000000"})
    sizes.push_back(goal.str());
  std::vector<cli::Model> matrices;
  for (StringRef word : sizes)
    matrices.push_back(cantFail(parseSizes(word)));
  return matrices;
}

static Error measure(Device &device, Generated &generated,
                     const cli::Model &input, RowTimes &row) {
  auto lists = BoundLists::create(device, generated, input.shapes);
  if (!lists)
    return lists.takeError();
  if (Error error = generated.prepare())
    return error;
  for (int round = 0; round < 2; ++round) {
    auto seconds = device.timeAdaptively([&] { return generated.replay(); });
    if (!seconds)
      return seconds.takeError();
    row.generated = round == 0 ? *seconds : std::min(row.generated, *seconds);
  }
  return device.synchronize();
}

/// Measures a program with one element type on all inputs.
static Error measureProgram(Device &device, const RowChoice &choice,
                            DType dtype, cli::Progress &progress,
                            RowReport &report) {
  auto note = [](RowTimes &row, Error error) {
    if (error)
      row.failures.push_back(json::fixUTF8(takeError(std::move(error)).second));
  };
  auto generated = Generated::create(device, choice.program.text(dtype));
  std::string failure;
  if (!generated)
    failure = toString(generated.takeError());
  for (const cli::Model &input : choice.inputs) {
    std::string what = formatv("{0} of {1} in {2}", choice.program.name,
                               input.name, dtypeName(dtype));
    progress.show("measuring " + what + " ...");
    RowTimes row;
    row.program = choice.program.name.str();
    row.input = input.name;
    row.dtype = dtype;
    row.members = static_cast<int64_t>(input.shapes.size());
    row.elements = input.elements();
    if (!failure.empty()) {
      row.failures.push_back(json::fixUTF8(failure));
      report.rows.push_back(std::move(row));
      continue;
    }
    const Plan &plan = generated->getPlan();
    PlanShapes shapes = PlanShapes::bind(plan, input.shapes);
    row.launches = shapes.launches();
    row.bytes = BoundLists::bytesToMove(plan, shapes);
    row.floor = static_cast<double>(row.bytes) / report.copyBandwidth;
    auto free = device.freeBytes();
    if (!free)
      return free.takeError();
    double needed = 1.05 * BoundLists::bytesOfLists(plan, shapes);
    if (needed > 0.95 * static_cast<double>(*free)) {
      report.skipped.push_back(
          formatv("{0}: needs {1:f1} GB, {2:f1} GB are free", what,
                  needed * 1e-9, static_cast<double>(*free) * 1e-9));
      continue;
    }
    note(row, measure(device, *generated, input, row));
    report.rows.push_back(std::move(row));
    // After a kernel fault, every call in this context fails.
    if (Error error = device.synchronize())
      return withContext("after " + what, std::move(error));
  }
  return Error::success();
}

Expected<RowReport> measureRows(Device &device, ArrayRef<RowChoice> choices,
                                ArrayRef<DType> types,
                                cli::Progress &progress) {
  RowReport report;
  progress.show("measuring the copy bandwidth ...");
  auto bandwidth =
      measureCopyBandwidth(device.getContext(), size_t(1) << 31, 8);
  if (!bandwidth)
    return bandwidth.takeError();
  report.copyBandwidth = *bandwidth;
  for (const RowChoice &choice : choices)
    for (DType dtype : types)
      if (Error error = measureProgram(device, choice, dtype, progress, report))
        return std::move(error);
  return report;
}

} // namespace heddle::bench
