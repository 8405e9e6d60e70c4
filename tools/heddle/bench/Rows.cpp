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
#include "HandwrittenSoftmax.h"
#include "Sizes.h"

#include "../RunData.h"
#include "../Support.h"
#include "codegen/compiler/CopyBandwidth.h"

#include <algorithm>
#include <cmath>

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

static void note(RowTimes &row, Error error) {
  if (error)
    row.failures.push_back(json::fixUTF8(takeError(std::move(error)).second));
}

/// Compares the first elements of the results of one replay each.
static Error compare(Device &device, Generated &generated,
                     HandwrittenSoftmax &softmax, RowTimes &row) {
  constexpr int64_t most = 1 << 22;
  if (Error error = generated.replay())
    return error;
  if (Error error = softmax.replay())
    return error;
  auto result = cli::toExpected(generated.getGraph().result("y"));
  if (!result)
    return result.takeError();
  int64_t count = std::min(row.elements, most);
  std::vector<char> stored(count * dtypeSize(row.dtype));
  std::vector<double> values[2];
  for (auto [at, to] :
       {std::pair(static_cast<const char *>(result->front().data), &values[0]),
        {softmax.result(), &values[1]}}) {
    if (Error error = device.download(stored.data(), at, stored.size()))
      return error;
    to->resize(count);
    cli::loadElements(row.dtype, stored.data(), count, to->data());
  }
  double difference = 0;
  for (auto [a, b] : zip_equal(values[0], values[1])) {
    if (!std::isfinite(a) || !std::isfinite(b))
      return makeError(StatusCode::Failed,
                       "expected finite numbers, found {0}, by hand {1}", a, b);
    difference = std::max(difference, std::fabs(a - b));
  }
  row.difference = difference;
  return Error::success();
}

static Error measure(Device &device, Generated &generated,
                     const cli::Model &input, RowTimes &row) {
  auto lists = BoundLists::create(device, generated, input.shapes);
  if (!lists)
    return lists.takeError();
  if (Error error = generated.prepare())
    return error;
  std::optional<HandwrittenSoftmax> byHand;
  if (row.program == "row_softmax" && input.shapes.size() == 1 &&
      input.shapes[0].size() == 2) {
    auto created =
        HandwrittenSoftmax::create(device, lists->first(), input.shapes[0][0],
                                   input.shapes[0][1], row.dtype);
    if (created) {
      byHand = std::move(*created);
      row.handwrittenName = byHand->describe();
      note(row, compare(device, generated, *byHand, row));
    } else {
      note(row, withContext("by hand", created.takeError()));
    }
  }
  auto keepBetter = [&](double &best, function_ref<Error()> replay) -> Error {
    auto seconds = device.timeAdaptively(replay);
    if (!seconds)
      return seconds.takeError();
    best = best == 0 ? *seconds : std::min(best, *seconds);
    return Error::success();
  };
  for (int round = 0; round < 2; ++round) {
    if (Error error =
            keepBetter(row.generated, [&] { return generated.replay(); }))
      return error;
    if (byHand)
      if (Error error =
              keepBetter(row.handwritten, [&] { return byHand->replay(); }))
        return error;
  }
  return device.synchronize();
}

/// Measures a program with one element type on all inputs.
static Error measureProgram(Device &device, const RowChoice &choice,
                            DType dtype, cli::Progress &progress,
                            RowReport &report) {
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
