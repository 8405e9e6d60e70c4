//===- SupportTest.cpp - JSON, threads, files -----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "runtime/support/DynamicLibrary.h"
#include "runtime/support/Environment.h"
#include "runtime/support/Json.h"
#include "runtime/support/Parallel.h"
#include "runtime/support/Text.h"
#include "runtime/support/ThreadPool.h"

#include <atomic>
#include <new>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>

using namespace heddle::runtime;
using namespace llvm;

namespace {

//===----------------------------------------------------------------------===//
// Sentences
//===----------------------------------------------------------------------===//

TEST(TextTest, CountsInTheSingularAndThePlural) {
  EXPECT_EQ(heddle::counted(1, "operand"), "1 operand");
  EXPECT_EQ(heddle::counted(0, "operand"), "0 operands");
  EXPECT_EQ(heddle::counted(2, "entry"), "2 entries");
  EXPECT_EQ(heddle::counted(3, "array"), "3 arrays");
  EXPECT_EQ(heddle::counted(2, "address"), "2 addresses");
  EXPECT_EQ(heddle::counted(size_t(2), "launch"), "2 launches");
  EXPECT_EQ(heddle::counted(2, "index"), "2 indices");
  EXPECT_EQ(heddle::counted(1, "index"), "1 index");
  EXPECT_EQ(heddle::counted(int64_t(-1), "column"), "-1 columns");
}

TEST(TextTest, ShortensLongTexts) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened(std::string(100, 'a') + std::string(100, 'b'), 30),
            std::string(20, 'a') + "\xe2\x80\xa6" + std::string(7, 'b'));
  // A character of UTF-8 stays whole.
  std::string accents;
  for (int k = 0; k < 100; ++k)
    accents += "\xc3\xa9";
  for (size_t most = 20; most < 30; ++most) {
    EXPECT_TRUE(llvm::json::isUTF8(shortened(accents, most)));
    EXPECT_LE(shortened(accents, most).size(), most);
  }
}

TEST(TextTest, ShortensMessages) {
  // The end of a sentence stays after a long name.
  std::string name(100000, 'x');
  std::string message = shortMessage("name '" + name + "': expected another");
  EXPECT_LT(message.size(), 300u);
  EXPECT_TRUE(StringRef(message).ends_with("': expected another")) << message;
  std::string lines;
  for (int k = 0; k < 20; ++k)
    lines += (k ? "\nline" : "line");
  EXPECT_EQ(shortMessage(lines), lines);
  message = shortMessage(lines + "\n" + lines);
  EXPECT_EQ(StringRef(message).count('\n'), 19u);
  EXPECT_TRUE(StringRef(message).ends_with("\n\xe2\x80\xa6"));
  EXPECT_EQ(shortMessage(message), message);
}

