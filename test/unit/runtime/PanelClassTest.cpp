//===- PanelClassTest.cpp - classes of widths ----------------------------===//

#include "runtime/plan/PanelClass.h"

#include <gtest/gtest.h>

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

/// Shared memory of a block, as architectures offer it.
constexpr int64_t kSmall = 99 * 1024, kLarge = 227 * 1024;

std::vector<int64_t> widths() {
  std::vector<int64_t> all;
  for (int64_t width = 1; width <= 100000; width += 1 + width / 37)
    for (int64_t near : {width - 1, width, width + 1})
      if (near > 0)
        all.push_back(near);
  return all;
}

TEST(PanelClass, FitsEveryWidthUpToAMost) {
  for (const Kind &kind : kinds())
    for (int64_t shared : {kSmall, kLarge}) {
      bool none = false;
      int64_t most = 0;
      for (int64_t width : widths()) {
        SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(width));
        auto shape = panelClassFor(kind.panel, width, width, 5000, shared);
        if (!shape) {
          none |= width > most;
          continue;
        }
        ASSERT_FALSE(none && width > most) << "a narrower one has no class";
        most = std::max(most, width);
        int64_t share = (width + shape->cluster - 1) / shape->cluster;
        int64_t group = shape->threads / shape->groups;
        ASSERT_GE(group * shape->itemsPerThread, share);
        // No item that no column has.
        ASSERT_LT(group * (shape->itemsPerThread - 1), share);
        ASSERT_EQ(group % 32, 0);
        ASSERT_EQ(group * shape->groups, shape->threads);
        ASSERT_GE(shape->stages, 2);
        ASSERT_LE(shape->stages, 32); // a bit of a word each
        ASSERT_LE(shape->sharedBytes, shared);
        // Room for each row in flight, of every matrix, and for a value of each
        // column in every thread group, if several groups add up columns.
        int64_t needed = 0;
        for (int element : kind.panel.elementBytes)
          needed += shape->stages * shape->groups * share * element;
        if (shape->groups > 1)
          needed += shape->groups * share * kind.panel.computeBytes;
        ASSERT_GE(shape->sharedBytes, needed);
        ASSERT_LE(shape->itemsPerThread *
                      (kind.panel.words + kind.panel.rowWords) * shape->threads,
                  65536);
        ASSERT_EQ(shape->clusterPerMember, 0); // 5000 rows are too many
      }
      EXPECT_GE(most, shared == kLarge ? 20001 : 4000) << kind.name;
    }
}

TEST(PanelClass, IsRaggedWhereAThreadMayLackMoreThanItsLastColumn) {
  PlanPanel panel = kinds()[0].panel;
  for (int64_t widest : widths())
    for (int64_t narrowest :
         {widest, widest - 1, widest - 30, widest / 2, int64_t(0)}) {
      auto shape = narrowest < 0
                       ? std::nullopt
                       : panelClassFor(panel, narrowest, widest, 5000, kLarge);
      if (!shape || shape->ragged)
        continue;
      SCOPED_TRACE(std::to_string(narrowest) + " to " + std::to_string(widest));
      for (int64_t width : {narrowest, widest}) {
        int64_t share = (width + shape->cluster - 1) / shape->cluster;
        int64_t last = width - share * (shape->cluster - 1);
        ASSERT_GE(last, int64_t(shape->itemsPerThread - 1) * shape->threads /
                            shape->groups);
      }
    }
  EXPECT_FALSE(panelClassFor(panel, 6001, 6001, 5000, kLarge)->ragged);
  EXPECT_TRUE(panelClassFor(panel, 100, 6001, 5000, kLarge)->ragged);
}

TEST(PanelClass, CountsWhatTheLastBlockOfAClusterLacks) {
  PlanPanel panel = kinds()[0].panel;
  // Blocks of 13 columns a thread; 6142 columns are left for the last of them.
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

/// Thread groups share a block where rows are too short to keep all its threads
/// busy.
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

TEST(PanelClass, GivesSmallMembersACluster) {
  PlanPanel panel = kinds()[0].panel;
  for (auto [width, rows] : {std::pair(301, 251), {601, 501}, {768, 768}}) {
    auto shape = panelClassFor(panel, width, width, rows, kLarge);
    ASSERT_TRUE(shape);
    EXPECT_EQ(shape->clusterPerMember, 16);
    EXPECT_EQ(shape->panels(), 16);
    // All rows stay on chip.
    EXPECT_LE((rows + 15) / 16, shape->groups * shape->stages);
    // No more than are wanted.
    EXPECT_LE(shape->groups * (shape->stages - 2), (rows + 15) / 16);
  }
  // What several columns need does not fit beside rows that stay.
  panel.columns = 4;
  EXPECT_EQ(panelClassFor(panel, 500, 500, 500, kLarge)->clusterPerMember, 0);
  panel.columns = 1;
  for (auto [width, rows] : {std::pair(301, 5000), {6001, 251}, {769, 300}})
    EXPECT_EQ(
        panelClassFor(panel, width, width, rows, kLarge)->clusterPerMember, 0);
  EXPECT_EQ(panelClassFor(panel, 301, 301, 251, kSmall)->clusterPerMember, 0);
  EXPECT_LE(heddle::max_cluster_columns, heddle::max_cluster_rows);
}

TEST(PanelClass, CountsRowsIn32Bits) {
  for (const Kind &kind : kinds()) {
    EXPECT_TRUE(panelClassFor(kind.panel, 100, 100, INT32_MAX, kLarge));
    EXPECT_FALSE(panelClassFor(kind.panel, 100, 100, 1ll << 31, kLarge));
  }
}

TEST(PanelClass, SaysWhatItIs) {
  PanelClass shape;
  shape.groups = 2;
  shape.itemsPerThread = 24;
  shape.stages = 3;
  shape.cluster = 2;
  EXPECT_EQ(shape.panels(), 66);
  EXPECT_EQ(
      shape.describe(),
      "clusters of 2, 2 thread groups of 256 threads with 24 columns each, 3 "
      "rows of a group in flight");
  shape.cluster = shape.groups = 1;
  EXPECT_EQ(shape.describe(),
            "512 threads with 24 columns each, 3 rows in flight");
  EXPECT_EQ(
      shape.defines(),
      (std::vector<std::string>{
          "-DHEDDLE_PANEL_THREADS=512", "-DHEDDLE_PANEL_ITEMS_PER_THREAD=24",
          "-DHEDDLE_PANEL_GROUPS=1", "-DHEDDLE_PANEL_STAGES=3",
          "-DHEDDLE_PANEL_CLUSTER=1", "-DHEDDLE_PANEL_CLUSTER_PER_MEMBER=0",
          "-DHEDDLE_PANEL_RAGGED=0", "-DHEDDLE_PANEL_ROWS=1"}));
}

} // namespace
