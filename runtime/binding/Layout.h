//===- Layout.h - From bound buffers to tables and sizes ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layout::resolve checks everything that depends on several buffers. It
// computes extents, inactive members, tile counts and the sizes of all
// allocations. If it fails, nothing has been written. After the allocation,
// place() sets the addresses, and memberDescriptors() returns the member
// descriptors.
//
// A scalar slot is the graph's own memory for one scalar. The arena is the
// graph's own memory for all lists that the caller does not bind.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_LAYOUT_H
#define HEDDLE_RUNTIME_BINDING_LAYOUT_H

#include "runtime/binding/Binding.h"
#include "runtime/binding/Tables.h"
#include "runtime/plan/PanelClass.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle::runtime {

/// The addresses that a target can use: those of one device, or any address for
/// the cpu target.
class AddressSpace {
public:
  virtual ~AddressSpace() = default;
  /// Checks that the target can use `bytes` bytes at `address`. The error does
  /// not name the buffer.
  virtual llvm::Error check(const void *address, size_t bytes) = 0;
  /// Forgets everything that earlier checks found out about memory.
  virtual void forget() {}
};

/// A member of a buffer: its address, extents and row stride.
struct MemberView {
  /// May be null before place(), and if the member is inactive or empty.
  char *address = nullptr;
  /// Rank 0: 1, 1; rank 1: elements, 1; rank 2: rows, columns.
  int64_t extent[2] = {1, 1};
  int64_t rowStride = 1; ///< elements from one row to the next
  bool inactive = false;

  int64_t elements() const { return extent[0] * extent[1]; }
  bool isDense() const { return rowStride == extent[1]; }
  /// The number of elements from the first to the last, gaps between rows
  /// included.
  int64_t reach() const {
    return elements() == 0 ? 0 : (extent[0] - 1) * rowStride + extent[1];
  }
};

struct BufferView {
  std::vector<MemberView> members; ///< one for a scalar
  bool owned = false;              ///< in the graph's own memory
  /// The offset of each member of an owned list in the arena; for a scalar, the
  /// offset of its slot.
  std::vector<size_t> offsets;
};

struct TableView {
  int memberCount = 0; ///< active members, over all segments
  int tileCount = 0;
  int blocksPerTile = 1;
  /// The most parts of a row that several blocks divide, otherwise 1.
  int partsPerTile = 1;
  int64_t elements = 0;              ///< of active members (rank 1)
  int64_t columnTotal = 0;           ///< columns over all tiles (rank 2)
  int64_t narrowest = 0, widest = 0; ///< columns of an active member (rank 2)
  int64_t longest = 0;               ///< rows of an active member (rank 2)
  std::vector<PanelExtents> extents; ///< of the active members (rank 2)
  /// The rows of members that are not held, and for each of these members the
  /// most elements of a vector, a power of two of at most kMostMultiple, with
  /// which each row of each matrix begins and ends, and each operand of columns
  /// begins.
  std::vector<PanelExtents> sharedRows;
  std::vector<int64_t> multiples;
  /// Bytes of the element operands, each buffer once, active members only.
  int64_t elementBytes = 0;

  /// Whether at least half of the elements are in rows of more columns.
  bool isMostlyOver(int64_t columns) const {
    return areMostlyOver(extents, columns);
  }
  /// Whether at least 7/8 of these elements are in rows of vectors of so many
  /// elements.
  bool areMostlyVectorsOf(int64_t elements) const {
    return mostElements(sharedRows, kShareOfVectors,
                        [&](size_t k) { return multiples[k] % elements == 0; });
  }
};

/// Contiguous memory that a copy or a fill covers, or that holds a loop's flag:
/// an active member, or one row of a member that is not dense.
struct Span {
  const char *from = nullptr;
  char *to = nullptr;
  int64_t bytes = 0;
};

class Layout {
public:
  /// Alignment of everything that the runtime allocates.
  static constexpr size_t alignment = 256;

  static llvm::Expected<Layout> resolve(const Binding &binding,
                                        AddressSpace &space);

  const Plan &plan() const { return *program; }
  llvm::ArrayRef<BufferView> buffers() const { return bufferViews; }
  llvm::ArrayRef<TableView> tables() const { return tableViews; }
  /// Bytes of each scratch area.
  llvm::ArrayRef<size_t> scratchBytes() const { return scratchSizes; }
  /// Bytes of all owned lists.
  size_t arenaBytes() const { return arenaSize; }
  /// Bytes of all scalar slots. Depends only on the plan, so that values
  /// survive any rebinding.
  static size_t slotBytes(const Plan &plan) {
    return plan.buffers.size() * sizeof(double);
  }

  /// Gives owned buffers their addresses.
  void place(char *arena, char *slots);

  /// The member descriptors of a table. Call place() before.
  std::vector<char> memberDescriptors(int table) const;

  /// Calls `visit` with the segment and the position of the member, for each
  /// member descriptor of a table in order.
  void forEachDescriptor(
      int table,
      llvm::function_ref<void(size_t segment, size_t position)> visit) const;

  /// Gives a member another address.
  void move(int buffer, unsigned member, char *address) {
    bufferViews[buffer].members[member].address = address;
  }

  /// The spans of a copy (`from` -> `to`), or of a fill or a loop's flags
  /// (`from` < 0).
  std::vector<Span> spans(int from, int to) const;

  /// The address of a scalar.
  char *scalarAddress(int buffer) const {
    return bufferViews[buffer].members.front().address;
  }

private:
  class Resolver;

  /// The columns of a member; 0 if the segment has none.
  int64_t columnsOf(const PlanSegment &segment, size_t position) const;

  std::shared_ptr<const Plan> program;
  std::vector<BufferView> bufferViews;
  std::vector<TableView> tableViews;
  std::vector<size_t> scratchSizes;
  size_t arenaSize = 0;
};

/// Rounds up to Layout::alignment.
inline size_t alignUp(size_t bytes) {
  return (bytes + Layout::alignment - 1) / Layout::alignment *
         Layout::alignment;
}

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BINDING_LAYOUT_H
