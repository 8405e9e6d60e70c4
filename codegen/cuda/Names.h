//===- Names.h - identifiers of the emitted text ----------------*- C++ -*-===//
//
// Turns the names of values, which are data, into identifiers that are legal in
// CUDA C++ and unique in their scope. No other text of a module reaches the
// emitted source.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_NAMES_H
#define HEDDLE_CODEGEN_CUDA_NAMES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace heddle::cuda {

/// `name` with everything but letters, digits and underscores replaced; never a
/// word that C++ or the device headers reserve, never empty.
std::string identifierFrom(llvm::StringRef name);

/// The identifiers of one function.
class Scope {
public:
  /// A fresh identifier close to `wanted`.
  std::string fresh(llvm::StringRef wanted);

  /// Gives `value` an identifier close to its own name, or to `fallback`.
  std::string declare(mlir::Value value, llvm::StringRef fallback = "x");

  void bind(mlir::Value value, std::string text) {
    texts[value] = std::move(text);
  }
  void forget(mlir::Value value) { texts.erase(value); }
  bool knows(mlir::Value value) const { return texts.contains(value); }
  std::string operator[](mlir::Value value) const {
    return texts.lookup(value);
  }

private:
  llvm::StringSet<> taken;
  llvm::DenseMap<mlir::Value, std::string> texts;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_NAMES_H
