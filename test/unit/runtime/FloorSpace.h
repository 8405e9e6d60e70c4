//===- FloorSpace.h - memory with a lowest address --------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_RUNTIME_FLOORSPACE_H
#define HEDDLE_TEST_UNIT_RUNTIME_FLOORSPACE_H

#include "runtime/binding/Layout.h"

namespace heddle::runtime {

/// Refuses addresses below `floor`, as DeviceSpace refuses host memory.
class FloorSpace : public AddressSpace {
public:
  char *floor = nullptr;
  llvm::Error check(const void *address, size_t) override {
    if (address >= floor)
      return llvm::Error::success();
    return makeError(StatusCode::BadInput,
                     "expected a device address, found host address {0}",
                     address);
  }
};

} // namespace heddle::runtime

#endif // HEDDLE_TEST_UNIT_RUNTIME_FLOORSPACE_H
