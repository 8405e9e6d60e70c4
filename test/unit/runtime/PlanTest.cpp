//===- PlanTest.cpp - Plans: JSON form ------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plans.h"

#include "llvm/Support/JSON.h"

#include <limits>

using namespace heddle::runtime;
using namespace llvm;

namespace {

TEST(Plan, ReadsEveryField) {
  Plan plan = parsed(updatePlan());
  EXPECT_EQ(plan.name, "update");
  ASSERT_EQ(plan.buffers.size(), 7u);
  EXPECT_TRUE(plan.buffers[0].donated);
  EXPECT_EQ(plan.buffers[3].dtype, DType::BF16);
  EXPECT_EQ(plan.buffers[4].defaultValue, 0.001);
  EXPECT_EQ(plan.buffers[5].members, 0);
  ASSERT_EQ(plan.buffers[5].extents.size(), 1u);
  ASSERT_EQ(plan.tables.size(), 1u);
  EXPECT_EQ(plan.tables[0].segments[1].tile, 8);
  EXPECT_EQ(plan.tables[0].segments[0].operands[2].index, OperandIndex::None);
  EXPECT_FALSE(plan.tables[0].segments[0].columns);
  ASSERT_EQ(plan.graph.nodes.size(), 1u);
  const PlanNode &node = plan.graph.nodes[0];
  EXPECT_TRUE(node.always);
  EXPECT_EQ(node.variants[0].maxTiles, 100);
  EXPECT_EQ(node.variants[1].grid, GridKind::Resident);
  EXPECT_TRUE(node.variants[1].cooperative);
  EXPECT_FALSE(node.variants[1].tileDescriptors);
  EXPECT_EQ(node.variants[1].sharedBytes, 1024);
  EXPECT_EQ(node.arguments[3].kind, ArgumentKind::Scratch);
  EXPECT_EQ(plan.headers.at("a.cuh"), "header");
  EXPECT_EQ(plan.findArgument("grad"), 1);
  EXPECT_EQ(plan.findArgument("norm"), -1);
  EXPECT_EQ(plan.findResult("norm"), 6);
  EXPECT_EQ(plan.tableOfSweep(node, "update"), 0);
}

TEST(Plan, ReadsScalarsAndProgrammaticEdges) {
  Plan plan = parsed(scalarsPlan);
  const PlanNode &node = plan.graph.nodes[0];
  EXPECT_TRUE(plan.tables[0].segments[0].alignTiles);
  EXPECT_TRUE(node.hasByValueScalars());
  EXPECT_EQ(node.arguments[1].kind, ArgumentKind::Scalar);
  EXPECT_EQ(node.arguments[1].index, 1);
  EXPECT_TRUE(node.variants[0].scalarsByValue);
  EXPECT_EQ(node.variants[0].fitsL2, 0.97);
  EXPECT_TRUE(node.variants[0].hasPredicate());
  EXPECT_FALSE(node.variants[1].scalarsByValue);
  EXPECT_FALSE(plan.graph.nodes[1].variants[0].scalarsByValue);
  EXPECT_EQ(node.part, SweepPart::Whole);
  EXPECT_EQ(plan.graph.nodes[1].part, SweepPart::Ends);
  EXPECT_TRUE(plan.graph.edges[0].programmatic);
  EXPECT_FALSE(plan.graph.edges[1].programmatic);
  EXPECT_EQ(plan.graph.nodes[2].value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(plan.graph.nodes[3].value, 0.5);
}

TEST(Plan, ReadsWhetherAScalarIsPositive) {
  Plan plan = parsed(updatePlan());
  EXPECT_FALSE(plan.buffers[4].positive);
  plan.buffers[4].positive = true;
  plan = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_TRUE(plan.buffers[4].positive);
}

TEST(Plan, ReadsTheColumnsOfAVariant) {
  Plan plan = parsed(loopPlan);
  std::vector<PlanVariant> &variants =
      plan.graph.nodes[2].body.nodes[0].variants;
  variants.insert(variants.begin(), variants[0]);
  variants[0].entry = "held";
  variants[0].maxColumns = 4096;
  Plan again = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_TRUE(succeeded(validatePlan(again)));
  const PlanNode &kernel = again.graph.nodes[2].body.nodes[0];
  EXPECT_EQ(kernel.variants[0].maxColumns, 4096);
  EXPECT_TRUE(kernel.variants[0].hasPredicate());
  EXPECT_FALSE(kernel.variants[1].maxColumns);
  EXPECT_FALSE(kernel.variants[0].mostlyOver);
  variants[0].mostlyOver = 2048;
  again = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_TRUE(succeeded(validatePlan(again)));
  EXPECT_EQ(again.graph.nodes[2].body.nodes[0].variants[0].mostlyOver, 2048);
  variants[0].mostlyOver = 4096;
  EXPECT_CONTAINS(
      takeError(validatePlan(plan)).second,
      "variant 'held': mostly_over: expected a number from 1 to less "
      "than max_columns, found 4096");
  variants[0].mostlyOver.reset();
  variants[0].maxColumns = 0;
  EXPECT_CONTAINS(takeError(validatePlan(plan)).second,
                  "variant 'held': max_columns: expected at least 1, found 0");
}

TEST(Plan, ReadsTheMultiplesOfAVariant) {
  Plan plan = parsed(loopPlan);
  std::vector<PlanVariant> &variants =
      plan.graph.nodes[2].body.nodes[0].variants;
  variants.insert(variants.begin(), variants[0]);
  variants[0].entry = "vectors";
  variants[0].mostlyMultiplesOf = 4;
  Plan again = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_TRUE(succeeded(validatePlan(again)));
  const PlanNode &kernel = again.graph.nodes[2].body.nodes[0];
  EXPECT_EQ(kernel.variants[0].mostlyMultiplesOf, 4);
  EXPECT_TRUE(kernel.variants[0].hasPredicate());
  EXPECT_FALSE(kernel.variants[1].mostlyMultiplesOf);
  for (int64_t number : {-4, 0, 1, 3, 32}) {
    variants[0].mostlyMultiplesOf = number;
    EXPECT_CONTAINS(takeError(validatePlan(plan)).second,
                    "variant 'vectors': mostly_multiples_of: expected 2, 4, 8 "
                    "or 16, found " +
                        std::to_string(number));
  }
}

TEST(Plan, ReadsThePartsOfAVariant) {
  Plan plan = parsed(loopPlan);
  plan.tables[0].rowParts = plan.tables[0].heldParts = true;
  plan.scratch[0].per = ScratchPer::TileBlock;
  std::vector<PlanVariant> &variants =
      plan.graph.nodes[2].body.nodes[0].variants;
  variants.insert(variants.begin(), variants[0]);
  variants[0].entry = "parts";
  variants[0].grid = GridKind::Tiles;
  auto printed = [&] { return formatv("{0:2}", planToJSON(plan)).str(); };
  for (auto [most, cluster] : {std::pair(16, true), {256, false}}) {
    variants[0].maxParts = most;
    variants[0].cluster = cluster;
    Plan again = cantFail(parsePlan(printed()));
    EXPECT_TRUE(succeeded(validatePlan(again)));
    const PlanVariant &read = again.graph.nodes[2].body.nodes[0].variants[0];
    EXPECT_EQ(read.maxParts, most);
    EXPECT_EQ(read.cluster, cluster);
    ++*variants[0].maxParts;
    EXPECT_CONTAINS(takeError(validatePlan(plan)).second,
                    formatv("variant 'parts': max_parts: expected 2..{0}, "
                            "found {1}",
                            most, most + 1)
                        .str());
  }
  // A plan that does not say whether the blocks are a cluster.
  variants[0].maxParts = 16;
  std::string text = printed();
  size_t at = text.find("\"cluster\": false,");
  ASSERT_NE(at, std::string::npos);
  text.erase(at, std::strlen("\"cluster\": false,"));
  EXPECT_CONTAINS(failure(parsePlan(text), StatusCode::BadInput),
                  "expected true or false, because 'when' has 'max_parts'");
}

TEST(Plan, ReadsPanels) {
  Plan plan =
      cantFail(parsePlan(formatv("{0:2}", planToJSON(panelPlan())).str()));
  EXPECT_TRUE(succeeded(validatePlan(plan)));
  EXPECT_EQ(plan.panelSource, "panel source");
  const auto &panel = plan.graph.nodes[2].panel;
  ASSERT_TRUE(panel);
  EXPECT_EQ(panel->entry, "loop_panels");
  EXPECT_EQ(panel->table, 0);
  EXPECT_EQ(panel->elementBytes, (std::vector<int>{4, 2}));
  EXPECT_EQ(panel->computeBytes, 8);
  EXPECT_EQ(panel->words, 3);
  EXPECT_EQ(panel->rowWords, 5);
  EXPECT_EQ(panel->keptOfRow, 12);
  EXPECT_EQ(panel->keptOfColumn, 24);
  EXPECT_FALSE(panel->clusterPerMember);
  EXPECT_EQ(panel->arguments.size(), 5u);
  EXPECT_EQ(plan.scratch[1].per, ScratchPer::PanelColumn);
  EXPECT_EQ(plan.scratch[2].per, ScratchPer::Row);
  EXPECT_EQ(plan.scratch[3].per, ScratchPer::Panel);
  EXPECT_FALSE(parsed(loopPlan).graph.nodes[2].panel);
}

TEST(Plan, ReadsBlockColumns) {
  Plan plan = parsed(loopPlan);
  EXPECT_EQ(plan.tables[0].blockColumns, 0);
  plan.tables[0].blockColumns = 1024;
  plan = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_EQ(plan.tables[0].blockColumns, 1024);
  EXPECT_TRUE(succeeded(validatePlan(plan)));
  plan.tables[0].blockColumns = -1;
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "expected block_columns of 1 or more and a rank of 2, found "
                  "-1 and 2");
}

TEST(Plan, ReadsTallTiles) {
  Plan plan = parsed(loopPlan);
  HeldRows &held = plan.tables[0].segments[0].held;
  held = {2048, 8192, 4};
  plan.tables[0].blockColumns = 1024;
  Plan read = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_EQ(read.tables[0].segments[0].held.tallUnits, 4);
  auto refused = [&](int64_t found) {
    EXPECT_CONTAINS(
        failure(validatePlan(plan), StatusCode::BadInput),
        "expected tall_units of 1, 2, 4..64, 1 without held_columns or "
        "block_columns, and at most 2147483647 rows in a tall tile, found " +
            std::to_string(found));
  };
  for (int64_t units : {0, 3, 128}) {
    held.tallUnits = units;
    refused(units);
  }
  held = {0, 8192, 4};
  refused(4);
  held = {2048, 8192, 4};
  plan.tables[0].blockColumns = 0;
  refused(4);
  plan.tables[0].blockColumns = 1024;
  plan.tables[0].segments[0].tile = INT32_MAX;
  refused(4);
}

TEST(Plan, ReadsWidestFirst) {
  Plan plan = parsed(loopPlan);
  plan.tables[0].widestFirst = true;
  plan = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_TRUE(plan.tables[0].widestFirst);
  EXPECT_TRUE(succeeded(validatePlan(plan)));
  plan.tables[0].rank = 1;
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "widest_first: expected a rank of 2, found 1");
}

