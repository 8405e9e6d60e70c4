//===- Reference.h - programs in the reference interpreter ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One program, its arguments and the results of its last step, evaluated step
// after step: what `heddle run --check` compares with.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_REFERENCE_H
#define HEDDLE_CODEGEN_REFERENCE_H

#include "codegen/ProgramCompiler.h"
#include "dialect/reference/Interpreter.h"

namespace heddle {

class Reference {
public:
  static llvm::Expected<std::unique_ptr<Reference>>
  create(llvm::StringRef program);

  /// `foreach.initial` of an argument.
  llvm::Expected<std::optional<double>>
  initialValue(llvm::StringRef argument) const;

  llvm::Error setArgument(llvm::StringRef name, reference::Value value,
                          bool isList);
  /// Null if there is no such member.
  double *member(llvm::StringRef argument, size_t member);
  /// `draw` is of perturbed arithmetic.
  llvm::Error step(reference::Arithmetic arithmetic, uint64_t draw = 0);

  /// What result `index` is after a step; null if there is no such result.
  const reference::Value *getResult(size_t index) const;

private:
  Reference() = default;
  llvm::Expected<unsigned> find(llvm::StringRef argument) const;

  Compilation compilation;
  mlir::func::FuncOp function;
  std::vector<reference::Value> arguments;
  std::vector<bool> given;
  /// Results of the last step, but for those that replaced an argument and are
  /// found there: `replaced` has its position, or -1.
  std::vector<reference::Value> results;
  std::vector<int> replaced;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_REFERENCE_H
