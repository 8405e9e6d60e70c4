//===- Tables.h - The descriptors through which kernels find their work ---===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The layout of member descriptors and tile descriptors (docs/plan.md, Tables).
// On the device, heddle_expand_tiles (builtin/device/descriptors.cu) writes
// tile descriptors. On the host, expandTiles does the same, for the cpu target
// and for tests that compare the two.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_TABLES_H
#define HEDDLE_RUNTIME_BINDING_TABLES_H

#include "runtime/plan/PanelClass.h"
#include "runtime/plan/Plan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace heddle::runtime {

/// A table as a kernel receives it, by value. Mirrors `heddle::table` of the
/// device headers.
struct DeviceTable {
  const void *tiles;
  const void *members;
  unsigned *tickets;
  int tileCount;
  int memberCount;
  int blocksPerTile = 1;
  int partsPerTile = 1; // of the row that has most, if several blocks divide it
  const void *chosen = nullptr;
};
static_assert(sizeof(DeviceTable) == 48, "a kernel reads this layout");

/// The offsets of the fields of a descriptor. Member and tile descriptors have
/// the same size. Their fields after the operands are:
///
///   member: [columns, column_base], count, first_tile, tiles, segment, index
///   tile:   [columns, column_base], first, count, member, segment, tiles
struct DescriptorLayout {
  int pointers;
  int rank;

  explicit DescriptorLayout(const PlanTable &table)
      : pointers(table.pointers), rank(table.rank) {}
  DescriptorLayout(int pointers, int rank) : pointers(pointers), rank(rank) {}

  size_t columnsOffset() const { return sizeof(void *) * pointers; }
  /// The 8-byte field `count` (member) or `first` (tile); four 4-byte
  /// fields follow it.
  size_t countOffset() const { return columnsOffset() + (rank == 2 ? 16 : 0); }
  /// The field `member` of a tile descriptor.
  size_t memberOffset() const { return countOffset() + 12; }
  size_t bytes() const { return (countOffset() + 24 + 15) / 16 * 16; }
};

/// The values of a member descriptor.
struct MemberDescriptor {
  std::vector<void *> operands; ///< at most `pointers`; missing ones are null
  int64_t columns = 0;          ///< rank 2
  int64_t columnBase = 0;       ///< rank 2
  int64_t count = 0;
  int firstTile = 0;
  int tiles = 1;
  int segment = 0;
  int index = 0;
};

/// The values of a tile descriptor.
struct TileDescriptor {
  std::vector<void *> operands;
  int64_t columns = 0;
  int64_t columnBase = 0;
  int64_t first = 0;
  int count = 0;
  int member = 0;
  int segment = 0;
  int tiles = 1;
};

void writeMemberDescriptor(const DescriptorLayout &layout,
                           const MemberDescriptor &values, char *descriptor);
MemberDescriptor readMemberDescriptor(const DescriptorLayout &layout,
                                      const char *descriptor);
/// The field `first_tile` of each member descriptor.
std::vector<int> firstTilesOf(const DescriptorLayout &layout,
                              const char *memberDescriptors, int memberCount);
TileDescriptor readTileDescriptor(const DescriptorLayout &layout,
                                  const char *descriptor);

/// The `steps` argument of heddle_expand_tiles: for each segment its tile
/// (negated if first tiles may be shorter), the three numbers of HeldRows, then
/// the step of each operand in bytes. An operand advances by first * s if
/// its step s is positive, by first * stride * -s if s is negative (the next
/// operand slot holds the stride), and not at all if s is 0.
inline constexpr size_t kStepHeader = 4; // entries before the operands' steps
std::vector<int64_t> segmentSteps(const Plan &plan, const PlanTable &table);

/// Cache lines, and the widest loads of a thread.
inline constexpr int64_t kLineBytes = 128, kVectorBytes = 16;

/// The number of elements by which the first tile of a member is shorter, so
/// that all other tiles start at a multiple of 128 bytes in every operand that
/// advances, or else at a multiple of 16 bytes; 0 if no number does this, or if
/// no whole tile follows. `steps` has
/// the steps of the member's segment. A null operand stands for the graph's own
/// memory, which is always aligned.
int64_t alignmentShift(llvm::ArrayRef<int64_t> steps,
                       llvm::ArrayRef<void *> operands, int64_t count);

/// Writes `tileCount` tile descriptors from `memberCount` member descriptors,
/// as heddle_expand_tiles does on the device.
void expandTiles(const DescriptorLayout &layout, const char *memberDescriptors,
                 int memberCount, llvm::ArrayRef<int64_t> steps,
                 char *tileDescriptors, int tileCount);

