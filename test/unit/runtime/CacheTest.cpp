//===- CacheTest.cpp - The disk cache and its failures --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "runtime/nvrtc/Cache.h"
#include "runtime/support/Statistics.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace heddle::runtime;
using namespace llvm;

namespace {

std::string keyOf(const std::string &text) {
  return CacheKey().add(text).finish();
}

struct CacheTest : testing::Test {
  TemporaryFolder folder;
  Cache::Settings settings{folder.path("cache"), uint64_t(1) << 20};

  std::string file(const std::string &key) {
    return settings.directory + "/" + key;
  }
  std::string bytes(const std::string &path) {
    return (*MemoryBuffer::getFile(path))->getBuffer().str();
  }
  void overwrite(const std::string &path, StringRef contents) {
    std::error_code error;
    raw_fd_ostream stream(path, error);
    ASSERT_FALSE(error);
    stream << contents;
  }
};

TEST_F(CacheTest, KeysSeparateFields) {
  EXPECT_NE(CacheKey().add("ab").add("c").finish(),
            CacheKey().add("a").add("bc").finish());
  EXPECT_EQ(CacheKey().add("ab").finish(), CacheKey().add("ab").finish());
  EXPECT_EQ(keyOf("x").size(), 64u);
}

TEST_F(CacheTest, StoresAndLoads) {
  Cache cache(settings);
  ASSERT_TRUE(cache.usable()) << cache.problem();
  std::string contents("with\0zero", 9);
  EXPECT_EQ(cache.load(keyOf("a")), std::nullopt);
  cache.store(keyOf("a"), contents);
  EXPECT_EQ(cache.load(keyOf("a")), contents);
  EXPECT_EQ(Cache(settings).load(keyOf("a")), contents);
  struct stat status;
  ASSERT_EQ(stat(settings.directory.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(file(keyOf("a")).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(CacheTest, RemovesDamagedEntries) {
  Cache cache(settings);
  std::string key = keyOf("a"), contents(5000, 'x');
  cache.store(key, contents);
  std::string whole = bytes(file(key));
  auto damaged = [&](StringRef changed) {
    overwrite(file(key), changed);
    uint64_t before = statistics().cache_damaged;
    EXPECT_EQ(cache.load(key), std::nullopt);
    EXPECT_EQ(statistics().cache_damaged, before + 1);
    EXPECT_FALSE(sys::fs::exists(file(key)));
  };
  // A changed bit in each part, and truncation of each part.
  for (size_t at : {size_t(0), size_t(10), size_t(80), size_t(105), size_t(112),
                    whole.size() - 1}) {
    std::string changed = whole;
    changed[at] ^= 1;
    damaged(changed);
  }
  for (size_t length : {size_t(0), size_t(7), size_t(100), size_t(111),
                        size_t(112), whole.size() - 1})
    damaged(StringRef(whole).take_front(length));
  damaged(whole + "more");
  // The entry of another key.
  cache.store(keyOf("b"), "other");
  damaged(bytes(file(keyOf("b"))));
  cache.store(key, contents);
  EXPECT_EQ(cache.load(key), contents);
}

TEST_F(CacheTest, EvictsLeastRecentlyUsedEntries) {
  settings.maxBytes = 10000;
  Cache cache(settings);
  std::string contents(2000, 'x');
  auto setTime = [&](const std::string &key, time_t seconds) {
    timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, file(key).c_str(), times, 0), 0);
  };
  for (int i = 0; i < 4; ++i) {
    cache.store(keyOf(std::to_string(i)), contents);
    setTime(keyOf(std::to_string(i)), 1000 + i);
  }
  EXPECT_TRUE(cache.load(keyOf("0"))); // used now
  cache.store(keyOf("4"), contents);
  EXPECT_LE(cache.size(), settings.maxBytes);
  EXPECT_TRUE(cache.load(keyOf("0")));
  EXPECT_FALSE(cache.load(keyOf("1")));
  EXPECT_TRUE(cache.load(keyOf("4")));
  cache.store(keyOf("huge"), std::string(20000, 'x'));
  EXPECT_FALSE(cache.load(keyOf("huge")));
}

TEST_F(CacheTest, RemovesOldTemporaryFiles) {
  settings.maxBytes = 100000;
  Cache cache(settings);
  std::string old = file(".tmp-1-1-x"), fresh = file(".tmp-2-2-x");
  overwrite(old, "half");
  overwrite(fresh, "half");
  timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, old.c_str(), times, 0), 0);
  cache.store(keyOf("a"), "contents");
  EXPECT_FALSE(sys::fs::exists(old));
  EXPECT_TRUE(sys::fs::exists(fresh));
}

TEST_F(CacheTest, TurnsOff) {
  settings.maxBytes = 0;
  Cache cache(settings);
  EXPECT_FALSE(cache.usable());
  EXPECT_EQ(cache.problem(), "");
  cache.store(keyOf("a"), "x");
  EXPECT_EQ(cache.load(keyOf("a")), std::nullopt);
  EXPECT_FALSE(sys::fs::exists(settings.directory));
}

TEST_F(CacheTest, RefusesFoldersThatOthersControl) {
  ASSERT_EQ(mkdir(folder.path("open").c_str(), 0777), 0);
  ASSERT_EQ(chmod(folder.path("open").c_str(), 0777), 0);
  EXPECT_CONTAINS(Cache({folder.path("open"), 1 << 20}).problem(),
                  "only its owner can write");
  ASSERT_EQ(symlink(folder.path("open").c_str(), folder.path("link").c_str()),
            0);
  EXPECT_CONTAINS(Cache({folder.path("link"), 1 << 20}).problem(),
                  "found a link or a file");
  overwrite(folder.path("file"), "");
  EXPECT_CONTAINS(Cache({folder.path("file"), 1 << 20}).problem(),
                  "found a link or a file");
  EXPECT_CONTAINS(Cache({"", 1 << 20}).problem(), "HEDDLE_CACHE_DIR");
  EXPECT_CONTAINS(Cache({"/proc/nowhere/cache", 1 << 20}).problem(),
                  "cannot create");
  if (geteuid() == 0) {
    ASSERT_EQ(mkdir(folder.path("foreign").c_str(), 0700), 0);
    ASSERT_EQ(chown(folder.path("foreign").c_str(), 12345, 12345), 0);
    EXPECT_CONTAINS(Cache({folder.path("foreign"), 1 << 20}).problem(),
                    "expected a folder of user 0");
  } else {
    ASSERT_EQ(mkdir(folder.path("readonly").c_str(), 0500), 0);
    EXPECT_CONTAINS(Cache({folder.path("readonly"), 1 << 20}).problem(),
                    "cannot write");
  }
}

TEST_F(CacheTest, IgnoresEntriesThatAreLinks) {
  Cache cache(settings);
  cache.store(keyOf("a"), "contents");
  ASSERT_EQ(rename(file(keyOf("a")).c_str(), folder.path("moved").c_str()), 0);
  ASSERT_EQ(symlink(folder.path("moved").c_str(), file(keyOf("a")).c_str()), 0);
  EXPECT_EQ(cache.load(keyOf("a")), std::nullopt);
}

TEST_F(CacheTest, TakesWhatIsNoRegularFileForADamagedEntry) {
  Cache cache(settings);
  std::string entry = file(keyOf("a"));
  uint64_t damaged = statistics().cache_damaged;
  // A pipe: opening it would wait for a writer.
  ASSERT_EQ(mkfifo(entry.c_str(), 0600), 0);
  EXPECT_EQ(cache.load(keyOf("a")), std::nullopt);
  EXPECT_EQ(statistics().cache_damaged, damaged + 1);
  cache.store(keyOf("a"), "contents");
  EXPECT_EQ(cache.load(keyOf("a")), "contents");
  // A folder.
  ASSERT_EQ(unlink(entry.c_str()), 0);
  ASSERT_EQ(mkdir(entry.c_str(), 0700), 0);
  EXPECT_EQ(cache.load(keyOf("a")), std::nullopt);
  cache.store(keyOf("a"), "contents");
  EXPECT_EQ(cache.load(keyOf("a")), "contents");
  // A folder that cannot be removed: the cache works without this entry, and
  // leaves no temporary file.
  ASSERT_EQ(unlink(entry.c_str()), 0);
  ASSERT_EQ(mkdir(entry.c_str(), 0700), 0);
  ASSERT_EQ(mkdir((entry + "/inner").c_str(), 0700), 0);
  EXPECT_EQ(cache.load(keyOf("a")), std::nullopt);
  cache.store(keyOf("a"), "contents");
  EXPECT_EQ(cache.load(keyOf("a")), std::nullopt);
  cache.store(keyOf("b"), "others");
  EXPECT_EQ(cache.load(keyOf("b")), "others");
  // A device.
  ASSERT_EQ(symlink("/dev/zero", file(keyOf("c")).c_str()), 0);
  EXPECT_EQ(cache.load(keyOf("c")), std::nullopt);
  std::error_code error;
  int count = 0;
  for (sys::fs::directory_iterator item(settings.directory, error), end;
       !error && item != end; item.increment(error))
    ++count;
  EXPECT_EQ(count, 2); // the folder that stays, and "b"
}

TEST_F(CacheTest, ReadsItsSettingsFromTheEnvironment) {
  ScopedVariable place("HEDDLE_CACHE_DIR", "/somewhere"),
      size("HEDDLE_CACHE_SIZE", "3");
  EXPECT_EQ(Cache::settingsFromEnvironment().directory, "/somewhere");
  EXPECT_EQ(Cache::settingsFromEnvironment().maxBytes, uint64_t(3) << 20);
  ScopedVariable none("HEDDLE_CACHE_SIZE", "0");
  EXPECT_EQ(Cache::settingsFromEnvironment().maxBytes, 0u);
  ScopedVariable text("HEDDLE_CACHE_SIZE", "many");
  EXPECT_EQ(Cache::settingsFromEnvironment().maxBytes, 0u);
}

/// Contents that differ between keys in length and bytes.
std::string contentsOf(int key) {
  return std::string(3000 + key * 17, static_cast<char>('a' + key));
}

TEST_F(CacheTest, SurvivesConcurrentProcesses) {
  settings.maxBytes = 40000; // so small that entries are evicted, too
  std::vector<pid_t> children;
  uint64_t damagedBefore = statistics().cache_damaged;
  for (int child = 0; child < 4; ++child) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      Cache cache(settings);
      int wrong = 0;
      for (int round = 0; round < 200; ++round) {
        int key = (round * 7 + child) % 16;
        if (round % 3 == 0)
          cache.store(keyOf(std::to_string(key)), contentsOf(key));
        else if (auto contents = cache.load(keyOf(std::to_string(key)));
                 contents && *contents != contentsOf(key))
          ++wrong;
      }
      _exit(wrong + (statistics().cache_damaged != damagedBefore ? 100 : 0));
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

TEST_F(CacheTest, SurvivesKilledWriters) {
  for (int round = 0; round < 20; ++round) {
    pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      Cache cache(settings);
      for (int i = 0;; ++i)
        cache.store(keyOf(std::to_string(i % 4)), contentsOf(i % 4));
    }
    usleep(2000 + round * 500);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    Cache cache(settings);
    uint64_t damaged = statistics().cache_damaged;
    for (int key = 0; key < 4; ++key)
      if (auto contents = cache.load(keyOf(std::to_string(key)))) {
        EXPECT_EQ(*contents, contentsOf(key));
      }
    EXPECT_EQ(statistics().cache_damaged, damaged);
  }
}

} // namespace
