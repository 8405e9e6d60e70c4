//===- Device.cpp - the GPU under test ------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The context stays current while the device is open.
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include <algorithm>
#include <vector>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

static CUdeviceptr address(const char *at) {
  return reinterpret_cast<CUdeviceptr>(at);
}

Expected<std::unique_ptr<Device>> Device::open() {
  auto context = Context::current();
  if (!context)
    return withContext("'heddle bench' needs a GPU", context.takeError());
  auto stream = createStream(*context);
  if (!stream)
    return stream.takeError();
  return std::unique_ptr<Device>(
      new Device(std::move(*context), std::move(*stream)));
}

Expected<DeviceMemory> Device::allocate(size_t bytes) {
  return DeviceMemory::allocate(context, std::max<size_t>(bytes, 16));
}

Error Device::upload(char *to, const void *from, size_t bytes) {
  if (bytes)
    HEDDLE_DRIVER_CALL(getDriver(), cuMemcpyHtoD, address(to), from, bytes);
  return Error::success();
}

Error Device::download(void *to, const char *from, size_t bytes) {
  if (Error error = synchronize())
    return error;
  if (bytes)
    HEDDLE_DRIVER_CALL(getDriver(), cuMemcpyDtoH, to, address(from), bytes);
  return Error::success();
}

Error Device::clear(char *at, size_t bytes) {
  if (bytes)
    HEDDLE_DRIVER_CALL(getDriver(), cuMemsetD8Async, address(at), 0, bytes,
                       stream.get());
  return Error::success();
}

Error Device::copy(char *to, const char *from, size_t bytes) {
  if (bytes)
    HEDDLE_DRIVER_CALL(getDriver(), cuMemcpyDtoDAsync, address(to),
                       address(from), bytes, stream.get());
  return Error::success();
}

Error Device::synchronize() {
  HEDDLE_DRIVER_CALL(getDriver(), cuStreamSynchronize, stream.get());
  return Error::success();
}

Expected<size_t> Device::freeBytes() {
  size_t free = 0, total = 0;
  HEDDLE_DRIVER_CALL(getDriver(), cuMemGetInfo, &free, &total);
  return free;
}

Expected<double> Device::timeReplays(function_ref<Error()> replay, int replays,
                                     int samples) {
  auto begin = createEvent(context), end = createEvent(context);
  if (!begin || !end)
    return joinErrors(begin.takeError(), end.takeError());
  std::vector<double> times;
  for (int sample = 0; sample <= samples; ++sample) {
    HEDDLE_DRIVER_CALL(getDriver(), cuEventRecord, begin->get(), stream.get());
    for (int k = 0; k < replays; ++k)
      if (Error error = replay())
        return std::move(error);
    HEDDLE_DRIVER_CALL(getDriver(), cuEventRecord, end->get(), stream.get());
    HEDDLE_DRIVER_CALL(getDriver(), cuEventSynchronize, end->get());
    float milliseconds = 0;
    HEDDLE_DRIVER_CALL(getDriver(), cuEventElapsedTime, &milliseconds,
                       begin->get(), end->get());
    if (sample > 0)
      times.push_back(milliseconds * 1e-3 / replays);
  }
  std::nth_element(times.begin(), times.begin() + samples / 2, times.end());
  return times[samples / 2];
}

Expected<double> Device::time(function_ref<Error()> replay) {
  constexpr double sampleSeconds = 0.03, longSeconds = 0.1;
  auto once = timeReplays(replay, /*replays=*/1, /*samples=*/1);
  if (!once)
    return once.takeError();
  return timeReplays(
      replay, std::clamp(static_cast<int>(sampleSeconds / *once), 1, kReplays),
      *once > longSeconds ? 3 : kSamples);
}

Expected<GraphExecHandle> Device::capture(function_ref<Error(CUstream)> issue) {
  HEDDLE_DRIVER_CALL(getDriver(), cuStreamBeginCapture, stream.get(),
                     CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  Error error = issue(stream.get());
  // End the capture even if `issue` failed.
  CUgraph captured = nullptr;
  CUresult ended = getDriver().cuStreamEndCapture(stream.get(), &captured);
  GraphHandle graph(context, captured, "a captured graph");
  if (error)
    return std::move(error);
  if (ended != CUDA_SUCCESS)
    return driverError(getDriver(), ended, "cuStreamEndCapture");
  CUgraphExec executable = nullptr;
  HEDDLE_DRIVER_CALL(getDriver(), cuGraphInstantiateWithFlags, &executable,
                     graph.get(), 0);
  return GraphExecHandle(context, executable, "an executable graph");
}

} // namespace heddle::bench
