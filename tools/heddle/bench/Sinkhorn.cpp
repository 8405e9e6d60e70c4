//===- Sinkhorn.cpp - the benchmark of dense Sinkhorn ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures one problem at a time. A failure is noted in the problem's row and
// the benchmark continues with the next problem.
//
//===----------------------------------------------------------------------===//

#include "Sinkhorn.h"
#include "CompileTimes.h"
#include "HandwrittenSinkhorn.h"
#include "SinkhornSolve.h"

#include "../Support.h"
#include "codegen/compiler/CopyBandwidth.h"
#include "runtime/plan/PanelClass.h"

#include <algorithm>
#include <array>
#include <map>

using namespace llvm;
using namespace heddle::runtime;
using heddle::cli::toError;
using heddle::cli::toExpected;

namespace heddle::bench {

Expected<std::vector<ProblemShape>> problemShapes(ArrayRef<cli::Model> models) {
  std::vector<ProblemShape> shapes;
  for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (const cli::Model &model : models) {
      std::optional<DType> named = parseDType(model.name);
      if (!named ||
          !is_contained({DType::F32, DType::F64, DType::BF16, DType::F16},
                        *named))
        return makeError(StatusCode::BadInput,
                         "expected the element types f32, f64, bf16 or f16 as "
                         "keys, found '{0}'",
                         model.name);
      if (*named != dtype)
        continue;
      for (const Extents &extents : model.shapes) {
        if (extents.size() != 2 || extents[0] < 1 || extents[1] < 1 ||
            extents[0] > INT32_MAX || extents[1] > INT32_MAX)
          return makeError(StatusCode::BadInput,
                           "key '{0}': expected problems [rows, columns] of at "
                           "least 1 x 1, found {1}",
                           model.name, json::Value(json::Array(extents)));
        shapes.push_back({extents[0], extents[1], dtype});
      }
    }
  return shapes;
}

namespace {
class Benchmark {
public:
  explicit Benchmark(Device &device) : device(device) {}

  Error measure(const ProblemShape &shape, double bandwidth, SinkhornRow &row);

  /// Notes in the row that a part of its measurement failed.
  static void attempt(SinkhornRow &row, StringRef part, Error error) {
    if (error)
      row.failures.push_back(part.str() + ": " +
                             json::fixUTF8(takeError(std::move(error)).second));
  }

private:
  void describe(double bandwidth, SinkhornRow &row);
  void describe(const Generated &generated, SinkhornRow &row);
  Error timeRounds(SinkhornSolve &solve,
                   std::vector<HandwrittenSolve> &candidates, SinkhornRow &row);
  Error compare(SinkhornSolve &solve, std::vector<HandwrittenSolve> &candidates,
                SinkhornRow &row);
  Error stop(SinkhornSolve &solve, std::vector<HandwrittenSolve> &candidates,
             SinkhornRow &row);
  Error timePlan(const Problem &problem, double bandwidth, SinkhornRow &row);
  Error timeCompilation(const Problem &problem, SinkhornRow &row);

