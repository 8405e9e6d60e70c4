//===- PlanValidationTest.cpp - Plans that contradict themselves ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plans.h"

#include "llvm/Support/JSON.h"

#include <functional>
#include <limits>

using namespace heddle::runtime;
using namespace llvm;

namespace {

/// The error of validatePlan() after `change`.
std::string invalid(const char *text,
                    const std::function<void(Plan &)> &change) {
  Plan plan = parsed(text);
  change(plan);
  return failure(validatePlan(plan), StatusCode::BadInput);
}

TEST(PlanValidation, Panels) {
  auto says = [](const std::function<void(PlanPanel &)> &change) {
    Plan plan = panelPlan();
    change(*plan.graph.nodes[2].panel);
    return failure(validatePlan(plan), StatusCode::BadInput);
  };
  EXPECT_CONTAINS(says([](PlanPanel &p) { p.entry = ""; }),
                  "nodes[2] 'loop': panel: expected an entry");
  EXPECT_CONTAINS(says([](PlanPanel &p) { p.table = 1; }),
                  "panel: expected a table of rank 2");
  for (auto change : std::initializer_list<void (*)(PlanPanel &)>{
           [](PlanPanel &p) { p.elementBytes = {}; },
           [](PlanPanel &p) { p.elementBytes[1] = 0; },
           [](PlanPanel &p) { p.elementBytes[0] = 5000; },
           [](PlanPanel &p) { p.words = INT32_MAX; },
           [](PlanPanel &p) { p.computeBytes = 0; },
           [](PlanPanel &p) { p.words = 0; },
           [](PlanPanel &p) { p.rowWords = 0; }})
    EXPECT_CONTAINS(
        says(change),
        "panel: expected matrices, reductions, words and bytes of at least 1");
  for (auto change : std::initializer_list<void (*)(PlanPanel &)>{
           [](PlanPanel &p) { p.keptOfRow = -1; },
           [](PlanPanel &p) { p.keptOfColumn = INT32_MAX; }})
    EXPECT_CONTAINS(says(change), "panel: expected 0 to 4096 bytes");
  EXPECT_CONTAINS(says([](PlanPanel &p) { p.arguments[4].index = 4; }),
                  "expected a scratch area in [0, 4), found 4");
  EXPECT_CONTAINS(says([](PlanPanel &p) { p.arguments[1].index = 0; }),
                  "lists are passed through tables");
}

TEST(PlanValidation, Buffers) {
  auto says = [](const std::function<void(Plan &)> &change) {
    return invalid(updatePlan(), change);
  };
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[0].name = ""; }),
                  "buffers[0] '': expected a name");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[1].rank = 3; }),
                  "expected a rank of 0, 1 or 2, found 3");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[1].name = "param"; }),
                  "one argument of this name");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[5].donated = true; }),
                  "only arguments to be donated");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[4].rank = 1; }),
                  "scalar of rank 0");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[0].defaultValue = 1; }),
                  "expected a default, or 'positive', for scalars only");
  EXPECT_CONTAINS(says([](Plan &p) {
                    p.buffers[4].positive = true;
                    p.buffers[4].defaultValue = -1;
                  }),
                  "buffers[4] 'lr': default: expected a finite f64 above 0, "
                  "found -1");
  EXPECT_CONTAINS(says([](Plan &p) {
                    p.buffers[4].positive = true;
                    p.buffers[4].dtype = DType::I32;
                  }),
                  "expected 'positive' for arguments of floats only");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[5].members = 9; }),
                  "members: expected a buffer in [0, 7), found 9");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[5].members = 4; }),
                  "expected another list, found 'lr'");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[5].extents.clear(); }),
                  "expected 1 extent, found 0");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[5].extents[0].buffer = 5; }),
                  "extents of another buffer");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[5].extents[0].dimension = 1; }),
                  "dimension in [0, 1) of 'param'");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[5].extents[0].buffer = 4; }),
                  "expected a list, found scalar 'lr'");
}

