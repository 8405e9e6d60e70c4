//===- BufferSharing.cpp - temporaries that share buffers -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Temporaries of one type and shape share a buffer if their lifetimes do not
// overlap, or if the later temporary may replace the earlier one in place.
//
//===----------------------------------------------------------------------===//

#include "passes/BufferAssigner.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;

/// The temporaries that a sweep reads last and that are tried for a result.
static constexpr size_t kTouching = 16;

void BufferAssigner::shareTemporaries() {
  SmallVector<NewBuffer *> order;
  int next = numArguments;
  for (NewBuffer &buffer : buffers) {
    if (buffer.role == BufferRole::result)
      buffer.number = next++;
    else
      order.push_back(&buffer);
  }
  llvm::sort(order, [](NewBuffer *a, NewBuffer *b) {
    return std::pair(a->begin, a) < std::pair(b->begin, b);
  });
  std::map<std::pair<const void *, Shape>, Holders> byClass;
  for (NewBuffer *buffer : order) {
    Holders &holders =
        byClass[{buffer->type.getAsOpaquePointer(), buffer->shape}];
    NewBuffer *before = takeHolder(holders, *buffer);
    buffer->number = before ? before->number : next++;
    numTemporaries += !before;
    holders.busy.emplace(buffer->end, buffer);
  }
}

/// The temporary whose number `buffer` takes over: the one with the first
/// number that is not in use, or that the same sweep may replace in place. Null
/// if there is none.
NewBuffer *BufferAssigner::takeHolder(Holders &holders,
                                      const NewBuffer &buffer) {
  auto &[unused, busy] = holders;
  while (!busy.empty() && busy.begin()->first < buffer.begin) {
    unused.insert(busy.begin()->second);
    busy.erase(busy.begin());
  }
  NewBuffer *first = unused.empty() ? nullptr : *unused.begin();
  Operation *producer = buffer.first.getDefiningOp();
  if (isa_and_nonnull<SweepOp>(producer) && buffer.begin == beginOf(producer)) {
    auto [begin, end] = busy.equal_range(endOf(producer));
    SmallVector<NewBuffer *> touching;
    for (auto holder = begin; holder != end && touching.size() < kTouching;
         ++holder)
      touching.push_back(holder->second);
    llvm::sort(touching, Holders::ByNumber());
    for (NewBuffer *holder : touching) {
      if (first && first->number < holder->number)
        break;
      if (holder->first != holder->last ||
          !mayReplace(buffer.first, holder->last))
        continue;
      ++numInPlace;
      busy.erase(std::find_if(
          begin, end, [&](auto &entry) { return entry.second == holder; }));
      return holder;
    }
  }
  unused.erase(first);
  return first;
}
