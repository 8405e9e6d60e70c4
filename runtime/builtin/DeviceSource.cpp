//===- DeviceSource.cpp - Device code of the built-in kernels -------------===//

#include "runtime/builtin/DeviceSource.h"

#include <cassert>

namespace heddle::runtime {

namespace {
struct EmbeddedFile {
  const char *name;
  const char *source;
};
const EmbeddedFile files[] = {
#include "BuiltinSources.inc"
};
} // namespace

llvm::StringRef deviceSource(llvm::StringRef file) {
  for (const EmbeddedFile &candidate : files)
    if (file == candidate.name)
      return candidate.source;
  assert(false && "not embedded");
  return "";
}

} // namespace heddle::runtime