TEST(PlanValidation, ExtentsAndMembersOfLists) {
  auto says = [](const std::function<void(Plan &)> &change) {
    return invalid(updatePlan(), change);
  };
  // A list of rank 0 has no dimension.
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[5].extents[0] = {2, 0}; }),
                  "extents: expected a dimension in [0, 0) of 'step', found 0");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.tables[0].segments[0].count = ExtentRef{2, 0}; }),
      "count: expected a dimension in [0, 0) of 'step', found 0");
  // Lists that follow each other.
  auto addList = [](Plan &p, ExtentRef extent, int members) {
    PlanBuffer list = p.buffers[5];
    list.name = "further";
    list.extents = {extent};
    list.members = members;
    p.buffers.push_back(list);
  };
  EXPECT_CONTAINS(says([&](Plan &p) {
                    addList(p, {5, 0}, 0);
                    p.buffers[5].extents = {{7, 0}};
                  }),
                  "buffers[5] 'old': expected extents and members of other "
                  "lists, found lists that depend on each other");
  EXPECT_CONTAINS(says([&](Plan &p) {
                    addList(p, {0, 0}, 5);
                    p.buffers[5].members = 7;
                  }),
                  "lists that depend on each other");
  Plan plan = parsed(updatePlan());
  addList(plan, {5, 0}, 5);
  std::swap(plan.buffers[5].extents, plan.buffers[7].extents);
  plan.buffers[5].extents = {{7, 0}};
  plan.buffers[7].members = 0;
  EXPECT_TRUE(succeeded(validatePlan(plan)));
  EXPECT_EQ(plan.derivedLists(), (std::vector<int>{7, 5}));
}

TEST(PlanValidation, AChainOfManyLists) {
  Plan plan = parsed(updatePlan());
  constexpr int length = 200000;
  PlanBuffer list = plan.buffers[5];
  for (int k = 0; k < length; ++k) {
    list.name = "list" + std::to_string(k);
    list.role = BufferRole::Temporary;
    list.extents = {{static_cast<int>(plan.buffers.size()) + 1, 0}};
    plan.buffers.push_back(list);
  }
  plan.buffers.back().extents = {{0, 0}};
  EXPECT_TRUE(succeeded(validatePlan(plan)));
  EXPECT_EQ(plan.derivedLists().size(), length + 1u);
  plan.buffers.back().extents = {{8, 0}};
  EXPECT_CONTAINS(failure(validatePlan(plan), StatusCode::BadInput),
                  "lists that depend on each other");
}

TEST(PlanValidation, Defaults) {
  auto says = [](const std::function<void(Plan &)> &change) {
    return invalid(updatePlan(), change);
  };
  EXPECT_CONTAINS(says([](Plan &p) {
                    p.buffers[4].dtype = DType::I8;
                    p.buffers[4].defaultValue = 128;
                  }),
                  "buffers[4] 'lr': default: expected an integer of i8, from "
                  "-128 to 127, found 128");
}

TEST(PlanValidation, Results) {
  auto says = [](const std::function<void(Plan &)> &change) {
    return invalid(updatePlan(), change);
  };
  EXPECT_CONTAINS(says([](Plan &p) { p.results[0].buffer = -1; }), "found -1");
  EXPECT_CONTAINS(says([](Plan &p) { p.results[0].buffer = 1; }),
                  "found argument 'grad'");
  EXPECT_CONTAINS(says([](Plan &p) { p.results[1].name = "param"; }),
                  "one result of this name");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.results[1].buffer = p.results[0].buffer; }),
      "expected a buffer of its own, found buffer 0 of another result");
}

