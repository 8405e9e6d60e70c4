//===- BindingTest.cpp - Bindings, their errors and layouts ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "runtime/binding/Layout.h"
#include "runtime/binding/Rebinding.h"
#include "runtime/plan/Scalar.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace heddle::runtime;
using namespace llvm;

namespace {

/// Refuses addresses below `floor`, as DeviceSpace refuses host memory.
class FloorSpace : public AddressSpace {
public:
  char *floor = nullptr;
  Error check(const void *address, size_t) override {
    if (address >= floor)
      return Error::success();
    return makeError(StatusCode::BadInput,
                     "expected a device address, found host address {0}",
                     address);
  }
};

/// updatePlan() bound to three f32 members of 10, 0 and 1 elements, and to two
/// bf16 members.
struct BindingTest : testing::Test {
  std::shared_ptr<const Plan> plan =
      std::make_shared<Plan>(parsed(updatePlan()));
  Binding binding{plan};
  FloorSpace space;
  alignas(256) char memory[4096] = {};
  size_t used = 0;

  ListMember tensor(size_t elements, size_t size,
                    SmallVector<int64_t, 4> extents = {}) {
    ListMember member;
    member.data = elements ? memory + used : nullptr;
    member.extents =
        extents.empty()
            ? SmallVector<int64_t, 4>{static_cast<int64_t>(elements)}
            : extents;
    used += (elements * size + 15) / 16 * 16;
    return member;
  }
  ListMember value(size_t size) {
    ListMember member = tensor(1, size);
    member.extents.clear();
    return member;
  }

  std::vector<ListMember> param{tensor(10, 4, {2, 5}), tensor(0, 4),
                                tensor(1, 4)};
  std::vector<ListMember> grad{tensor(10, 4), tensor(0, 4), tensor(1, 4)};
  std::vector<ListMember> step{value(4), value(4), value(4)};
  std::vector<ListMember> param16{tensor(9, 2), tensor(3, 2)};

