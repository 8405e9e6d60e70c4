//===- Distances.h - How far operands have moved ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel for large lists takes distances as its last argument: it adds them
// to the addresses in tile descriptors. So new addresses of gradients change
// the parameters of a node, which costs no device time, and no descriptor.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_DISTANCES_H
#define HEDDLE_RUNTIME_BINDING_DISTANCES_H

#include "runtime/binding/OperandMoves.h"

namespace heddle::runtime {

/// The distances that one launch takes: for each of some operand slots of a
/// table, of each of its first member descriptors. `heddle::distances` in
/// tables.cuh has the same layout.
class Distances {
public:
  /// Of a kernel that takes none.
  Distances() = default;
  Distances(int table, llvm::ArrayRef<int> slots);

  bool empty() const { return slots.empty(); }
  size_t bytes() const { return values.size() * sizeof(int64_t); }
  /// The argument of the kernel.
  void *data() { return values.data(); }

  /// Adds `distance` to that of an operand slot of a member descriptor. Returns
  /// false if the kernel takes no distance of it.
  bool add(int table, int slot, size_t member, int64_t distance);

  /// The launches that write moved addresses into the descriptors of the table.
  std::vector<OperandMoves> moves(const Plan &plan,
                                  const TableDescriptors &descriptors) const;
  int table() const { return number; }
  /// Sets all distances to 0.
  void clear();

  bool operator==(const Distances &other) const {
    return number == other.number && slots == other.slots &&
           values == other.values;
  }

private:
  /// The number of members of which each slot has distances.
  size_t members() const { return values.size() / slots.size(); }

  int number = -1; ///< of the table
  llvm::SmallVector<int, 2> slots;
  std::vector<int64_t> values; ///< by slot, then by member
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BINDING_DISTANCES_H