TEST(PlanValidation, Tables) {
  auto says = [](const std::function<void(Plan &)> &change) {
    return invalid(updatePlan(), change);
  };
  EXPECT_CONTAINS(says([](Plan &p) { p.tables[0].rank = 5; }),
                  "rank of 0, 1 or 2");
  EXPECT_CONTAINS(says([](Plan &p) { p.tables[0].segments.clear(); }),
                  "at least one segment");
  EXPECT_CONTAINS(says([](Plan &p) { p.tables[0].segments[0].tile = 0; }),
                  "tile of 1..");
  EXPECT_CONTAINS(says([](Plan &p) { p.tables[0].segments[0].count.reset(); }),
                  "expected a count");
  EXPECT_CONTAINS(says([](Plan &p) { p.tables[0].rank = 0; }),
                  "no count in a table of rank 0");
  EXPECT_CONTAINS(says([](Plan &p) { p.tables[0].rank = 2; }),
                  "expected columns");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.tables[0].segments[0].columns = ExtentRef{0, 0}; }),
      "expected no columns");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.tables[0].segments[0].operands[0].buffer = 70; }),
      "operand: expected a buffer");
  EXPECT_CONTAINS(says([](Plan &p) {
                    p.tables[0].segments[0].operands[0].index =
                        OperandIndex::IJ;
                  }),
                  "index 'i' or ''");
  EXPECT_CONTAINS(says([](Plan &p) {
                    p.tables[0].segments[0].operands[2] = {4, OperandIndex::I};
                  }),
                  "'' for a scalar");
  EXPECT_CONTAINS(says([](Plan &p) { p.tables[0].pointers = 5; }),
                  "largest number of operands, 4, found 5");
}

TEST(PlanValidation, ScratchAndNodes) {
  auto says = [](const std::function<void(Plan &)> &change) {
    return invalid(updatePlan(), change);
  };
  EXPECT_CONTAINS(says([](Plan &p) { p.scratch[0].bytes = -1; }),
                  "at least 0 bytes");
  EXPECT_CONTAINS(says([](Plan &p) { p.scratch[0].table = 4; }),
                  "expected a table in [0, 1), found 4");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.scratch[0].per = ScratchPer::TileColumn; }),
      "rank 2 for 'tile_column'");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[0].table = 2; }),
                  "nodes[0] 'update': expected a table");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[0].writes = {12}; }),
                  "writes: expected a buffer");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].arguments[0].index = 3; }),
      "arguments: expected a table");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].arguments[3].index = 3; }),
      "expected a scratch area");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].arguments[1].index = 0; }),
      "lists are passed through tables");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[0].variants.clear(); }),
                  "at least one variant");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[0].variants.pop_back(); }),
                  "last variant without 'when'");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].variants[0].block = 2000; }),
      "1..1024 threads");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].variants[0].entry = ""; }),
      "a kernel entry");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].variants[0].graphForm = true; }),
      "in while nodes only");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].variants[0].sharedBytes = -1; }),
      "shared memory");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[0].table = -1; }),
                  "expected a number of blocks");
  EXPECT_CONTAINS(says([](Plan &p) {
                    p.graph.nodes[0].variants[0].grid = GridKind::Fixed;
                    p.graph.nodes[0].variants[0].gridBlocks = 0;
                  }),
                  "grid of 1..");
}

TEST(PlanValidation, Parts) {
  auto says = [](const std::function<void(Plan &)> &change) {
    return invalid(scalarsPlan, change);
  };
  std::string_view expected =
      "part: expected 'tiles' and 'ends' for kernels of one sweep only";
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[1].sweeps.clear(); }),
                  expected);
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[1].sweeps.push_back("c"); }),
                  expected);
  std::string other = scalarsPlan;
  other.replace(other.find("\"ends\""), 6, "\"end\"");
  EXPECT_CONTAINS(failure(parsePlan(other), StatusCode::BadInput),
                  "expected 'whole', 'tiles' or 'ends'");
}

