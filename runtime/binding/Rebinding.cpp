//===- Rebinding.cpp - New addresses for lists of the same shapes ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/binding/Rebinding.h"

#include "runtime/binding/LayoutResolver.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

static uintptr_t asNumber(const void *address) {
  return reinterpret_cast<uintptr_t>(address);
}

Rebinding::Rebinding(const Layout &layout) {
  const Plan &plan = layout.plan();
  BitVector written = writtenBuffers(plan);
  movable.resize(plan.buffers.size());
  slotsOfBuffer.resize(plan.buffers.size());
  std::vector<Range> ranges;
  for (auto [index, buffer] : enumerate(plan.buffers)) {
    const BufferView &view = layout.buffers()[index];
    movable[index] = buffer.kind == BufferKind::List &&
                     buffer.role == BufferRole::Argument &&
                     !written.test(index);
    if (!written.test(index) || view.owned)
      continue;
    for (const MemberView &member : view.members)
      if (!member.inactive && member.elements() > 0)
        ranges.push_back({asNumber(member.address),
                          asNumber(member.address) +
                              member.reach() * dtypeSize(buffer.dtype)});
  }
  // A copy node has the addresses in its spans.
  forEachNode(plan.graph, [&](const PlanNode &node) {
    if (node.from >= 0)
      movable[node.from] = false;
  });

  sort(ranges,
       [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (const Range &range : ranges) {
    writtenBegins.push_back(range.begin);
    writtenEnds.push_back(range.end);
  }

  for (auto [table, planned] : enumerate(plan.tables)) {
    size_t bytes = DescriptorLayout(planned).bytes(), descriptor = 0;
    layout.forEachDescriptor(table, [&](size_t segment, size_t member) {
      for (auto [slot, operand] : enumerate(planned.segments[segment].operands))
        if (movable[operand.buffer] && operand.index != OperandIndex::Length &&
            operand.index != OperandIndex::Stride)
          slotsOfBuffer[operand.buffer].all.push_back(
              {static_cast<unsigned>(member), static_cast<int>(table),
               descriptor * bytes + slot * sizeof(void *)});
      ++descriptor;
    });
  }
  for (auto [slots, view] : zip(slotsOfBuffer, layout.buffers())) {
    sort(slots.all, [](const Slot &a, const Slot &b) {
      return std::tie(a.member, a.table, a.offset) <
             std::tie(b.member, b.table, b.offset);
    });
    slots.first.resize(view.members.size() + 1);
    for (const Slot &slot : slots.all)
      ++slots.first[slot.member + 1];
    for (size_t member = 0; member < view.members.size(); ++member)
      slots.first[member + 1] += slots.first[member];
  }
}

bool Rebinding::overlaps(Range memory, Range &gap) const {
  if (memory.begin >= gap.begin && memory.end <= gap.end)
    return false;
  size_t next = upper_bound(writtenEnds, memory.begin) - writtenEnds.begin();
  Range found = {next == 0 ? 0 : writtenEnds[next - 1],
                 next == writtenEnds.size() ? UINTPTR_MAX
                                            : writtenBegins[next]};
  if (memory.end > found.end)
    return true;
  gap = found;
  return false;
}

std::optional<std::vector<MovedMember>>
Rebinding::find(const Binding &binding, const Layout &layout,
                AddressSpace &space) const {
  std::vector<MovedMember> moved;
  Range gap = {0, 0};
  for (int index : binding.moved()) {
    if (!movable[index])
      return std::nullopt;
    const TensorList &list = binding[index].members;
    size_t size = dtypeSize(layout.plan().buffers[index].dtype);
    for (auto [position, member] : enumerate(layout.buffers()[index].members)) {
      uintptr_t before = asNumber(member.address),
                after = asNumber(list.data(position));
      if (before == after || member.inactive)
        continue;
      if (!before || !after || (before ^ after) % 16 != 0)
        return std::nullopt;
      if (member.elements() > 0) {
        uintptr_t bytes = member.reach() * size;
        if (bytes > UINTPTR_MAX - after ||
            overlaps({after, after + bytes}, gap))
          return std::nullopt;
        if (Error error = space.check(list.data(position), bytes)) {
          consumeError(std::move(error));
          return std::nullopt;
        }
      }
      moved.push_back({index, static_cast<unsigned>(position),
                       static_cast<char *>(list.data(position)),
                       static_cast<int64_t>(after - before)});
    }
  }
  return moved;
}

} // namespace heddle::runtime