TEST(TextTest, EscapesControlCharacters) {
  EXPECT_EQ(printable("\x1b[2Ja\a\r\x7f"), "\\x1b[2Ja\\x07\\x0d\\x7f");
  EXPECT_EQ(printable(StringRef("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m"); // CSI as one character
  EXPECT_EQ(printable("line\n\tline\r\n\xc3\xa9\xc2\xa0"),
            "line\n\tline\r\n\xc3\xa9\xc2\xa0");
}

TEST(TextTest, EscapesFormattingCharacters) {
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b\xe2\x80\xa8"),
            "a\\u202eb\\u2028");
  EXPECT_EQ(printable("\xf3\xa0\x80\xa0"), "\\U000e0020");
  // An ellipsis, a character of four bytes, and bytes that are not UTF-8.
  for (StringRef same :
       {"\xe2\x80\xa6", "\xf0\x9f\x98\x80", "\xe2\x80", "\xff"})
    EXPECT_EQ(printable(same), same);
}

TEST(TextTest, ListsNames) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a", "b"}), "'a', 'b'");
  std::vector<StringRef> many(25, "x");
  EXPECT_TRUE(StringRef(listed(many, "")).ends_with(", x and 5 others"));
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

std::string nested(unsigned depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonTest, BoundsTheNesting) {
  EXPECT_TRUE(static_cast<bool>(parseJson(nested(kDeepestJson))));
  EXPECT_CONTAINS(
      failure(parseJson(nested(kDeepestJson + 1)), StatusCode::BadInput),
      "[byte 640]: expected at most 640 levels");
  // Neighbours are not nested.
  std::string flat = "[";
  for (int k = 0; k < 10000; ++k)
    flat += "[{}],";
  EXPECT_TRUE(static_cast<bool>(parseJson(flat + "[]]")));
  // Nor are brackets in strings, behind an escaped quote or not.
  EXPECT_TRUE(
      static_cast<bool>(parseJson("[\"" + std::string(1000, '[') + "\\\"" +
                                  std::string(1000, '{') + "\\\\\"]")));
  EXPECT_CONTAINS(failure(parseJson("[1,"), StatusCode::BadInput), "byte=3");
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

TEST(ThreadPoolTest, MakesEveryCallOnce) {
  for (size_t count : {0, 1, 2, 7, 1000})
    for (size_t chunk : {1, 3, 2000})
      for (unsigned helpers : {0, 1, 5}) {
        std::vector<std::atomic<int>> calls(count);
        ThreadPool::instance().run(count, chunk, helpers,
                                   [&](size_t index) { ++calls[index]; });
        for (std::atomic<int> &call : calls)
          EXPECT_EQ(call, 1);
      }
}

TEST(ThreadPoolTest, RethrowsAnExceptionWhenNoCallRuns) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> running{0}, calls{0};
    EXPECT_THROW(ThreadPool::instance().run(1000, 1, 3,
                                            [&](size_t index) {
                                              ++running;
                                              ++calls;
                                              if (index == 20) {
                                                --running;
                                                throw std::runtime_error(
                                                    "twenty");
                                              }
                                              --running;
                                            }),
                 std::runtime_error);
    EXPECT_EQ(running, 0);
    EXPECT_GE(calls, 21);
  }
  // On the calling thread alone.
  EXPECT_THROW(ThreadPool::instance().run(
                   3, 1, 0, [](size_t) { throw std::bad_alloc(); }),
               std::bad_alloc);
}

TEST(ThreadPoolTest, WorkInsideOfWork) {
  std::atomic<int> calls{0};
  ThreadPool::instance().run(8, 1, 3, [&](size_t) {
    ThreadPool::instance().run(8, 1, 3, [&](size_t) {
      ThreadPool::instance().run(8, 1, 3, [&](size_t) { ++calls; });
    });
  });
  EXPECT_EQ(calls, 512);
}

TEST(ThreadPoolTest, ManyCallers) {
  std::atomic<int> calls{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        ThreadPool::instance().run(10, 1, 3, [&](size_t) { ++calls; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(calls, 8 * 200 * 10);
}

TEST(ThreadPoolTest, UsesSeveralThreads) {
  // Two calls that wait for each other.
  std::atomic<int> arrived{0};
  ThreadPool::instance().run(2, 1, 1, [&](size_t) {
    ++arrived;
    while (arrived < 2)
      std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}

TEST(ParallelTest, TheLimitIsBounded) {
  ScopedVariable many("HEDDLE_THREADS", "4000000000");
  EXPECT_EQ(threadLimit(), 1024u);
  ScopedVariable more("HEDDLE_THREADS", "18446744073709551615");
  EXPECT_EQ(threadLimit(), 1024u);
  EXPECT_TRUE(succeeded(checkEnvironment()));
  for (const char *text :
       {"0", "-1", "two", "1.5", " 4", "18446744073709551616"}) {
    ScopedVariable wrong("HEDDLE_THREADS", text);
    EXPECT_GE(threadLimit(), 1u);
    EXPECT_CONTAINS(failure(checkEnvironment(), StatusCode::BadInput),
                    "HEDDLE_THREADS: expected a whole number of threads, at "
                    "least 1 and below 2^64, found '" +
                        std::string(text) + "'");
  }
  ScopedVariable blank("HEDDLE_THREADS", "");
  EXPECT_TRUE(succeeded(checkEnvironment()));
  for (const char *text : {"-1", "many", "1G"}) {
    ScopedVariable wrong("HEDDLE_CACHE_SIZE", text);
    EXPECT_CONTAINS(failure(checkEnvironment(), StatusCode::BadInput),
                    "HEDDLE_CACHE_SIZE: expected a whole number of MiB, at "
                    "least 0");
  }
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

TEST(DynamicLibraryTest, RefusesAPipe) {
  TemporaryFolder folder;
  std::string path = folder.path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_CONTAINS(failure(DynamicLibrary::open(path), StatusCode::Unavailable),
                  "expected a regular file");
}

} // namespace
