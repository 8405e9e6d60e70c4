//===- Occupancy.h - blocks that must fit on a multiprocessor ---*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_OCCUPANCY_H
#define HEDDLE_PASSES_OCCUPANCY_H

#include "codegen/layout/SweepLayout.h"

namespace heddle::fused {

/// The number of blocks of `sweep` that must fit on a multiprocessor so that
/// enough loads are in flight, for entries that take scalars by value or by
/// address. This number bounds the registers of a thread.
int64_t residentBlocks(SweepOp sweep, const SweepLayout &layout,
                       ScalarPassing scalars);

/// The same for the entry that has held rows of at most `columns` columns only
/// (columnsOfHeldRows()), with scalars by value.
int64_t heldBlocks(SweepOp sweep, const SweepLayout &layout, int64_t columns);

/// The number for the entry in which threads take rows in pairs.
int64_t pairedBlocks(SweepOp sweep, const SweepLayout &layout);

/// The number for the entry in which a warp has each row of at most `columns`
/// columns.
int64_t warpBlocks(SweepOp sweep, const SweepLayout &layout, int64_t columns);

/// The number for the entry in which the blocks of a row are a cluster.
int64_t clusterBlocks(SweepOp sweep, const SweepLayout &layout);

/// The number for the entry that has parts of rows alone, whose states blocks
/// exchange through memory.
int64_t partBlocks(SweepOp sweep, const SweepLayout &layout);

/// The number for the entry in which blocks hold long parts of rows.
int64_t longPartBlocks(SweepOp sweep, const SweepLayout &layout);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_OCCUPANCY_H
