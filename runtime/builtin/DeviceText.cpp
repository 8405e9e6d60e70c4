//===- DeviceText.cpp - The runtime's own device code ---------------------===//

#include "runtime/builtin/DeviceText.h"

#include <cassert>

namespace heddle::runtime {

namespace {
struct EmbeddedFile {
  const char *name;
  const char *text;
};
const EmbeddedFile files[] = {
#include "RuntimeText.inc"
};
} // namespace

llvm::StringRef deviceText(llvm::StringRef file) {
  for (const EmbeddedFile &candidate : files)
    if (file == candidate.name)
      return candidate.text;
  assert(false && "not embedded");
  return "";
}

} // namespace heddle::runtime
