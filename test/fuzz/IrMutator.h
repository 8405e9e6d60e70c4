//===- IrMutator.h - Mutations of parsed programs ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes the operations of a parsed module, without its verifier. The results
// are well-formed text, so the parser accepts them more often than mutated
// tokens.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_FUZZ_IRMUTATOR_H
#define HEDDLE_TEST_FUZZ_IRMUTATOR_H

#include <optional>
#include <random>
#include <string>
#include <string_view>

namespace heddle::fuzz {

/// Parses `text`, applies a few random mutations, and prints the module in the
/// generic form. Nothing if the text cannot be parsed.
std::optional<std::string> mutateIr(std::string_view text,
                                    std::mt19937 &random);

} // namespace heddle::fuzz

#endif // HEDDLE_TEST_FUZZ_IRMUTATOR_H
