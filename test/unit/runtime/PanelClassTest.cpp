//===- PanelClassTest.cpp - Size classes of panel loops -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/PanelClass.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <random>

using namespace heddle::runtime;

namespace {

struct Kind {
  const char *name;
  PlanPanel panel;
};

std::vector<Kind> kinds() {
  PlanPanel single, half, twice, matrices;
  single.elementBytes = {4};
  half.elementBytes = {2};
  twice.elementBytes = {8};
  twice.computeBytes = 8;
  twice.words = 4;
  twice.rowWords = 2;
  matrices.elementBytes = {4, 2};
  matrices.words = 3;
  matrices.rowWords = 2;
  return {{"f32", single}, {"bf16", half}, {"f64", twice}, {"two", matrices}};
}

/// The shared memory of a block on small and large architectures.
constexpr int64_t kSmall = 99 * 1024, kLarge = 227 * 1024;

/// The class of a list with a narrowest and a widest member, which have one
/// class.
std::optional<PanelClass> panelClassFor(const PlanPanel &panel,
                                        int64_t narrowest, int64_t widest,
                                        int64_t rows, int64_t sharedBytes) {
  auto classes = panelClassesFor(
      panel, {PanelExtents{rows, narrowest}, {rows, widest}}, sharedBytes);
  if (!classes)
    return std::nullopt;
  EXPECT_EQ(classes->size(), 1u);
  return classes->front().shape;
}

std::vector<int64_t> widths() {
  std::vector<int64_t> all;
  for (int64_t width = 1; width <= 100000; width += 1 + width / 37)
    for (int64_t near : {width - 1, width, width + 1})
      if (near > 0)
        all.push_back(near);
  return all;
}

TEST(PanelClass, FitsEveryWidthUpToALimit) {
  for (const Kind &kind : kinds())
    for (int64_t shared : {kSmall, kLarge}) {
      bool none = false;
      int64_t largest = 0;
      for (int64_t width : widths()) {
        SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(width));
        auto chosen = panelClassFor(kind.panel, width, width, 5000, shared);
        if (!chosen) {
          none |= width > largest;
          continue;
        }
        ASSERT_FALSE(none && width > largest)
            << "a narrower member has no class";
        largest = std::max(largest, width);
        int64_t share = (width + chosen->cluster - 1) / chosen->cluster;
        int64_t group = chosen->threads / chosen->groups;
        ASSERT_GE(group * chosen->itemsPerThread, share);
        // Every item has a column.
        ASSERT_LT(group * (chosen->itemsPerThread - 1), share);
        ASSERT_EQ(group % 32, 0);
        ASSERT_EQ(group * chosen->groups, chosen->threads);
        ASSERT_GE(chosen->stages, 2);
        ASSERT_LE(chosen->stages, 32); // each has one bit of a word
        ASSERT_LE(chosen->sharedBytes, shared);
        // Shared memory holds each row in flight of every matrix and, if there
        // are several thread groups, a value of each column for every group.
        int64_t needed = 0;
        for (int element : kind.panel.elementBytes)
          needed += chosen->stages * chosen->groups * share * element;
        if (chosen->groups > 1)
          needed += chosen->groups * share * kind.panel.computeBytes;
        ASSERT_GE(chosen->sharedBytes, needed);
        ASSERT_LE(chosen->itemsPerThread *
                      (kind.panel.words + kind.panel.rowWords) *
                      chosen->threads,
                  65536);
        ASSERT_EQ(chosen->clusterPerMember, 0); // 5000 rows are too many
      }
      EXPECT_GE(largest, shared == kLarge ? 20001 : 4000) << kind.name;
    }
}

TEST(PanelClass, IsRaggedIfAThreadMayLackMoreThanItsLastItem) {
  PlanPanel panel = kinds()[0].panel;
  for (int64_t widest : widths())
    for (int64_t narrowest :
         {widest, widest - 1, widest - 30, widest / 2, int64_t(0)}) {
      auto chosen = narrowest < 0
                        ? std::nullopt
                        : panelClassFor(panel, narrowest, widest, 5000, kLarge);
      if (!chosen || chosen->ragged)
        continue;
      SCOPED_TRACE(std::to_string(narrowest) + " to " + std::to_string(widest));
      for (int64_t width : {narrowest, widest}) {
        int64_t share = (width + chosen->cluster - 1) / chosen->cluster;
        int64_t last = width - share * (chosen->cluster - 1);
        ASSERT_GE(last, int64_t(chosen->itemsPerThread - 1) * chosen->threads /
                            chosen->groups);
      }
    }
  EXPECT_FALSE(panelClassFor(panel, 6001, 6001, 5000, kLarge)->ragged);
  EXPECT_TRUE(panelClassFor(panel, 100, 6001, 5000, kLarge)->ragged);
}

