//===- ProgramChecks.h - checks around MLIR's parser ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's parser recurses into nested text, accepts names of any bytes, and lets
// a short text stand for a huge one. These checks bound the recursion and the
// size, and keep names printable in JSON.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_PROGRAMCHECKS_H
#define HEDDLE_DIALECT_PROGRAMCHECKS_H

#include "mlir/IR/Operation.h"
#include "llvm/Support/SMLoc.h"

#include <optional>
#include <string>

namespace heddle {

/// The deepest nesting of brackets, and of minus signs before an operand, that
/// a program may have. Printed programs of the standard library reach 12.
inline constexpr unsigned kMaxNesting = 200;

/// The most characters that the aliases of a program may stand for.
inline constexpr uint64_t kMaxExpandedText = uint64_t(16) << 20;

/// The most digits of an integer, or of either side of a decimal point. MLIR
/// needs quadratic time to read a number. The exact decimal form of a float64
/// has at most 309 digits before the point and 1074 after it.
inline constexpr size_t kMaxDigits = 2000;

/// The most bits of an integer type. MLIR stores each number in all of them.
inline constexpr unsigned kMaxIntegerBits = 64;

struct TextError {
  llvm::SMLoc at;
  std::string message;
};

/// The reason why the parser must not read `text`, if there is one: it is not
/// UTF-8, exceeds one of the limits above, or has resources, affine maps or
/// sets, or an array of a type that MLIR's parser does not expect.
std::optional<TextError> checkText(llvm::StringRef text);

/// The position after the string literal or comment that starts at `at`, or
/// `at` if none does.
size_t skipLiteral(llvm::StringRef text, size_t at);

/// Checks that the names of symbols and values in `top` are UTF-8, and that its
/// operations nest at most kMaxNesting deep.
mlir::LogicalResult checkNames(mlir::Operation *top);

/// Checks that the blocks of all functions in `top` end with a return.
mlir::LogicalResult checkReturns(mlir::Operation *top);

} // namespace heddle

#endif // HEDDLE_DIALECT_PROGRAMCHECKS_H