  Expected<Layout> resolve() {
    if (Error error = binding.bindList("param", DType::F32, param))
      return std::move(error);
    if (Error error = binding.bindList("grad", DType::F32, grad))
      return std::move(error);
    if (Error error = binding.bindList("step", DType::F32, step))
      return std::move(error);
    if (Error error = binding.bindList("param16", DType::BF16, param16))
      return std::move(error);
    return Layout::resolve(binding, space);
  }
  std::string problem() { return failure(resolve(), StatusCode::BadInput); }
};

TEST_F(BindingTest, ResolvesTablesAndSizes) {
  Expected<Layout> layout = resolve();
  ASSERT_TRUE(succeeded(layout.takeError()));
  const TableView &table = layout->tables()[0];
  EXPECT_EQ(table.memberCount, 5);
  EXPECT_EQ(table.tileCount, 3 + 1 + 1 + 2 + 1);
  EXPECT_EQ(layout->scratchBytes()[0], 8u * 8);
  EXPECT_EQ(layout->scratchBytes()[1], 5u * 16);
  EXPECT_EQ(layout->scratchBytes()[2], 24u);
  // "old" has members of 10, 0 and 1 elements.
  EXPECT_EQ(layout->arenaBytes(), 256u + 0 + 256u);
  alignas(256) char arena[1024], slots[64];
  layout->place(arena, slots);
  EXPECT_EQ(layout->scalarAddress(4), slots + 4 * 8);
  std::vector<char> descriptors = layout->memberDescriptors(0);
  DescriptorLayout descriptor(plan->tables[0]);
  MemberDescriptor first = readMemberDescriptor(descriptor, descriptors.data());
  EXPECT_EQ(first.operands[0], param[0].data);
  EXPECT_EQ(first.operands[1], grad[0].data);
  EXPECT_EQ(first.operands[2], step[0].data);
  EXPECT_EQ(first.operands[3], arena);
  EXPECT_EQ(first.count, 10);
  EXPECT_EQ(first.tiles, 3);
  MemberDescriptor last = readMemberDescriptor(
      descriptor, descriptors.data() + 4 * descriptor.bytes());
  EXPECT_EQ(last.operands[0], param16[1].data);
  EXPECT_EQ(last.operands[1], nullptr);
  EXPECT_EQ(last.segment, 1);
  EXPECT_EQ(last.index, 1);
  EXPECT_EQ(last.firstTile, 7);
}

TEST_F(BindingTest, SkipsInactiveMembersInEveryList) {
  grad[0] = {}; // neither address nor extents
  EXPECT_CONTAINS(problem(), "argument 'grad', member 0: expected an address");
  ASSERT_TRUE(succeeded(binding.setInactive("grad", {true, false, false})));
  Expected<Layout> layout = resolve();
  ASSERT_TRUE(succeeded(layout.takeError()));
  EXPECT_EQ(layout->tables()[0].memberCount, 4);
  EXPECT_TRUE(layout->buffers()[0].members[0].inactive);
  EXPECT_TRUE(layout->buffers()[5].members[0].inactive);
  // Another family.
  EXPECT_FALSE(layout->buffers()[3].members[0].inactive);
  EXPECT_EQ(layout->arenaBytes(), 256u);
  MemberDescriptor first = readMemberDescriptor(
      DescriptorLayout(plan->tables[0]), layout->memberDescriptors(0).data());
  EXPECT_EQ(first.index, 1);
  EXPECT_CONTAINS(
      failure(binding.setInactive("grad", {true}), StatusCode::BadInput),
      "argument 'grad': expected a mask of 3 members, as bound, found 1");
  ASSERT_TRUE(succeeded(resolve().takeError()));
  // Another number of members, after the mask.
  grad.pop_back();
  param.pop_back();
  step.pop_back();
  EXPECT_CONTAINS(problem(),
                  "argument 'grad': expected a mask of 2 members, found 3");
}

TEST_F(BindingTest, EmptyLists) {
  param.clear();
  grad.clear();
  step.clear();
  param16.clear();
  Expected<Layout> layout = resolve();
  ASSERT_TRUE(succeeded(layout.takeError()));
  EXPECT_EQ(layout->tables()[0].tileCount, 0);
  EXPECT_EQ(layout->memberDescriptors(0).size(), 0u);
}

TEST_F(BindingTest, HugeMembersFitTheirTypes) {
  // 3 * 2^31 elements; the addresses are not read.
  int64_t huge = int64_t(3) << 31;
  space.floor = nullptr;
  char *far = reinterpret_cast<char *>(uintptr_t(1) << 44);
  param[0] = {far, {huge}};
  grad[0] = {far + (int64_t(1) << 40), {3, int64_t(1) << 31}};
  Expected<Layout> layout = resolve();
  ASSERT_TRUE(succeeded(layout.takeError()));
  MemberDescriptor first = readMemberDescriptor(
      DescriptorLayout(plan->tables[0]), layout->memberDescriptors(0).data());
  EXPECT_EQ(first.count, huge);
  EXPECT_EQ(first.tiles, huge / 4 > INT32_MAX ? -1 : huge / 4);
  param[0].extents = {huge * 4};
  grad[0].extents = {huge * 4};
  EXPECT_CONTAINS(problem(), "fewer than 2^31 tiles");
  param[0].extents = {int64_t(1) << 40, int64_t(1) << 40};
  EXPECT_CONTAINS(
      problem(),
      "argument 'param', member 0: expected fewer than 2^60 elements");
}

TEST_F(BindingTest, NamesAndDTypes) {
  EXPECT_CONTAINS(failure(binding.bindList("params", DType::F32, param),
                          StatusCode::BadInput),
                  "argument 'params': expected one of 'param', 'grad'");
  EXPECT_CONTAINS(
      failure(binding.bindList("lr", DType::F64, param), StatusCode::BadInput),
      "argument 'lr': expected a scalar, found a list");
  EXPECT_CONTAINS(failure(binding.bindList("param", DType::BF16, param),
                          StatusCode::BadInput),
                  "argument 'param': expected dtype f32, found bf16");
  EXPECT_CONTAINS(failure(binding.bindScalar("lr", DType::F32, memory),
                          StatusCode::BadInput),
                  "argument 'lr': expected dtype f64, found f32");
  EXPECT_CONTAINS(failure(binding.bindResult("missing", DType::F32, {}),
                          StatusCode::BadInput),
                  "expected one of 'param'");
  EXPECT_CONTAINS(failure(binding.bindResult("param", DType::F32, param),
                          StatusCode::BadInput),
                  "bind the argument");
  EXPECT_CONTAINS(failure(binding.bindResult("norm", DType::F64, param),
                          StatusCode::BadInput),
                  "found 3 members");
  EXPECT_CONTAINS(failure(binding.setInactive("lr", {}), StatusCode::BadInput),
                  "expected a scalar, found a list");
}

TEST_F(BindingTest, MissingLists) {
  EXPECT_CONTAINS(
      failure(Layout::resolve(binding, space), StatusCode::BadInput),
      "argument 'param': expected a list, found nothing bound");
}

TEST_F(BindingTest, Scalars) {
  EXPECT_CONTAINS(failure(binding.setScalar("norm", 1), StatusCode::BadInput),
                  "argument 'norm'");
  EXPECT_EQ(cantFail(binding.setScalar("lr", 0.5)), 4);
  ASSERT_TRUE(succeeded(binding.bindScalar("lr", DType::F64, memory + 4088)));
  EXPECT_CONTAINS(failure(binding.setScalar("lr", 1), StatusCode::BadInput),
                  "bound to the caller's memory");
  Plan positive = *plan;
  positive.buffers[4].positive = true;
  Binding limited(std::make_shared<Plan>(positive));
  for (double value : {0.0, -0.0, -1.0, double(INFINITY), double(NAN)})
    EXPECT_CONTAINS(
        failure(limited.setScalar("lr", value), StatusCode::BadInput),
        "argument 'lr': expected a finite f64 above 0, found ");
  EXPECT_EQ(cantFail(limited.setScalar("lr", 1e-300)), 4);
  Plan without = *plan;
  without.buffers[4].defaultValue.reset();
  Binding other(std::make_shared<Plan>(without));
  EXPECT_CONTAINS(failure(Layout::resolve(other, space), StatusCode::BadInput),
                  "nothing bound");
  std::swap(binding, other);
  EXPECT_CONTAINS(
      problem(),
      "argument 'lr': expected a value or an address, found neither");
}

TEST_F(BindingTest, MemberCounts) {
  grad.pop_back();
  EXPECT_CONTAINS(
      problem(),
      "argument 'grad': expected 3 members as in argument 'param', found 2");
}

TEST_F(BindingTest, Extents) {
  grad[2].extents = {2};
  EXPECT_CONTAINS(problem(), "argument 'grad', member 2: expected 1 element "
                             "as in argument 'param', found 2");
  grad[2].extents = {1};
  step[1].extents = {3};
  EXPECT_CONTAINS(problem(), "argument 'step', member 1: expected one value "
                             "(rank 0), found extents [3]");
  step[1].extents = {};
  param[0].extents = {2, -5};
  EXPECT_CONTAINS(problem(), "argument 'param', member 0: expected extents of "
                             "at least 0, found [2, -5]");
}

TEST_F(BindingTest, Addresses) {
  grad[0].data = nullptr;
  EXPECT_CONTAINS(problem(),
                  "argument 'grad', member 0: expected an address, found null");
  grad[0].data = memory + 3001;
  EXPECT_CONTAINS(problem(), "argument 'grad', member 0: expected an address "
                             "aligned to 4 bytes (f32)");
  grad[0].data = memory + 3000;
  ASSERT_TRUE(succeeded(resolve().takeError()));
  space.floor = memory + 16;
  EXPECT_CONTAINS(problem(), "argument 'param', member 0: expected a device "
                             "address, found host address");
}

TEST_F(BindingTest, Overlap) {
  void *before = grad[0].data;
  grad[0].data = static_cast<char *>(param[0].data) + 36;
  EXPECT_CONTAINS(problem(), "argument 'param', member 0: expected memory of "
                             "its own, because it is written, found an overlap "
                             "with argument 'grad', member 0");
  grad[0].data = before;
  // Two members of one list.
  Plan twice = *plan;
  param16[1].data = static_cast<char *>(param16[0].data) + 4;
  EXPECT_CONTAINS(problem(),
                  "argument 'param16', member 1: expected memory of its own");
  param16[1].data = memory + 3100;
  std::vector<ListMember> old = {
      {param[0].data, {10}}, {nullptr, {0}}, {memory + 3200, {1}}};
  ASSERT_TRUE(succeeded(binding.bindResult("old", DType::F32, old)));
  EXPECT_CONTAINS(problem(), "overlap");
  old[0].data = memory + 3300;
  ASSERT_TRUE(succeeded(binding.bindResult("old", DType::F32, old)));
  ASSERT_TRUE(succeeded(resolve().takeError()));
  old[0].extents = {9};
  ASSERT_TRUE(succeeded(binding.bindResult("old", DType::F32, old)));
  EXPECT_CONTAINS(problem(),
                  "result 'old', member 0: expected extents [10], found [9]");
  old.pop_back();
  ASSERT_TRUE(succeeded(binding.bindResult("old", DType::F32, old)));
  EXPECT_CONTAINS(
      problem(),
      "result 'old': expected 3 members as in argument 'param', found 2");
  ASSERT_TRUE(succeeded(binding.bindResult("old", DType::F32, {})));
  ASSERT_TRUE(succeeded(binding.bindScalar("lr", DType::F64, param[0].data)));
  EXPECT_CONTAINS(problem(), "argument 'lr'");
}

TEST_F(BindingTest, ReadOnlyListsMayShareMemory) {
  Plan readOnly = *plan;
  readOnly.buffers[2].donated = false;
  readOnly.graph.nodes[0].writes = {0, 3, 5, 6};
  plan = std::make_shared<Plan>(readOnly);
  readOnly.results.clear();
  binding = Binding(plan);
  step[2].data = step[0].data;
  grad[2].data = grad[0].data;
  ASSERT_TRUE(succeeded(resolve().takeError()));
}

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
  // For many tiles, the blocks per tile follow from the average tile. Here,
  // rows start at 128-byte lines.
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
            2);
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
  }
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
  plan->tables[0].longParts = false;
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

