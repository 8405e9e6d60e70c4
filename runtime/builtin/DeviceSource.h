//===- DeviceSource.h - Device code of the built-in kernels ---------------===//

#ifndef HEDDLE_RUNTIME_BUILTIN_DEVICESOURCE_H
#define HEDDLE_RUNTIME_BUILTIN_DEVICESOURCE_H

#include "llvm/ADT/StringRef.h"

namespace heddle::runtime {

/// The source of a file of runtime/builtin/device, which the build embeds;
/// null-terminated.
llvm::StringRef deviceSource(llvm::StringRef file);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BUILTIN_DEVICESOURCE_H
