//===- Reference.h - programs in the reference interpreter ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program with its arguments and the results of its last step, for the
// comparison of `heddle run --check`.
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

  /// The initial value of an argument (`foreach.initial`), if it has one.
  llvm::Expected<std::optional<double>>
  initialValue(llvm::StringRef argument) const;

  /// A number for a dimension of a list argument. Dimensions with one number
  /// have equal extents.
  llvm::Expected<int64_t> extentNumber(llvm::StringRef argument,
                                       unsigned dimension) const;

  /// Whether the program sets all elements of list result `index` to a
  /// constant, as `zero_grad` does with gradients.
  bool isFill(size_t index) const;

  llvm::Error setArgument(llvm::StringRef name, reference::Value value,
                          bool isList);
  /// The elements of a member; null if there is no such member.
  double *member(llvm::StringRef argument, size_t member);
  /// Evaluates one step, with ranges or perturbed.
  llvm::Error step(const reference::InterpretOptions &options);

  /// Result `index` of the last step; null if there is no such result.
  const reference::Value *getResult(size_t index) const;

private:
  Reference() = default;
  llvm::Expected<unsigned> find(llvm::StringRef argument) const;

  Compilation compilation;
  mlir::func::FuncOp function;
  std::vector<reference::Value> arguments;
  std::vector<bool> given;
  /// The results of the last step. A result that replaces a donated argument is
  /// in `arguments`; `replaced` has the argument's position, otherwise -1.
  std::vector<reference::Value> results;
  std::vector<int> replaced;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_COMPILER_REFERENCE_H
