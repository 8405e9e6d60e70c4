//===- Sizes.h - lists of matrices from their sizes -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words of the option '--sizes':
//   4096x4096                        a matrix
//   1024x100x100                     1024 matrices of 100 x 100
//   256x17..401x17..401              256 matrices of uneven sizes
//   255x100x100+3001x2003            255 small matrices and a large one
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_SIZES_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_SIZES_H

#include "../ShapesFile.h"

namespace heddle::bench {

inline constexpr llvm::StringLiteral kSizesForm =
    "[MEMBERSx]ROWSxCOLUMNS, such as 4096x4096, 1024x100x100, "
    "256x17..401x17..401 or 255x100x100+3001x2003";

/// Returns the list that `word` describes; its name is `word`. Uneven sizes
/// follow from the positions of the members alone. The error names the part of
/// the word that was not understood.
llvm::Expected<cli::Model> parseSizes(llvm::StringRef word);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_SIZES_H