TEST(Plan, ReadsRowParts) {
  Plan plan = parsed(loopPlan);
  EXPECT_FALSE(plan.tables[0].rowParts);
  plan.tables[0].rowParts = true;
  plan.scratch[0].per = ScratchPer::TileBlock;
  plan = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_TRUE(plan.tables[0].rowParts);
  EXPECT_FALSE(plan.tables[0].heldParts);
  EXPECT_EQ(plan.scratch[0].per, ScratchPer::TileBlock);
  EXPECT_TRUE(succeeded(validatePlan(plan)));
  plan.tables[0].longParts = true;
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "long_parts: expected held_parts, too");
  plan.tables[0].heldParts = true;
  plan = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_TRUE(plan.tables[0].heldParts);
  EXPECT_TRUE(plan.tables[0].longParts);
  EXPECT_FALSE(plan.tables[0].widestFirst);
  EXPECT_EQ(plan.tables[0].wholeColumns, 4096);
  plan.tables[0].wholeColumns = 8192;
  plan.tables[0].segments[0].held = {2048, 8192};
  plan = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_EQ(plan.tables[0].wholeColumns, 8192);
  EXPECT_EQ(plan.tables[0].segments[0].held.elements, 8192);
  EXPECT_TRUE(succeeded(validatePlan(plan)));
  plan.tables[0].segments[0].held.elements = 0;
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "expected held_elements of 1..32768, found 0");
  plan.tables[0].segments[0].held.elements = 4096;
  plan.tables[0].wholeColumns = 4095;
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "whole_columns: expected 4096..2147483647, and row_parts if "
                  "it is more than 4096, found 4095");
  plan.tables[0].wholeColumns = 4096;
  plan.tables[0].severalParts = true;
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "long_parts: expected held_parts, too, and no several_parts");
  plan.tables[0].longParts = false;
  plan = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_TRUE(plan.tables[0].severalParts);
  EXPECT_TRUE(succeeded(validatePlan(plan)));
  PlanNode &node = plan.graph.nodes[2].body.nodes[0];
  PlanNode before = node;
  node.table = 0;
  node.variants[0].maxParts = 8;
  node.variants[0].cluster = true;
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "cluster: expected a table without several_parts");
  node = before;
  plan.tables[0].heldParts = false;
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "several_parts: expected held_parts, too");
  plan.tables[0].heldParts = true;
  plan.tables[0].severalParts = false;
  plan.tables[0].rowParts = false;
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "held_parts: expected row_parts, too");
  plan.tables[0].rowParts = true;
  plan.tables[0].blockColumns = 1024;
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "row_parts: expected a rank of 2 and no block_columns, found "
                  "a rank of 2 and block_columns of 1024");
}

