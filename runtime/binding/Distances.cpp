//===- Distances.cpp - How far operands have moved ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/binding/Distances.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace heddle::runtime {

Distances::Distances(int table, ArrayRef<int> slots)
    : number(table), slots(slots) {
  if (!slots.empty())
    values.resize(kMostDistances / slots.size() * slots.size());
}

bool Distances::add(int table, int slot, size_t member, int64_t distance) {
  auto found = find(slots, slot);
  if (table != number || found == slots.end() || member >= members())
    return false;
  values[(found - slots.begin()) * members() + member] += distance;
  return true;
}

std::vector<OperandMoves>
Distances::moves(const Plan &plan, const TableDescriptors &descriptors) const {
  std::vector<OperandMoves> launches;
  if (empty())
    return launches;
  size_t count = std::min(members(), descriptors.firstTiles.size() - 1);
  for (auto [nth, slot] : enumerate(slots)) {
    ArrayRef<int64_t> own = ArrayRef(values).slice(nth * members(), count);
    if (none_of(own, [](int64_t distance) { return distance != 0; }))
      continue;
    OperandMoves &moves = launches.emplace_back(
        OperandMoves::of(plan, number, descriptors, slot * sizeof(void *),
                         /*firstMember=*/0, count));
    copy(own, moves.distance);
  }
  return launches;
}

void Distances::clear() { fill(values, 0); }

} // namespace heddle::runtime
