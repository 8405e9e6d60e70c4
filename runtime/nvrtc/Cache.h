//===- Cache.h - The disk cache of compiled kernels -----------------------===//
//
// Maps a key (SHA-256 of everything that decides the outcome) to bytes. Entries
// are written under a temporary name and renamed, so readers and killed writers
// never see half of one; each carries its key and a checksum of its contents,
// so a damaged one is removed and compiled again, never trusted. The folder is
// private: it must belong to the user, be writable by nobody else and be no
// symbolic link. A cache that cannot be used is no error: everything works
// without it, `cache_failures` counts, and problem() says why.
//
// HEDDLE_CACHE_DIR names the folder (default: heddle in $XDG_CACHE_HOME, or in
// ~/.cache), HEDDLE_CACHE_SIZE its size in MiB (default 256; 0 turns it off).
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

/// Builds a key from fields; where one field ends is part of the key.
class CacheKey {
public:
  CacheKey &add(llvm::StringRef field);
  /// 64 hexadecimal digits.
  std::string finish();

private:
  llvm::SHA256 hash;
};

class Cache {
public:
  struct Settings {
    std::string directory; ///< empty: there is none
    uint64_t maxBytes = 0; ///< 0: off
  };
  /// From HEDDLE_CACHE_DIR and HEDDLE_CACHE_SIZE.
  static Settings settingsFromEnvironment();

  explicit Cache(Settings settings = settingsFromEnvironment());
  ~Cache();
  Cache(const Cache &) = delete;
  Cache &operator=(const Cache &) = delete;

  /// The contents stored under `key`, if they are there and whole. Marks the
  /// entry as used.
  std::optional<std::string> load(llvm::StringRef key);

  /// Stores contents under `key`, and removes the entries unused for longest
  /// when the folder grew over its size.
  void store(llvm::StringRef key, llvm::StringRef contents);

  bool usable() const { return folder >= 0; }
  /// Why the cache cannot be used; empty if it can or is turned off.
  const std::string &problem() const { return reason; }
  const Settings &settings() const { return config; }
  /// Bytes of all entries.
  uint64_t size() const;

private:
  void open();
  void fail(const std::string &why);
  void evict();

  Settings config;
  std::string reason;
  int folder =
      -1; ///< descriptor: a folder swapped after its check is not followed
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_NVRTC_CACHE_H