TEST(PlanValidation, Distances) {
  auto says = [](const std::function<void(Plan &, PlanVariant &)> &change) {
    return invalid(scalarsPlan, [&](Plan &p) {
      PlanVariant &variant = p.graph.nodes[0].variants[0];
      variant.distances = {0};
      EXPECT_TRUE(succeeded(validatePlan(p)));
      change(p, variant);
    });
  };
  EXPECT_CONTAINS(
      says([](Plan &, PlanVariant &v) { v.distances = {0, 0}; }),
      "nodes[0] 'a': variant 'cached': distances: expected ascending operand "
      "slots in [0, 1), found 0");
  EXPECT_CONTAINS(says([](Plan &, PlanVariant &v) { v.distances = {1}; }),
                  "slots in [0, 1), found 1");
  EXPECT_CONTAINS(says([](Plan &, PlanVariant &v) { v.distances = {-1}; }),
                  "slots in [0, 1), found -1");
  EXPECT_CONTAINS(
      says([](Plan &, PlanVariant &v) { v.grid = GridKind::Fixed; }),
      "distances: expected grid 'tiles'");
  EXPECT_CONTAINS(
      says([](Plan &, PlanVariant &v) { v.tileDescriptors = false; }),
      "distances: expected a table of rank 1 with tile descriptors");
  EXPECT_CONTAINS(says([](Plan &p, PlanVariant &) {
                    p.graph.nodes[1].variants[0].distances = {0};
                  }),
                  "nodes[1] 'b': variant 'b': distances: expected a kernel of "
                  "tiles, outside of loops");
  EXPECT_CONTAINS(says([](Plan &p, PlanVariant &) {
                    p.graph.nodes[1].part = SweepPart::Whole;
                  }),
                  "distances: expected a table of this node alone");
  EXPECT_CONTAINS(says([](Plan &p, PlanVariant &) {
                    p.graph.nodes[0].arguments.resize(
                        25, {ArgumentKind::Scalar, 1});
                  }),
                  "expected one table and at most 23 other arguments before "
                  "them, found 1 table and 24 other arguments");
  EXPECT_CONTAINS(says([](Plan &p, PlanVariant &) {
                    p.graph.nodes[0].arguments[0] = {ArgumentKind::Buffer, 1};
                  }),
                  "found 0 tables and 2 other arguments");
  EXPECT_CONTAINS(says([](Plan &p, PlanVariant &) {
                    p.graph.nodes[0].arguments.push_back(
                        {ArgumentKind::Table, 0});
                  }),
                  "found 2 tables and 1 other argument");
  // The operand of another segment may be a value of members.
  auto withValues = [](bool written) {
    return [written](Plan &p, PlanVariant &) {
      PlanBuffer values = p.buffers[0];
      values.name = "values";
      values.rank = 0;
      values.donated = false;
      p.buffers.push_back(values);
      int buffer = p.buffers.size() - 1;
      PlanSegment segment = p.tables[0].segments[0];
      segment.operands = {{buffer, OperandIndex::None}};
      segment.count.reset();
      segment.alignTiles = false;
      p.tables[0].segments.push_back(segment);
      if (written)
        p.graph.nodes[1].writes.push_back(buffer);
    };
  };
  EXPECT_CONTAINS(says(withValues(false)),
                  "distances: expected elements in slot 0 of each segment, "
                  "found values of members, 'values'");
  Plan written = parsed(scalarsPlan);
  written.graph.nodes[0].variants[0].distances = {0};
  withValues(true)(written, written.graph.nodes[0].variants[0]);
  EXPECT_TRUE(succeeded(validatePlan(written)));
  EXPECT_CONTAINS(
      invalid(loopPlan,
              [](Plan &p) {
                p.graph.nodes[2].body.nodes[0].variants[0].minElements = 8;
              }),
      "min_elements: expected a node with a table of rank 1");
  Plan plan = parsed(scalarsPlan);
  plan.graph.nodes[0].variants[0].distances = {0};
  plan = cantFail(parsePlan(formatv("{0:2}", planToJSON(plan)).str()));
  EXPECT_EQ(plan.graph.nodes[0].variants[0].distances, std::vector<int>{0});
}