TEST(PanelClass, CountsMissingColumnsOfTheLastBlock) {
  PlanPanel panel = kinds()[0].panel;
  // 13 columns per thread; the last block has 6142 columns.
  for (int64_t width : {24577, 24580, 26000}) {
    auto members = panelClassFor(panel, 24577, 26000, 1000, kLarge);
    ASSERT_TRUE(members);
    ASSERT_GT(members->cluster, 2);
    int64_t share = (width + members->cluster - 1) / members->cluster;
    int64_t last = width - share * (members->cluster - 1);
    EXPECT_TRUE(members->ragged || last > (members->itemsPerThread - 1) *
                                              members->threads /
                                              members->groups)
        << width;
  }
}

/// Several thread groups divide a block if rows are too short for all its
/// threads.
TEST(PanelClass, HasMoreThreadGroupsForShorterRows) {
  std::vector<Kind> all = kinds();
  auto groupsOf = [](const PlanPanel &panel, int64_t width, int64_t rows) {
    return panelClassFor(panel, width, width, rows, kLarge)->groups;
  };
  EXPECT_EQ(groupsOf(all[0].panel, 6001, 5001), 1);
  EXPECT_EQ(groupsOf(all[1].panel, 6001, 5001), 2);
  EXPECT_EQ(groupsOf(all[2].panel, 6001, 5001), 1);
  EXPECT_EQ(groupsOf(all[0].panel, 2500, 2500), 4);
  EXPECT_GE(groupsOf(all[0].panel, 1000, 1000), 4);
  // A thread group without a row would be idle.
  EXPECT_EQ(groupsOf(all[0].panel, 1000, 132), 1);
}

TEST(PanelClass, HasAClusterPerSmallMember) {
  PlanPanel panel = kinds()[0].panel;
  for (auto [width, rows, blocks] : {std::tuple(100, 100, 1),
                                     {250, 250, 2},
                                     {301, 251, 4},
                                     {500, 500, 8},
                                     {601, 501, 16},
                                     {768, 768, 16}}) {
    auto chosen = panelClassFor(panel, width, width, rows, kLarge);
    ASSERT_TRUE(chosen);
    EXPECT_EQ(chosen->clusterPerMember, blocks);
    EXPECT_EQ(chosen->panels(), blocks);
    // All rows are on chip.
    EXPECT_LE((rows + blocks - 1) / blocks, chosen->groups * chosen->stages);
    // No stage is unused.
    EXPECT_LT(chosen->groups * (chosen->stages - 1),
              (rows + blocks - 1) / blocks);
  }
  // With several reductions over columns, the resident rows do not fit.
  panel.columns = 6;
  EXPECT_EQ(panelClassFor(panel, 601, 601, 501, kLarge)->clusterPerMember, 0);
  panel.columns = 1;
  for (auto [width, rows] : {std::pair(301, 5000), {6001, 251}, {769, 300}})
    EXPECT_EQ(
        panelClassFor(panel, width, width, rows, kLarge)->clusterPerMember, 0);
}

/// Blocks that send each other no messages process members only alone.
TEST(PanelClass, HasOneBlockPerMemberWithoutMessages) {
  PlanPanel panel = kinds()[0].panel;
  panel.clusterPerMember = false;
  EXPECT_EQ(panelClassFor(panel, 100, 100, 100, kLarge)->clusterPerMember, 1);
  EXPECT_EQ(panelClassFor(panel, 250, 250, 250, kLarge)->clusterPerMember, 0);
}

