//===- LayoutResolver.h - From a binding to a layout ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to binding/.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_LAYOUTRESOLVER_H
#define HEDDLE_RUNTIME_BINDING_LAYOUTRESOLVER_H

#include "runtime/binding/Layout.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle::runtime {

/// The parts of Layout::resolve, in the order in which they run.
class Layout::Resolver {
public:
  Resolver(Layout &layout, const Binding &binding, AddressSpace &space)
      : layout(layout), plan(binding.plan()), binding(binding), space(space) {}

  llvm::Error run();

private:
  bool isList(int buffer) const {
    return plan.buffers[buffer].kind == BufferKind::List;
  }
  std::vector<MemberView> &members(int buffer) {
    return layout.bufferViews[buffer].members;
  }

  // Members (LayoutMembers.cpp).
  /// Joins lists that share a segment, a copy or a member count into families.
  void joinFamilies();
  /// Sets the extents of a member from the caller's.
  llvm::Error readExtents(const PlanBuffer &buffer, size_t index,
                          llvm::ArrayRef<int64_t> extents, MemberView &member);
  /// Sets the row stride of a member. Call readExtents() before.
  llvm::Error readStride(const PlanBuffer &buffer, size_t index, int64_t stride,
                         MemberView &member);
  llvm::Error readMembers(int index);
  llvm::Error readArguments();
  /// Checks that all lists of a family have one member count, and gives them
  /// one set of inactive members.
  llvm::Error checkFamilies();
  /// Sets the members of a result or temporary list from the lists that it is
  /// derived from, in the order of Plan::derivedLists().
  llvm::Error resolveDerived(int index);
  static std::string describeExtents(const PlanBuffer &buffer,
                                     const MemberView &member);

  // Checks (LayoutChecks.cpp).
  /// The extent of an argument from which `extent` is derived.
  ExtentRef argumentExtent(ExtentRef extent) const;
  /// Checks that a member has the extents that the operand's index needs.
  llvm::Error checkOperand(const PlanTable &table, const PlanSegment &segment,
                           const PlanOperand &operand, size_t position);
  llvm::Error checkSegments();
  llvm::Error checkCopies();
  /// Checks the addresses of all bound active members: null, alignment and
  /// address space.
  llvm::Error checkAddresses();
  /// Checks that no written member overlaps other bound memory. Gaps between
  /// rows count as part of a member.
  llvm::Error checkOverlap();

  // Sizes (Layout.cpp).
  int64_t countOf(const PlanTable &table, const PlanSegment &segment,
                  size_t position);
  int64_t columnsOf(const PlanSegment &segment, size_t position);
  /// The most elements of a vector with which the rows of a member begin and
  /// end (TableView::multiples).
  int64_t multipleOf(const PlanSegment &segment, size_t position,
                     int64_t columns);
  llvm::Error sizeTables();
  /// The number of elements of a scratch area.
  static uint64_t scratchCount(ScratchPer per, const TableView &view);
  std::vector<void *> operandsOf(const PlanSegment &segment, size_t position);
  /// The bytes of the element operands of a table, each buffer once.
  int64_t elementBytes(const PlanTable &table);

  friend class Layout;

  Layout &layout;
  const Plan &plan;
  const Binding &binding;
  AddressSpace &space;
  llvm::EquivalenceClasses<int> families;
};

/// The name of a buffer's member in messages.
std::string memberName(const PlanBuffer &buffer, size_t member);

/// `[rows, columns]`.
std::string extentsText(llvm::ArrayRef<int64_t> extents);

/// Most elements of a member: their bytes must fit 63 bits.
inline constexpr int64_t maxElements = INT64_MAX / 8;

/// A list that has the members of a segment; -1 if the segment has no list and
/// so one member.
int memberListOf(const Plan &plan, const PlanSegment &segment);

/// The buffers that a step writes.
llvm::BitVector writtenBuffers(const Plan &plan);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BINDING_LAYOUTRESOLVER_H
