//===- MemberScalars.h - work of a thread besides its elements --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_MEMBERSCALARS_H
#define HEDDLE_PASSES_MEMBERSCALARS_H

#include "dialect/FusedLevels.h"

namespace heddle::fused {

/// Whether each thread executes so many instructions for the scalars of its
/// member, or needs so many registers for them, that rounds should share them.
bool hasManyMemberScalars(SweepOp sweep, unsigned segment);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_MEMBERSCALARS_H
