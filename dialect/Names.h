//===- Names.h - the names of values ----------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A value's name is its SSA name in the program, stored in its location.
// Callers bind buffers by name, and IR and CUDA source show the names. A name
// never affects the result.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_NAMES_H
#define HEDDLE_DIALECT_NAMES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringMap.h"

namespace heddle {

/// The name of `value`, or an empty string if it has none.
llvm::StringRef nameOf(mlir::Value value);

/// A location that names one result or block argument, at `place` or nowhere.
mlir::Location namedLoc(mlir::Location place, llvm::StringRef name);
mlir::Location namedLoc(mlir::MLIRContext *context, llvm::StringRef name);

/// A location that names every result of an operation, in order.
mlir::Location namedLoc(mlir::Location place,
                        llvm::ArrayRef<llvm::StringRef> names);
mlir::Location namedLoc(mlir::MLIRContext *context,
                        llvm::ArrayRef<llvm::StringRef> names);

/// Sets the name of `value`, a block argument or the result of an operation.
/// Its place in the program's text stays.
void setName(mlir::Value value, llvm::StringRef name);

/// Gives the results of `op` names, unless all of these are empty.
void setNames(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> names);

/// Copies the names of `from` to `to`, pairwise.
void copyNames(mlir::ValueRange from, mlir::ValueRange to);

/// Passes the names of values to the printer.
void printNames(mlir::ValueRange values,
                llvm::function_ref<void(mlir::Value, llvm::StringRef)> set);

/// Whether `name` is a keyword of C++ or `main`, which no function, type or
/// variable of emitted source can be called.
bool isCppKeyword(llvm::StringRef name);

/// Makes names unique by numbers: `x`, `x_2`, `x_3`, if 2 is the first number.
class UniqueNames {
public:
  explicit UniqueNames(unsigned first) : first(first) {}

  bool contains(llvm::StringRef name) const { return next.contains(name); }
  /// Takes `name`. Returns whether it was free.
  bool take(llvm::StringRef name);
  /// Takes and returns `name`; if it is taken, with the first number that makes
  /// it unique. An empty name becomes the number.
  std::string unique(llvm::StringRef name);

  /// A scope: names that are taken in it are free again at its end.
  class Nested {
  public:
    explicit Nested(UniqueNames &names)
        : names(names), begin(names.changes.size()) {}
    Nested(const Nested &) = delete;
    ~Nested() { names.undo(begin); }

  private:
    UniqueNames &names;
    size_t begin;
  };

private:
  void undo(size_t count);

  unsigned first;
  /// For each name that is taken, the next number to try with it.
  llvm::StringMap<unsigned> next;
  /// Names and their numbers before a change; none if they were free.
  std::vector<std::pair<std::string, std::optional<unsigned>>> changes;
};

} // namespace heddle

#endif // HEDDLE_DIALECT_NAMES_H
