//===- Rounds.cpp - tiles whose elements are mapped in rounds -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/Rounds.h"

namespace heddle {

bool writesElements(const SegmentLayout &segment) {
  return llvm::any_of(segment.operands, [](const OperandSlot &slot) {
    return slot.written && slot.index == kI;
  });
}

int64_t roundsOf(const SweepLayout &layout, const SegmentLayout &segment) {
  return std::max<int64_t>(1, segment.tile / (layout.threads * segment.vector));
}

bool mapsInRounds(fused::SweepOp sweep, const SweepLayout &layout,
                  unsigned number) {
  const SegmentLayout &segment = layout.segments[number];
  return writesElements(segment) && roundsOf(layout, segment) > 1 &&
         sweep.getSegmentBlock(number).getOps<fused::ReduceOp>().empty();
}

bool callsBeforeRounds(fused::SweepOp sweep, const SweepLayout &layout,
                       unsigned segment) {
  return mapsInRounds(sweep, layout, segment) &&
         !sweep.getSegmentBlock(segment).getOps<fused::PrecomputeOp>().empty();
}

} // namespace heddle
