//===- Bytes.h - Choices from the bytes of an input -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_FUZZ_BYTES_H
#define HEDDLE_TEST_FUZZ_BYTES_H

#include <cstddef>
#include <cstdint>

namespace heddle::fuzz {

/// Reads choices from an input. After its end, every choice is 0.
class Bytes {
public:
  Bytes(const uint8_t *data, size_t size) : at(data), left(size) {}

  bool empty() const { return left == 0; }
  uint8_t next() {
    if (!left)
      return 0;
    --left;
    return *at++;
  }
  /// A number in 0..count-1.
  size_t below(size_t count) { return next() % count; }
  bool oneIn(size_t count) { return below(count) == count - 1; }
  template <typename T, size_t N> const T &oneOf(const T (&values)[N]) {
    return values[below(N)];
  }

private:
  const uint8_t *at;
  size_t left;
};

} // namespace heddle::fuzz

#endif // HEDDLE_TEST_FUZZ_BYTES_H
