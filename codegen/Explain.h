//===- Explain.h - what fusion bought ---------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels, launches, sweeps, bytes before and after fusion, the floor that they
// imply, and the reasons: as text for people or as JSON.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_EXPLAIN_H
#define HEDDLE_CODEGEN_EXPLAIN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace heddle {

class Compilation;

/// Explains a lowered program. `shapes` is the JSON text of an array of shapes
/// (one tensor of a million elements if it is empty). The floor is that of the
/// GPU at hand where it has the architecture `arch` (or `arch` is empty), and
/// of a typical card of that architecture otherwise.
llvm::Expected<std::string> explainKernel(Compilation &compilation,
                                          llvm::StringRef shapes, bool json,
                                          llvm::StringRef arch = "");

} // namespace heddle

#endif // HEDDLE_CODEGEN_EXPLAIN_H
