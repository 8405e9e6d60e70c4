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
#include "runtime/binding/Tables.h"

namespace heddle {

/// The words that a thread may load before it uses them.
inline constexpr size_t kMostLoadedWords = 16;

/// Elements of a held row that a thread holds at most.
inline constexpr int64_t kHeldItems = 8;

/// The most elements of a narrow row, which one thread has.
inline constexpr int64_t kNarrowItems = 4;

/// The adjacent columns of a row that a thread has, if the row has a multiple
/// of so many, and at most mostAdjacentColumns(). Part of the order of
/// reductions.
inline constexpr int64_t kAdjacentInRow = 4;
static_assert(runtime::kPartMultiple % kAdjacentInRow == 0);

/// Elements of a held part of a wide row, or of a held wide row, that a thread
/// holds at most.
inline constexpr int64_t kPartItems = 16;
static_assert(kPartItems * 256 == runtime::kPartColumns);
static_assert(kHeldItems * 256 == runtime::kSingleRowColumns);

/// The most columns of a held row if one warp has to be enough, and otherwise.
inline constexpr int64_t kWarpColumns = 32 * kHeldItems,
                         kBlockColumns = 256 * kHeldItems;

/// In the entry for pairs of rows, a group of threads takes two rows at a time.
/// The most threads of a group, and the most columns of a row.
inline constexpr int64_t kPairedLanes = 4,
                         kPairedColumns = kPairedLanes * kHeldItems;

/// The most columns of a row that one warp can have.
inline constexpr int64_t kMostWarpColumns = 4 * kWarpColumns;

/// The number of columns in a batch if a thread loads `words` words per column
/// and at most kMostLoadedWords in total.
int columnBatch(size_t words);

/// Whether a segment reduces elements over columns only and has no row or
/// element results. Then threads traverse columns instead of rows.
bool goesDownColumns(const SegmentLayout &layout, fused::SweepOp sweep,
                     unsigned segment);
bool goesDownColumns(fused::SweepOp sweep, const SweepLayout &layout);

/// Whether threads may have adjacent columns, to access them as vectors:
/// threads that go down columns, or map several columns of rows that blocks
/// share. All elements of the segment have 16 bits; vectors of larger ones are
/// not faster. The code is printed for both orders of columns, which takes too
/// many registers if a map needs functions for elements or columns.
bool hasAdjacentColumns(fused::SweepOp sweep, const SegmentLayout &layout,
                        unsigned segment);

/// Whether blocks that share rows have an entry in which elements are vectors
/// (codegen/cuda/SharedVectors.cpp). It is not faster if elements or columns
/// have 64 bits.
bool hasVectors(fused::SweepOp sweep, const SweepLayout &layout);
/// How many vectors a thread loads before it uses any, if it loads `bytes`
/// bytes for each: up to 96 bytes (measured), but at least one. Of elements
/// that are no vectors, it loads kTurnsOfElements.
int64_t turnsAtOnce(fused::SweepOp sweep, unsigned segment, int64_t bytes);
inline constexpr int64_t kTurnsOfElements = 4;
/// The most columns of a row in that entry: 32 bits count the elements of a
/// tile.
int64_t mostVectorColumns(const SweepLayout &layout);

/// The columns that a thread goes down at the same time, and the rows that it
/// loads at a time. Several rows of few columns keep more bytes in flight than
/// one row of many columns, and leave columns for other blocks.
struct DownBatch {
  int64_t columns = 4, rows = 8;
  int64_t fewestColumns = 1; ///< if registers are scarce
};

/// The batch of a thread that goes across columns, too: the states of rows take
/// registers, and it has a multiple of kAdjacentInRow columns. In tiles of at
/// most kFewRows rows, it has the second one.
inline constexpr DownBatch kAcrossBatch = {4, 4, kAdjacentInRow},
                           kFewRowsBatch = {8, 1, kAdjacentInRow};
inline constexpr int64_t kFewRows = 2;

/// The most words of the states of a row, if a thread also keeps the states of
/// columns for all of a row.
inline constexpr int64_t kFewAcrossWords = 2;

/// The batch of a thread that loads `elementWords` words for each element, and
/// holds `columnWords` more for each column and `rowWords` for each row:
/// `batch`, or fewer columns and rows.
DownBatch downBatch(DownBatch batch, size_t elementWords, size_t columnWords,
                    size_t rowWords);

/// The columns that a block takes at a time if blocks divide columns.
inline constexpr int64_t kColumnRange = DownBatch().columns * 256;

/// Whether blocks may divide the columns of every tile. They then combine and
/// complete their columns independently of each other, so the sweep computes
/// values of columns alone.
bool dividesColumns(fused::SweepOp sweep, const SweepLayout &layout);

/// Whether blocks may divide a wide row. Then the row's reductions combine the
/// columns of each part first, in any form. Every segment reduces elements of
/// rows, so its blocks have read the row's values before one of them stores
/// results; no other reduction is over elements.
bool dividesRows(fused::SweepOp sweep, const SweepLayout &layout);

/// Words that a thread holds for each of its columns of a held row. Values of
/// elements that a later phase uses again count as one more operand, and take
/// the place of those operands that no later phase needs.
int64_t heldWords(fused::SweepOp sweep, const SweepLayout &layout);

/// The divisions, roots, exponentials and so on of elements, in all segments.
int64_t functionsOfElements(fused::SweepOp sweep);

/// The words of the states of all reductions over a row.
int64_t rowStateWords(fused::SweepOp sweep);

/// Whether the elements of a matrix are doubles, or integers of that size.
bool accessesDoubles(const SegmentLayout &segment);

/// The rows of one element that a thread loads before it processes them: one
/// has too few elements to hide the latency of memory.
int64_t singleRows(fused::SweepOp sweep, const SweepLayout &layout);

/// The same for rows of 2 to kNarrowItems elements: a row of one has a quarter
/// of them. Two if the sweep maps doubles, whose results take registers, too.
int64_t narrowRows(fused::SweepOp sweep, const SweepLayout &layout);

/// Whether a sweep reduces only rows and members and maps nothing, and a row
/// needs few words and no functions. A thread then needs no element after its
/// reduction.
bool onlyReducesRows(fused::SweepOp sweep, const SweepLayout &layout);

/// The rows of more columns, up to kHeldItems for each thread, that a group of
/// threads loads before it processes them: two if the sweep only reduces rows,
/// or if columns are reduced and need few words; otherwise one.
int64_t shortRows(fused::SweepOp sweep, const SweepLayout &layout);

/// The same for rows of up to kPartItems columns for each thread: two if all
/// reductions are over rows, the sweep does nothing else, and a thread loads at
/// most one word for each column. Tiles of such rows then have more rows, which
/// must not change the order of a reduction.
int64_t wideRows(fused::SweepOp sweep, const SweepLayout &layout);

/// The words of the elements that a thread loads for `items` columns of a row,
/// as they are stored: two floats of 16 bits take one.
int64_t loadedWords(const SweepLayout &layout, int64_t items);
/// Whether some of these elements have 16 bits.
bool loadsHalves(const SegmentLayout &segment);

/// Whether blocks that divide a row hold their parts in registers: if enough
/// blocks fit on a multiprocessor for the words of kPartItems columns, and the
/// row has few reductions.
bool holdsParts(fused::SweepOp sweep, const SweepLayout &layout);

/// Whether a block may have several parts of a wide row, which it reduces one
/// after the other: if the sweep only reduces rows. Then a row needs few
/// blocks, which wait for each other less.
bool hasSeveralParts(fused::SweepOp sweep, const SweepLayout &layout);

/// The columns of a thread that such a block loads at a time, in at most 32
/// words. Floats of 16 bits that are not adjacent have one each.
int64_t reducedItems(const SweepLayout &layout);

/// Whether the blocks of a row are a cluster if they fit in one: if they hold
/// parts of 8192 columns, and wait for each other at least twice or read few
/// bytes.
/// Clusters start later than single blocks, so other rows take longer.
bool exchangesInClusters(fused::SweepOp sweep, const SweepLayout &layout);

/// The most columns of a row in which a thread of the segment has adjacent
/// columns. Part of the order of reductions, so fusion must not change it for
/// rows of one part. Rows of several parts have none if blocks wait for each
/// other at least twice: a thread then holds a part until all blocks have the
/// row's value, and vectors of its elements take too many registers (a softmax
/// of 500 x 50256 was 13 % slower).
int64_t mostAdjacentColumns(fused::SweepOp sweep, const SweepLayout &layout,
                            unsigned segment);

/// Whether very wide rows have long parts. A thread holds kLongRegisters of its
/// columns in registers and the others in shared memory: if blocks wait for
/// each other at least twice, so that more rows on the device at a time are
/// faster, and a column needs one word.
bool holdsLongParts(fused::SweepOp sweep, const SweepLayout &layout);
inline constexpr int64_t kLongRegisters = 36;

/// Whether a block holds wide rows of one part in registers, in a sweep whose
/// blocks do not divide rows: if four blocks fit on a multiprocessor for the
/// words of kPartItems columns, and the row has few reductions. States of
/// columns then stay in registers, too.
bool holdsWideRows(fused::SweepOp sweep, const SweepLayout &layout);

/// The most columns of a row that one block holds in a segment, at most
/// kPartItems for each thread; 0 if none.
int64_t mostHeldColumns(fused::SweepOp sweep, const SweepLayout &layout,
                        unsigned segment);

/// The most columns of a row that has one part, in a sweep whose blocks divide
/// rows: those that a block can hold in 96 registers of a thread, so that it
/// need not wait for others.
int64_t wholeColumns(fused::SweepOp sweep, const SweepLayout &layout);

/// The entries for held rows alone: the most columns of a row for each, in
/// ascending order. None in a loop, or if threads go down columns.
llvm::SmallVector<int64_t> columnsOfHeldRows(fused::SweepOp sweep,
                                             const SweepLayout &layout);

/// The entries in which a warp has each row: the most columns of a row for
/// each, in ascending order. A thread holds up to 32 columns. None unless all
/// reductions are over rows: others depend on the threads of a row.
llvm::SmallVector<int64_t> columnsOfWarps(fused::SweepOp sweep,
                                          const SweepLayout &layout);

/// Whether a sweep has the entry for pairs of rows: if it has entries in which
/// a warp has each row, a column needs one word, no reduction is in f64, and
/// other entries load one row at a time. Those hold wider rows, which leave no
/// registers for two.
bool hasPairedEntry(fused::SweepOp sweep, const SweepLayout &layout);

/// Whether the general entry has the form that holds rows of `columns` columns,
/// more than mostHeldColumns(): if a thread holds them in half as many
/// registers as four blocks leave it.
bool holdsInEveryEntry(const SweepLayout &layout, int64_t columns);

/// The units of a tall tile of a segment that goes down columns, each of
/// `tile` rows: 1 if their states, which threads keep in shared memory until
/// they combine them, would leave no room for other blocks.
int64_t tallUnits(fused::SweepOp sweep, unsigned segment, int64_t tile);
/// The words of shared memory in which a thread keeps the states of a reduction
/// of columns of the units of a tall tile.
int64_t unitWords(fused::ReduceOp op, int64_t units);

/// The rows of a segment that are *held*: the threads of a row load all its
/// elements once, before they use any, and no other block processes part of it.
/// Column states and column operands stay in registers for a whole tile. The
/// number of threads is the least power of two that is enough.
runtime::HeldRows heldRows(fused::SweepOp sweep, const SweepLayout &layout,
                           unsigned segment);

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_ROWSFORM_H
