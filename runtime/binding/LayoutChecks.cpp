//===- LayoutChecks.cpp - Checks of bound buffers -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extents of lists that belong together, addresses, and overlaps of memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/binding/LayoutResolver.h"
#include "runtime/support/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

ExtentRef Layout::Resolver::argumentExtent(ExtentRef extent) const {
  while (plan.buffers[extent.buffer].role != BufferRole::Argument)
    extent = plan.buffers[extent.buffer].extents[extent.dimension];
  return extent;
}

Error Layout::Resolver::checkOperand(const PlanTable &table,
                                     const PlanSegment &segment,
                                     const PlanOperand &operand,
                                     size_t position) {
  const PlanBuffer &buffer = plan.buffers[operand.buffer];
  const MemberView &member = members(operand.buffer)[position];
  if (member.extent[0] < 0)
    return makeError(StatusCode::BadInput,
                     "{0}: expected an address and extents, found null (mark "
                     "the member as inactive to skip it)",
                     memberName(buffer, position));
  if (operand.index == OperandIndex::None ||
      operand.index == OperandIndex::Length ||
      operand.index == OperandIndex::Stride) {
    if (buffer.rank == 0 && member.elements() != 1)
      return makeError(StatusCode::BadInput,
                       "{0}: expected one value, found {1}",
                       memberName(buffer, position), member.elements());
    return Error::success();
  }
  int64_t count = countOf(table, segment, position),
          columns = columnsOf(segment, position);
  int64_t expected = operand.index == OperandIndex::J ? columns : count;
  const PlanBuffer &domain =
      plan.buffers[operand.index == OperandIndex::J ? segment.columns->buffer
                                                    : segment.count->buffer];
  std::string source = describeBuffer(domain);
  if (operand.index == OperandIndex::I && !member.isDense())
    return makeError(StatusCode::BadInput,
                     "{0}: expected a dense matrix, because '{1}' treats "
                     "it as a vector, found {2} with a row stride of "
                     "{3}: bind a dense copy",
                     memberName(buffer, position), table.name,
                     counted(member.extent[1], "column"), member.rowStride);
  if (operand.index == OperandIndex::IJ) {
    if (member.extent[0] == count && member.extent[1] == columns)
      return Error::success();
    return makeError(StatusCode::BadInput,
                     "{0}: expected {1} and {2} as in {3}, found {4} and {5}",
                     memberName(buffer, position), counted(count, "row"),
                     counted(columns, "column"), source, member.extent[0],
                     member.extent[1]);
  }
  if (member.elements() == expected)
    return Error::success();
  // The length of a computed list comes from an argument. Name the argument.
  if (buffer.role != BufferRole::Argument && buffer.extents.size() == 1 &&
      domain.role == BufferRole::Argument) {
    ExtentRef extent = argumentExtent(buffer.extents.front());
    const PlanBuffer &matrix = plan.buffers[extent.buffer];
    return makeError(
        StatusCode::BadInput, "{0}: expected {1}, {2} {3}, found {4}",
        memberName(domain, position), counted(member.elements(), "element"),
        matrix.rank < 2         ? "as many as in"
        : extent.dimension == 0 ? "one for each row of"
                                : "one for each column of",
        describeBuffer(matrix), expected);
  }
  return makeError(StatusCode::BadInput,
                   "{0}: expected {1} as in {2}, found {3}",
                   memberName(buffer, position), counted(expected, "element"),
                   source, member.elements());
}

Error Layout::Resolver::checkSegments() {
  for (const PlanTable &table : plan.tables)
    for (const PlanSegment &segment : table.segments) {
      int list = memberListOf(plan, segment);
      size_t size = list < 0 ? 0 : members(list).size();
      for (const std::optional<ExtentRef> &extent :
           {segment.count, segment.columns})
        if (extent && members(extent->buffer).size() != size)
          return makeError(
              StatusCode::BadInput, "{0}: expected {1} as in {2}, found {3}",
              describeBuffer(plan.buffers[extent->buffer]),
              counted(size, "member"), describeBuffer(plan.buffers[list]),
              members(extent->buffer).size());
      for (size_t position = 0; position < size; ++position) {
        if (members(list)[position].inactive)
          continue;
        for (const std::optional<ExtentRef> &extent :
             {segment.count, segment.columns})
          if (extent && members(extent->buffer)[position].extent[0] < 0)
            return makeError(
                StatusCode::BadInput,
                "{0}: expected an address and extents, found null (mark the "
                "member as inactive to skip it)",
                memberName(plan.buffers[extent->buffer], position));
        for (const PlanOperand &operand : segment.operands)
          if (isList(operand.buffer))
            if (Error error = checkOperand(table, segment, operand, position))
              return error;
      }
    }
  return Error::success();
}

