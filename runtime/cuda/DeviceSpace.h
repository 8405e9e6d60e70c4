//===- DeviceSpace.h - Addresses of one device ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks addresses with the driver. The members of a model lie in few
// allocations, so the known allocations are kept until the next layout. A new
// address in a known allocation costs no call of the driver, even if the caller
// has freed the allocation: that is a mistake that no check finds reliably.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CUDA_DEVICESPACE_H
#define HEDDLE_RUNTIME_CUDA_DEVICESPACE_H

#include "runtime/binding/Layout.h"
#include "runtime/driver/CudaHandles.h"

#include <map>

namespace heddle::runtime {

class DeviceSpace : public AddressSpace {
public:
  explicit DeviceSpace(const Context &context) : context(context) {}

  /// Clears the known allocations, which the caller may have freed since the
  /// last layout.
  void forget() override {
    known.clear();
    last = {0, 0};
  }

  /// BadInput unless `address` is in memory of this device or managed memory.
  llvm::Error check(const void *address, size_t bytes) override;

private:
  const Context &context;
  std::map<uintptr_t, uintptr_t> known; ///< end of an allocation by its begin
  std::pair<uintptr_t, uintptr_t> last; ///< the one that was found last
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CUDA_DEVICESPACE_H
