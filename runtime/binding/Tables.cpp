//===- Tables.cpp - The descriptors through which kernels find their work -===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/binding/Tables.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

namespace heddle::runtime {

namespace {

template <typename T> void put(char *descriptor, size_t offset, T value) {
  std::memcpy(descriptor + offset, &value, sizeof(T));
}

template <typename T> T get(const char *descriptor, size_t offset) {
  T value;
  std::memcpy(&value, descriptor + offset, sizeof(T));
  return value;
}

} // namespace

void writeMemberDescriptor(const DescriptorLayout &layout,
                           const MemberDescriptor &values, char *descriptor) {
  assert(values.operands.size() <= static_cast<size_t>(layout.pointers) &&
         "more operands than slots");
  std::memset(descriptor, 0, layout.bytes());
  for (size_t slot = 0; slot < values.operands.size(); ++slot)
    put(descriptor, slot * sizeof(void *), values.operands[slot]);
  if (layout.rank == 2) {
    put(descriptor, layout.columnsOffset(), values.columns);
    put(descriptor, layout.columnsOffset() + 8, values.columnBase);
  }
  size_t at = layout.countOffset();
  put(descriptor, at, values.count);
  put<int32_t>(descriptor, at + 8, values.firstTile);
  put<int32_t>(descriptor, at + 12, values.tiles);
  put<int32_t>(descriptor, at + 16, values.segment);
  put<int32_t>(descriptor, at + 20, values.index);
}

MemberDescriptor readMemberDescriptor(const DescriptorLayout &layout,
                                      const char *descriptor) {
  MemberDescriptor values;
  for (int slot = 0; slot < layout.pointers; ++slot)
    values.operands.push_back(get<void *>(descriptor, slot * sizeof(void *)));
  if (layout.rank == 2) {
    values.columns = get<int64_t>(descriptor, layout.columnsOffset());
    values.columnBase = get<int64_t>(descriptor, layout.columnsOffset() + 8);
  }
  size_t at = layout.countOffset();
  values.count = get<int64_t>(descriptor, at);
  values.firstTile = get<int32_t>(descriptor, at + 8);
  values.tiles = get<int32_t>(descriptor, at + 12);
  values.segment = get<int32_t>(descriptor, at + 16);
  values.index = get<int32_t>(descriptor, at + 20);
  return values;
}

std::vector<int> firstTilesOf(const DescriptorLayout &layout,
                              const char *memberDescriptors, int memberCount) {
  std::vector<int> tiles;
  for (int member = 0; member < memberCount; ++member)
    tiles.push_back(get<int32_t>(memberDescriptors + member * layout.bytes(),
                                 layout.countOffset() + 8));
  return tiles;
}

TileDescriptor readTileDescriptor(const DescriptorLayout &layout,
                                  const char *descriptor) {
  TileDescriptor values;
  for (int slot = 0; slot < layout.pointers; ++slot)
    values.operands.push_back(get<void *>(descriptor, slot * sizeof(void *)));
  if (layout.rank == 2) {
    values.columns = get<int64_t>(descriptor, layout.columnsOffset());
    values.columnBase = get<int64_t>(descriptor, layout.columnsOffset() + 8);
  }
  size_t at = layout.countOffset();
  values.first = get<int64_t>(descriptor, at);
  values.count = get<int32_t>(descriptor, at + 8);
  values.member = get<int32_t>(descriptor, at + 12);
  values.segment = get<int32_t>(descriptor, at + 16);
  values.tiles = get<int32_t>(descriptor, at + 20);
  return values;
}

int64_t rowsOfTile(int64_t tile, const HeldRows &held, int64_t columns,
                   int64_t count) {
  if (held.columns == 0 || columns > held.columns) {
    int64_t tall = tile * held.tallUnits;
    bool isTall = tilesOf(count, tall) >=
                  tilesOf(kTallBlocks, tilesOf(columns, kTallColumns));
    return isTall ? tall : tile;
  }
  int64_t wide = 1;
  while (wide < columns && wide < kMostTallElements)
    wide *= 2;
  int64_t rows = std::max<int64_t>(
      {held.elements / wide, tile, wide > kSingleRowColumns ? 2 : 1});
  while (count / rows >= (tile == 1 ? kMostLowTiles : kMostShortTiles) &&
         2 * rows * wide <= kMostTallElements)
    rows *= 2;
  return rows;
}

void RowPartCount::add(const PlanTable &table, int64_t columns,
                       int64_t tilesOfMember) {
  int64_t ofRow = partsOfRow(table, columns);
  tiles += tilesOfMember;
  wideTiles += ofRow > 1 ? tilesOfMember : 0;
  parts += tilesOfMember * ofRow;
  mostParts = std::max(mostParts, ofRow);
  widest = std::max(widest, columns);
}

/// Measured: wide rows should have three blocks for each of 132
/// multiprocessors. With more, exchanges cost more than they gain. Tiles of
/// other rows have so many blocks, too.
static int64_t blocksOfSeveralParts(const RowPartCount &count) {
  constexpr int64_t wanted = 396, fewBlocks = 2048;
  int64_t most = wanted / std::max<int64_t>(count.wideTiles, 1);
  most = std::min(most, fewBlocks / std::max<int64_t>(count.tiles, 1));
  most = std::clamp<int64_t>(most, 1, count.mostParts);
  int64_t ofBlock = (count.mostParts - 1) / most + 1;
  return (count.mostParts - 1) / ofBlock + 1;
}

/// Blocks that hold their parts read a row once. Otherwise, blocks divide rows
/// only if wide rows alone are too few blocks: the exchange between blocks
/// takes longer than idle multiprocessors cost if about half of them have a
/// row.
int RowPartCount::blocksPerTile(const PlanTable &table) const {
  constexpr int64_t fewRows = 64, fewBlocks = 2048;
  if (table.severalParts)
    return static_cast<int>(blocksOfSeveralParts(*this));
  int64_t blocks = tiles * mostParts;
  bool held = table.heldParts && widest <= kHeldPartsColumns;
  bool pays = held ? blocks <= std::max(2 * parts, fewBlocks)
                   : wideTiles <= fewRows && blocks <= fewBlocks;
  return pays && blocks <= INT32_MAX ? static_cast<int>(mostParts) : 1;
}

void SharedTiles::add(int64_t rowsOfTile, int64_t columnsOfRow,
                      int64_t tilesOfMember) {
  rows = std::max(rows, rowsOfTile);
  tilesOfWidth[columnsOfRow] += tilesOfMember;
}

/// Any number of blocks is correct. A block takes microseconds to begin and to
/// end, so it should have as many elements as a tile of held rows. The average
/// tile decides; the widest one does if there are few tiles, or if the blocks
/// that the others do not need cost less than it gains.
int64_t SharedTiles::blocksPerTile(const PlanTable &table,
                                   int64_t allTiles) const {
  constexpr int64_t fewBlocks = 4096, line = 128 / sizeof(float);
  // In the time that a block needs for a range of columns, the device starts
  // about so many blocks that end at once.
  constexpr double idleBlocks = 512;
  // Blocks start at 128-byte lines. If rows of f32 do not, a tile may need one
  // more range.
  auto rangesOf = [&](int64_t width) {
    int64_t before = width % line ? line - 1 : 0;
    return tilesOf(width + before, table.blockColumns);
  };
  int64_t columnsOfBlock = std::max<int64_t>(HeldRows().elements / rows, 1);
  auto wantedBy = [&](int64_t width) {
    return std::min(rangesOf(width), tilesOf(width, columnsOfBlock));
  };
  int64_t tiles = 0, columns = 0;
  for (auto [width, count] : tilesOfWidth) {
    tiles += count;
    columns += count * width;
  }
  int64_t widest = tilesOfWidth.rbegin()->first, most = rangesOf(widest);
  // At most `blocks`, and so few that those which `idle` counts take no longer
  // than a block of the widest tile.
  auto fewer = [&](int64_t blocks, auto idle) {
    while (blocks > 1 &&
           idle(blocks) * double(blocks) > idleBlocks * double(most))
      blocks -= (blocks + 7) / 8;
    return blocks;
  };
  auto ofHeldTiles = [&](int64_t blocks) {
    return double(allTiles - tiles) * double(blocks - 1);
  };
  auto ofAllTiles = [&](int64_t blocks) {
    double idle = ofHeldTiles(blocks);
    for (auto [width, count] : tilesOfWidth)
      idle += double(count) *
              double(std::max<int64_t>(0, blocks - wantedBy(width)));
    return idle;
  };
  int64_t usual =
      std::max(wantedBy(columns / tiles), std::min(most, fewBlocks / tiles));
  return std::max(fewer(usual, ofHeldTiles),
                  fewer(wantedBy(widest), ofAllTiles));
}

std::vector<int64_t> segmentSteps(const Plan &plan, const PlanTable &table) {
  std::vector<int64_t> steps;
  steps.reserve(table.segments.size() * (kStepHeader + table.pointers));
  for (const PlanSegment &segment : table.segments) {
    steps.push_back(segment.alignTiles ? -segment.tile : segment.tile);
    steps.push_back(segment.held.columns);
    steps.push_back(segment.held.elements);
    steps.push_back(segment.held.tallUnits);
    for (int slot = 0; slot < table.pointers; ++slot) {
      int64_t step = 0;
      if (slot < static_cast<int>(segment.operands.size())) {
        const PlanOperand &operand = segment.operands[slot];
        int64_t size = dtypeSize(plan.buffers[operand.buffer].dtype);
        if (operand.index == OperandIndex::I)
          step = size;
        else if (operand.index == OperandIndex::IJ)
          step = -size;
      }
      steps.push_back(step);
    }
  }
  return steps;
}

int64_t alignmentShift(llvm::ArrayRef<int64_t> steps,
                       llvm::ArrayRef<void *> operands, int64_t count) {
  int64_t tile = -steps.front();
  if (tile <= 0)
    return 0;
  auto advancing = llvm::make_filter_range(
      llvm::zip(steps.drop_front(kStepHeader).take_front(operands.size()),
                operands),
      [](auto each) { return std::get<0>(each) > 0; });
  if (advancing.empty())
    return 0;
  for (int64_t bytes : {kLineBytes, kVectorBytes}) {
    // That many bytes hold the most elements of the smallest type.
    auto [smallest, first] = *llvm::min_element(advancing, [](auto a, auto b) {
      return std::get<0>(a) < std::get<0>(b);
    });
    int64_t shift = reinterpret_cast<uintptr_t>(first) % bytes / smallest;
    if (count + shift >= 2 * tile && llvm::all_of(advancing, [&](auto each) {
          auto [step, operand] = each;
          return (reinterpret_cast<uintptr_t>(operand) +
                  (tile - shift) * step) %
                     bytes ==
                 0;
        }))
      return shift;
  }
  return 0;
}

void expandTiles(const DescriptorLayout &layout, const char *memberDescriptors,
                 int memberCount, llvm::ArrayRef<int64_t> steps,
                 char *tileDescriptors, int tileCount) {
  size_t bytes = layout.bytes(), at = layout.countOffset();
  [[maybe_unused]] int written = 0;
  for (int member = 0; member < memberCount; ++member) {
    const char *descriptor = memberDescriptors + member * bytes;
    int64_t count = get<int64_t>(descriptor, at);
    int32_t firstTile = get<int32_t>(descriptor, at + 8),
            tiles = get<int32_t>(descriptor, at + 12),
            segment = get<int32_t>(descriptor, at + 16);
    int64_t columns =
        layout.rank == 2 ? get<int64_t>(descriptor, layout.columnsOffset()) : 0;
    const int64_t *step =
        steps.data() +
        segment * (kStepHeader + static_cast<size_t>(layout.pointers));
    std::vector<void *> operands;
    for (int slot = 0; slot < layout.pointers; ++slot)
      operands.push_back(get<void *>(descriptor, slot * sizeof(void *)));
    int64_t shift = alignmentShift(
        llvm::ArrayRef<int64_t>(step, kStepHeader +
                                          static_cast<size_t>(layout.pointers)),
        operands, count);
    int64_t tile =
        layout.rank == 2
            ? rowsOfTile(step[0], {step[1], step[2], step[3]}, columns, count)
            : std::abs(step[0]);
    step += kStepHeader;
    assert(firstTile == written && firstTile + tiles <= tileCount &&
           "member descriptors are in order");
    for (int32_t k = 0; k < tiles; ++k) {
      char *out =
          tileDescriptors + (firstTile + static_cast<size_t>(k)) * bytes;
      int64_t first = k ? k * tile - shift : 0;
      int64_t most = k ? tile : tile - shift;
      std::memset(out, 0, bytes);
      for (int slot = 0; slot < layout.pointers; ++slot) {
        char *base = get<char *>(descriptor, slot * sizeof(void *));
        int64_t offset = first * step[slot];
        if (step[slot] < 0)
          offset *= -get<int64_t>(descriptor, (slot + 1) * sizeof(void *));
        put(out, slot * sizeof(void *), base ? base + offset : base);
      }
      if (layout.rank == 2) {
        put(out, layout.columnsOffset(), columns);
        put(out, layout.columnsOffset() + 8,
            get<int64_t>(descriptor, layout.columnsOffset() + 8) + k * columns);
      }
      put(out, at, first);
      put(out, at + 8, static_cast<int32_t>(std::min(most, count - first)));
      put(out, at + 12, static_cast<int32_t>(member));
      put(out, at + 16, segment);
      put(out, at + 20, tiles);
    }
    written += tiles;
  }
  assert(written == tileCount && "every tile has a descriptor");
}

void moveOperand(const DescriptorLayout &layout, char *memberDescriptors,
                 char *tileDescriptors, size_t offset, char *address) {
  size_t bytes = layout.bytes(), slot = offset % bytes;
  char *member = memberDescriptors + (offset - slot);
  auto before = get<uintptr_t>(member, slot);
  put(member, slot, address);
  auto firstTile = get<int32_t>(member, layout.countOffset() + 8),
       tiles = get<int32_t>(member, layout.countOffset() + 12);
  for (int32_t k = 0; k < tiles; ++k) {
    char *tile = tileDescriptors + (firstTile + static_cast<size_t>(k)) * bytes;
    uintptr_t advance = get<uintptr_t>(tile, slot) - before;
    put(tile, slot, address + advance);
  }
}

} // namespace heddle::runtime
