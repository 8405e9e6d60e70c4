//===- TokenMutator.h - Mutations of structured text ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits text into tokens (names, numbers, strings, punctuation) and changes
// tokens and bracketed groups, so that many results are still well formed. It
// serves the text of programs and JSON.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_FUZZ_TOKENMUTATOR_H
#define HEDDLE_TEST_FUZZ_TOKENMUTATOR_H

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::fuzz {

/// Applies a few random mutations. `words` are words of the grammar:
/// operations, types, keywords, attributes, keys.
std::string mutateTokens(std::string_view text,
                         const std::vector<std::string_view> &words,
                         std::mt19937 &random);

/// A mutator for LLVMFuzzerCustomMutator: mutates tokens, and sometimes bytes.
size_t mutateText(uint8_t *data, size_t size, size_t maxSize, unsigned seed,
                  const std::vector<std::string_view> &words);

/// The words of a text, which blanks separate.
std::vector<std::string_view> splitWords(std::string_view text);

/// Replaces the input by `text` if it fits, else mutates some bytes.
size_t storeText(std::string_view text, uint8_t *data, size_t size,
                 size_t maxSize);

} // namespace heddle::fuzz

#endif // HEDDLE_TEST_FUZZ_TOKENMUTATOR_H
