//===- Rounds.h - tiles whose elements are mapped in rounds -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_ROUNDS_H
#define HEDDLE_CODEGEN_LAYOUT_ROUNDS_H

#include "codegen/layout/SweepLayout.h"

namespace heddle {

/// Measured: blocks that should fit on a multiprocessor if elements are mapped
/// in rounds. With more, memory is not faster. With few words for each thread,
/// a short list is, by 2 %.
inline constexpr int64_t kBlocksOfRounds = 5, kBlocksOfShortRounds = 6;

/// Whether the segment has results with a value for each element.
bool writesElements(const SegmentLayout &segment);

/// The number of times that a thread loads elements of a tile.
int64_t roundsOf(const SweepLayout &layout, const SegmentLayout &segment);

/// Whether a thread only maps its elements, in several rounds.
bool mapsInRounds(fused::SweepOp sweep, const SweepLayout &layout,
                  unsigned segment);

/// Whether such a thread may call a function, the math of precomputed scalars,
/// before the rounds. Registers that the compiler spills are then saved around
/// the call, which few steps need, or hold scalars of the member.
bool callsBeforeRounds(fused::SweepOp sweep, const SweepLayout &layout,
                       unsigned segment);

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_ROUNDS_H
