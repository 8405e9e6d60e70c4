//===- DeviceSpace.cpp - Addresses of one device --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/DeviceSpace.h"

using namespace llvm;

namespace heddle::runtime {

Error DeviceSpace::check(const void *address, size_t bytes) {
  auto begin = reinterpret_cast<uintptr_t>(address);
  auto isIn = [&](const std::pair<uintptr_t, uintptr_t> &allocation) {
    return begin >= allocation.first && begin + bytes <= allocation.second;
  };
  if (isIn(last))
    return Error::success();
  auto next = known.upper_bound(begin);
  if (next != known.begin() && isIn(*std::prev(next))) {
    last = *std::prev(next);
    return Error::success();
  }

  Context::Scope scope(context);
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  CUdeviceptr start = 0;
  size_t size = 0;
  CUpointer_attribute attributes[] = {
      CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
      CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void *values[] = {&type, &managed, &ordinal, &start, &size};
  // For pageable host memory the driver returns success and memory type 0.
  CUresult result = context.driver().cuPointerGetAttributes(
      5, attributes, values, reinterpret_cast<CUdeviceptr>(address));
  if (result != CUDA_SUCCESS || (type != CU_MEMORYTYPE_DEVICE && !managed))
    return makeError(StatusCode::BadInput,
                     "expected a device address, found host address {0}",
                     address);
  if (!managed && ordinal != context.ordinal())
    return makeError(
        StatusCode::BadInput,
        "expected memory of device {0} ({1}), found memory of device {2}",
        context.ordinal(), context.name(), ordinal);
  if (start && begin >= start && begin - start < size &&
      size <= UINTPTR_MAX - start)
    known[start] = start + size;
  return Error::success();
}

} // namespace heddle::runtime
