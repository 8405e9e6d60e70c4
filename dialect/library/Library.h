//===- Library.h - the standard programs by name ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses the text of a program, such as `adamw`, `sgd:momentum=0.9` or
// `clip_by_global_norm+adamw`, and builds its module of foreach IR. A user
// could write the same module by hand.
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
  /// "bool", "int", "float", or the accepted words: "f64|f32|f16|bf16".
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

/// Builds the module of `text`. If `dtype` is not empty, it is the value of
/// option `dtype` for programs that do not set it. Emits an error to the
/// context if a program or option does not exist, or if a value or a
/// composition is invalid.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>>
buildProgram(llvm::StringRef text, mlir::MLIRContext *context,
             llvm::StringRef dtype = "");

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_LIBRARY_H
