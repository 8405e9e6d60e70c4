//===- Dump.cpp - Every level of a compilation in a folder ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Dump.h"

#include "runtime/support/Environment.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>

using namespace llvm;

namespace heddle::runtime {

static StringRef dumpFolder() { return environment("HEDDLE_DUMP_DIR"); }

bool dumpEnabled() { return !dumpFolder().empty(); }

std::string safeFileName(StringRef name) {
  // A leading dot would hide the file, and ".." is the parent folder.
  std::string safe(name.empty() || name.front() == '.' ? "_" : "");
  for (char c : name.take_front(100))
    safe += isAlnum(c) || c == '.' || c == '_' || c == '-' ? c : '_';
  return safe;
}

void dump(StringRef program, StringRef file, StringRef contents) {
  StringRef folder = dumpFolder();
  if (folder.empty())
    return;
  SmallString<256> path(folder);
  sys::path::append(path, safeFileName(program));
  std::error_code error = sys::fs::create_directories(path);
  if (!error) {
    sys::path::append(path, safeFileName(file));
    raw_fd_ostream stream(path, error);
    if (!error) {
      stream << contents;
      stream.close();
      error = stream.error();
      stream.clear_error();
    }
  }
  static std::atomic<bool> reported{false};
  if (error && !reported.exchange(true))
    errs() << "heddle: cannot write " << path
           << " (HEDDLE_DUMP_DIR): " << error.message() << "\n";
}

} // namespace heddle::runtime
