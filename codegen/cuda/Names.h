//===- Names.h - identifiers of the emitted source --------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns the names of values, which are data, into identifiers that are legal in
// CUDA C++ and unique in their scope. No other text of a module reaches the
// emitted source.
//
// A value keeps the name that it has in the program. Prefixes and suffixes
// follow one scheme for sweeps and panel loops. For a list `exp_avg` that a
// program updates:
//
//   tile.exp_avg      the address of the tile's elements; `member().exp_avg` in
//                     a panel loop, and `params.lr` for a scalar
//   exp_avg[k]        an element, from its load to its store: the updated value
//                     replaces the loaded value at its last use
//   exp_avg_next[k]   the updated value, if the loaded value is used later
//   log_a[k]          an element of a list that is only written, like an
//                     updated value
//   exp_avg_f64       a value converted to another type, beside the original
//   exp_avg1          a name of the program, like any other
//   x, scalar         a value, or a scalar argument, without a name
//   row_value         a value whose name `row` means something else in the
//                     source: a word of C++, a function, a loop variable
//   good_2            the second value of one scope that has this name and type
//                     in the program
//
// For a reduction with the result `norm`:
//
//   norm_part         its state: of a thread, then of the tile
//   norm_of_tiles     the memory for the states of all tiles; so `_of_members`,
//                     `_of_columns`, `_of_panels` and `_of_rows`
//   norm_tickets      the tickets of its groups of tiles
//   norm_state        its state of the member
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_NAMES_H
#define HEDDLE_CODEGEN_CUDA_NAMES_H

#include "dialect/Names.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace heddle::cuda {

/// `name` with everything but letters, digits and underscores replaced; never a
/// word that C++ or the device headers reserve, never empty.
std::string identifierFrom(llvm::StringRef name);

/// The suffix that distinguishes values of different types: `_f32`, `_i64`.
std::string typeSuffix(mlir::Type type);

/// The identifiers of one function.
class Scope {
public:
  /// Reserves `name` for the emitter: a value with this name gets another
  /// identifier.
  void reserve(llvm::StringRef name) { reserved.insert(name); }

  /// A fresh identifier close to `wanted`.
  std::string fresh(llvm::StringRef wanted) {
    return take(identifierFrom(wanted), {});
  }
  /// The same for a variable of the emitter, whose name may be a reserved word.
  std::string freshOwn(llvm::StringRef wanted) {
    return take(wanted.str(), {});
  }

  /// Gives `value` an identifier close to its own name, or to `fallback`.
  std::string declare(mlir::Value value, llvm::StringRef fallback = "x");

  void bind(mlir::Value value, std::string text) {
    set(value, std::move(text));
  }
  void forget(mlir::Value value) { set(value, std::nullopt); }
  bool contains(mlir::Value value) const {
    return texts.lookup(value).has_value();
  }
  std::string operator[](mlir::Value value) const {
    return texts.lookup(value).value_or("");
  }

  /// A block of C++. Its declarations and bindings are undone at its end.
  class Nested {
  public:
    explicit Nested(Scope &scope)
        : scope(scope), taken(scope.taken), names(scope.names.size()),
          bound(scope.bound.size()) {}
    Nested(const Nested &) = delete;
    ~Nested() { scope.undo(names, bound); }

  private:
    Scope &scope;
    UniqueNames::Nested taken;
    size_t names, bound;
  };

private:
  std::string take(std::string wanted, mlir::Type type);
  void set(mlir::Value value, std::optional<std::string> text);
  void undo(size_t toNames, size_t toBound);

  UniqueNames taken{/*first=*/2};
  llvm::StringSet<> reserved;
  /// The types of the values that have the names; null for others.
  llvm::StringMap<mlir::Type> types;
  llvm::DenseMap<mlir::Value, std::optional<std::string>> texts;
  // For the ends of blocks, in order: the declared names, and the replaced
  // bindings.
  std::vector<std::string> names;
  std::vector<std::pair<mlir::Value, std::optional<std::string>>> bound;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_NAMES_H
