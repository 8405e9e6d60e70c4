//===- LayoutTest.cpp - layouts of matrices and lengths -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FloorSpace.h"
#include "Helpers.h"

#include "runtime/binding/Layout.h"
#include "runtime/binding/Rebinding.h"

#include "llvm/Support/JSON.h"

using namespace heddle::runtime;
using namespace llvm;

namespace {

TEST(Layout, MatricesCollapseLeadingDimensions) {
  const char *text = R"json({
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 2, "role": "argument"},
    {"name": "u", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument"},
    {"name": "v", "kind": "list", "dtype": "f32", "rank": 1, "role": "result", "extents": [[0, 1]], "members": 0},
    {"name": "y", "kind": "list", "dtype": "f32", "rank": 2, "role": "result", "extents": [[0, 0], [2, 0]], "members": 0}],
  "results": [{"name": "v", "buffer": 2}, {"name": "y", "buffer": 3}],
  "tables": [{"name": "t", "rank": 2, "pointers": 6, "segments": [{"tile": 4,
     "operands": [{"buffer": 0, "index": "ij"}, {"buffer": 0, "index": "stride"}, {"buffer": 1, "index": "i"},
                  {"buffer": 2, "index": "j"}, {"buffer": 3, "index": "ij"}, {"buffer": 3, "index": "stride"}],
     "count": [0, 0], "columns": [0, 1]}]}],
  "scratch": [{"per": "tile_column", "table": 0, "bytes": 4, "zero": false},
              {"per": "panel_column", "table": 0, "bytes": 4, "zero": false},
              {"per": "row", "table": 0, "bytes": 8, "zero": false},
              {"per": "panel", "table": 0, "bytes": 16, "zero": false}],
  "nodes": [{"kind": "kernel", "name": "k", "sweeps": ["t"], "table": 0, "variants": [{"entry": "k"}],
             "arguments": [{"table": 0}, {"scratch": 0}], "writes": [2, 3]}]})json";
  FloorSpace space;
  auto plan = std::make_shared<Plan>(parsed(text));
  Binding binding(plan);
  alignas(256) static char memory[4096];
  std::vector<ListMember> x = {{memory, {2, 1, 3, 5}}, {memory + 1024, {4, 7}}};
  std::vector<ListMember> u = {{memory + 2048, {6}}, {memory + 3072, {4}}};
  ASSERT_TRUE(succeeded(binding.bindList("x", DType::F32, x)));
  ASSERT_TRUE(succeeded(binding.bindList("u", DType::F32, u)));
  Expected<Layout> layout = Layout::resolve(binding, space);
  ASSERT_TRUE(succeeded(layout.takeError()));
  EXPECT_EQ(layout->tables()[0].tileCount, 3);
  EXPECT_EQ(layout->tables()[0].columnTotal, 2 * 5 + 7);
  EXPECT_EQ(layout->tables()[0].elementBytes, 2 * (30 + 28) * 4);
  EXPECT_EQ(layout->tables()[0].blocksPerTile, 1);
  EXPECT_EQ(layout->scratchBytes()[0], 17u * 4);
  EXPECT_EQ(layout->scratchBytes()[1], 132u * 7 * 4);
  EXPECT_EQ(layout->scratchBytes()[2], 6u * 8);
  EXPECT_EQ(layout->scratchBytes()[3], 132u * 16);
  EXPECT_EQ(layout->buffers()[3].members[0].extent[0], 6);
  EXPECT_EQ(layout->buffers()[3].members[0].extent[1], 5);
  MemberDescriptor second = readMemberDescriptor(
      DescriptorLayout(6, 2),
      layout->memberDescriptors(0).data() + DescriptorLayout(6, 2).bytes());
  EXPECT_EQ(second.columns, 7);
  EXPECT_EQ(second.columnBase, 10);
  EXPECT_EQ(second.count, 4);
  // For few tiles, the blocks per tile follow from the widest tile, whose
  // ranges may start up to 31 columns before a row.
  plan->tables[0].blockColumns = 2;
  EXPECT_EQ(cantFail(Layout::resolve(binding, space)).tables()[0].blocksPerTile,
            19);
  plan->tables[0].blockColumns = 37;
  EXPECT_EQ(cantFail(Layout::resolve(binding, space)).tables()[0].blocksPerTile,
            2);
  plan->tables[0].blockColumns = 38;
  EXPECT_EQ(cantFail(Layout::resolve(binding, space)).tables()[0].blocksPerTile,
            1);
  // For many tiles, the blocks per tile follow from the average tile, which is
  // too short here. Rows start at 128-byte lines.
  std::vector<ListMember> many = {{memory, {4000, 64}},
                                  {memory + 1024, {4, 700}}};
  std::vector<ListMember> rows = {{memory + 2048, {4000}},
                                  {memory + 3072, {4}}};
  ASSERT_TRUE(succeeded(binding.bindList("x", DType::F32, many)));
  ASSERT_TRUE(succeeded(binding.bindList("u", DType::F32, rows)));
  plan->tables[0].blockColumns = 32;
  EXPECT_EQ(cantFail(Layout::resolve(binding, space)).tables()[0].blocksPerTile,
            4);
  plan->tables[0].segments[0].tile = 1;
  EXPECT_EQ(cantFail(Layout::resolve(binding, space)).tables()[0].blocksPerTile,
            1);
  // Vectors of rows must divide the columns and the stride, and be aligned.
  auto multipleOf = [&](char *at, int64_t columns, int64_t stride) {
    std::vector<ListMember> first = {{at, {4, columns}, stride},
                                     {memory + 2048, {1, 1}}};
    std::vector<ListMember> ofRows = {{memory + 3072, {4}},
                                      {memory + 3088, {1}}};
    EXPECT_TRUE(succeeded(binding.bindList("x", DType::F32, first)));
    EXPECT_TRUE(succeeded(binding.bindList("u", DType::F32, ofRows)));
    Layout found = cantFail(Layout::resolve(binding, space));
    int64_t multiple = found.tables()[0].multiples[0];
    for (int64_t n : {2, 4, 8, 16})
      EXPECT_EQ(found.tables()[0].areMostlyVectorsOf(n), n <= multiple);
    return multiple;
  };
  EXPECT_EQ(multipleOf(memory, 96, 0), 16);
  EXPECT_EQ(multipleOf(memory, 100, 0), 4);
  EXPECT_EQ(multipleOf(memory, 99, 0), 1);
  EXPECT_EQ(multipleOf(memory, 96, 102), 2);
  EXPECT_EQ(multipleOf(memory + 16, 96, 0), 16); // vectors of 16 bytes
  EXPECT_EQ(multipleOf(memory + 8, 96, 0), 2);
  EXPECT_EQ(multipleOf(memory + 4, 96, 0), 1);
  // At least 7/8 of the elements must be in such rows, held ones not counted.
  auto areMostly = [&](int64_t odd) {
    std::vector<ListMember> first = {{memory, {7, 16}},
                                     {memory + 1024, {1, odd}}};
    std::vector<ListMember> ofRows = {{memory + 3072, {7}},
                                      {memory + 3104, {1}}};
    EXPECT_TRUE(succeeded(binding.bindList("x", DType::F32, first)));
    EXPECT_TRUE(succeeded(binding.bindList("u", DType::F32, ofRows)));
    return cantFail(Layout::resolve(binding, space))
        .tables()[0]
        .areMostlyVectorsOf(4);
  };
  EXPECT_TRUE(areMostly(15));
  EXPECT_FALSE(areMostly(17));
  plan->tables[0].segments[0].held.columns = 16;
  EXPECT_FALSE(areMostly(17));
  plan->tables[0].segments[0].held.columns = 17;
  EXPECT_TRUE(areMostly(17));
  plan->tables[0].segments[0].held.columns = 0;
  // Wide rows have a block for each part, if there are few of them.
  plan->tables[0].blockColumns = 0;
  plan->tables[0].rowParts = true;
  plan->scratch[0].per = ScratchPer::TileBlock;
  // A wide matrix and one of seven columns.
  auto resolved = [&](int64_t count, int64_t columns, int64_t narrow) {
    std::vector<ListMember> wide = {{memory, {count, columns}},
                                    {memory + 1024, {narrow, 7}}};
    std::vector<ListMember> ofWide = {{memory + 2048, {count}},
                                      {memory + 3072, {narrow}}};
    EXPECT_TRUE(succeeded(binding.bindList("x", DType::F32, wide)));
    EXPECT_TRUE(succeeded(binding.bindList("u", DType::F32, ofWide)));
    return cantFail(Layout::resolve(binding, space));
  };
  for (auto [count, blocks] : {std::pair(3, 3), {64, 3}, {65, 1}}) {
    Layout found = resolved(count, 9000, 4);
    EXPECT_EQ(found.tables()[0].blocksPerTile, blocks);
    EXPECT_EQ(found.scratchBytes()[0],
              uint64_t(4) * found.tables()[0].tileCount * blocks);
  }
  // Blocks that hold their parts divide any number of rows, unless most blocks
  // would have no part, or a part is too long.
  plan->tables[0].heldParts = true;
  for (auto [count, columns, narrow, blocks] : {std::tuple(65, 9000, 4, 3),
                                                {1000, 9000, 4, 3},
                                                {2, 9000, 4000, 1},
                                                {1, 1 << 20, 4, 256},
                                                {65, (1 << 20) + 1, 4, 1}})
    EXPECT_EQ(resolved(count, columns, narrow).tables()[0].blocksPerTile,
              blocks);
  // A row of at most `whole_columns` columns has one part, and parts of wider
  // rows have at most half as many columns, but 4096.
  for (auto [whole, count, columns, blocks] : {std::tuple(8192, 1000, 9000, 3),
                                               {8192, 1000, 8192, 1},
                                               {8192, 1, 8193, 3},
                                               {16384, 1000, 16384, 1},
                                               {16384, 1000, 16385, 3},
                                               {16384, 1, 20000, 3},
                                               {16384, 1, 1 << 20, 128}}) {
    plan->tables[0].wholeColumns = whole;
    Layout found = resolved(count, columns, 4);
    EXPECT_EQ(found.tables()[0].blocksPerTile, blocks);
    EXPECT_TRUE(found.tables()[0].isMostlyOver(7));
    EXPECT_FALSE(found.tables()[0].isMostlyOver(columns));
    EXPECT_EQ(found.tables()[0].areMostlyVectorsOf(8), columns % 8 == 0);
  }
  // A block may have several parts. Then wide rows have about 396 blocks, and
  // other tiles not many more. A state is sent for each part if there are
  // several blocks.
  plan->tables[0].severalParts = true;
  for (auto [count, columns, narrow, blocks, parts] :
       {std::tuple(500, 20000, 4, 1, 1),
        {199, 20000, 4, 1, 1},
        {198, 20000, 4, 2, 3},
        {100, 20000, 4, 3, 3},
        {167, 100000, 4, 2, 13},
        {30, 100000, 4, 13, 13},
        {40, 100000, 4, 7, 13},
        {1, 1 << 20, 4, 128, 128},
        {1, (1 << 20) + 1, 4, 128, 128},
        {2, 100000, 1000, 2, 13},
        {2, 100000, 4000, 1, 1}}) {
    Layout found = resolved(count, columns, narrow);
    EXPECT_EQ(found.tables()[0].blocksPerTile, blocks);
    EXPECT_EQ(found.tables()[0].partsPerTile, parts);
    EXPECT_EQ(found.scratchBytes()[0],
              uint64_t(4) * found.tables()[0].tileCount * parts);
  }
  plan->tables[0].severalParts = false;
  // Rows of more parts than a cluster has may have longer parts. Narrower rows
  // of the list may have more of them.
  plan->tables[0].longParts = true;
  for (auto [columns, blocks] :
       {std::pair(131072, 16), {131073, 7}, {1000000, 49}, {1 << 20, 52}}) {
    EXPECT_EQ(resolved(8, columns, 4).tables()[0].blocksPerTile, blocks);
    RowPartCount parts;
    for (int64_t each : {131072, columns})
      parts.add(plan->tables[0], each, 8);
    EXPECT_EQ(parts.blocksPerTile(plan->tables[0]), std::max(16, blocks));
  }
  // Rows of one part, and of long parts, exclude the entries for parts alone.
  plan->tables[0].wholeColumns = 16384;
  for (auto [narrowest, widest, areShort] : {std::tuple(16385, 16385, true),
                                             {16385, 131072, true},
                                             {16384, 131072, false},
                                             {0, 16385, false},
                                             {16385, 131073, false}})
    EXPECT_EQ(haveShortParts(plan->tables[0], narrowest, widest), areShort)
        << narrowest << ' ' << widest;
  plan->tables[0].longParts = false;
  EXPECT_TRUE(haveShortParts(plan->tables[0], 16385, 1 << 20));
  EXPECT_FALSE(haveShortParts(plan->tables[0], 16385, (1 << 20) + 1));
  plan->tables[0].wholeColumns = 4096;
  plan->tables[0].heldParts = false;
  plan->tables[0].rowParts = false;
  plan->scratch[0].per = ScratchPer::TileColumn;
  ASSERT_TRUE(succeeded(binding.bindList("u", DType::F32, u)));
  plan->tables[0].segments[0].tile = 4;
  ASSERT_TRUE(succeeded(binding.bindList("x", DType::F32, x)));
  u[0].extents = {5};
  ASSERT_TRUE(succeeded(binding.bindList("u", DType::F32, u)));
  EXPECT_CONTAINS(
      failure(Layout::resolve(binding, space), StatusCode::BadInput),
      "argument 'u', member 0: expected 6 elements as in argument 'x', found "
      "5");
  x[1].extents = {28};
  ASSERT_TRUE(succeeded(binding.bindList("x", DType::F32, x)));
  EXPECT_CONTAINS(
      failure(Layout::resolve(binding, space), StatusCode::BadInput),
      "argument 'x', member 1: expected at least 2 dimensions, found extents "
      "[28]");
}

