//===- OperandMoves.h - New addresses as kernel parameters ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel, heddle_move_operands in builtin/device/descriptors.cu, writes new
// addresses into member and tile descriptors. The addresses are parameters of
// the launch, so the host neither copies them to the device nor waits.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_OPERANDMOVES_H
#define HEDDLE_RUNTIME_BINDING_OPERANDMOVES_H

#include "runtime/binding/Rebinding.h"

namespace heddle::runtime {

/// The descriptors of a table that a kernel reads.
struct TableDescriptors {
  char *members = nullptr;
  char *tiles = nullptr; ///< null if no kernel reads them
  /// The number of the first tile of each member, and the number of tiles.
  std::vector<int> firstTiles;
};

/// The argument of heddle_move_operands: how far one operand moves, in
/// successive member descriptors of a table. All GPUs accept 4096 bytes.
struct OperandMoves {
  static constexpr int kMost = kMostDistances;

  char *members, *tiles;
  int bytes; ///< of a descriptor
  int operandOffset, memberOffset;
  int firstMember, memberCount;
  int firstTile, tileCount;
  int unused = 0;
  int64_t distance[kMost] = {};

  /// The moves of an operand in successive member descriptors, with distances
  /// of 0. `operandOffset` is in bytes, in a descriptor.
  static OperandMoves of(const Plan &plan, int table,
                         const TableDescriptors &descriptors,
                         size_t operandOffset, int firstMember,
                         int memberCount);

  /// The number of descriptors, each of which one thread changes.
  int64_t threads() const { return int64_t(tileCount) + memberCount; }
};
static_assert(sizeof(OperandMoves) == 48 + 8 * OperandMoves::kMost &&
                  sizeof(OperandMoves) <= 4096,
              "a kernel reads this layout");

/// The launches that give `moved` their new addresses. `tables` has the
/// descriptors of each table. `takeElsewhere` is called once with each
/// operand slot and its distance. If it returns true, no launch moves the slot.
std::vector<OperandMoves> operandMoves(
    const Plan &plan, const Rebinding &rebinding,
    llvm::ArrayRef<MovedMember> moved, llvm::ArrayRef<TableDescriptors> tables,
    llvm::function_ref<bool(const Rebinding::Slot &slot, int64_t distance)>
        takeElsewhere = nullptr);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BINDING_OPERANDMOVES_H
