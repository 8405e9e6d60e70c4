//===- Library.h - the standard programs by name ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `adamw`, `sgd:momentum=0.9,nesterov=true`, `clip_by_global_norm+adamw`: the
// text that stands for a program is read here and becomes a module of foreach
// IR, the same that anybody could have written by hand.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_LIBRARY_H
#define HEDDLE_DIALECT_LIBRARY_LIBRARY_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace heddle::library {

struct OptionInfo {
  std::string name;
  /// "bool", "int", "float", or the words to choose from: "f64|f32|f16|bf16".
  std::string type;
  std::string defaultValue;
  std::string help;
};

struct ProgramInfo {
  std::string name;
  std::string summary;
  std::vector<OptionInfo> options;
};

/// The standard programs, in the order of their names.
std::vector<ProgramInfo> describePrograms();

/// Builds the module that `text` stands for; `dtype`, where it is not empty, is
/// the value of option `dtype` for programs that are given none. Emits an error
/// to the context if there is no such program or option, or a value or a
/// composition makes no sense.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
buildProgram(llvm::StringRef text, mlir::MLIRContext *context,
             llvm::StringRef dtype = "");

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_LIBRARY_H
