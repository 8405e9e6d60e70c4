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

static std::vector<MovedOperand> byOperand(const Plan &plan,
                                           const Rebinding &rebinding,
                                           ArrayRef<MovedMember> moved) {
  std::vector<MovedOperand> operands;
  for (const MovedMember &member : moved)
    for (const Rebinding::Slot &slot : rebinding.slotsOf(member)) {
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

std::vector<OperandMoves> operandMoves(const Plan &plan,
                                       const Rebinding &rebinding,
                                       ArrayRef<MovedMember> moved,
                                       ArrayRef<TableDescriptors> tables) {
  std::vector<OperandMoves> launches;
  for (const MovedOperand &operand : byOperand(plan, rebinding, moved)) {
    const TableDescriptors &table = tables[operand.table];
    DescriptorLayout layout(plan.tables[operand.table]);
    ArrayRef<Move> rest = operand.moves;
    while (!rest.empty()) {
      int first = rest.front().descriptor;
      auto window = rest.take_while([&](const Move &move) {
        return move.descriptor - first < OperandMoves::kMost;
      });
      rest = rest.drop_front(window.size());
      int end = window.back().descriptor + 1;
      OperandMoves &moves = launches.emplace_back();
      moves.members = table.members;
      moves.tiles = table.tiles;
      moves.bytes = layout.bytes();
      moves.operandOffset = operand.offset;
      moves.memberOffset = layout.memberOffset();
      moves.firstMember = first;
      moves.memberCount = end - first;
      moves.firstTile = table.firstTiles[first];
      moves.tileCount =
          table.tiles ? table.firstTiles[end] - moves.firstTile : 0;
      for (const Move &move : window)
        moves.distance[move.descriptor - first] = move.distance;
    }
  }
  return launches;
}

} // namespace heddle::runtime