TEST_F(BindingTest, VectorsTakeAnyShape) {
  param[0].extents = {1, 5, 2, 1};
  grad[2].extents = {}; // a tensor without dimensions has one element
  Expected<Layout> layout = resolve();
  ASSERT_TRUE(succeeded(layout.takeError()));
  EXPECT_EQ(layout->buffers()[0].members[0].elements(), 10);
  // The element operands, each list once: param, grad and old of f32, param16
  // of bf16.
  EXPECT_EQ(layout->tables()[0].elementBytes, 3 * 11 * 4 + 12 * 2);
  ASSERT_TRUE(succeeded(binding.setInactive("grad", {true, false, false})));
  layout = resolve();
  ASSERT_TRUE(succeeded(layout.takeError()));
  EXPECT_EQ(layout->tables()[0].elementBytes, 3 * 1 * 4 + 12 * 2);
}

TEST(Scalar, FillsRepeatTheirElement) {
  EXPECT_EQ(fillPattern(DType::F32, INFINITY), 0x7f8000007f800000u);
  EXPECT_EQ(fillPattern(DType::F64, INFINITY), 0x7ff0000000000000u);
  EXPECT_EQ(fillPattern(DType::BF16, -INFINITY), 0xff80ff80ff80ff80u);
  EXPECT_EQ(fillPattern(DType::I1, 1), 0x0101010101010101u);
  EXPECT_EQ(fillPattern(DType::I16, -2), 0xfffefffefffefffeu);
  EXPECT_EQ(fillPattern(DType::F16, 0), 0u);
}

