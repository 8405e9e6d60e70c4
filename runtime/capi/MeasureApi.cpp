//===- MeasureApi.cpp - Times of replays through the C interface ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/CApi.h"
#include "runtime/cuda/Graph.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace llvm;
using namespace heddle::runtime;

namespace {

/// The device time of `replays` replays, between two events.
Expected<double> timeOnDevice(Graph &graph, int replays) {
  const ContextPtr &context = graph.context();
  const Driver &driver = context->driver();
  Context::Scope scope(*context);
  Expected<StreamHandle> stream = createStream(context);
  if (!stream)
    return stream.takeError();
  Expected<EventHandle> begin = createEvent(context),
                        end = createEvent(context);
  if (!begin || !end)
    return joinErrors(begin.takeError(), end.takeError());
  HEDDLE_DRIVER_CALL(driver, cuEventRecord, begin->get(), stream->get());
  for (int i = 0; i < replays; ++i)
    if (Error error = graph.replay(stream->get()))
      return std::move(error);
  HEDDLE_DRIVER_CALL(driver, cuEventRecord, end->get(), stream->get());
  HEDDLE_DRIVER_CALL(driver, cuEventSynchronize, end->get());
  float milliseconds = 0;
  HEDDLE_DRIVER_CALL(driver, cuEventElapsedTime, &milliseconds, begin->get(),
                     end->get());
  if (!(milliseconds >= 0) || std::isinf(milliseconds))
    return makeError(StatusCode::Failed,
                     "cuEventElapsedTime: expected a time of at least 0 ms, "
                     "found {0}",
                     milliseconds);
  return milliseconds * 1e-3;
}

Expected<double> timeOnHost(ProgramGraph &graph, int replays) {
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < replays; ++i)
    if (Error error = graph.replay(nullptr))
      return std::move(error);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

Error measure(ProgramGraph &graph, int replays, int samples, double *seconds) {
  if (replays < 1 || samples < 1)
    return badInput("heddle_measure: expected at least one replay and one "
                    "sample, found " +
                    Twine(replays) + " and " + Twine(samples));
  if (Error error = graph.prepare(nullptr))
    return error;
  if (Error error = graph.synchronize(nullptr))
    return error;
  bool onDevice = graph.executable()->target() == Target::Cuda;
  std::vector<double> times;
  for (int sample = 0; sample <= samples; ++sample) {
    Expected<double> time =
        onDevice ? timeOnDevice(static_cast<Graph &>(graph), replays)
                 : timeOnHost(graph, replays);
    if (!time)
      return time.takeError();
    if (sample > 0)
      times.push_back(*time / replays);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  *seconds = times[times.size() / 2];
  return Error::success();
}

} // namespace

extern "C" {

heddle_status heddle_measure(heddle_graph *graph, int replays, int samples,
                             double *seconds) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_measure", graph, seconds))
      return error;
    return measure(*graph->graph, replays, samples, seconds);
  });
}

} // extern "C"
