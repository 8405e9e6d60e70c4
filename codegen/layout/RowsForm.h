//===- RowsForm.h - forms of a sweep by rows --------------------*- C++ -*-===//
//
// Facts about the schedule by rows on which the bounds of occupancy and the
// CUDA source must agree.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_ROWSFORM_H
#define HEDDLE_CODEGEN_LAYOUT_ROWSFORM_H

#include "codegen/layout/SweepLayout.h"

namespace heddle {

/// Words that a thread loads at a time.
inline constexpr size_t kMostLoadedWords = 16;

/// The number of columns that a thread processes at a time if it loads `words`
/// words for each of them and at most `most` words for all.
int columnBatch(size_t words, size_t most = kMostLoadedWords);

/// Whether the elements of a segment are reduced over columns only and its rows
/// have no results: threads then go down columns instead of along rows.
bool goesDownColumns(const SegmentLayout &layout, fused::SweepOp sweep,
                     unsigned segment);
bool goesDownColumns(fused::SweepOp sweep, const SweepLayout &layout);

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_ROWSFORM_H
