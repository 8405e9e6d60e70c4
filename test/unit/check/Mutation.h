//===- Mutation.h - errors in emitted code ----------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts one error into a module of the cpu target, such as an emitter could
// make.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_CHECK_MUTATION_H
#define HEDDLE_TEST_UNIT_CHECK_MUTATION_H

#include "llvm/IR/Module.h"

#include <cstdint>
#include <string>

namespace heddle::test {

/// Makes the error that follows from `seed`; returns its description, or an
/// empty text if `module` has no place for it.
std::string mutate(llvm::Module &module, uint64_t seed);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_CHECK_MUTATION_H