TEST(Scalar, EncodesEveryDType) {
  ScalarBytes bytes;
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16,
                      DType::I8, DType::I16, DType::I32, DType::I64})
    for (double value : {0.0, 1.0, -2.0, 100.0}) {
      ASSERT_TRUE(succeeded(encodeScalar(dtype, value, bytes)));
      EXPECT_EQ(decodeScalar(dtype, bytes.data()), value)
          << dtypeName(dtype).str();
    }
  // A tie rounds to even.
  ASSERT_TRUE(succeeded(encodeScalar(DType::BF16, 1 + 1.0 / 256, bytes)));
  EXPECT_EQ(decodeScalar(DType::BF16, bytes.data()), 1.0);
  ASSERT_TRUE(succeeded(encodeScalar(DType::F16, 1e6, bytes)));
  EXPECT_TRUE(std::isinf(decodeScalar(DType::F16, bytes.data())));
  EXPECT_CONTAINS(
      failure(encodeScalar(DType::I8, 200, bytes), StatusCode::BadInput),
      "expected an integer of i8");
  EXPECT_CONTAINS(
      failure(encodeScalar(DType::I32, 0.5, bytes), StatusCode::BadInput),
      "expected an integer of i32");
  EXPECT_CONTAINS(
      failure(encodeScalar(DType::I64, NAN, bytes), StatusCode::BadInput),
      "expected an integer of i64");
  EXPECT_CONTAINS(
      failure(encodeScalar(DType::I1, 2, bytes), StatusCode::BadInput),
      "expected 0 or 1");
}

} // namespace
