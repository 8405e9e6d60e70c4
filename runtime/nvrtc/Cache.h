//===- Cache.h - The disk cache of compiled kernels -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps a key (a SHA-256 of everything that affects the result) to bytes. An
// entry is written under a temporary name and renamed, so no reader sees an
// incomplete entry, even if a writer is killed. Each entry has its key and a
// checksum of its contents; a damaged entry is removed and compiled again. The
// folder must belong to the user, must not be writable by others, and must not
// be a symbolic link. An unusable cache is not an error: `cache_failures`
// counts, and problem() gives the reason.
//
// HEDDLE_CACHE_DIR is the folder (default: heddle in $XDG_CACHE_HOME, or in
// ~/.cache). HEDDLE_CACHE_SIZE is its size in MiB (default 256; 0 turns it
// off).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_NVRTC_CACHE_H
#define HEDDLE_RUNTIME_NVRTC_CACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SHA256.h"

#include <cstdint>
#include <optional>
#include <string>

namespace heddle::runtime {

/// Builds a key from fields. The lengths of the fields are part of the key.
class CacheKey {
public:
  CacheKey &add(llvm::StringRef field);
  /// The key: 64 hexadecimal digits.
  std::string finish();

private:
  llvm::SHA256 hash;
};

class Cache {
public:
  struct Settings {
    std::string directory; ///< empty: no folder is known
    uint64_t maxBytes = 0; ///< 0: off
  };
  /// From HEDDLE_CACHE_DIR and HEDDLE_CACHE_SIZE.
  static Settings settingsFromEnvironment();

  explicit Cache(Settings settings = settingsFromEnvironment());
  ~Cache();
  Cache(const Cache &) = delete;
  Cache &operator=(const Cache &) = delete;

  /// The contents of the entry `key`, if it exists and is not damaged. Sets the
  /// time of its last use.
  std::optional<std::string> load(llvm::StringRef key);

  /// Stores an entry. If the folder then exceeds its size, removes the least
  /// recently used entries.
  void store(llvm::StringRef key, llvm::StringRef contents);

  bool usable() const { return folder >= 0; }
  /// The reason why entries cannot be stored: tries to create a file. Empty if
  /// it works, or the cache is turned off.
  std::string problem() const;
  const Settings &settings() const { return config; }
  /// Bytes of all entries.
  uint64_t size() const;

private:
  void open();
  void fail(const std::string &why);
  void evict();

  Settings config;
  std::string reason;
  /// An open descriptor, because a path could name another folder after the
  /// check.
  int folder = -1;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_NVRTC_CACHE_H
