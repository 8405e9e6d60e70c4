//===- Fuzzer.h - Fuzz targets and the interface of libFuzzer ---*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All targets are in one program. The name of the program selects the target,
// and build/bin has one link per target. libFuzzer calls the functions that are
// named after it (preset `fuzz`), or StandaloneMain.cpp does (every other
// build).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_FUZZ_FUZZER_H
#define HEDDLE_TEST_FUZZ_FUZZER_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

extern "C" {
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                               unsigned seed);
/// Changes some bytes and returns the new size.
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);
}

namespace heddle::fuzz {

struct Target {
  const char *name;
  /// Called once, before the first input.
  void (*initialize)();
  void (*run)(const uint8_t *data, size_t size);
  /// Changes an input by its grammar and returns the new size.
  size_t (*mutate)(uint8_t *data, size_t size, size_t maxSize, unsigned seed);
};

extern const Target programTarget, bytecodeTarget, planTarget, shapesTarget,
    capiTarget;

/// The mutation of inputs without a grammar.
inline size_t mutateBytes(uint8_t *data, size_t size, size_t maxSize,
                          unsigned) {
  return LLVMFuzzerMutate(data, size, maxSize);
}

inline std::string_view textOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// Reports a finding that no sanitizer detects.
[[noreturn]] inline void finding(const char *text) {
  std::fprintf(stderr, "finding: %s\n", text);
  std::abort();
}

} // namespace heddle::fuzz

#endif // HEDDLE_TEST_FUZZ_FUZZER_H
