//===- DeviceSource.cpp - The source of the built-in kernels --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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