/// A sweep of `x` and `y` by rows. With `flat`, another sweep treats `x` as
/// vectors.
Plan stridedPlan(bool flat) {
  std::string text = R"json({
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 2, "role": "argument"},
    {"name": "w", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument"},
    {"name": "y", "kind": "list", "dtype": "f32", "rank": 2, "role": "result", "extents": [[0, 0], [0, 1]], "members": 0}],
  "results": [{"name": "y", "buffer": 2}],
  "tables": [{"name": "t", "rank": 2, "pointers": 5, "segments": [{"tile": 2,
     "operands": [{"buffer": 0, "index": "ij"}, {"buffer": 0, "index": "stride"}, {"buffer": 1, "index": "j"},
                  {"buffer": 2, "index": "ij"}, {"buffer": 2, "index": "stride"}],
     "count": [0, 0], "columns": [0, 1]}]})json";
  if (flat)
    text +=
        R"json(, {"name": "flat", "rank": 1, "pointers": 1, "segments": [{"tile": 4,
     "operands": [{"buffer": 0, "index": "i"}], "count": [0, 0]}]})json";
  text += R"json(],
  "nodes": [{"kind": "copy", "name": "start", "from": 0, "to": 2},
            {"kind": "kernel", "name": "k", "sweeps": ["t"], "table": 0, "variants": [{"entry": "k"}],
             "arguments": [{"table": 0}], "writes": [2]}],
  "edges": [[0, 1]]})json";
  return parsed(text.c_str());
}

