//===- LongLines.h - wraps long lines of emitted source ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emitters print a statement on one line. This last step breaks lines that
// are too wide to read.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_LONGLINES_H
#define HEDDLE_CODEGEN_CUDA_LONGLINES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace heddle::cuda {

/// `source`, with each line of more than 120 columns broken where the fewest
/// brackets are open. A comment at the end of such a line moves above it.
/// Preprocessor lines, comment lines and lines with string literals stay.
std::string wrapLongLines(llvm::StringRef source);

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_LONGLINES_H