Error Layout::Resolver::checkCopies() {
  Error failure = Error::success();
  forEachNode(plan.graph, [&](const PlanNode &node) {
    if (failure || node.kind != NodeKind::Copy)
      return;
    for (auto [position, pair] :
         enumerate(zip(members(node.from), members(node.to)))) {
      auto &[from, to] = pair;
      if (!to.inactive &&
          !std::equal(from.extent, from.extent + 2, to.extent)) {
        failure = makeError(StatusCode::BadInput,
                            "{0}: expected extents {1} as in {2}, found {3}",
                            memberName(plan.buffers[node.to], position),
                            describeExtents(plan.buffers[node.from], from),
                            describeBuffer(plan.buffers[node.from]),
                            describeExtents(plan.buffers[node.to], to));
        return;
      }
    }
  });
  return failure;
}

Error Layout::Resolver::checkAddresses() {
  for (auto [index, buffer] : enumerate(plan.buffers)) {
    if (layout.bufferViews[index].owned)
      continue;
    size_t size = dtypeSize(buffer.dtype);
    for (auto [position, member] : enumerate(members(index))) {
      if (member.inactive)
        continue;
      if (member.extent[0] < 0 || (!member.address && member.elements() != 0))
        return makeError(StatusCode::BadInput,
                         "{0}: expected an address, found null (mark the "
                         "member as inactive to skip it)",
                         memberName(buffer, position));
      if (member.elements() == 0)
        continue;
      if (reinterpret_cast<uintptr_t>(member.address) % size != 0)
        return makeError(
            StatusCode::BadInput,
            "{0}: expected an address aligned to {1} ({2}), found {3}",
            memberName(buffer, position), counted(size, "byte"),
            dtypeName(buffer.dtype), static_cast<void *>(member.address));
      auto begin = reinterpret_cast<uintptr_t>(member.address);
      if (member.reach() * size > UINTPTR_MAX - begin)
        return makeError(StatusCode::BadInput,
                         "{0}: expected an address with {1} behind it, "
                         "found {2}",
                         memberName(buffer, position),
                         counted(member.reach() * size, "byte"),
                         static_cast<void *>(member.address));
      if (Error error = space.check(member.address, member.reach() * size))
        return withContext(memberName(buffer, position), std::move(error));
    }
  }
  return Error::success();
}

BitVector writtenBuffers(const Plan &plan) {
  BitVector written(plan.buffers.size());
  for (auto [index, buffer] : enumerate(plan.buffers))
    if (buffer.donated || buffer.role == BufferRole::Result)
      written.set(index);
  forEachNode(plan.graph, [&](const PlanNode &node) {
    for (int buffer : node.writes)
      written.set(buffer);
    for (int buffer : {node.to, node.iterations})
      if (buffer >= 0)
        written.set(buffer);
  });
  return written;
}

Error Layout::Resolver::checkOverlap() {
  BitVector written = writtenBuffers(plan);
  struct Interval {
    uintptr_t begin, end;
    unsigned buffer, member;
  };
  std::vector<Interval> intervals;
  for (auto [index, buffer] : enumerate(plan.buffers)) {
    if (layout.bufferViews[index].owned)
      continue;
    for (auto [position, member] : enumerate(members(index)))
      if (!member.inactive && member.address && member.elements() > 0) {
        auto begin = reinterpret_cast<uintptr_t>(member.address);
        intervals.push_back(
            {begin, begin + member.reach() * dtypeSize(buffer.dtype),
             static_cast<unsigned>(index), static_cast<unsigned>(position)});
      }
  }
  sort(intervals, [](const Interval &a, const Interval &b) {
    return std::tie(a.begin, a.buffer, a.member) <
           std::tie(b.begin, b.buffer, b.member);
  });
  // The intervals that end last so far: of all intervals, and of written ones.
  const Interval *furthest = nullptr, *furthestWritten = nullptr;
  for (const Interval &interval : intervals) {
    bool isWritten = written.test(interval.buffer);
    const Interval *other = nullptr;
    if (isWritten && furthest && interval.begin < furthest->end)
      other = furthest;
    else if (furthestWritten && interval.begin < furthestWritten->end)
      other = furthestWritten;
    if (other) {
      const Interval &owner = isWritten ? interval : *other,
                     &guest = isWritten ? *other : interval;
      return makeError(
          StatusCode::BadInput,
          "{0}: expected memory of its own, because it is written, "
          "found an overlap with {1}",
          memberName(plan.buffers[owner.buffer], owner.member),
          memberName(plan.buffers[guest.buffer], guest.member));
    }
    if (!furthest || interval.end > furthest->end)
      furthest = &interval;
    if (isWritten && (!furthestWritten || interval.end > furthestWritten->end))
      furthestWritten = &interval;
  }
  return Error::success();
}

} // namespace heddle::runtime
