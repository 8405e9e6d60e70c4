//===- PlanShapesTest.cpp - extents and launches over given shapes --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/plan/PlanShapes.h"

#include "llvm/Support/JSON.h"
#include <gtest/gtest.h>

using namespace heddle;
using namespace heddle::runtime;

static PlanBuffer list(llvm::StringRef name, int rank) {
  PlanBuffer buffer;
  buffer.name = name.str();
  buffer.rank = rank;
  return buffer;
}

static PlanBuffer scalar(llvm::StringRef name) {
  PlanBuffer buffer = list(name, 0);
  buffer.kind = BufferKind::Scalar;
  return buffer;
}

/// One kernel over `x` (rank 1), `t` (rank 0) and a scalar.
static Plan flatPlan() {
  Plan plan;
  plan.buffers = {list("x", 1), list("t", 0), scalar("lr")};
  PlanSegment segment;
  segment.tile = 1024;
  segment.operands = {{0, OperandIndex::I}, {1, OperandIndex::None}};
  segment.count = ExtentRef{0, 0};
  PlanTable table;
  table.segments = {segment};
  plan.tables = {table};
  PlanNode node;
  node.table = 0;
  node.arguments = {{ArgumentKind::Table, 0}};
  node.variants = {PlanVariant()};
  plan.graph.nodes = {node};
  return plan;
}

TEST(PlanShapes, FlattensForRankOne) {
  Plan plan = flatPlan();
  PlanShapes shapes =
      PlanShapes::bind(plan, {{2, 3, 4}, {}, {0}, {1024}, {1025}});
  EXPECT_EQ(shapes.of(0)[0], Extents({24}));
  EXPECT_EQ(shapes.of(0)[1], Extents({1}));
  EXPECT_EQ(shapes.of(0)[2], Extents({0}));
  EXPECT_EQ(shapes.of(1)[0], Extents());
  EXPECT_TRUE(shapes.of(2).empty());
  EXPECT_EQ(shapes.elementsOf(0), 24 + 1 + 0 + 1024 + 1025);
  EXPECT_EQ(shapes.elementsOf(1), 5);
  // An empty member has one tile, which computes its member values.
  EXPECT_EQ(shapes.tilesOf(0), 1 + 1 + 1 + 1 + 2);
  EXPECT_EQ(shapes.membersOf(0), 5);
  EXPECT_EQ(shapes.launches(), 1);
}

// Sums of counts have a limit instead of an overflow, which the sanitizers
// report.
TEST(PlanShapes, HugeShapes) {
  Plan plan = flatPlan();
  constexpr int64_t most = INT64_MAX;
  EXPECT_EQ(elementCount({most, most}), most);
  EXPECT_EQ(elementCount({most, most, 0}), 0);
  EXPECT_EQ(elementCount({0, most}), 0);
  PlanShapes shapes = PlanShapes::bind(plan, {{most}, {most}});
  EXPECT_EQ(shapes.elementsOf(0), most);
  EXPECT_EQ(shapes.tilesOf(0), 2 * (most / 1024 + 1));
  plan.tables[0].segments[0].tile = 1;
  EXPECT_EQ(shapes.tilesOf(0), most);
  EXPECT_EQ(shapes.launches(), 1);
}

TEST(PlanShapes, NoMembersNeedNoLaunch) {
  Plan plan = flatPlan();
  EXPECT_EQ(PlanShapes::bind(plan, {}).launches(), 0);
  EXPECT_EQ(PlanShapes::bind(plan, {}).membersOf(0), 0);
  plan.graph.nodes[0].always = true;
  EXPECT_EQ(PlanShapes::bind(plan, {}).launches(), 1);
}

TEST(PlanShapes, VectorsTakeTheExtentsOfTheirMatrices) {
  Plan plan;
  plan.buffers = {list("u", 1), list("v", 1), list("x", 2), list("free", 1),
                  list("y", 2)};
  plan.buffers[4].role = BufferRole::Result;
  plan.buffers[4].extents = {{2, 0}, {1, 0}};
  plan.buffers[4].members = 2;
  PlanSegment segment;
  segment.tile = 2;
  segment.operands = {{0, OperandIndex::I},
                      {1, OperandIndex::J},
                      {2, OperandIndex::IJ},
                      {4, OperandIndex::IJ}};
  segment.count = ExtentRef{2, 0};
  segment.columns = ExtentRef{2, 1};
  PlanTable table;
  table.rank = 2;
  table.segments = {segment};
  plan.tables = {table};
  PlanShapes shapes = PlanShapes::bind(plan, {{2, 3, 5}, {7}});
  EXPECT_EQ(shapes.of(2)[0], Extents({6, 5}));
  EXPECT_EQ(shapes.of(2)[1], Extents({1, 7}));
  EXPECT_EQ(shapes.of(0)[0], Extents({6}));
  EXPECT_EQ(shapes.of(1)[0], Extents({5}));
  EXPECT_EQ(shapes.of(0)[1], Extents({1}));
  EXPECT_EQ(shapes.of(1)[1], Extents({7}));
  EXPECT_EQ(shapes.of(3)[0], Extents({30}));
  EXPECT_EQ(shapes.of(4)[0], Extents({6, 5}));
  EXPECT_EQ(shapes.tilesOf(0), 3 + 1);
  // Equal although no table demands it.
  PlanShapes::EqualPair equal[] = {{ExtentRef{2, 1}, ExtentRef{3, 0}}};
  PlanShapes joined = PlanShapes::bind(plan, {{2, 3, 5}, {7}}, equal);
  EXPECT_EQ(joined.of(3)[0], Extents({5}));
  EXPECT_EQ(joined.of(3)[1], Extents({7}));
}

TEST(PlanShapes, ReadsShapes) {
  auto read = [](llvm::StringRef text) {
    return shapesFromJSON(cantFail(llvm::json::parse(text)), "here");
  };
  auto good = read("[[2, 3], [], [0]]");
  ASSERT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(good->size(), 3u);
  for (llvm::StringRef bad : {"{}", "[1]", "[[-1]]", "[[0.5]]", "[[\"2\"]]",
                              "[[1048576, 1048576, 1048576]]"}) {
    auto result = read(bad);
    EXPECT_FALSE(static_cast<bool>(result)) << bad.str();
    EXPECT_NE(llvm::toString(result.takeError()).find("here"),
              std::string::npos);
  }
}
