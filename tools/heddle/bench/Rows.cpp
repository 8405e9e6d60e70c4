//===- Rows.cpp - the benchmarks of programs ------------------------------===//
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
#include "codegen/compiler/heddle_reference.h"
#include "runtime/support/InputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

#include <algorithm>
#include <cmath>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

ArrayRef<RowProgram> rowPrograms() {
  auto program = [](StringRef name, bool overModels) -> RowProgram {
    return {name.str(), overModels, benchFile((name + ".mlir").str()).str()};
  };
  static const RowProgram all[] = {
      program("row_softmax", false), program("row_sums", false),
      program("column_sums", false), program("adafactor", true)};
  return all;
}

Expected<std::string> RowProgram::text(DType dtype) const {
  // The line of an alias may have spaces before the sign, and a comment.
  auto replaced = [](StringRef alias, StringRef with, std::string &text) {
    Regex line("(^|\n)(" + alias.str() + " *= *)f32($|[^0-9A-Za-z])");
    if (!line.match(text))
      return false;
    text = line.sub(("\\1\\2" + with + "\\3").str(), text);
    return true;
  };
  std::string text = module;
  if (dtype == DType::F32)
    return text;
  if (!replaced("!element", dtypeName(dtype), text) ||
      (dtype == DType::F64 && !replaced("!real", "f64", text)))
    return makeError(StatusCode::BadInput,
                     "program '{0}': expected the line '!element = f32'{1}, "
                     "whose type --dtype replaces, found none",
                     name,
                     dtype == DType::F64 ? " and the line '!real = f32'" : "");
  return text;
}

Expected<std::vector<RowProgram>> readPrograms(StringRef path) {
  std::vector<std::string> files;
  bool isFolder = false;
  if (std::error_code code = sys::fs::is_directory(path, isFolder))
    return makeError(StatusCode::BadInput, "cannot read folder '{0}': {1}",
                     path, code.message());
  std::error_code code;
  if (isFolder)
    for (sys::fs::directory_iterator entry(path, code), end;
         !code && entry != end; entry.increment(code))
      if (sys::path::extension(entry->path()) == ".mlir")
        files.push_back(entry->path());
  if (code)
    return makeError(StatusCode::BadInput, "cannot read folder '{0}': {1}",
                     path, code.message());
  if (!isFolder && sys::path::extension(path) != ".mlir")
    return makeError(StatusCode::BadInput,
                     "'{0}': expected a folder of programs, or a file that "
                     "ends in .mlir, found another file",
                     path);
  if (!isFolder)
    files.push_back(path.str());
  if (files.empty())
    return makeError(StatusCode::BadInput,
                     "folder '{0}': expected programs, files that end in "
                     ".mlir, found none",
                     path);
  sort(files);
  std::vector<RowProgram> programs;
  for (const std::string &file : files) {
    auto module = readInput(file, "program");
    if (!module)
      return module.takeError();
    programs.push_back({sys::path::stem(file).str(), /*overModels=*/true,
                        (*module)->getBuffer().str()});
  }
  return programs;
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
                     const cli::Model &input, const InitialValues &initial,
                     RowTimes &row) {
  auto lists = BoundLists::create(device, generated, input.shapes, initial);
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
    auto seconds = device.time(replay);
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

/// Gives scalar arguments without a default the values of `heddle run`.
static Error setScalars(Generated &generated) {
  for (const PlanBuffer &buffer : generated.getPlan().buffers) {
    if (buffer.role != BufferRole::Argument ||
        buffer.kind != BufferKind::Scalar || buffer.defaultValue)
      continue;
    bool isInteger = buffer.dtype > DType::BF16 && buffer.dtype != DType::I1;
    if (Error error = generated.setScalar(buffer.name, isInteger ? 8 : 1))
      return error;
  }
  return Error::success();
}

/// The initial values of the lists of a program, from its text.
static Expected<InitialValues> readInitialValues(const std::string &text,
                                                 const Plan &plan) {
  heddle_reference *made = nullptr;
  if (Error error = cli::toError(heddle_reference_create(text.c_str(), &made)))
    return std::move(error);
  std::unique_ptr<heddle_reference, decltype(&heddle_reference_free)> reference(
      made, &heddle_reference_free);
  InitialValues values;
  for (const PlanBuffer &buffer : plan.buffers) {
    if (buffer.role != BufferRole::Argument || buffer.kind != BufferKind::List)
      continue;
    int given = 0;
    double value = 0;
    if (Error error = cli::toError(heddle_reference_initial(
            made, buffer.name.c_str(), &given, &value)))
      return std::move(error);
    if (given)
      values[buffer.name] = value;
  }
  return values;
}

/// Measures a program with one element type on all inputs.
static Error measureProgram(Device &device, const RowChoice &choice,
                            DType dtype, cli::Progress &progress,
                            RowReport &report) {
  auto text = choice.program.text(dtype);
  if (!text) {
    report.skipped.push_back(json::fixUTF8(toString(text.takeError())));
    return Error::success();
  }
  auto generated = Generated::create(device, *text);
  std::string failure;
  if (!generated)
    failure = toString(generated.takeError());
  else if (Error error = setScalars(*generated))
    failure = toString(std::move(error));
  InitialValues initial;
  if (failure.empty()) {
    auto read = readInitialValues(*text, generated->getPlan());
    if (!read)
      return read.takeError();
    initial = std::move(*read);
  }
  for (const cli::Model &input : choice.inputs) {
    std::string what = formatv("{0} of {1} in {2}", choice.program.name,
                               input.name, dtypeName(dtype));
    progress.show("measuring " + what + " ...");
    RowTimes row;
    row.program = json::fixUTF8(choice.program.name);
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
    note(row, measure(device, *generated, input, initial, row));
    report.rows.push_back(std::move(row));
    // After a kernel fault, every call in this context fails.
    if (Error error = device.synchronize())
      return withContext("after " + what, std::move(error));
  }
  return Error::success();
}

Expected<RowReport> measureRows(Device &device, StringRef benchmark,
                                ArrayRef<RowChoice> choices,
                                ArrayRef<DType> types,
                                cli::Progress &progress) {
  RowReport report;
  report.benchmark = benchmark.str();
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
