//===- BindingTest.cpp - Bindings and their errors ------------------------===//
//---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FloorSpace.h"
#include "Helpers.h"

#include "runtime/binding/Layout.h"

#include "llvm/ADT/STLExtras.h"

using namespace heddle::runtime;
using namespace llvm;

namespace {

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

} // namespace
