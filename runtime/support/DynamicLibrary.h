//===- DynamicLibrary.h - Shared libraries loaded at run time -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver and NVRTC are opened when they are first needed, so that
// everything else works without them. Symbols stay local to the library,
// because the process may have another NVRTC or another LLVM. A library is
// never closed, because the driver and NVRTC have threads and state of their
// own.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_DYNAMICLIBRARY_H
#define HEDDLE_RUNTIME_SUPPORT_DYNAMICLIBRARY_H

#include "runtime/support/Status.h"

#include <string>

namespace heddle::runtime {

class DynamicLibrary {
public:
  DynamicLibrary() = default;

  /// Opens `path` (a file, or a name for the system loader). Unavailable if
  /// this fails, with the loader's message.
  static llvm::Expected<DynamicLibrary> open(const std::string &path);

  /// The address of `name`, or null.
  void *find(const char *name) const;

  /// The file that the loader opened; `path` as given if the loader does not
  /// report it.
  const std::string &path() const { return file; }

private:
  void *handle = nullptr;
  std::string file;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_DYNAMICLIBRARY_H