TEST(Plan, RoundTrips) {
  for (const char *text : {updatePlan(), loopPlan, scalarsPlan}) {
    Plan plan = parsed(text);
    json::Value once = planToJSON(plan);
    std::string printed = formatv("{0:2}", once).str();
    Plan again = cantFail(parsePlan(printed));
    EXPECT_EQ(planToJSON(again), once);
  }
}

TEST(Plan, ReadsLoops) {
  Plan plan = parsed(loopPlan);
  const PlanNode &loop = plan.graph.nodes[2];
  EXPECT_EQ(loop.kind, NodeKind::While);
  EXPECT_TRUE(loop.variants[0].graphForm);
  EXPECT_EQ(loop.body.nodes[0].variants[0].grid, GridKind::Fixed);
  EXPECT_EQ(loop.body.nodes[0].variants[0].gridBlocks, 7);
  EXPECT_EQ(plan.graph.edges[1].to, 2);
}

std::string readFailure(const char *text) {
  return failure(parsePlan(text), StatusCode::BadInput);
}

TEST(Plan, RejectsOtherText) {
  EXPECT_CONTAINS(readFailure("{"), "not JSON");
  EXPECT_CONTAINS(readFailure("[]"), "expected object");
  EXPECT_CONTAINS(readFailure("{\"nodes\": []}"), "plan.buffers");
  EXPECT_CONTAINS(
      readFailure(
          R"({"buffers": [{"name": "a", "kind": "set", "dtype": "f32", "rank": 0, "role": "argument"}], "nodes": []})"),
      "plan.buffers[0].kind");
  EXPECT_CONTAINS(
      readFailure(
          R"({"buffers": [{"name": "a", "kind": "list", "dtype": "f33", "rank": 0, "role": "argument"}], "nodes": []})"),
      "expected one of f64");
  EXPECT_CONTAINS(
      readFailure(
          R"({"buffers": [], "nodes": [{"kind": "kernel", "name": "a", "variants": [{"entry": "e", "grid": "all"}]}]})"),
      "expected 'tiles', 'members', 'resident' or a number");
  EXPECT_CONTAINS(
      readFailure(
          R"({"buffers": [], "nodes": [{"kind": "kernel", "name": "a", "variants": [{"entry": "e", "when": {"min_rows": 2}}]}]})"),
      "min_rows");
  EXPECT_CONTAINS(
      readFailure(
          R"({"buffers": [], "nodes": [{"kind": "kernel", "name": "a", "variants": [{"form": "tree"}]}]})"),
      "expected 'graph'");
  EXPECT_CONTAINS(
      readFailure(R"({"buffers": [], "nodes": [], "edges": [[1]]})"),
      "expected [from, to]");
  EXPECT_CONTAINS(
      readFailure(
          R"({"buffers": [], "nodes": [], "edges": [[0, 1, "early"]]})"),
      "expected 'programmatic'");
  EXPECT_CONTAINS(
      readFailure(
          R"({"buffers": [], "nodes": [{"kind": "kernel", "name": "a", "variants": [{"entry": "e", "scalars": "both"}]}]})"),
      "expected 'value' or 'address'");
  EXPECT_CONTAINS(
      readFailure(
          R"({"buffers": [], "nodes": [{"kind": "kernel", "name": "a", "arguments": [{"value": 1}]}]})"),
      "'scalar'");
  EXPECT_CONTAINS(
      readFailure(
          R"({"buffers": [], "nodes": [{"kind": "fill", "name": "a", "to": 0, "value": "infinity"}]})"),
      "expected a number, 'inf', '-inf' or 'nan'");
  EXPECT_CONTAINS(
      readFailure(
          R"({"buffers": [], "nodes": [{"kind": "fill", "name": "a", "to": 0}]})"),
      "missing value");
}

} // namespace
