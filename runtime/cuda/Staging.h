//===- Staging.h - Small copies to the device without a wait --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy from pageable memory may wait for the stream. So small copies that a
// step needs are made from pinned memory: a ring of areas, each of which is
// used again after the device has read it. If the device has not, because the
// host is far ahead, the driver copies from pageable memory instead.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CUDA_STAGING_H
#define HEDDLE_RUNTIME_CUDA_STAGING_H

#include "runtime/driver/CudaHandles.h"

#include <array>

namespace heddle::runtime {

class Staging {
public:
  explicit Staging(ContextPtr context) : context(std::move(context)) {}

  /// Copies `bytes` bytes to the device, ordered on `stream`. `from` may change
  /// after the call.
  llvm::Error copy(char *to, const char *from, size_t bytes, CUstream stream);

private:
  struct Area {
    HostMemory memory;
    EventHandle read; ///< of the last copy, if it is recorded
    /// Unknown: the event could not be recorded. The area is not used again.
    enum { Unused, Recorded, Unknown } state = Unused;
  };

  /// Whether the device has finished the last copy from the area.
  llvm::Expected<bool> isFree(const Area &area) const;

  ContextPtr context;
  std::array<Area, 4> areas;
  size_t next = 0;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CUDA_STAGING_H
