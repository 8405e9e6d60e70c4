//===- Cache.cpp - The disk cache of compiled kernels ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses POSIX calls relative to an open folder instead of paths, so that the
// folder in use is the folder that was checked.
//
//===----------------------------------------------------------------------===//

#include "runtime/nvrtc/Cache.h"

#include "runtime/support/Environment.h"
#include "runtime/support/Statistics.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errc.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace llvm;

namespace heddle::runtime {

namespace {

// An entry has a magic string, the key in hexadecimal, the SHA-256 and the
// length (little endian) of the contents, and the contents.
constexpr StringLiteral magic = "heddle-1";
constexpr size_t keyLength = 64, digestLength = 32;
constexpr size_t headerLength = magic.size() + keyLength + digestLength + 8;
constexpr StringLiteral temporaryPrefix = ".tmp-";
/// In seconds. The process that wrote an older temporary file has ended.
constexpr time_t temporaryLifetime = 600;

std::array<uint8_t, 32> digestOf(StringRef contents) {
  return SHA256::hash(arrayRefFromStringRef(contents));
}

/// An open file, closed at the end of its scope.
class Descriptor {
public:
  explicit Descriptor(int file) : file(file) {}
  Descriptor(const Descriptor &) = delete;
  ~Descriptor() { close(); }

  bool isOpen() const { return file >= 0; }
  int get() const { return file; }
  int release() { return std::exchange(file, -1); }
  bool close() {
    int closed = release();
    return closed < 0 || ::close(closed) == 0;
  }

private:
  int file;
};

/// Removes a file at the end of its scope, unless keep() was called.
class Temporary {
public:
  Temporary(int folder, const std::string &name) : folder(folder), name(name) {}
  ~Temporary() {
    if (!kept)
      ::unlinkat(folder, name.c_str(), 0);
  }
  void keep() { kept = true; }

private:
  int folder;
  const std::string &name;
  bool kept = false;
};

bool writeAll(int file, StringRef bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    bytes = bytes.drop_front(written);
  }
  return true;
}

bool readAll(int file, std::string &bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    done += got;
  }
  return true;
}

bool isKey(StringRef name) {
  return name.size() == keyLength && all_of(name, isHexDigit);
}

struct Entry {
  std::string name;
  uint64_t bytes;
  timespec used;
};

