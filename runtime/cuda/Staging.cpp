//===- Staging.cpp - Small copies to the device without a wait ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Staging.h"

#include <cstring>

using namespace llvm;

namespace heddle::runtime {

Expected<bool> Staging::isFree(const Area &area) const {
  if (area.state != Area::Recorded)
    return area.state == Area::Unused;
  const Driver &driver = context->driver();
  // A query would invalidate a capture by another thread.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  HEDDLE_DRIVER_CALL(driver, cuThreadExchangeStreamCaptureMode, &mode);
  CUresult result = driver.cuEventQuery(area.read.get());
  HEDDLE_DRIVER_CALL(driver, cuThreadExchangeStreamCaptureMode, &mode);
  if (result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY)
    return result == CUDA_SUCCESS;
  return driverError(driver, result, "cuEventQuery");
}

Error Staging::copy(char *to, const char *from, size_t bytes, CUstream stream) {
  const Driver &driver = context->driver();
  auto target = reinterpret_cast<CUdeviceptr>(to);
  Area &area = areas[next];
  Expected<bool> free = isFree(area);
  if (!free)
    return free.takeError();
  // The next area is the one that was used longest ago.
  if (*free || area.state == Area::Unknown)
    next = (next + 1) % areas.size();
  if (!*free) {
    // The driver copies pageable memory before the call returns.
    HEDDLE_DRIVER_CALL(driver, cuMemcpyHtoDAsync, target, from, bytes, stream);
    return Error::success();
  }
  if (area.memory.size() < bytes) {
    Expected<HostMemory> memory = HostMemory::allocate(context, bytes);
    if (!memory)
      return memory.takeError();
    area.memory = std::move(*memory);
  }
  if (!area.read) {
    Expected<EventHandle> event = createEvent(context, CU_EVENT_DISABLE_TIMING);
    if (!event)
      return event.takeError();
    area.read = std::move(*event);
  }
  std::memcpy(area.memory.address(), from, bytes);
  area.state = Area::Unknown;
  HEDDLE_DRIVER_CALL(driver, cuMemcpyHtoDAsync, target, area.memory.address(),
                     bytes, stream);
  HEDDLE_DRIVER_CALL(driver, cuEventRecord, area.read.get(), stream);
  area.state = Area::Recorded;
  return Error::success();
}

} // namespace heddle::runtime
