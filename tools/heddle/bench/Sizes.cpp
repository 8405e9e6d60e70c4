//===- Sizes.cpp - lists of matrices from their sizes ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sizes.h"

#include "../CommandLine.h"

using namespace llvm;

namespace heddle::bench {

static constexpr int64_t kMostMembers = 10'000'000;
static constexpr int64_t kMostElements = int64_t(1) << 40; // of a list

namespace {
/// The values that an extent may have.
struct Range {
  int64_t least = 0, most = 0;
};
} // namespace

static std::optional<Range> parseRange(StringRef word) {
  auto [first, last] = word.split("..");
  Range range;
  if (first.getAsInteger(10, range.least) || range.least < 1)
    return std::nullopt;
  range.most = range.least;
  if (word.contains("..") && last.getAsInteger(10, range.most))
    return std::nullopt;
  if (range.most < range.least || range.most > INT32_MAX)
    return std::nullopt;
  return range;
}

/// Returns a number of the range that follows from `position` alone.
static int64_t pick(Range range, uint64_t position) {
  uint64_t x = (position + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  x ^= x >> 31;
  return range.least + static_cast<int64_t>(x % (range.most - range.least + 1));
}

Expected<cli::Model> parseSizes(StringRef word) {
  cli::Model list;
  list.name = list.origin = word.str();
  int64_t elements = 0;
  auto expected = [&](StringRef what, StringRef found) {
    return cli::usageError("expected " + what + ", found '" + found + "' in '" +
                           word + "'");
  };
  SmallVector<StringRef> parts;
  word.split(parts, '+');
  for (StringRef part : parts) {
    SmallVector<StringRef> numbers;
    part.split(numbers, 'x');
    if (numbers.size() != 2 && numbers.size() != 3)
      return expected(kSizesForm, part);
    int64_t members = 1;
    if (numbers.size() == 3) {
      if (numbers.front().getAsInteger(10, members) || members < 1 ||
          members > kMostMembers)
        return expected("a number of members from 1 to 10000000",
                        numbers.front());
      numbers.erase(numbers.begin());
    }
    auto rows = parseRange(numbers[0]), columns = parseRange(numbers[1]);
    if (!rows || !columns)
      return expected("an extent from 1 to 2147483647, or a range of them such "
                      "as 17..401",
                      rows ? numbers[1] : numbers[0]);
    for (int64_t member = 0; member < members; ++member) {
      uint64_t position = 2 * list.shapes.size();
      list.shapes.push_back(
          {pick(*rows, position), pick(*columns, position + 1)});
      elements = addCounts(elements, elementCount(list.shapes.back()));
      if (list.shapes.size() > size_t(kMostMembers) || elements > kMostElements)
        return expected("at most 10000000 members and 2^40 elements", part);
    }
  }
  return list;
}

} // namespace heddle::bench
