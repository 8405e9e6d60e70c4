//===- LayoutMembers.cpp - Members of bound and of owned lists ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the extents, strides and masks that the caller gave, and derives the
// members of all other lists.
//
//===----------------------------------------------------------------------===//

#include "runtime/binding/LayoutResolver.h"
#include "runtime/support/Text.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

std::string memberName(const PlanBuffer &buffer, size_t member) {
  return buffer.kind == BufferKind::Scalar
             ? describeBuffer(buffer)
             : describeBuffer(buffer) + formatv(", member {0}", member).str();
}

std::string extentsText(ArrayRef<int64_t> extents) {
  std::string text = "[";
  for (auto [index, extent] : enumerate(extents))
    text += (index ? ", " : "") + std::to_string(extent);
  return text + "]";
}

void Layout::Resolver::joinFamilies() {
  for (size_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
    if (isList(buffer)) {
      families.insert(buffer);
      if (plan.buffers[buffer].members >= 0)
        families.unionSets(buffer, plan.buffers[buffer].members);
    }
  for (const PlanTable &table : plan.tables)
    for (const PlanSegment &segment : table.segments) {
      int first = -1;
      for (const PlanOperand &operand : segment.operands)
        if (isList(operand.buffer)) {
          if (first >= 0)
            families.unionSets(first, operand.buffer);
          first = operand.buffer;
        }
    }
  forEachNode(plan.graph, [&](const PlanNode &node) {
    if (node.kind == NodeKind::Copy && isList(node.from))
      families.unionSets(node.from, node.to);
  });
}

Error Layout::Resolver::readExtents(const PlanBuffer &buffer, size_t index,
                                    ArrayRef<int64_t> extents,
                                    MemberView &member) {
  int64_t total = 1;
  for (int64_t extent : extents) {
    if (extent < 0)
      return makeError(StatusCode::BadInput,
                       "{0}: expected extents of at least 0, found {1}",
                       memberName(buffer, index), extentsText(extents));
    // Sizes in bytes must fit 63 bits.
    if (extent != 0 && total > maxElements / extent)
      return makeError(StatusCode::BadInput,
                       "{0}: expected fewer than 2^60 elements, found {1}",
                       memberName(buffer, index), extentsText(extents));
    total *= extent;
  }
  if (buffer.rank == 0 && total != 1)
    return makeError(StatusCode::BadInput,
                     "{0}: expected one value (rank 0), found extents {1}",
                     memberName(buffer, index), extentsText(extents));
  if (buffer.rank == 2 && extents.size() < 2)
    return makeError(StatusCode::BadInput,
                     "{0}: expected at least 2 dimensions, found extents {1}",
                     memberName(buffer, index), extentsText(extents));
  member.extent[0] = total;
  if (buffer.rank == 2) {
    member.extent[1] = extents.back();
    member.extent[0] = 1;
    for (int64_t extent : extents.drop_back())
      member.extent[0] *= extent;
  }
  return Error::success();
}

Error Layout::Resolver::readStride(const PlanBuffer &buffer, size_t index,
                                   int64_t stride, MemberView &member) {
  member.rowStride = member.extent[1];
  if (stride == 0)
    return Error::success();
  if (buffer.rank != 2)
    return makeError(
        StatusCode::BadInput,
        "{0}: expected a dense tensor (rank {1}), found a row stride of {2}",
        memberName(buffer, index), buffer.rank, stride);
  if (member.extent[0] <= 1) // the stride of a single row is ignored
    return Error::success();
  if (stride < member.extent[1])
    return makeError(StatusCode::BadInput,
                     "{0}: expected a row stride of at least {1}, its "
                     "columns, found {2}",
                     memberName(buffer, index), member.extent[1], stride);
  if (stride > maxElements / member.extent[0])
    return makeError(StatusCode::BadInput,
                     "{0}: expected fewer than 2^60 elements, found {1} with a "
                     "stride of {2}",
                     memberName(buffer, index),
                     counted(member.extent[0], "row"), stride);
  member.rowStride = stride;
  return Error::success();
}

Error Layout::Resolver::readMembers(int index) {
  const PlanBuffer &buffer = plan.buffers[index];
  const TensorList &bound = binding[index].members;
  for (size_t position = 0; position < bound.size(); ++position) {
    MemberView member;
    member.address = static_cast<char *>(bound.data(position));
    ArrayRef<int64_t> extents = bound.extents(position);
    // An inactive member may have no extents. checkFamilies() sets the mask
    // later.
    bool absent = !member.address && extents.empty();
    if (!absent || buffer.rank == 0) {
      if (Error error = readExtents(buffer, position, extents, member))
        return error;
      if (Error error =
              readStride(buffer, position, bound.rowStride(position), member))
        return error;
    } else {
      member.extent[0] = member.extent[1] = -1;
    }
    members(index).push_back(member);
  }
  return Error::success();
}

Error Layout::Resolver::readArguments() {
  for (auto [index, buffer] : enumerate(plan.buffers)) {
    if (buffer.kind == BufferKind::Scalar) {
      MemberView value;
      value.address = static_cast<char *>(binding[index].address);
      members(index).push_back(value);
      layout.bufferViews[index].owned = !binding[index].bound;
      layout.bufferViews[index].offsets = {index * sizeof(double)};
      if (buffer.role == BufferRole::Argument && !binding[index].bound &&
          !binding[index].value)
        return makeError(StatusCode::BadInput,
                         "{0}: expected a value or an address, found neither",
                         describeBuffer(buffer));
      continue;
    }
    if (buffer.role == BufferRole::Argument && !binding[index].bound)
      return makeError(StatusCode::BadInput,
                       "{0}: expected a list, found nothing bound",
                       describeBuffer(buffer));
    if (buffer.role == BufferRole::Argument)
      if (Error error = readMembers(index))
        return error;
  }
  return Error::success();
}

Error Layout::Resolver::checkFamilies() {
  for (const auto &family : families) {
    if (!family->isLeader())
      continue;
    int reference = -1;
    BitVector inactive;
    for (auto item = families.member_begin(*family);
         item != families.member_end(); ++item) {
      int index = *item;
      if (plan.buffers[index].role != BufferRole::Argument)
        continue;
      size_t size = members(index).size();
      if (reference < 0) {
        reference = index;
        inactive.resize(size);
      } else if (size != members(reference).size()) {
        return makeError(StatusCode::BadInput,
                         "{0}: expected {1} as in {2}, found {3}",
                         describeBuffer(plan.buffers[index]),
                         counted(members(reference).size(), "member"),
                         describeBuffer(plan.buffers[reference]), size);
      }
      const std::vector<bool> &mask = binding[index].inactive;
      if (!mask.empty() && mask.size() != size)
        return makeError(StatusCode::BadInput,
                         "{0}: expected a mask of {1}, found {2}",
                         describeBuffer(plan.buffers[index]),
                         counted(size, "member"), mask.size());
      for (size_t member = 0; member < mask.size(); ++member)
        if (mask[member])
          inactive.set(member);
    }
    for (auto item = families.member_begin(*family);
         item != families.member_end(); ++item)
      for (auto [position, member] : enumerate(members(*item)))
        member.inactive = inactive.test(position);
  }
  return Error::success();
}

std::string Layout::Resolver::describeExtents(const PlanBuffer &buffer,
                                              const MemberView &member) {
  return extentsText(ArrayRef<int64_t>(member.extent, buffer.rank));
}

Error Layout::Resolver::resolveDerived(int index) {
  const PlanBuffer &buffer = plan.buffers[index];
  BufferView &view = layout.bufferViews[index];
  const std::vector<MemberView> &origin = members(buffer.members);
  std::vector<MemberView> derived(origin.size());
  for (auto [position, member] : enumerate(derived)) {
    member.inactive = origin[position].inactive;
    for (auto [dimension, extent] : enumerate(buffer.extents)) {
      const std::vector<MemberView> &source = members(extent.buffer);
      if (position >= source.size())
        return makeError(
            StatusCode::BadInput, "{0}: expected {1} as in {2}, found {3}",
            describeBuffer(plan.buffers[extent.buffer]),
            counted(origin.size(), "member"),
            describeBuffer(plan.buffers[buffer.members]), source.size());
      member.extent[dimension] =
          std::max<int64_t>(source[position].extent[extent.dimension], 0);
    }
    member.rowStride = member.extent[1];
    if (member.extent[1] > maxElements / std::max<int64_t>(member.extent[0], 1))
      return makeError(StatusCode::BadInput,
                       "{0}: expected fewer than 2^60 elements, found {1}",
                       memberName(buffer, position),
                       describeExtents(buffer, member));
  }
  if (binding[index].bound) {
    if (Error error = readMembers(index))
      return error;
    if (view.members.size() != derived.size())
      return makeError(
          StatusCode::BadInput, "{0}: expected {1} as in {2}, found {3}",
          describeBuffer(buffer), counted(derived.size(), "member"),
          describeBuffer(plan.buffers[buffer.members]), view.members.size());
    for (auto [position, pair] : enumerate(zip(view.members, derived))) {
      auto &[found, expected] = pair;
      found.inactive = expected.inactive;
      if (!found.inactive &&
          !std::equal(found.extent, found.extent + 2, expected.extent))
        return makeError(
            StatusCode::BadInput, "{0}: expected extents {1}, found {2}",
            memberName(buffer, position), describeExtents(buffer, expected),
            describeExtents(buffer, found));
    }
    return Error::success();
  }
  view.owned = true;
  for (const MemberView &member : derived) {
    view.offsets.push_back(layout.arenaSize);
    if (!member.inactive)
      layout.arenaSize =
          SaturatingAdd(layout.arenaSize,
                        alignUp(member.elements() * dtypeSize(buffer.dtype)));
  }
  view.members = std::move(derived);
  return Error::success();
}

} // namespace heddle::runtime
