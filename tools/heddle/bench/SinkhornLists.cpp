//===- SinkhornLists.cpp - the benchmark of lists of problems -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A failure is noted in the row of its list and the benchmark continues.
//
//===----------------------------------------------------------------------===//

#include "SinkhornLists.h"
#include "HandwrittenBatch.h"
#include "Sinkhorn.h"
#include "SinkhornSolve.h"
#include "Sizes.h"

#include "codegen/compiler/CopyBandwidth.h"
#include "llvm/Support/JSON.h"

#include <algorithm>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

std::vector<cli::Model> defaultProblemLists() {
  std::vector<cli::Model> lists;
  for (StringRef word :
       {"1024x100x100", "4096x64x64", "256x500x500", "2850x250x250",
        "256x17..401x17..401", "255x17..401x17..401+3001x2003"})
    lists.push_back(cantFail(parseSizes(word)));
  return lists;
}

static void attempt(SinkhornListRow &row, StringRef part, Error error) {
  if (error)
    row.failures.push_back(part.str() + ": " +
                           json::fixUTF8(takeError(std::move(error)).second));
}

/// Compares the bits of two replays, and the potentials with those of a
/// hand-written kernel.
static Error compare(SinkhornSolve &solve,
                     std::vector<HandwrittenBatch> &candidates,
                     SinkhornListRow &row) {
  std::vector<double> outcomes[2];
  for (std::vector<double> &outcome : outcomes) {
    if (Error error = solve.replay())
      return error;
    auto potentials = solve.potentials();
    if (!potentials)
      return potentials.takeError();
    outcome = std::move(*potentials);
  }
  if (Error error = checkFinite("heddle", outcomes[0]))
    return error;
  row.sameBits = outcomes[0] == outcomes[1];
  if (candidates.empty())
    return Error::success();
  if (Error error = candidates.front().replay())
    return error;
  auto expected = candidates.front().potentials();
  if (!expected)
    return expected.takeError();
  if (Error error = checkFinite("the hand-written kernel", *expected))
    return error;
  row.difference = relativeDifference(outcomes[0], *expected);
  return Error::success();
}

static Error timeRounds(Device &device, SinkhornSolve &solve,
                        std::vector<HandwrittenBatch> &candidates,
                        SinkhornListRow &row) {
  for (int round = 0; round < 2; ++round) {
    auto whole = device.time([&] { return solve.replay(); });
    if (!whole)
      return whole.takeError();
    row.generated = round == 0 ? *whole : std::min(row.generated, *whole);
    for (HandwrittenBatch &candidate : candidates) {
      auto seconds = device.time([&] { return candidate.replay(); });
      if (!seconds)
        return seconds.takeError();
      if (row.handwritten == 0 || *seconds < row.handwritten) {
        row.handwritten = *seconds;
        row.handwrittenClass = candidate.describe();
      }
    }
  }
  return Error::success();
}

static Error measure(Device &device, const cli::Model &list,
                     SinkhornListRow &row) {
  auto problems = ProblemList::create(device, list, row.dtype);
  if (!problems)
    return problems.takeError();
  auto solve = SinkhornSolve::create(device, row.program, problems->lists());
  if (!solve)
    return solve.takeError();
  row.launches = solve->getGenerated().launches(list);
  if (Error error = solve->set(-1, kIterations))
    return error;
  std::vector<HandwrittenBatch> candidates;
  if (problems->isUniform())
    for (const BatchClass &chosen :
         batchClasses(problems->rows(0), problems->columns(0), row.dtype)) {
      auto candidate =
          HandwrittenBatch::create(device, *problems, chosen, kIterations);
      if (candidate)
        candidates.push_back(std::move(*candidate));
      else
        attempt(row, "by hand (" + chosen.describe() + ")",
                candidate.takeError());
    }
  attempt(row, "comparison", compare(*solve, candidates, row));
  attempt(row, "timing", timeRounds(device, *solve, candidates, row));
  return device.synchronize();
}

Expected<SinkhornListReport>
measureSinkhornLists(Device &device, ArrayRef<cli::Model> lists,
                     ArrayRef<DType> types, cli::Progress &progress,
                     function_ref<Error(const SinkhornListReport &)> measured) {
  SinkhornListReport report;
  progress.show("measuring the copy bandwidth ...");
  auto bandwidth =
      measureCopyBandwidth(device.getContext(), size_t(1) << 31, 8);
  if (!bandwidth)
    return bandwidth.takeError();
  report.copyBandwidth = *bandwidth;
  for (DType dtype : types)
    for (const cli::Model &list : lists) {
      std::string what = list.name + " " + dtypeName(dtype).str();
      double bytes = ProblemList::bytes(list, dtype);
      auto free = device.freeBytes();
      if (!free)
        return free.takeError();
      if (1.05 * bytes > static_cast<double>(*free)) {
        report.skipped.push_back(
            formatv("{0}: needs {1:f1} GB, {2:f1} GB are free", what,
                    1.05e-9 * bytes, static_cast<double>(*free) * 1e-9));
        continue;
      }
      progress.show("measuring " + what + " ...");
      SinkhornListRow &row = report.rows.emplace_back();
      row.list = list.name;
      row.program = formatv("sinkhorn:dtype={0}", dtypeName(dtype)).str();
      row.dtype = dtype;
      row.problems = static_cast<int64_t>(list.shapes.size());
      row.elements = list.elements();
      row.bytes = kIterations * bytes;
      row.floor = row.bytes / report.copyBandwidth;
      attempt(row, "setup", measure(device, list, row));
      if (Error error = measured(report))
        return std::move(error);
      // After a kernel fault, every call in this context fails.
      if (Error error = device.synchronize())
        return withContext("after " + what, std::move(error));
    }
  return report;
}

} // namespace heddle::bench
