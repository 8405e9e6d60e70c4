//===- DeviceSource.cpp - The source of the built-in kernels --------------===//

#include "runtime/builtin/DeviceSource.h"

#include <cassert>

namespace heddle::runtime {

namespace {
struct EmbeddedFile {
  const char *name;
  const char *contents;
};
const EmbeddedFile files[] = {
#include "RuntimeSource.inc"
};
} // namespace

llvm::StringRef deviceSource(llvm::StringRef file) {
  for (const EmbeddedFile &candidate : files)
    if (file == candidate.name)
      return candidate.contents;
  assert(false && "the file is not embedded");
  return "";
}

} // namespace heddle::runtime