// With `widest_first`, members of wider rows come first, and members of equal
// rows keep their order; so do the addresses that change later.
TEST(Layout, WidestMembersComeFirst) {
  Plan plan = stridedPlan(false);
  plan.tables[0].widestFirst = true;
  FloorSpace space;
  Binding binding(std::make_shared<Plan>(plan));
  alignas(256) static char memory[4096];
  std::vector<ListMember> x, w;
  for (int64_t columns : {3, 9, 1, 9, 3}) {
    x.push_back({memory + 256 * x.size(), {5, columns}});
    w.push_back({memory + 2048 + 256 * w.size(), {columns}});
  }
  cantFail(binding.bindList("x", DType::F32, x));
  cantFail(binding.bindList("w", DType::F32, w));
  Expected<Layout> layout = Layout::resolve(binding, space);
  ASSERT_TRUE(succeeded(layout.takeError()));
  std::vector<char> arena(layout->arenaBytes() + 256), slots(256);
  layout->place(arena.data(), slots.data());
  DescriptorLayout descriptor(plan.tables[0]);
  std::vector<char> bytes = layout->memberDescriptors(0);
  std::vector<std::tuple<int, int64_t, int>> found;
  for (size_t at = 0; at < bytes.size(); at += descriptor.bytes()) {
    MemberDescriptor member =
        readMemberDescriptor(descriptor, bytes.data() + at);
    EXPECT_EQ(member.operands[0], memory + 256 * member.index);
    found.emplace_back(member.index, member.columns, member.firstTile);
  }
  EXPECT_EQ(found,
            (std::vector<std::tuple<int, int64_t, int>>{
                {1, 9, 0}, {3, 9, 3}, {0, 3, 6}, {4, 3, 9}, {2, 1, 12}}));
  Rebinding rebinding(*layout);
  for (unsigned index : {0u, 1u, 2u, 3u, 4u}) {
    auto moved = rebinding.slotsOf({/*buffer=*/1, index, nullptr, 0});
    ASSERT_EQ(moved.size(), 1u);
    size_t at = moved.front().offset / descriptor.bytes() * descriptor.bytes();
    MemberDescriptor member =
        readMemberDescriptor(descriptor, bytes.data() + at);
    EXPECT_EQ(member.index, static_cast<int>(index));
  }
}

