//===- OutputFile.cpp - files written whole or not at all -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices and pipes cannot be replaced; they are written directly.
//
//===----------------------------------------------------------------------===//

#include "OutputFile.h"

#include "runtime/support/Status.h"
#include "llvm/Support/raw_ostream.h"

#include <sys/stat.h>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

static Error cannotWrite(StringRef path, std::error_code code) {
  return makeError(StatusCode::Failed, "cannot write '{0}': {1}", path,
                   code.message());
}

Expected<OutputFile> OutputFile::open(StringRef path) {
  OutputFile result;
  if (path.empty() || path == "-")
    return result;
  result.path = path.str();
  sys::fs::file_status status;
  bool exists = !sys::fs::status(path, status);
  if (exists && sys::fs::is_directory(status))
    return cannotWrite(path, std::make_error_code(std::errc::is_a_directory));
  if (exists && !sys::fs::is_regular_file(status))
    return result;
  if (exists && sys::fs::access(path, sys::fs::AccessMode::Write))
    return cannotWrite(path,
                       std::make_error_code(std::errc::permission_denied));
  // Replace the file that a link points to, not the link.
  SmallString<128> destination(path);
  if (exists)
    sys::fs::real_path(path, destination);
  result.path = destination.str().str();
  auto file = sys::fs::TempFile::create(destination + ".%%%%%%%%.tmp",
                                        sys::fs::all_read | sys::fs::all_write);
  if (!file) {
    std::error_code code = errorToErrorCode(file.takeError());
    return cannotWrite(path, code);
  }
  // Keep the permissions of a replaced file; otherwise apply the umask.
  mode_t mask = umask(0);
  umask(mask);
  mode_t mode =
      exists ? static_cast<mode_t>(status.permissions()) : mode_t(0666 & ~mask);
  fchmod(file->FD, mode);
  result.file = std::move(*file);
  return result;
}

OutputFile::~OutputFile() {
  if (file)
    consumeError(file->discard());
}

Error OutputFile::write(StringRef contents) {
  if (path.empty()) {
    outs() << contents;
    outs().flush();
    if (outs().has_error()) {
      std::error_code code = outs().error();
      outs().clear_error();
      return cannotWrite("standard output", code);
    }
    return Error::success();
  }
  if (!file) {
    std::error_code code;
    raw_fd_ostream os(path, code, sys::fs::CD_OpenExisting);
    if (!code) {
      os << contents;
      os.close();
      code = os.error();
      os.clear_error();
    }
    return code ? cannotWrite(path, code) : Error::success();
  }
  sys::fs::TempFile temporary = std::move(*file);
  file.reset();
  raw_fd_ostream os(temporary.FD, /*shouldClose=*/false);
  os << contents;
  os.flush();
  if (std::error_code code = os.error()) {
    os.clear_error();
    consumeError(temporary.discard());
    return cannotWrite(path, code);
  }
  if (Error error = temporary.keep(path))
    return cannotWrite(path, errorToErrorCode(std::move(error)));
  return Error::success();
}

} // namespace heddle::cli
