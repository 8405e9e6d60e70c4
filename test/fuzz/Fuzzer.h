//===- Fuzzer.h - The interface of libFuzzer --------------------*- C++ -*-===//
//
// Every fuzz target defines LLVMFuzzerTestOneInput, and LLVMFuzzerCustomMutator
// if it mutates by a grammar. libFuzzer calls them (preset `fuzz`), or
// StandaloneMain.cpp does (every other build).
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