TEST(Layout, RowsMayHaveAStride) {
  Plan plan = stridedPlan(false);
  std::string again = formatv("{0}", planToJSON(plan));
  EXPECT_EQ(parsed(again.c_str()).tables[0].segments[0].operands[1].index,
            OperandIndex::Stride);
  FloorSpace space;
  Binding binding(std::make_shared<Plan>(plan));
  alignas(256) static char memory[4096];
  std::vector<ListMember> x = {{memory, {3, 5}, 8}, {memory + 256, {2, 2, 3}}},
                          w = {{memory + 512, {5}}, {memory + 544, {3}}},
                          y = {{memory + 1024, {3, 5}, 6},
                               {memory + 2048, {4, 3}, 3}};
  auto resolve = [&] {
    cantFail(binding.bindList("x", DType::F32, x));
    cantFail(binding.bindList("w", DType::F32, w));
    cantFail(binding.bindResult("y", DType::F32, y));
    return Layout::resolve(binding, space);
  };
  auto problem = [&] { return failure(resolve(), StatusCode::BadInput); };
  Expected<Layout> layout = resolve();
  ASSERT_TRUE(succeeded(layout.takeError()));
  EXPECT_EQ(layout->tables()[0].elementBytes, 2 * (15 + 12) * 4);
  DescriptorLayout descriptor(plan.tables[0]);
  std::vector<char> descriptors = layout->memberDescriptors(0),
                    tiles(4 * descriptor.bytes());
  MemberDescriptor first = readMemberDescriptor(descriptor, descriptors.data());
  EXPECT_EQ(reinterpret_cast<intptr_t>(first.operands[1]), 8);
  EXPECT_EQ(reinterpret_cast<intptr_t>(first.operands[4]), 6);
  EXPECT_EQ(first.columns, 5);
  expandTiles(descriptor, descriptors.data(), 2,
              segmentSteps(plan, plan.tables[0]), tiles.data(), 4);
  TileDescriptor second =
      readTileDescriptor(descriptor, tiles.data() + descriptor.bytes());
  EXPECT_EQ(second.operands[0], memory + 2 * 8 * 4);
  EXPECT_EQ(second.operands[2], w[0].data);
  EXPECT_EQ(second.operands[3], memory + 1024 + 2 * 6 * 4);
  TileDescriptor last =
      readTileDescriptor(descriptor, tiles.data() + 3 * descriptor.bytes());
  EXPECT_EQ(last.operands[0], memory + 256 + 2 * 3 * 4);
  // A copy has one span for each row, or one for a dense member.
  std::vector<Span> spans = layout->spans(0, 2);
  ASSERT_EQ(spans.size(), 3u + 1);
  EXPECT_EQ(spans[2].from, memory + 2 * 8 * 4);
  EXPECT_EQ(spans[2].to, memory + 1024 + 2 * 6 * 4);
  EXPECT_EQ(spans[2].bytes, 5 * 4);
  EXPECT_EQ(spans[3].bytes, 12 * 4);

  x[0].rowStride = 4;
  EXPECT_CONTAINS(problem(), "argument 'x', member 0: expected a row stride of "
                             "at least 5, its columns, found 4");
  x[0].rowStride = -8;
  EXPECT_CONTAINS(problem(), "at least 5, its columns, found -8");
  x[0].rowStride = INT64_MAX / 16;
  EXPECT_CONTAINS(problem(), "argument 'x', member 0: expected fewer than 2^60 "
                             "elements, found 3 rows with a stride of ");
  x[0].rowStride = 8;
  w[1].rowStride = 4;
  EXPECT_CONTAINS(problem(), "argument 'w', member 1: expected a dense tensor "
                             "(rank 1), found a row stride of 4");
  w[1].rowStride = 0;
  // Gaps between rows count as part of the member, up to its last element.
  w[0].data = memory + 1024 + 5 * 4;
  EXPECT_CONTAINS(problem(), "overlap");
  w[0].data = memory + 1024 + (2 * 6 + 5) * 4;
  ASSERT_TRUE(succeeded(resolve().takeError()));
  w[0].data = memory + 1024 + (2 * 6 + 4) * 4;
  EXPECT_CONTAINS(problem(), "overlap");
}

