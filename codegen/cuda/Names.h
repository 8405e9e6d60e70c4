//===- Names.h - identifiers of the emitted source --------------*- C++ -*-===//
//
// Turns the names of values, which are data, into identifiers that are legal in
// CUDA C++ and unique in their scope. No other text of a module reaches the
// emitted source.
//
// The naming scheme, for a list `exp_avg` that a program updates:
//
//   tile.exp_avg      the address of the tile's elements (`p.lr`: a scalar)
//   exp_avg[k]        an element, from its load to its store: the updated value
//                     replaces the loaded value at its last use
//   exp_avg_next[k]   the updated value, if the loaded value is used later
//   exp_avg_f64       a value converted to another type, beside the original
//   exp_avg1          a name of the program, like any other
//
// A number is appended only if two values of one scope have the same name and
// type in the program.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_NAMES_H
#define HEDDLE_CODEGEN_CUDA_NAMES_H

#include "dialect/Names.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace heddle::cuda {

/// `name` with everything but letters, digits and underscores replaced; never a
/// word that C++ or the device headers reserve, never empty.
std::string identifierFrom(llvm::StringRef name);

/// The suffix that distinguishes values of different types: `_f32`, `_i64`.
std::string typeSuffix(mlir::Type type);

/// The identifiers of one function.
class Scope {
public:
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
  bool knows(mlir::Value value) const {
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

  UniqueNames taken{/*first=*/1};
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
