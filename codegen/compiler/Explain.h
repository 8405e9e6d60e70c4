//===- Explain.h - kernels, traffic, floor and reasons ----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Describes a lowered program: its kernels, launches and sweeps, the bytes
// before and after fusion, the resulting floor, and the decisions of the
// passes.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_COMPILER_EXPLAIN_H
#define HEDDLE_CODEGEN_COMPILER_EXPLAIN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace heddle {

class Compilation;

/// Explains a lowered program as text or JSON. `shapes` is a JSON array of
/// shapes; if it is empty, lists have one member of 1000 x 1000 elements. The
/// floor uses the measured bandwidth of the current GPU if `arch` is empty or
/// names its architecture, otherwise the nominal bandwidth of a typical GPU of
/// `arch`.
llvm::Expected<std::string> explainProgram(Compilation &compilation,
                                           llvm::StringRef shapes, bool json,
                                           llvm::StringRef arch = "");

} // namespace heddle

#endif // HEDDLE_CODEGEN_COMPILER_EXPLAIN_H
