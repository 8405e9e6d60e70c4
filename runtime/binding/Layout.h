//===- Layout.h - From bound buffers to tables and sizes ------------------===//
//
// Layout::resolve checks everything about a Binding that Binding alone could
// not, and works out extents, inactive members, tile counts and the sizes of
// what has to be allocated. Nothing has been written anywhere when it fails.
// Once memory is there, place() fills in the addresses and memberDescriptors()
// writes the rows.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_LAYOUT_H
#define HEDDLE_RUNTIME_BINDING_LAYOUT_H

#include "runtime/binding/Binding.h"
#include "runtime/binding/Tables.h"

namespace heddle::runtime {

/// Where addresses must point: device memory of one device, or anywhere for the
/// cpu target.
class AddressSpace {
public:
  virtual ~AddressSpace() = default;
  /// Checks that `bytes` bytes at `address` can be used; the error says what
  /// was expected and found, without a name.
  virtual llvm::Error check(const void *address, size_t bytes) = 0;
};

/// A member, resolved.
struct MemberView {
  char *address =
      nullptr; ///< null until placed, or if there is nothing to point at
  int64_t extent[2] = {
      1, 1}; ///< rank 0: 1, 1; rank 1: elements, 1; rank 2: rows, columns
  int64_t rowStride = 1; ///< elements from one row to the next
  bool inactive = false;

  int64_t elements() const { return extent[0] * extent[1]; }
  bool isDense() const { return rowStride == extent[1]; }
  /// Elements from the first to the last, with what lies between rows.
  int64_t reach() const {
    return elements() == 0 ? 0 : (extent[0] - 1) * rowStride + extent[1];
  }
};

struct BufferView {
  std::vector<MemberView> members; ///< one for a scalar
  bool owned = false;              ///< memory of the runtime's
  std::vector<size_t> offsets; ///< owned lists: of each member in the arena;
                               ///< owned scalars: one, in the slots
};

struct TableView {
  int memberCount = 0; ///< active members, over all segments
  int tileCount = 0;
  int blocksPerTile = 1;             ///< blocks for a tile
  int64_t columnTotal = 0;           ///< columns over all tiles (rank 2)
  int64_t narrowest = 0, widest = 0; ///< columns of an active member (rank 2)
  int64_t longest = 0;               ///< rows of one (rank 2)
  int64_t elementBytes = 0; ///< of what is addressed by element, active members
};

/// Of a node that copies or fills, or of a loop's flags: an active member, or a
/// row of one that is not dense.
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
  /// Bytes of all owned scalars. Depends on the plan alone, so that values
  /// survive any rebinding.
  static size_t slotBytes(const Plan &plan) {
    return plan.buffers.size() * sizeof(double);
  }

  /// Gives owned buffers their addresses.
  void place(char *arena, char *slots);

  /// The member descriptors of a table; place() comes first.
  std::vector<char> memberDescriptors(int table) const;

  /// The active members of a copy (`from` -> `to`), of a fill or of a loop's
  /// flags (`from` < 0).
  std::vector<Span> spans(int from, int to) const;

  /// The address of a scalar.
  char *scalarAddress(int buffer) const {
    return bufferViews[buffer].members.front().address;
  }

private:
  class Resolver;

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