/// The entries of the folder. Adds old temporary files to `stale`.
std::vector<Entry> listEntries(int folder, std::vector<std::string> *stale) {
  std::vector<Entry> entries;
  Descriptor copy(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::unique_ptr<DIR, int (*)(DIR *)> stream(
      copy.isOpen() ? ::fdopendir(copy.get()) : nullptr, ::closedir);
  if (!stream)
    return entries;
  copy.release(); // the stream closes it
  time_t now = ::time(nullptr);
  while (dirent *item = ::readdir(stream.get())) {
    StringRef name = item->d_name;
    bool temporary = name.starts_with(temporaryPrefix);
    if (!temporary && !isKey(name))
      continue;
    struct stat status;
    if (::fstatat(folder, item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    if (!temporary)
      entries.push_back(
          {name.str(), static_cast<uint64_t>(status.st_size), status.st_mtim});
    else if (stale && now - status.st_mtime > temporaryLifetime)
      stale->push_back(name.str());
  }
  return entries;
}

/// The contents of an entry, or nothing if it is damaged.
std::optional<std::string> readEntry(int file, StringRef key,
                                     uint64_t maxBytes) {
  struct stat status;
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_uid != ::geteuid() ||
      status.st_size < static_cast<off_t>(headerLength) ||
      static_cast<uint64_t>(status.st_size) > maxBytes)
    return std::nullopt;
  std::string bytes(status.st_size, '\0');
  if (!readAll(file, bytes))
    return std::nullopt;
  StringRef rest = bytes;
  if (!rest.consume_front(magic) || !rest.consume_front(key))
    return std::nullopt;
  StringRef digest = rest.take_front(digestLength);
  uint64_t length;
  std::memcpy(&length, rest.data() + digestLength, sizeof(length));
  StringRef contents = rest.drop_front(digestLength + sizeof(length));
  if (length != contents.size() || toStringRef(digestOf(contents)) != digest)
    return std::nullopt;
  return contents.str();
}

} // namespace

CacheKey &CacheKey::add(StringRef field) {
  uint64_t length = field.size();
  hash.update(
      StringRef(reinterpret_cast<const char *>(&length), sizeof(length)));
  hash.update(field);
  return *this;
}

std::string CacheKey::finish() {
  return toHex(hash.final(), /*LowerCase=*/true);
}

/// The folder for caches of the user; empty if there is none. The XDG Base
/// Directory Specification ignores an empty or relative XDG_CACHE_HOME. A
/// relative HOME is no folder of the user.
static SmallString<256> cacheHome() {
  SmallString<256> path;
  if (const char *named = std::getenv("XDG_CACHE_HOME");
      named && sys::path::is_absolute(named))
    path = named;
  else if (sys::path::home_directory(path) && sys::path::is_absolute(path))
    sys::path::append(path, ".cache");
  else
    path.clear();
  return path;
}

Cache::Settings Cache::settingsFromEnvironment() {
  Settings settings;
  settings.maxBytes = uint64_t(256) << 20;
  if (!environment(kCacheSizeVariable.name).empty()) {
    // A wrong size turns the cache off, so that the cache cannot grow without
    // bound.
    constexpr uint64_t most = uint64_t(1) << 40; // in MiB
    settings.maxBytes = std::min(kCacheSizeVariable.read().value_or(0), most)
                        << 20;
  }
  SmallString<256> path;
  if (const char *named = std::getenv("HEDDLE_CACHE_DIR"); named && *named)
    path = named;
  else if (path = cacheHome(); !path.empty())
    sys::path::append(path, "heddle");
  // The folder must not change with the working directory.
  if (!path.empty() && sys::fs::make_absolute(path))
    path.clear();
  settings.directory = path.str().str();
  return settings;
}

Cache::Cache(Settings settings) : config(std::move(settings)) {
  if (config.maxBytes != 0)
    open();
}

void Cache::open() {
  if (config.directory.empty())
    return fail("no folder: set HEDDLE_CACHE_DIR, or HOME");
  const char *path = config.directory.c_str();
  // The umask applies to parent folders only; the folder itself is private from
  // its creation.
  if (std::error_code error =
          sys::fs::create_directories(sys::path::parent_path(config.directory)))
    return fail(formatv("cannot create {0}: {1}",
                        sys::path::parent_path(config.directory),
                        error.message()));
  if (::mkdir(path, 0700) != 0 && errno != EEXIST)
    return fail(formatv("cannot create {0}: {1}", path, std::strerror(errno)));
  Descriptor opened(
      ::open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.isOpen())
    return fail(formatv("cannot open {0}: {1}", path,
                        errno == ELOOP || errno == ENOTDIR
                            ? "expected a folder, found a link or a file"
                            : std::strerror(errno)));
  struct stat status;
  std::string why;
  if (::fstat(opened.get(), &status) != 0)
    why = formatv("cannot examine {0}: {1}", path, std::strerror(errno));
  else if (status.st_uid != ::geteuid())
    why = formatv("{0}: expected a folder of user {1}, found one of user {2}",
                  path, ::geteuid(), status.st_uid);
  else if (status.st_mode & 0022)
    why = formatv(
        "{0}: expected a folder that only its owner can write, found mode {1}",
        path,
        llvm::format("%03o", static_cast<unsigned>(status.st_mode & 0777)));
  else if (::faccessat(opened.get(), ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0)
    why = formatv("cannot write to {0}: {1}", path, std::strerror(errno));
  if (!why.empty())
    return fail(why);
  folder = opened.release();
}

Cache::~Cache() {
  if (folder >= 0)
    ::close(folder);
}

void Cache::fail(const std::string &why) {
  count(statistics().cache_failures);
  reason = why;
}

std::optional<std::string> Cache::load(StringRef key) {
  if (!usable() || !isKey(key))
    return std::nullopt;
  std::string name = key.str();
  struct stat status;
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    count(statistics().cache_misses);
    return std::nullopt;
  }
  std::optional<std::string> contents;
  // Opening a device may have effects, and opening a pipe may wait for ever: if
  // one appears at this moment, O_NONBLOCK returns.
  if (S_ISREG(status.st_mode)) {
    Descriptor file(::openat(folder, name.c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.isOpen()) {
      count(statistics().cache_misses);
      return std::nullopt;
    }
    contents = readEntry(file.get(), key, config.maxBytes);
    if (contents)
      ::futimens(file.get(), nullptr); // entries are evicted in this order
  }
  if (!contents) {
    // Another process may have just replaced the entry. Then the new entry is
    // removed and compiled again.
    ::unlinkat(folder, name.c_str(),
               S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0);
    count(statistics().cache_damaged);
    return std::nullopt;
  }
  count(statistics().cache_hits);
  return contents;
}

/// The name of a file of this process that no other has.
static std::string temporaryName(StringRef suffix) {
  static std::atomic<unsigned> serial{0};
  return formatv("{0}{1}-{2}-{3}", temporaryPrefix, ::getpid(),
                 serial.fetch_add(1), suffix);
}

static int createFile(int folder, const std::string &name) {
  return ::openat(folder, name.c_str(),
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static std::string cannotWrite(StringRef directory) {
  return formatv("cannot write to {0}: {1}", directory, std::strerror(errno));
}

std::string Cache::problem() const {
  if (!usable())
    return reason;
  std::string name = temporaryName("trial");
  Descriptor file(createFile(folder, name));
  if (!file.isOpen())
    return cannotWrite(config.directory);
  Temporary cleanup(folder, name);
  return "";
}

void Cache::store(StringRef key, StringRef contents) {
  if (!usable() || !isKey(key) ||
      headerLength + contents.size() > config.maxBytes)
    return;
  std::string temporary = temporaryName(key.take_front(16)), name = key.str();
  Descriptor file(createFile(folder, temporary));
  if (!file.isOpen())
    return fail(cannotWrite(config.directory));
  Temporary cleanup(folder, temporary);
  uint64_t length = contents.size();
  auto digest = digestOf(contents);
  // No fsync: after a power failure the checksum detects a damaged entry.
  bool stored =
      writeAll(file.get(), magic) && writeAll(file.get(), key) &&
      writeAll(file.get(), toStringRef(digest)) &&
      writeAll(file.get(), StringRef(reinterpret_cast<const char *>(&length),
                                     sizeof(length))) &&
      writeAll(file.get(), contents) && file.close() &&
      ::renameat(folder, temporary.c_str(), folder, name.c_str()) == 0;
  if (!stored)
    return fail(cannotWrite(config.directory));
  cleanup.keep();
  count(statistics().cache_stores);
  evict();
}

uint64_t Cache::size() const {
  uint64_t total = 0;
  if (usable())
    for (const Entry &entry : listEntries(folder, nullptr))
      total += entry.bytes;
  return total;
}

void Cache::evict() {
  std::vector<std::string> stale;
  std::vector<Entry> entries = listEntries(folder, &stale);
  for (const std::string &name : stale)
    ::unlinkat(folder, name.c_str(), 0);
  uint64_t total = 0;
  for (const Entry &entry : entries)
    total += entry.bytes;
  if (total <= config.maxBytes)
    return;
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec) <
           std::tie(b.used.tv_sec, b.used.tv_nsec);
  });
  // Shrink to nine tenths, so that a full cache does not evict at every store.
  for (const Entry &entry : entries) {
    if (total <= config.maxBytes / 10 * 9)
      break;
    if (::unlinkat(folder, entry.name.c_str(), 0) == 0)
      count(statistics().cache_evictions);
    total -= entry.bytes; // even if another process has removed the entry
  }
}

} // namespace heddle::runtime
