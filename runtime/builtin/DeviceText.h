//===- DeviceText.h - The runtime's own device code -----------------------===//

#ifndef HEDDLE_RUNTIME_BUILTIN_DEVICETEXT_H
#define HEDDLE_RUNTIME_BUILTIN_DEVICETEXT_H

#include "llvm/ADT/StringRef.h"

namespace heddle::runtime {

/// The text of a file of runtime/builtin/device, embedded by the build;
/// null-terminated.
llvm::StringRef deviceText(llvm::StringRef file);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BUILTIN_DEVICETEXT_H