/// Replaces an address, which is not null, at `offset` in member descriptors,
/// and in the descriptors of the member's tiles, which are the same tiles as
/// before.
void moveOperand(const DescriptorLayout &layout, char *memberDescriptors,
                 char *tileDescriptors, size_t offset, char *address);

/// Tiles of held rows are taller while a member has as many as kMostShortTiles
/// of them, or kMostLowTiles if a tile may have one row, and while they have at
/// most kMostTallElements elements.
inline constexpr int64_t kMostShortTiles = 1024, kMostLowTiles = 4096;

/// A tile has at least two held rows of more than so many columns, because a
/// block loads two at a time.
inline constexpr int64_t kSingleRowColumns = 2048;

/// Tiles of wider rows are tall if a member then has work for kTallBlocks
/// blocks, each with kTallColumns columns of a tile. With fewer, shorter tiles
/// are faster (docs/notes/2026-11-30-tall-tiles-of-columns.md).
inline constexpr int64_t kTallBlocks = 128, kTallColumns = 1024;

/// The rows of a tile of a member that has `count` rows of `columns` columns:
/// `tile`, or more if the rows are held or the tile is tall. It follows from
/// the program and the extents alone, because the order of reductions depends
/// on it (except that a tall tile is combined as short ones are).
/// `descriptors.cu` has this function and its numbers, too.
int64_t rowsOfTile(int64_t tile, const HeldRows &held, int64_t columns,
                   int64_t count);

/// Whether at least the part `share` of the elements is in members for which
/// `holds` holds.
inline bool mostElements(llvm::ArrayRef<PanelExtents> members, double share,
                         llvm::function_ref<bool(size_t member)> holds) {
  double all = 0, some = 0;
  for (auto [k, member] : llvm::enumerate(members)) {
    double elements = double(member.rows) * double(member.columns);
    all += elements;
    some += holds(k) ? elements : 0;
  }
  return some >= share * all;
}

/// The elements of rows that are vectors, if a kernel for vectors is to be
/// used. It takes up to twice as long for others (measured).
inline constexpr double kShareOfVectors = 7. / 8;

/// Whether at least half of the elements are in rows of more than `columns`
/// columns.
inline bool areMostlyOver(llvm::ArrayRef<PanelExtents> members,
                          int64_t columns) {
  return mostElements(members, 1. / 2,
                      [&](size_t k) { return members[k].columns > columns; });
}

/// The number of parts of a row of a table with `row_parts`.
inline int64_t partsOfRow(const PlanTable &table, int64_t columns) {
  int64_t whole = table.wholeColumns;
  bool isLong = table.longParts && columns > mostShortColumns(whole);
  int64_t most = isLong ? longPartColumns(whole) : partColumns(whole);
  int64_t parts = columns <= whole ? 1 : (columns - 1) / most + 1;
  return std::min(parts, (kHeldPartsColumns - 1) / most + 1);
}

/// Whether all rows of `narrowest` to `widest` columns have several parts, and
/// short ones. The entries for parts alone have no form of others.
inline bool haveShortParts(const PlanTable &table, int64_t narrowest,
                           int64_t widest) {
  return narrowest > table.wholeColumns &&
         widest <= (table.longParts ? mostShortColumns(table.wholeColumns)
                                    : kHeldPartsColumns);
}

/// Counts the tiles and the parts of rows of a table with `row_parts`.
struct RowPartCount {
  int64_t tiles = 0, wideTiles = 0, parts = 0, mostParts = 1, widest = 0;

  /// Adds tiles of rows of `columns` columns.
  void add(const PlanTable &table, int64_t columns, int64_t tilesOfMember);
  /// One block, or a block for each part of the row that has most parts, or, in
  /// a table with `several_parts`, any number between. (Every tile has so many
  /// blocks, and those that have no part return at once.)
  int blocksPerTile(const PlanTable &table) const;
};

/// The tiles of a table with `block_columns` whose rows are not held, so that
/// several blocks may divide them.
struct SharedTiles {
  int64_t rows = 1;                        // of the tallest tile
  std::map<int64_t, int64_t> tilesOfWidth; // by the columns of a row

  /// Adds tiles of `rowsOfTile` rows of `columnsOfRow` columns.
  void add(int64_t rowsOfTile, int64_t columnsOfRow, int64_t tilesOfMember);
  /// How many blocks process each of the `allTiles` tiles of the table.
  int64_t blocksPerTile(const PlanTable &table, int64_t allTiles) const;
};

/// The number of tiles of a member: at least one, so that per-member values are
/// computed for empty members, too.
inline int64_t tilesOf(int64_t count, int64_t tile) {
  return count <= 0 ? 1 : (count - 1) / tile + 1;
}

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BINDING_TABLES_H
