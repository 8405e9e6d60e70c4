//===- DeviceSpace.h - Addresses of one device ----------------------------===//
//
// Lists of a model share few allocations: the driver's answers about one are
// remembered while a layout is resolved.
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

  /// Memory may have been freed and allocated since the last layout.
  void forget() { known.clear(); }

  /// BadInput unless `address` is memory of this device, or managed memory.
  llvm::Error check(const void *address, size_t bytes) override;

private:
  const Context &context;
  std::map<uintptr_t, uintptr_t> known; ///< begin to end
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CUDA_DEVICESPACE_H
