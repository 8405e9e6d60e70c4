//===- Rebinding.h - New addresses for lists of the same shapes -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradients of a step may have other addresses than those of the step
// before, with the same extents. Then a layout stays valid, except for
// addresses in member descriptors and what is derived from them. A Rebinding is
// made once for a layout. It finds the members that moved in a time
// proportional to their number, and says where their addresses are.
//
// It decides only the ordinary case. A new layout is needed, and gives the
// messages for mistakes, if
//
// * a list moved that the program writes, or that a copy node reads;
// * an address became null, or no longer is;
// * an address differs from the previous one modulo 16 bytes, so that tiles may
//   begin at other elements;
// * memory overlaps a written list, or the address space refuses it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_REBINDING_H
#define HEDDLE_RUNTIME_BINDING_REBINDING_H

#include "runtime/binding/Layout.h"

#include <optional>

namespace heddle::runtime {

/// An active member with a new address.
struct MovedMember {
  int buffer;
  unsigned member;
  char *address;
  int64_t distance; ///< from the previous address, in bytes
};

class Rebinding {
public:
  /// Of a layout of the binding. Call Layout::place() before.
  explicit Rebinding(const Layout &layout);

  /// The members of moved lists that have other addresses than in `layout`, or
  /// nothing if a new layout is needed.
  std::optional<std::vector<MovedMember>>
  find(const Binding &binding, const Layout &layout, AddressSpace &space) const;

  /// An operand slot with the address of a member: its offset in the member
  /// descriptors of a table.
  struct Slot {
    unsigned member;
    int table;
    size_t offset;
  };
  llvm::ArrayRef<Slot> slotsOf(const MovedMember &moved) const {
    const Slots &slots = slotsOfBuffer[moved.buffer];
    return llvm::ArrayRef(slots.all).slice(slots.first[moved.member],
                                           slots.first[moved.member + 1] -
                                               slots.first[moved.member]);
  }

private:
  /// The operand slots of a list, by member.
  struct Slots {
    std::vector<Slot> all;
    std::vector<size_t> first; ///< of each member, and their number
  };
  /// Memory from `begin` to `end`.
  struct Range {
    uintptr_t begin, end;
  };

  /// Whether `memory` overlaps written memory. `gap` lies between written
  /// memory; if the answer is no, it is set to the gap around `memory`.
  bool overlaps(Range memory, Range &gap) const;

  std::vector<bool> movable; ///< for each buffer
  std::vector<Slots> slotsOfBuffer;
  /// The caller's memory that the program writes, in order, without overlaps.
  std::vector<uintptr_t> writtenBegins, writtenEnds;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BINDING_REBINDING_H