/// The form of a member follows from its own extents.
TEST(PanelClass, HasTheFormOfAMemberAlone) {
  std::mt19937_64 random(3);
  for (const Kind &kind : kinds())
    for (int64_t shared : {kSmall, kLarge})
      for (int list = 0; list < 40; ++list) {
        std::vector<PanelExtents> members(1 + random() % 60);
        for (PanelExtents &member : members) {
          int64_t most = 1 << (1 + random() % 11);
          member = {static_cast<int64_t>(random() % most),
                    static_cast<int64_t>(random() % most)};
        }
        auto classes = panelClassesFor(kind.panel, members, shared);
        ASSERT_TRUE(classes);
        std::vector<int> seen(members.size());
        for (auto [k, part] : llvm::enumerate(*classes)) {
          const PanelClass &shape = part.shape;
          // Only the first class may be that of the whole grid.
          ASSERT_TRUE(k == 0 || shape.clusterPerMember > 0);
          ASSERT_LE(shape.sharedBytes, shared);
          for (int member : part.members) {
            ++seen[member];
            auto [rows, columns] = members[member];
            SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(rows) +
                         "x" + std::to_string(columns));
            auto alone =
                panelClassesFor(kind.panel, members[member], shared)->front();
            ASSERT_EQ(shape.clusterPerMember, alone.shape.clusterPerMember);
            if (!shape.clusterPerMember)
              continue;
            // The constants that the order of sums follows from.
            ASSERT_EQ(shape.threads, alone.shape.threads);
            ASSERT_EQ(shape.groups, alone.shape.groups);
            ASSERT_GE(shape.memberColumns, columns);
            ASSERT_GE(int64_t(shape.threads / shape.groups) *
                          shape.itemsPerThread,
                      columns);
            ASSERT_GE(int64_t(shape.memberRows) * shape.clusterPerMember, rows);
            ASSERT_EQ(shape.memberRows, shape.groups * shape.stages);
            ASSERT_TRUE(shape.ragged ||
                        columns >= (shape.itemsPerThread - 1) *
                                       (shape.threads / shape.groups));
          }
        }
        ASSERT_EQ(seen, std::vector<int>(members.size(), 1));
      }
}

/// A large member does not change the classes of the others.
TEST(PanelClass, SeparatesLargeMembers) {
  PlanPanel panel = kinds()[0].panel;
  std::vector<PanelExtents> members(256, {100, 100});
  members[7] = {3001, 2003};
  auto classes = panelClassesFor(panel, members, kLarge);
  ASSERT_TRUE(classes);
  ASSERT_EQ(classes->size(), 2u);
  EXPECT_EQ(classes->front().members, std::vector<int>{7});
  EXPECT_EQ(classes->back().members.size(), 255u);
  EXPECT_EQ(classes->back().shape, panelClassFor(panel, 100, 100, 100, kLarge));
  // The largest members of a class begin first.
  members = {{70, 30}, {100, 90}, {65, 9}, {90, 101}};
  EXPECT_EQ(panelClassesFor(panel, members, kLarge)->front().members,
            (std::vector<int>{3, 1, 0, 2}));
}

TEST(PanelClass, CountsRowsIn32Bits) {
  for (const Kind &kind : kinds()) {
    EXPECT_TRUE(panelClassFor(kind.panel, 100, 100, INT32_MAX, kLarge));
    EXPECT_FALSE(panelClassFor(kind.panel, 100, 100, 1ll << 31, kLarge));
  }
}

TEST(PanelClass, Describes) {
  PanelClass chosen;
  chosen.groups = 2;
  chosen.itemsPerThread = 24;
  chosen.stages = 3;
  chosen.cluster = 2;
  EXPECT_EQ(chosen.panels(), 66);
  EXPECT_EQ(
      chosen.describe(),
      "clusters of 2, 2 thread groups of 256 threads, 24 items per thread, 3 "
      "row stages per group");
  chosen.cluster = chosen.groups = 1;
  EXPECT_EQ(chosen.describe(),
            "512 threads, 24 items per thread, 3 row stages");
  EXPECT_EQ(
      chosen.defines(),
      (std::vector<std::string>{
          "-DHEDDLE_PANEL_THREADS=512", "-DHEDDLE_PANEL_ITEMS_PER_THREAD=24",
          "-DHEDDLE_PANEL_GROUPS=1", "-DHEDDLE_PANEL_STAGES=3",
          "-DHEDDLE_PANEL_CLUSTER=1", "-DHEDDLE_PANEL_CLUSTER_PER_MEMBER=0",
          "-DHEDDLE_PANEL_RAGGED=0", "-DHEDDLE_PANEL_ROWS=1",
          "-DHEDDLE_PANEL_MEMBER_ROWS=64", "-DHEDDLE_PANEL_MEMBER_COLUMNS=64",
          "-DHEDDLE_PANEL_BLOCKS=1"}));
}

} // namespace
