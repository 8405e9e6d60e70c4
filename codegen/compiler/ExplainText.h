//===- ExplainText.h - the text form of an explanation ----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the JSON object of an explanation as text.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_COMPILER_EXPLAINTEXT_H
#define HEDDLE_CODEGEN_COMPILER_EXPLAINTEXT_H

#include "llvm/Support/JSON.h"

#include <string>

namespace heddle {

std::string printExplanation(const llvm::json::Object &explanation);

} // namespace heddle

#endif // HEDDLE_CODEGEN_COMPILER_EXPLAINTEXT_H
