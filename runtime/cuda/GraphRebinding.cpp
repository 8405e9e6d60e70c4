//===- GraphRebinding.cpp - New addresses in the tables of a CUDA graph ---===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Member descriptors hold addresses. The host has a copy of the memory that
// holds them, so new addresses cost one copy of the descriptors from the first
// to the last that changed. Replays that were submitted before come before the
// copy, because the caller orders the calls of a graph.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Graph.h"

#include "runtime/support/Statistics.h"

#include "llvm/ADT/BitVector.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

Error Graph::move(const Rebinding &rebinding, ArrayRef<MovedMember> moved,
                  void *streamHandle) {
  CUstream stream = static_cast<CUstream>(streamHandle);
  Context::Scope scope(*device);
  if (Error error = refuseInCapture(stream, "prepare"))
    return error;
  size_t begin = image.size(), end = 0;
  BitVector tables(imageTables.size());
  for (const MovedMember &member : moved)
    for (const Rebinding::Slot &slot : rebinding.slotsOf(member)) {
      size_t at = imageTables[slot.table].members + slot.offset;
      std::memcpy(image.data() + at, &member.address, sizeof(member.address));
      begin = std::min(begin, at);
      end = std::max(end, at + sizeof(member.address));
      tables.set(slot.table);
    }
  if (end == 0)
    return Error::success(); // no kernel reads these lists
  count(statistics().table_copies);
  if (Error error = staging.copy(uploaded.address() + begin,
                                 image.data() + begin, end - begin, stream))
    return error;
  for (int table : tables.set_bits())
    if (Error error = expandTiles(table, stream))
      return error;
  return Error::success();
}

Error Graph::expandTiles(int table, CUstream stream) {
  std::optional<Launch> &expansion = imageTables[table].expansion;
  if (!expansion)
    return Error::success();
  count(statistics().table_expansions);
  return launchKernel(*expansion, stream);
}

} // namespace heddle::runtime
