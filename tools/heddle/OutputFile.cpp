//===- OutputFile.cpp - files written whole or not at all -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices, pipes and open descriptors cannot be replaced; they are written
// directly.
//
//===----------------------------------------------------------------------===//

#include "OutputFile.h"

#include "runtime/support/Status.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

static Error cannotWrite(StringRef path, std::error_code code) {
  return makeError(StatusCode::Failed, "cannot write '{0}': {1}", path,
                   code.message());
}

/// The number N of a path such as /dev/fd/N, which denotes a descriptor of this
/// process.
static std::optional<int> descriptorOf(const std::filesystem::path &path) {
  std::string folder = path.parent_path().lexically_normal().string();
  int number = 0;
  if ((folder == "/dev/fd" || folder == "/proc/self/fd" ||
       folder == formatv("/proc/{0}/fd", ::getpid()).str()) &&
      !StringRef(path.filename().string()).getAsInteger(10, number) &&
      number >= 0)
    return number;
  return std::nullopt;
}

/// The path that `path` denotes after all links, the last of which may point to
/// a file that does not exist. The links of open descriptors are not followed.
static Expected<std::string> followLinks(StringRef path) {
  std::filesystem::path current(path.str());
  constexpr int kMaxLinks = 40; // as the kernel
  for (int count = 0; count < kMaxLinks; ++count) {
    std::error_code code;
    if (descriptorOf(current))
      return current.string();
    if (!std::filesystem::is_symlink(current, code))
      return current.string();
    std::filesystem::path next = std::filesystem::read_symlink(current, code);
    if (code)
      return cannotWrite(path, code);
    current = current.parent_path() / next; // `next` if it is absolute
  }
  return cannotWrite(
      path, std::make_error_code(std::errc::too_many_symbolic_link_levels));
}

Expected<OutputFile> OutputFile::open(StringRef path) {
  OutputFile result;
  if (path.empty() || path == "-")
    return result;
  Expected<std::string> destination = followLinks(path);
  if (!destination)
    return destination.takeError();
  result.path = path.str();
  result.descriptor = descriptorOf(*destination).value_or(-1);
  if (result.descriptor >= 0) {
    int flags = ::fcntl(result.descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
      return cannotWrite(path,
                         std::make_error_code(std::errc::bad_file_descriptor));
    if (result.descriptor == STDOUT_FILENO)
      result.path.clear();
    return result;
  }
  sys::fs::file_status status;
  bool exists = !sys::fs::status(result.path, status);
  if (exists && sys::fs::is_directory(status))
    return cannotWrite(path, std::make_error_code(std::errc::is_a_directory));
  if (exists && !sys::fs::is_regular_file(status))
    return result;
  result.path = *destination;
  SmallString<128> folder = sys::path::parent_path(result.path);
  if (folder.empty())
    folder = ".";
  StringRef checked = exists ? StringRef(result.path) : StringRef(folder);
  if (std::error_code code =
          sys::fs::access(checked, sys::fs::AccessMode::Write))
    return cannotWrite(path, code);
  // Keep the permissions of a replaced file; otherwise apply the umask.
  mode_t mask = umask(0);
  umask(mask);
  result.mode =
      exists ? static_cast<mode_t>(status.permissions()) : mode_t(0666 & ~mask);
  result.replaces = true;
  return result;
}

static std::error_code writeTo(raw_fd_ostream &os, StringRef contents) {
  os << contents;
  os.flush();
  std::error_code code = os.error();
  os.clear_error();
  return code;
}

Error OutputFile::write(StringRef contents) {
  auto check = [](StringRef path, std::error_code code) {
    return code ? cannotWrite(path, code) : Error::success();
  };
  if (path.empty())
    return check("standard output", writeTo(outs(), contents));
  if (descriptor >= 0) {
    raw_fd_ostream os(descriptor, /*shouldClose=*/false);
    return check(path, writeTo(os, contents));
  }
  if (!replaces) {
    std::error_code code;
    raw_fd_ostream os(path, code, sys::fs::CD_OpenExisting);
    return check(path, code ? code : writeTo(os, contents));
  }
  // Only a process that is killed between the next line and keep() leaves a
  // temporary file.
  auto temporary = sys::fs::TempFile::create(
      path + ".%%%%%%%%.tmp", sys::fs::all_read | sys::fs::all_write);
  if (!temporary)
    return cannotWrite(path, errorToErrorCode(temporary.takeError()));
  fchmod(temporary->FD, mode);
  raw_fd_ostream os(temporary->FD, /*shouldClose=*/false);
  if (std::error_code code = writeTo(os, contents)) {
    consumeError(temporary->discard());
    return cannotWrite(path, code);
  }
  if (Error error = temporary->keep(path))
    return cannotWrite(path, errorToErrorCode(std::move(error)));
  return Error::success();
}

} // namespace heddle::cli
