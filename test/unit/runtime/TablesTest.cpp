//===- TablesTest.cpp - Descriptors and their expansion on the host -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "runtime/binding/Tables.h"

#include <cstring>

using namespace heddle::runtime;

namespace {

// The structs that device code declares.
struct alignas(16) DeviceMember1 {
  void *operand[3];
  int64_t count;
  int32_t firstTile, tiles, segment, index;
};
struct alignas(16) DeviceTile1 {
  void *operand[3];
  int64_t first;
  int32_t count, member, segment, tiles;
};
struct alignas(16) DeviceMember2 {
  void *operand[2];
  int64_t columns, columnBase, count;
  int32_t firstTile, tiles, segment, index;
};

TEST(Tables, DescriptorsMatchDeviceStructs) {
  EXPECT_EQ(DescriptorLayout(3, 1).bytes(), sizeof(DeviceMember1));
  EXPECT_EQ(DescriptorLayout(3, 1).bytes(), sizeof(DeviceTile1));
  EXPECT_EQ(DescriptorLayout(2, 2).bytes(), sizeof(DeviceMember2));
  EXPECT_EQ(DescriptorLayout(0, 0).bytes(), 32u);
  for (int pointers = 0; pointers < 12; ++pointers)
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(DescriptorLayout(pointers, rank).bytes() % 16, 0u);

  DeviceMember1 descriptor;
  float a, b;
  MemberDescriptor values;
  values.operands = {&a, &b};
  values.count = int64_t(1) << 33;
  values.firstTile = 5;
  values.tiles = 7;
  values.segment = 1;
  values.index = 9;
  writeMemberDescriptor(DescriptorLayout(3, 1), values,
                        reinterpret_cast<char *>(&descriptor));
  EXPECT_EQ(descriptor.operand[1], &b);
  EXPECT_EQ(descriptor.operand[2], nullptr);
  EXPECT_EQ(descriptor.count, int64_t(1) << 33);
  EXPECT_EQ(descriptor.firstTile, 5);
  EXPECT_EQ(descriptor.tiles, 7);
  EXPECT_EQ(descriptor.segment, 1);
  EXPECT_EQ(descriptor.index, 9);

  DeviceMember2 descriptor2;
  values.columns = 11;
  values.columnBase = 13;
  writeMemberDescriptor(DescriptorLayout(2, 2), values,
                        reinterpret_cast<char *>(&descriptor2));
  EXPECT_EQ(descriptor2.columns, 11);
  EXPECT_EQ(descriptor2.columnBase, 13);
  MemberDescriptor again = readMemberDescriptor(
      DescriptorLayout(2, 2), reinterpret_cast<char *>(&descriptor2));
  EXPECT_EQ(again.count, values.count);
  EXPECT_EQ(again.columnBase, 13);
  EXPECT_EQ(again.operands[0], &a);
}

TEST(Tables, StepsOfOperands) {
  Plan plan = parsed(updatePlan());
  EXPECT_EQ(segmentSteps(plan, plan.tables[0]),
            (std::vector<int64_t>{4, 0, 4096, 1, 4, 4, 0, 4, //
                                  8, 0, 4096, 1, 2, 0, 0, 0}));
}

TEST(Tables, ExpandsMembersToTiles) {
  DescriptorLayout layout(2, 1);
  float x[10];
  double y[1];
  std::vector<int64_t> steps = {4, 0, 0, 1, 4, 0};
  std::vector<char> members(layout.bytes() * 2), tiles(layout.bytes() * 4);
  MemberDescriptor descriptor;
  descriptor.operands = {x, y};
  descriptor.count = 10;
  descriptor.tiles = 3;
  writeMemberDescriptor(layout, descriptor, members.data());
  descriptor.operands = {nullptr, y};
  descriptor.count = 0; // an empty member has one tile without elements
  descriptor.firstTile = 3;
  descriptor.tiles = 1;
  writeMemberDescriptor(layout, descriptor, members.data() + layout.bytes());
  expandTiles(layout, members.data(), 2, steps, tiles.data(), 4);
  TileDescriptor last =
      readTileDescriptor(layout, tiles.data() + 2 * layout.bytes());
  EXPECT_EQ(last.operands[0], x + 8);
  EXPECT_EQ(last.operands[1], y);
  EXPECT_EQ(last.first, 8);
  EXPECT_EQ(last.count, 2);
  EXPECT_EQ(last.member, 0);
  EXPECT_EQ(last.tiles, 3);
  TileDescriptor empty =
      readTileDescriptor(layout, tiles.data() + 3 * layout.bytes());
  EXPECT_EQ(empty.operands[0], nullptr);
  EXPECT_EQ(empty.count, 0);
  EXPECT_EQ(empty.member, 1);
}

TEST(Tables, ShortensFirstTiles) {
  auto at = [](uintptr_t address) { return reinterpret_cast<void *>(address); };
  std::vector<int64_t> floats = {-8, 0, 0, 1, 4, 4, 0},
                       mixed = {-8, 0, 0, 1, 4, 2, 0};
  // At 4 bytes after a multiple of 16, the first tile has 7 elements.
  EXPECT_EQ(alignmentShift(floats, {at(0x1004), at(0x2004), at(0x3)}, 100), 1);
  EXPECT_EQ(alignmentShift(floats, {at(0x100c), at(0x200c)}, 100), 3);
  EXPECT_EQ(alignmentShift(floats, {at(0x1000), at(0x2000)}, 100), 0);
  // If offsets differ, no shift aligns both. Null is the graph's own memory.
  EXPECT_EQ(alignmentShift(floats, {at(0x1004), at(0x2008)}, 100), 0);
  EXPECT_EQ(alignmentShift(floats, {at(0x1004), nullptr}, 100), 0);
  EXPECT_EQ(alignmentShift({-8, 0, 0, 1, 4, 0}, {at(0x1004), nullptr}, 100), 1);
  // Offsets of three elements, and of five: 5 f32 are 16 bytes and one element.
  EXPECT_EQ(alignmentShift(mixed, {at(0x100c), at(0x2006)}, 100), 3);
  EXPECT_EQ(alignmentShift(mixed, {at(0x1004), at(0x200a)}, 100), 5);
  EXPECT_EQ(alignmentShift(mixed, {at(0x1004), at(0x2004)}, 100), 0);
  // Tiles start at cache lines, if these agree.
  std::vector<int64_t> halves = {-128, 0, 0, 1, 2, 2, 0},
                       wide = {-128, 0, 0, 1, 4, 2, 0};
  EXPECT_EQ(alignmentShift(halves, {at(0x1050), at(0x20d0)}, 1000), 40);
  EXPECT_EQ(alignmentShift(halves, {at(0x1050), at(0x2010)}, 1000), 0);
  EXPECT_EQ(alignmentShift(halves, {at(0x1052), at(0x2012)}, 1000), 1);
  EXPECT_EQ(alignmentShift(wide, {at(0x1020), at(0x2010)}, 1000), 8);
  EXPECT_EQ(alignmentShift(halves, {at(0x1050), at(0x20d0)}, 216), 40);
  EXPECT_EQ(alignmentShift(halves, {at(0x1050), at(0x20d0)}, 215), 0);
  // No shift if no whole tile follows.
  EXPECT_EQ(alignmentShift(floats, {at(0x1004), at(0x2004)}, 15), 1);
  EXPECT_EQ(alignmentShift(floats, {at(0x1004), at(0x2004)}, 14), 0);
  EXPECT_EQ(alignmentShift(floats, {at(0x1004), at(0x2004)}, 0), 0);
  EXPECT_EQ(alignmentShift({8, 0, 4, 4, 0}, {at(0x1004), at(0x2004)}, 100), 0);

  DescriptorLayout layout(1, 1);
  alignas(16) float x[32];
  std::vector<int64_t> steps = {-8, 0, 0, 1, 4};
  MemberDescriptor descriptor;
  descriptor.operands = {x + 3};
  descriptor.count = 27;
  descriptor.tiles = static_cast<int>(tilesOf(27 + 3, 8));
  ASSERT_EQ(descriptor.tiles, 4);
  std::vector<char> member(layout.bytes()), tiles(layout.bytes() * 4);
  writeMemberDescriptor(layout, descriptor, member.data());
  expandTiles(layout, member.data(), 1, steps, tiles.data(), 4);
  int64_t first = 0;
  for (auto [k, count] : {std::pair(0, 5), {1, 8}, {2, 8}, {3, 6}}) {
    TileDescriptor tile =
        readTileDescriptor(layout, tiles.data() + k * layout.bytes());
    EXPECT_EQ(tile.first, first);
    EXPECT_EQ(tile.count, count);
    EXPECT_EQ(tile.operands[0], x + 3 + first);
    first += count;
  }
  EXPECT_EQ(first, 27);
}

TEST(Tables, ExpandsRowsOfMatrices) {
  DescriptorLayout layout(4, 2);
  float matrix[5 * 8], rows[5], columns[3];
  std::vector<int64_t> steps = {2, 0, 0, 1, -4, 0, 4, 0};
  std::vector<char> members(layout.bytes()), tiles(layout.bytes() * 3);
  MemberDescriptor descriptor;
  descriptor.operands = {matrix, reinterpret_cast<void *>(8), rows, columns};
  descriptor.columns = 3;
  descriptor.columnBase = 100;
  descriptor.count = 5;
  descriptor.tiles = 3;
  writeMemberDescriptor(layout, descriptor, members.data());
  expandTiles(layout, members.data(), 1, steps, tiles.data(), 3);
  TileDescriptor last =
      readTileDescriptor(layout, tiles.data() + 2 * layout.bytes());
  EXPECT_EQ(last.operands[0], matrix + 4 * 8);
  EXPECT_EQ(last.operands[1], reinterpret_cast<void *>(8));
  EXPECT_EQ(last.operands[2], rows + 4);
  EXPECT_EQ(last.operands[3], columns);
  EXPECT_EQ(last.first, 4);
  EXPECT_EQ(last.count, 1);
  EXPECT_EQ(last.columns, 3);
  EXPECT_EQ(last.columnBase, 106);
}

// A tile has more rows if they are held: 4096 elements if the columns are
// rounded up to a power of two.
TEST(Tables, RowsOfTileFollowFromColumns) {
  for (auto [columns, rows] : {std::pair<int64_t, int64_t>(0, 4096),
                               {1, 4096},
                               {2, 2048},
                               {3, 1024},
                               {64, 64},
                               {65, 32},
                               {256, 16},
                               {257, 16},
                               {2048, 16}})
    EXPECT_EQ(rowsOfTile(16, HeldRows{2048}, columns, 1000), rows) << columns;
  EXPECT_EQ(rowsOfTile(1, HeldRows{2048}, 2048, 1), 2);
  EXPECT_EQ(rowsOfTile(1, HeldRows{2048}, 2049, 1), 1);
  EXPECT_EQ(rowsOfTile(4, HeldRows{256}, 257, 1), 4);
  EXPECT_EQ(rowsOfTile(4, HeldRows{0}, 0, INT64_MAX), 4); // no row is held
  EXPECT_EQ(rowsOfTile(4, HeldRows{INT64_MAX}, INT64_MAX, INT64_MAX), 4);
  // Members of many rows have fewer than 1024 taller tiles, of at most 32768
  // elements.
  EXPECT_EQ(rowsOfTile(16, HeldRows{2048}, 200, 16 * 1024 - 1), 16);
  EXPECT_EQ(rowsOfTile(16, HeldRows{2048}, 200, 16 * 1024), 32);
  EXPECT_EQ(rowsOfTile(16, HeldRows{2048}, 200, 100000), 128);
  EXPECT_EQ(rowsOfTile(16, HeldRows{2048}, 768, 50000), 32);
  EXPECT_EQ(rowsOfTile(1, HeldRows{2048}, 2048, INT64_MAX), 16);
  // Four times as many if a tile may have one row.
  EXPECT_EQ(rowsOfTile(1, HeldRows{2048}, 200, 16 * 4096 - 1), 16);
  EXPECT_EQ(rowsOfTile(1, HeldRows{2048}, 200, 16 * 4096), 32);
  EXPECT_EQ(rowsOfTile(1, HeldRows{2048}, 768, 50000), 16);
  EXPECT_EQ(rowsOfTile(1, HeldRows{2048}, 64, 100000), 64);
  EXPECT_EQ(rowsOfTile(16, HeldRows{2048}, 3, 1000000), 1024);
  EXPECT_EQ(rowsOfTile(16, HeldRows{2048}, 1, INT64_MAX), 32768);
  // Twice as many elements.
  EXPECT_EQ(rowsOfTile(1, HeldRows{2048, 8192}, 768, 768), 8);
  EXPECT_EQ(rowsOfTile(1, HeldRows{2048, 8192}, 3, 1), 2048);
  EXPECT_EQ(rowsOfTile(1, HeldRows{2048, 8192}, 2049, 1), 1);
  // A block loads two wide rows at a time.
  EXPECT_EQ(rowsOfTile(1, HeldRows{4096}, 2048, 4096 * 2 - 1), 2);
  EXPECT_EQ(rowsOfTile(1, HeldRows{4096}, 2049, 1), 2);
  EXPECT_EQ(rowsOfTile(1, HeldRows{4096}, 4096, 2 * 4096 - 1), 2);
  EXPECT_EQ(rowsOfTile(1, HeldRows{4096}, 4096, 2 * 4096), 4);
  EXPECT_EQ(rowsOfTile(1, HeldRows{4096}, 2500, INT64_MAX), 8);
  EXPECT_EQ(rowsOfTile(1, HeldRows{4096}, 4097, INT64_MAX), 1);
}

// Tiles of rows that are not held are tall if a member then has work for 128
// blocks.
TEST(Tables, TallTilesNeedEnoughBlocks) {
  HeldRows held{2048, 8192, 4};
  EXPECT_EQ(rowsOfTile(16, held, 2048, 1000000), 16); // held
  EXPECT_EQ(rowsOfTile(16, held, 2049, 64 * 42), 16); // 42 tiles of 3 ranges
  EXPECT_EQ(rowsOfTile(16, held, 2049, 64 * 42 + 1), 64);
  EXPECT_EQ(rowsOfTile(16, held, 4096, 64 * 31), 16);
  EXPECT_EQ(rowsOfTile(16, held, 4096, 64 * 31 + 1), 64);
  EXPECT_EQ(rowsOfTile(16, held, 64512, 65), 16); // 2 tiles of 63 ranges
  EXPECT_EQ(rowsOfTile(16, held, 64513, 65), 64);
  EXPECT_EQ(rowsOfTile(16, held, 65537, 64), 16);
  EXPECT_EQ(rowsOfTile(16, held, 130049, 1), 64); // 128 ranges
  EXPECT_EQ(rowsOfTile(16, held, INT64_MAX, INT64_MAX), 64);
  EXPECT_EQ(rowsOfTile(16, HeldRows{2048, 8192}, 4096, 4096), 16);
}

/// The tile descriptors of a matrix of f32, by the steps of its table.
std::vector<TileDescriptor> tilesOfMatrix(llvm::ArrayRef<int64_t> steps,
                                          int64_t rows, int64_t columns,
                                          int tileCount) {
  DescriptorLayout layout(1, 2);
  float matrix[1];
  std::vector<char> members(layout.bytes()), tiles(layout.bytes() * tileCount);
  MemberDescriptor descriptor;
  descriptor.operands = {matrix};
  descriptor.columns = columns;
  descriptor.count = rows;
  descriptor.tiles = tileCount;
  writeMemberDescriptor(layout, descriptor, members.data());
  expandTiles(layout, members.data(), 1, steps, tiles.data(), tileCount);
  std::vector<TileDescriptor> read;
  for (int k = 0; k < tileCount; ++k)
    read.push_back(
        readTileDescriptor(layout, tiles.data() + k * layout.bytes()));
  return read;
}

TEST(Tables, ExpandsTallTiles) {
  TileDescriptor last =
      tilesOfMatrix({16, 2048, 8192, 4, 4}, 70, 65537, 2).back();
  EXPECT_EQ(last.first, 64);
  EXPECT_EQ(last.count, 6);
  EXPECT_EQ(last.columnBase, 65537);
}

TEST(Tables, ExpandsHeldRows) {
  auto tiles = tilesOfMatrix({4, 256, 4096, 1, 4}, 40, 100, 2);
  for (int k : {0, 1}) {
    EXPECT_EQ(tiles[k].first, 32 * k);
    EXPECT_EQ(tiles[k].count, k ? 8 : 32);
    EXPECT_EQ(tiles[k].columnBase, 100 * k);
  }
}

TEST(Tables, BlocksShareTiles) {
  PlanTable table;
  // Tiles of `rows` rows: pairs of columns and a number of tiles.
  using Widths = std::vector<std::pair<int64_t, int64_t>>;
  auto blocks = [&](int64_t range, int64_t rows, const Widths &widths,
                    int64_t heldTiles = 0) {
    table.blockColumns = range;
    SharedTiles shared;
    int64_t allTiles = heldTiles;
    for (auto [columns, tiles] : widths) {
      shared.add(rows, columns, tiles);
      allTiles += tiles;
    }
    return shared.blocksPerTile(table, allTiles);
  };
  // The widest of few tiles decides: each range has a block. Rows that do not
  // start at memory lines may need one more.
  EXPECT_EQ(blocks(512, 4, {{10240, 16}}), 20);
  EXPECT_EQ(blocks(512, 4, {{10239, 16}}), 21);
  // A block of many tiles has a range, and about 4096 elements.
  EXPECT_EQ(blocks(512, 4, {{3072, 5000}}), 3);
  EXPECT_EQ(blocks(512, 4, {{1024, 5000}}), 1);
  EXPECT_EQ(blocks(512, 16, {{3072, 5000}}), 6);
  EXPECT_EQ(blocks(1024, 16, {{4096, 256}}), 16 * 256 / 1024);
  EXPECT_EQ(blocks(512, 4, {{768, 13000}, {3072, 3000}}), 2);
  EXPECT_EQ(blocks(512, 4, {{768, 13000}, {3072, 300}}), 1);
  // A few held tiles have blocks that end at once. For many of them, or few
  // wide ones, this takes too long.
  EXPECT_EQ(blocks(512, 4, {{1280, 250}}, 10), 3);
  EXPECT_EQ(blocks(512, 4, {{1280, 250}}, 1200), 1);
  EXPECT_EQ(blocks(512, 4, {{2048, 250}}, 9000), 1);
  // So do narrower tiles beside much wider ones.
  auto expectBetween = [](int64_t least, int64_t found, int64_t most) {
    EXPECT_GE(found, least);
    EXPECT_LE(found, most);
  };
  expectBetween(24, blocks(512, 4, {{1000000, 1}}, 1000), 64);
  expectBetween(3, blocks(512, 4, {{600, 5000}, {50000, 100}}), 8);
  expectBetween(60, blocks(1024, 16, {{2049, 9999}, {160000000, 1}}), 200);
  // No product overflows.
  EXPECT_EQ(blocks(512, 4, {{int64_t(1) << 58, 1}}), int64_t(1) << 48);
}

TEST(Tables, CountsTiles) {
  EXPECT_EQ(tilesOf(0, 4), 1);
  EXPECT_EQ(tilesOf(1, 4), 1);
  EXPECT_EQ(tilesOf(4, 4), 1);
  EXPECT_EQ(tilesOf(5, 4), 2);
  EXPECT_EQ(tilesOf((int64_t(1) << 31) + 1, 1024), (int64_t(1) << 21) + 1);
}

} // namespace
