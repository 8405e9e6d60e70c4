//===- Reference.h - programs in the reference interpreter ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program with its arguments and the results of its last step. `heddle run
// --check` compares with these results.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_COMPILER_REFERENCE_H
#define HEDDLE_CODEGEN_COMPILER_REFERENCE_H

#include "codegen/compiler/ProgramCompiler.h"
#include "dialect/reference/Interpreter.h"

namespace heddle {

class Reference {
public:
  static llvm::Expected<std::unique_ptr<Reference>>
  create(llvm::StringRef program);

  /// The attribute `foreach.initial` of an argument, if present.
  llvm::Expected<std::optional<double>>
  initialValue(llvm::StringRef argument) const;

  llvm::Error setArgument(llvm::StringRef name, reference::Value value,
                          bool isList);
  /// The elements of a member; null if it does not exist.
  double *member(llvm::StringRef argument, size_t member);
  /// Evaluates one step. `draw` selects the perturbation in perturbed
  /// arithmetic.
  llvm::Error step(reference::Arithmetic arithmetic, uint64_t draw = 0);

  /// Result `index` of the last step; null if it does not exist.
  const reference::Value *getResult(size_t index) const;

private:
  Reference() = default;
  llvm::Expected<unsigned> find(llvm::StringRef argument) const;

  Compilation compilation;
  mlir::func::FuncOp function;
  std::vector<reference::Value> arguments;
  std::vector<bool> given;
  /// Results of the last step. A result that replaces a donated argument is
  /// stored in `arguments`; `replaced` has the argument's position, or -1.
  std::vector<reference::Value> results;
  std::vector<int> replaced;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_COMPILER_REFERENCE_H
