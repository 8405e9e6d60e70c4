//===- OperandMoves.cpp - New addresses as kernel parameters --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/binding/OperandMoves.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace heddle::runtime {

namespace {
/// A member descriptor, and how far the operand moves.
struct Move {
  int descriptor;
  int64_t distance;

  bool operator<(const Move &other) const {
    return descriptor < other.descriptor;
  }
};

struct MovedOperand {
  int table;
  size_t offset; ///< of the operand in a descriptor
  std::vector<Move> moves;
};
} // namespace

using TakeElsewhere = function_ref<bool(const Rebinding::Slot &, int64_t)>;

static std::vector<MovedOperand> byOperand(const Plan &plan,
                                           const Rebinding &rebinding,
                                           ArrayRef<MovedMember> moved,
                                           TakeElsewhere takeElsewhere) {
  std::vector<MovedOperand> operands;
  for (const MovedMember &member : moved)
    for (const Rebinding::Slot &slot : rebinding.slotsOf(member)) {
      if (takeElsewhere && takeElsewhere(slot, member.distance))
        continue;
      size_t bytes = DescriptorLayout(plan.tables[slot.table]).bytes();
      size_t offset = slot.offset % bytes;
      auto found = find_if(operands, [&](const MovedOperand &operand) {
        return operand.table == slot.table && operand.offset == offset;
      });
      if (found == operands.end())
        found = operands.insert(found, {slot.table, offset, {}});
      found->moves.push_back(
          {static_cast<int>(slot.offset / bytes), member.distance});
    }
  // The segments of a table may have lists in any order.
  for (MovedOperand &operand : operands)
    if (!is_sorted(operand.moves))
      sort(operand.moves);
  return operands;
}

OperandMoves OperandMoves::of(const Plan &plan, int table,
                              const TableDescriptors &descriptors,
                              size_t operandOffset, int firstMember,
                              int memberCount) {
  DescriptorLayout layout(plan.tables[table]);
  ArrayRef<int> firstTiles = descriptors.firstTiles;
  OperandMoves moves;
  moves.members = descriptors.members;
  moves.tiles = descriptors.tiles;
  moves.bytes = layout.bytes();
  moves.operandOffset = operandOffset;
  moves.memberOffset = layout.memberOffset();
  moves.firstMember = firstMember;
  moves.memberCount = memberCount;
  moves.firstTile = firstTiles[firstMember];
  moves.tileCount = descriptors.tiles ? firstTiles[firstMember + memberCount] -
                                            moves.firstTile
                                      : 0;
  return moves;
}

std::vector<OperandMoves> operandMoves(const Plan &plan,
                                       const Rebinding &rebinding,
                                       ArrayRef<MovedMember> moved,
                                       ArrayRef<TableDescriptors> tables,
                                       TakeElsewhere takeElsewhere) {
  std::vector<OperandMoves> launches;
  for (const MovedOperand &operand :
       byOperand(plan, rebinding, moved, takeElsewhere)) {
    ArrayRef<Move> rest = operand.moves;
    while (!rest.empty()) {
      int first = rest.front().descriptor;
      auto window = rest.take_while([&](const Move &move) {
        return move.descriptor - first < OperandMoves::kMost;
      });
      rest = rest.drop_front(window.size());
      int end = window.back().descriptor + 1;
      OperandMoves &moves = launches.emplace_back(
          OperandMoves::of(plan, operand.table, tables[operand.table],
                           operand.offset, first, end - first));
      for (const Move &move : window)
        moves.distance[move.descriptor - first] = move.distance;
    }
  }
  return launches;
}

} // namespace heddle::runtime
