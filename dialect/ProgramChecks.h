//===- ProgramChecks.h - checks around MLIR's parser ------------*- C++ -*-===//
//
// MLIR's parser recurses into nested text and accepts names of any bytes. These
// checks bound the recursion and keep names printable in JSON.
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

struct TextError {
  llvm::SMLoc at;
  std::string message;
};

/// Why the parser must not read `text`: it is not UTF-8, or nests deeper than
/// kMaxNesting.
std::optional<TextError> checkText(llvm::StringRef text);

/// Checks that the names of symbols and values in `top` are UTF-8, and that its
/// operations nest at most kMaxNesting deep.
mlir::LogicalResult checkNames(mlir::Operation *top);

} // namespace heddle

#endif // HEDDLE_DIALECT_PROGRAMCHECKS_H
