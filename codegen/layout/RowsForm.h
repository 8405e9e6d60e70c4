//===- RowsForm.h - forms of a `rows` sweep ---------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts about the schedule `rows` on which the numbers of resident blocks and
// the CUDA source must agree.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_ROWSFORM_H
#define HEDDLE_CODEGEN_LAYOUT_ROWSFORM_H

#include "codegen/layout/SweepLayout.h"

namespace heddle {

/// The words that a thread may load before it uses them.
inline constexpr size_t kMostLoadedWords = 16;

/// The words of operands and states that a thread may hold for the columns that
/// it goes down.
inline constexpr size_t kMostHeldWords = 24;

/// The number of columns in a batch if a thread loads `words` words per column
/// and at most `most` words in total.
int columnBatch(size_t words, size_t most = kMostLoadedWords);

/// Whether a segment reduces elements over columns only and has no row or
/// element results. Then threads traverse columns instead of rows.
bool goesDownColumns(const SegmentLayout &layout, fused::SweepOp sweep,
                     unsigned segment);
bool goesDownColumns(fused::SweepOp sweep, const SweepLayout &layout);

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_ROWSFORM_H
