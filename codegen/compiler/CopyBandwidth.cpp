//===- CopyBandwidth.cpp - bandwidth of device-to-device copies -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copies are larger than every cache.
//
//===----------------------------------------------------------------------===//

#include "codegen/compiler/CopyBandwidth.h"

#include <algorithm>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle {

Expected<double> measureCopyBandwidth(const ContextPtr &context, size_t bytes,
                                      int samples) {
  const Driver &driver = context->driver();
  Context::Scope scope(*context);
  size_t free = 0, total = 0;
  HEDDLE_DRIVER_CALL(driver, cuMemGetInfo, &free, &total);
  bytes = std::min(bytes, free / 3) & ~size_t(255);
  auto from = DeviceMemory::allocate(context, bytes);
  if (!from)
    return from.takeError();
  auto to = DeviceMemory::allocate(context, bytes);
  if (!to)
    return to.takeError();
  auto stream = createStream(context);
  if (!stream)
    return stream.takeError();
  auto begin = createEvent(context), end = createEvent(context);
  if (!begin || !end)
    return joinErrors(begin.takeError(), end.takeError());
  auto source = reinterpret_cast<CUdeviceptr>(from->address());
  auto target = reinterpret_cast<CUdeviceptr>(to->address());
  HEDDLE_DRIVER_CALL(driver, cuMemsetD8Async, source, 1, bytes, stream->get());
  float best = 0;
  // The first copy maps memory and is not measured.
  for (int sample = 0; sample <= samples; ++sample) {
    HEDDLE_DRIVER_CALL(driver, cuEventRecord, begin->get(), stream->get());
    HEDDLE_DRIVER_CALL(driver, cuMemcpyDtoDAsync, target, source, bytes,
                       stream->get());
    HEDDLE_DRIVER_CALL(driver, cuEventRecord, end->get(), stream->get());
    HEDDLE_DRIVER_CALL(driver, cuEventSynchronize, end->get());
    float milliseconds = 0;
    HEDDLE_DRIVER_CALL(driver, cuEventElapsedTime, &milliseconds, begin->get(),
                       end->get());
    if (sample > 0)
      best = best == 0 ? milliseconds : std::min(best, milliseconds);
  }
  if (best <= 0)
    return makeError(StatusCode::Failed,
                     "copying {0} bytes took no measurable time", bytes);
  return 2.0 * bytes / (best * 1e-3);
}

NominalDevice nominalDevice(StringRef arch) {
  // Large copies reach about 0.88 of the memory's data rate.
  if (arch.starts_with("sm_8"))
    return {"A100 80GB", 1.75e12};
  if (arch.starts_with("sm_10"))
    return {"B200", 7.0e12};
  if (arch.starts_with("sm_12"))
    return {"RTX 5090", 1.6e12};
  return {"H200", 4.24e12};
}

} // namespace heddle
