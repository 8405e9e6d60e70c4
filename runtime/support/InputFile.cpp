//===- InputFile.cpp - Input files of a bounded size ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads in chunks, because the size of a pipe or a device is not known.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/InputFile.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace heddle::runtime {

static Error cannotRead(StringRef path, StringRef what, std::error_code code) {
  return makeError(StatusCode::BadInput, "cannot read {0} '{1}': {2}", what,
                   path, code.message());
}

Expected<std::unique_ptr<MemoryBuffer>> readInput(StringRef path,
                                                  StringRef what) {
  bool isStandardInput = path == "-";
  StringRef name = isStandardInput ? "standard input" : path;
  sys::fs::file_t file = sys::fs::getStdinHandle();
  if (!isStandardInput) {
    Expected<sys::fs::file_t> opened = sys::fs::openNativeFileForRead(path);
    if (!opened)
      return cannotRead(name, what, errorToErrorCode(opened.takeError()));
    file = *opened;
  }
  scope_exit close([&] {
    if (!isStandardInput)
      sys::fs::closeFile(file);
  });
  std::string contents;
  constexpr size_t chunk = size_t(1) << 20;
  while (true) {
    size_t before = contents.size();
    contents.resize(before + chunk);
    Expected<size_t> count = sys::fs::readNativeFile(
        file, MutableArrayRef<char>(contents.data() + before, chunk));
    if (!count)
      return cannotRead(name, what, errorToErrorCode(count.takeError()));
    contents.resize(before + *count);
    if (*count == 0)
      return MemoryBuffer::getMemBufferCopy(contents, name);
    if (contents.size() > kMaxInputBytes)
      return makeError(StatusCode::BadInput,
                       "cannot read {0} '{1}': expected at most {2} MiB, found "
                       "more",
                       what, name, kMaxInputBytes >> 20);
  }
}

} // namespace heddle::runtime