  Device &device;
};
} // namespace

static void keepBetter(double &best, double time) {
  best = best == 0 ? time : std::min(best, time);
}

/// Returns the panel form of the program's loop, or null.
static const PlanPanel *findPanel(const PlanGraph &graph) {
  for (const PlanNode &node : graph.nodes)
    if (node.panel)
      return &*node.panel;
  return nullptr;
}

void Benchmark::describe(double bandwidth, SinkhornRow &row) {
  const Context &context = *device.getContext();
  auto bytes = static_cast<int64_t>(row.shape.bytes());
  row.fits = bytes <= context.sharedBytes() * context.multiprocessors()
                 ? "shared memory"
             : bytes <= context.l2Bytes() ? "L2"
                                          : "memory";
  row.floor = kIterations * static_cast<double>(bytes) / bandwidth;
}

void Benchmark::describe(const Generated &generated, SinkhornRow &row) {
  const ProblemShape &shape = row.shape;
  const Context &context = *device.getContext();
  cli::Model model;
  model.shapes.push_back({shape.rows, shape.columns});
  row.launches = generated.launches(model);
  const PlanPanel *panel = findPanel(generated.getPlan().graph);
  if (!panel || !context.canCopyInBulk())
    return;
  if (auto chosen =
          panelClassesFor(*panel, PanelExtents{shape.rows, shape.columns},
                          context.sharedBytes()))
    row.panels = chosen->front().shape.describe();
}

Error Benchmark::timeRounds(SinkhornSolve &solve,
                            std::vector<HandwrittenSolve> &candidates,
                            SinkhornRow &row) {
  for (int round = 0; round < 2; ++round) {
    if (Error error = solve.set(-1, kIterations))
      return error;
    auto whole = device.time([&] { return solve.replay(); });
    if (!whole)
      return whole.takeError();
    keepBetter(row.generated, *whole);
    for (HandwrittenSolve &candidate : candidates) {
      if (Error error = candidate.set(-1, kIterations))
        return error;
      auto seconds = device.time([&] { return candidate.replay(); });
      if (!seconds)
        return seconds.takeError();
      if (row.handwritten == 0 || *seconds < row.handwritten) {
        row.handwritten = *seconds;
        row.handwrittenClass = candidate.describe();
      }
    }
    if (Error error = solve.set(-1, 0))
      return error;
    auto overhead = device.time([&] { return solve.replay(); });
    if (!overhead)
      return overhead.takeError();
    keepBetter(row.overhead, *overhead);
  }
  return Error::success();
}

/// Compares the bits of two replays, and the potentials with those of the
/// hand-written kernel.
Error Benchmark::compare(SinkhornSolve &solve,
                         std::vector<HandwrittenSolve> &candidates,
                         SinkhornRow &row) {
  if (Error error = solve.set(-1, kIterations))
    return error;
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
  HandwrittenSolve &candidate = candidates.front();
  if (Error error = candidate.set(-1, kIterations))
    return error;
  if (Error error = candidate.replay())
    return error;
  auto expected = candidate.potentials();
  if (!expected)
    return expected.takeError();
  if (Error error = checkFinite("the hand-written kernel", *expected))
    return error;
  row.difference = relativeDifference(outcomes[0], *expected);
  return Error::success();
}

Error Benchmark::stop(SinkhornSolve &solve,
                      std::vector<HandwrittenSolve> &candidates,
                      SinkhornRow &row) {
  if (Error error = solve.set(kTolerance, kMostIterations))
    return error;
  auto seconds = device.time([&] { return solve.replay(); });
  if (!seconds)
    return seconds.takeError();
  row.stopping = *seconds;
  int iterations = 0;
  bool converged = false;
  if (Error error = solve.read("iterations", &iterations, sizeof(iterations)))
    return error;
  if (Error error = solve.read("converged", &converged, 1))
    return error;
  row.iterations = iterations;
  row.converged = converged;
  if (candidates.empty())
    return Error::success();
  HandwrittenSolve &candidate = candidates.front();
  if (Error error = candidate.set(kTolerance, kMostIterations))
    return error;
  if (Error error = candidate.replay())
    return error;
  auto byHand = candidate.iterations();
  if (!byHand)
    return byHand.takeError();
  row.handwrittenIterations = *byHand;
  return Error::success();
}

/// Measures the time that the transport plan adds to a solve of 0 iterations.
Error Benchmark::timePlan(const Problem &problem, double bandwidth,
                          SinkhornRow &row) {
  auto free = device.freeBytes();
  if (!free)
    return free.takeError();
  double needed = 1.05 * static_cast<double>(row.shape.bytes());
  if (needed > static_cast<double>(*free))
    return makeError(StatusCode::Failed, "needs {0:f1} GB, {1:f1} GB are free",
                     needed * 1e-9, static_cast<double>(*free) * 1e-9);
  auto solve = SinkhornSolve::create(
      device, row.program + ",outputs=potentials/plan", problem.lists());
  if (!solve)
    return solve.takeError();
  if (Error error = solve->set(-1, 0))
    return error;
  double best = 0;
  for (int round = 0; round < 2; ++round) {
    auto seconds = device.time([&] { return solve->replay(); });
    if (!seconds)
      return seconds.takeError();
    keepBetter(best, *seconds);
  }
  row.plan = best - row.overhead;
  row.planFloor = 2 * static_cast<double>(row.shape.bytes()) / bandwidth;
  return device.synchronize();
}

Error Benchmark::timeCompilation(const Problem &problem, SinkhornRow &row) {
  constexpr int samples = 3; // one sample is noisy if the host is busy
  std::array<double, samples> programs, classes;
  for (int sample = 0; sample < samples; ++sample) {
    auto times = measureColdBinding(row.program, [&](heddle::Graph &graph) {
      if (Error error = SinkhornSolve::bind(graph, problem.lists()))
        return error;
      return toError(graph.prepare(device.getStream()));
    });
    if (!times)
      return times.takeError();
    programs[sample] = times->program;
    classes[sample] = times->binding;
  }
  for (auto *times : {&programs, &classes})
    std::sort(times->begin(), times->end());
  row.compileProgram = programs[samples / 2];
  row.compileClass = classes[samples / 2];
  return Error::success();
}

Error Benchmark::measure(const ProblemShape &shape, double bandwidth,
                         SinkhornRow &row) {
  row.shape = shape;
  row.program = formatv("sinkhorn:dtype={0}", dtypeName(shape.dtype)).str();
  describe(bandwidth, row);
  auto problem = Problem::create(device, shape);
  if (!problem)
    return problem.takeError();
  auto solve = SinkhornSolve::create(device, row.program, problem->lists());
  if (!solve)
    return solve.takeError();
  describe(solve->getGenerated(), row);
  std::vector<HandwrittenSolve> candidates;
  for (const HandwrittenClass &chosen : handwrittenClasses(shape)) {
    auto candidate = HandwrittenSolve::create(device, *problem, chosen);
    if (candidate)
      candidates.push_back(std::move(*candidate));
    else
      attempt(row, "by hand (" + chosen.describe() + ")",
              candidate.takeError());
  }
  attempt(row, "comparison", compare(*solve, candidates, row));
  attempt(row, "timing", timeRounds(*solve, candidates, row));
  attempt(row, "stopping solve", stop(*solve, candidates, row));
  if (shape.dtype == DType::F32 && row.fits == "memory" && row.overhead > 0)
    attempt(row, "transport plan", timePlan(*problem, bandwidth, row));
  attempt(row, "compile times", timeCompilation(*problem, row));
  return device.synchronize();
}

Expected<SinkhornReport>
measureSinkhorn(Device &device, ArrayRef<ProblemShape> shapes,
                cli::Progress &progress,
                function_ref<Error(const SinkhornReport &)> measured) {
  SinkhornReport report;
  progress.show("measuring the copy bandwidth ...");
  auto bandwidth =
      measureCopyBandwidth(device.getContext(), size_t(1) << 31, 8);
  if (!bandwidth)
    return bandwidth.takeError();
  report.copyBandwidth = *bandwidth;
  progress.show("compiling the hand-written kernels ...");
  precompileHandwritten(device, shapes);

  Benchmark benchmark(device);
  for (const ProblemShape &shape : shapes) {
    auto free = device.freeBytes();
    if (!free)
      return free.takeError();
    double needed = 1.05 * static_cast<double>(shape.bytes());
    if (needed > static_cast<double>(*free)) {
      report.skipped.push_back(
          formatv("{0}: needs {1:f1} GB, {2:f1} GB are free", shape.name(),
                  needed * 1e-9, static_cast<double>(*free) * 1e-9));
      continue;
    }
    progress.show("measuring " + shape.name() + " ...");
    SinkhornRow &row = report.rows.emplace_back();
    Benchmark::attempt(row, "setup",
                       benchmark.measure(shape, report.copyBandwidth, row));
    if (Error error = measured(report))
      return std::move(error);
    // After a kernel fault, every call in this context fails.
    if (Error error = device.synchronize())
      return withContext("after " + shape.name(), std::move(error));
  }
  return report;
}

} // namespace heddle::bench
