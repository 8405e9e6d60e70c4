//===- DynamicLibrary.cpp - Shared libraries loaded at run time -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses dlopen, because llvm::sys::DynamicLibrary opens with RTLD_GLOBAL.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/DynamicLibrary.h"

#include "llvm/Support/FileSystem.h"

#include <dlfcn.h>
#include <link.h>

using namespace llvm;

namespace heddle::runtime {

Expected<DynamicLibrary> DynamicLibrary::open(const std::string &path) {
  DynamicLibrary library;
  // dlopen() waits for a writer if the file is a pipe.
  if (StringRef(path).contains('/') && sys::fs::exists(path) &&
      !sys::fs::is_regular_file(path))
    return makeError(StatusCode::Unavailable,
                     "cannot load {0}: expected a regular file", path);
  library.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library.handle) {
    const char *reason = dlerror();
    return makeError(StatusCode::Unavailable, "cannot load {0}: {1}", path,
                     reason ? reason : "no reason given");
  }
  library.file = path;
  link_map *map = nullptr;
  if (dlinfo(library.handle, RTLD_DI_LINKMAP, &map) == 0 && map &&
      map->l_name && *map->l_name)
    library.file = map->l_name;
  return library;
}

void *DynamicLibrary::find(const char *name) const {
  return handle ? dlsym(handle, name) : nullptr;
}

} // namespace heddle::runtime
