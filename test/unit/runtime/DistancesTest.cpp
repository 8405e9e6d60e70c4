//===- DistancesTest.cpp - How far operands have moved --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "runtime/binding/Distances.h"

using namespace heddle::runtime;

namespace {

/// A plan whose second table has five operand slots.
Plan planOfTables() {
  Plan plan;
  plan.tables.resize(2);
  plan.tables[1].rank = 1;
  plan.tables[1].pointers = 5;
  return plan;
}

int64_t valueAt(Distances &distances, size_t position) {
  return static_cast<int64_t *>(distances.data())[position];
}

TEST(Distances, HaveTheLayoutOfTheKernel) {
  Distances none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.bytes(), 0u);
  EXPECT_FALSE(none.add(0, 0, 0, 16));
  for (int slots : {1, 2, 3, 4}) {
    // Slot k of the kernel is operand slot k + 1 of the descriptor.
    Distances distances(1, llvm::ArrayRef<int>({1, 2, 3, 4}).take_front(slots));
    const size_t members = 480 / slots;
    EXPECT_EQ(distances.bytes(), 8 * members * slots);
    for (int k = 0; k < slots; ++k) {
      EXPECT_TRUE(distances.add(1, k + 1, 0, 16 * k + 16));
      EXPECT_TRUE(distances.add(1, k + 1, members - 1, -32));
      EXPECT_TRUE(distances.add(1, k + 1, members - 1, 16 * k));
      EXPECT_FALSE(distances.add(1, k + 1, members, 16));
    }
    EXPECT_FALSE(distances.add(1, 0, 0, 16));
    EXPECT_FALSE(distances.add(1, slots + 1, 0, 16));
    EXPECT_FALSE(distances.add(0, 1, 0, 16));
    for (int k = 0; k < slots; ++k) {
      EXPECT_EQ(valueAt(distances, k * members), 16 * k + 16);
      EXPECT_EQ(valueAt(distances, k * members + 1), 0);
      EXPECT_EQ(valueAt(distances, (k + 1) * members - 1), 16 * k - 32);
    }
  }
}

TEST(Distances, AreWrittenIntoDescriptors) {
  Plan plan = planOfTables();
  Distances distances(1, {1, 3});
  TableDescriptors descriptors;
  descriptors.firstTiles = {0, 2, 3, 7}; // three members
  char tiles = 0;
  descriptors.tiles = &tiles;
  EXPECT_TRUE(distances.moves(plan, descriptors).empty());
  EXPECT_TRUE(distances.add(1, 3, 2, 48));
  std::vector<OperandMoves> moves = distances.moves(plan, descriptors);
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].operandOffset, 24);
  EXPECT_EQ(moves[0].memberCount, 3);
  EXPECT_EQ(moves[0].tileCount, 7);
  EXPECT_EQ(moves[0].distance[1], 0);
  EXPECT_EQ(moves[0].distance[2], 48);
  EXPECT_TRUE(distances.add(1, 1, 0, -16));
  moves = distances.moves(plan, descriptors);
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].operandOffset, 8);
  EXPECT_EQ(moves[0].distance[0], -16);
  EXPECT_EQ(moves[1].distance[2], 48);
  Distances same = distances;
  EXPECT_EQ(same, distances);
  distances.clear();
  EXPECT_FALSE(same == distances);
  EXPECT_TRUE(distances.moves(plan, descriptors).empty());
}

} // namespace