TEST(PlanValidation, ScalarsAndProgrammaticEdges) {
  auto says = [](const std::function<void(Plan &)> &change) {
    return invalid(scalarsPlan, change);
  };
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[0].variants.pop_back(); }),
                  "last variant without 'when', found 'cached'");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].variants[1].scalarsByValue = true; }),
      "last variant with scalars by address, found 'address'");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].variants[0].fitsL2 = -1; }),
      "a finite factor of at least 0");
  EXPECT_CONTAINS(says([](Plan &p) {
                    p.graph.nodes[0].variants[0].fitsL2 =
                        std::numeric_limits<double>::infinity();
                  }),
                  "a finite factor of at least 0");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].variants[0].maxColumns = 8; }),
      "max_columns: expected a node with a table of rank 2");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].variants[0].maxParts = 8; }),
      "max_parts: expected a node with a table with held_parts");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].variants[0].cluster = true; }),
      "cluster: expected 'max_parts' in its 'when'");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].arguments[1].index = 0; }),
      "found list 'x'");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[0].arguments[1].index = 2; }),
      "a scalar that no node writes, found 'most'");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[1].writes.push_back(1); }),
                  "nodes[0] 'a': arguments: expected a scalar that no node "
                  "writes, found 'lr'");
  EXPECT_CONTAINS(says([](Plan &p) { p.buffers[1].donated = true; }),
                  "a scalar that no node writes");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.edges[1].programmatic = true; }),
                  "a programmatic edge between kernels, found 'c'");
  EXPECT_CONTAINS(says([](Plan &p) {
                    std::swap(p.graph.nodes[1], p.graph.nodes[2]);
                    p.graph.edges = {{0, 2, true}, {1, 2, false}};
                  }),
                  "no edge besides a programmatic edge into 'b'");
  auto inLoop = [](const std::function<void(Plan &)> &change) {
    return invalid(loopPlan, [&](Plan &p) {
      PlanNode &node = p.graph.nodes[2].body.nodes[0];
      node.arguments.push_back({ArgumentKind::Scalar, 1});
      change(p);
    });
  };
  EXPECT_CONTAINS(inLoop([](Plan &p) {
                    PlanNode &node = p.graph.nodes[2].body.nodes[0];
                    node.variants.insert(node.variants.begin(),
                                         node.variants[0]);
                    node.variants[0].scalarsByValue = true;
                  }),
                  "scalars by address in the body of a loop");
  EXPECT_CONTAINS(
      inLoop([](Plan &p) { p.tables[0].segments[0].alignTiles = true; }),
      "no aligned tiles in a table of rank 2");
  auto withOperands = [&](auto change) {
    return inLoop([&](Plan &p) { change(p.tables[0].segments[0].operands); });
  };
  EXPECT_CONTAINS(withOperands([](auto &operands) {
                    operands.erase(operands.begin() + 1);
                  }),
                  "operand 'y': expected the same buffer with 'stride' "
                  "after 'ij'");
  EXPECT_CONTAINS(withOperands([](auto &operands) { operands.resize(1); }),
                  "operand 'y': expected the same buffer with 'stride' "
                  "after 'ij'");
  EXPECT_CONTAINS(withOperands([](auto &operands) { operands[1].buffer = 0; }),
                  "operand 'y': expected the same buffer with 'stride' "
                  "after 'ij'");
  EXPECT_CONTAINS(withOperands([](auto &operands) {
                    operands[2].index = OperandIndex::Stride;
                  }),
                  "operand 'more': expected the same buffer with 'ij' "
                  "before 'stride'");
  EXPECT_CONTAINS(withOperands([](auto &operands) {
                    operands[2].index = OperandIndex::IJ;
                  }),
                  "operand 'more': expected a list of rank 2 for the index "
                  "'ij', found rank 0");
  EXPECT_CONTAINS(inLoop([](Plan &p) {
                    PlanGraph &body = p.graph.nodes[2].body;
                    body.nodes.push_back(body.nodes[0]);
                    body.edges = {{0, 1, true}};
                  }),
                  "no programmatic edge in the body of a loop");
}

TEST(PlanValidation, LoopsCopiesEdges) {
  auto says = [](const std::function<void(Plan &)> &change) {
    return invalid(loopPlan, change);
  };
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[2].iterations = 0; }),
                  "iterations: expected a scalar of i32");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[2].limit = 40; }),
                  "limit: expected a buffer");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[2].condition = 0; }),
                  "condition: expected i1 of rank 0");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[2].variants[1].cooperative = false; }),
      "cooperative kernel");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[2].body.nodes.clear(); }),
                  "a body with at least one node");
  EXPECT_CONTAINS(
      says([](Plan &p) { p.graph.nodes[2].body.nodes[0].table = 9; }),
      "body: nodes[0] 'k'");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[0].from = 3; }),
                  "the same kind, dtype and rank");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.nodes[1].value = 256; }),
                  "value: expected 0 or 1 for i1");
  EXPECT_CONTAINS(says([](Plan &p) { p.graph.edges[0] = {2, 0}; }),
                  "0 <= from < to < 3");
}

} // namespace