TEST(Layout, VectorsAreDense) {
  FloorSpace space;
  Binding binding(std::make_shared<Plan>(stridedPlan(true)));
  alignas(256) static char memory[512];
  std::vector<ListMember> x = {{memory, {3, 5}, 8}}, w = {{memory + 256, {5}}};
  cantFail(binding.bindList("w", DType::F32, w));
  cantFail(binding.bindList("x", DType::F32, x));
  EXPECT_CONTAINS(
      failure(Layout::resolve(binding, space), StatusCode::BadInput),
      "argument 'x', member 0: expected a dense matrix, because 'flat' "
      "treats it as a vector, found 5 columns with a row stride of 8: bind a "
      "dense copy");
  // A matrix is dense if its stride is its number of columns, or if it has one
  // row.
  x[0].rowStride = 5;
  cantFail(binding.bindList("x", DType::F32, x));
  ASSERT_TRUE(succeeded(Layout::resolve(binding, space).takeError()));
  x[0] = {memory, {1, 5}, 3};
  cantFail(binding.bindList("x", DType::F32, x));
  ASSERT_TRUE(succeeded(Layout::resolve(binding, space).takeError()));
}

TEST(Layout, LengthsFollowVectors) {
  const char *text = R"json({
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument", "donated": true},
    {"name": "schedule", "kind": "list", "dtype": "f64", "rank": 1, "role": "argument"}],
  "results": [{"name": "x", "buffer": 0}],
  "tables": [{"name": "t", "rank": 1, "pointers": 3, "segments": [{"tile": 4,
     "operands": [{"buffer": 0, "index": "i"}, {"buffer": 1, "index": ""}, {"buffer": 1, "index": "length"}],
     "count": [0, 0], "align_tiles": true}]}],
  "nodes": [{"kind": "kernel", "name": "k", "sweeps": ["t"], "table": 0, "variants": [{"entry": "k"}],
             "arguments": [{"table": 0}], "writes": [0]}]})json";
  FloorSpace space;
  Plan plan = parsed(text);
  std::string again = formatv("{0}", planToJSON(plan));
  EXPECT_EQ(parsed(again.c_str()).tables[0].segments[0].operands[2].index,
            OperandIndex::Length);
  Binding binding(std::make_shared<Plan>(plan));
  alignas(256) static char memory[512];
  std::vector<ListMember> x = {{memory, {9}}, {memory + 64, {2}}};
  std::vector<ListMember> schedule = {{memory + 256, {3, 5}}, {nullptr, {0}}};
  ASSERT_TRUE(succeeded(binding.bindList("x", DType::F32, x)));
  ASSERT_TRUE(succeeded(binding.bindList("schedule", DType::F64, schedule)));
  Expected<Layout> layout = Layout::resolve(binding, space);
  ASSERT_TRUE(succeeded(layout.takeError()));
  DescriptorLayout descriptor(3, 1);
  std::vector<char> descriptors = layout->memberDescriptors(0);
  for (int m : {0, 1}) {
    MemberDescriptor member = readMemberDescriptor(
        descriptor, descriptors.data() + m * descriptor.bytes());
    EXPECT_EQ(member.operands[1], schedule[m].data);
    EXPECT_EQ(reinterpret_cast<intptr_t>(member.operands[2]), m ? 0 : 15);
  }
  // A tile has the length of its member.
  const TableView &view = layout->tables()[0];
  ASSERT_EQ(view.tileCount, 3 + 1);
  std::vector<char> tiles(view.tileCount * descriptor.bytes());
  expandTiles(descriptor, descriptors.data(), view.memberCount,
              segmentSteps(plan, plan.tables[0]), tiles.data(), view.tileCount);
  TileDescriptor last =
      readTileDescriptor(descriptor, tiles.data() + 2 * descriptor.bytes());
  EXPECT_EQ(last.first, 8);
  EXPECT_EQ(last.operands[1], schedule[0].data);
  EXPECT_EQ(reinterpret_cast<intptr_t>(last.operands[2]), 15);
}

} // namespace
