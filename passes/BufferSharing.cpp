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
  /// For each buffer number, the last temporary that has the number.
  SmallVector<NewBuffer *> holders;
  for (NewBuffer *buffer : order) {
    for (NewBuffer *&holder : holders) {
      if (holder->type != buffer->type || !(holder->shape == buffer->shape))
        continue;
      Operation *producer = buffer->first.getDefiningOp();
      bool inPlace =
          isa_and_nonnull<SweepOp>(producer) && holder->first == holder->last &&
          holder->end == endOf(producer) &&
          buffer->begin == beginOf(producer) &&
          mayReplace(buffer->first, holder->last);
      if (holder->end >= buffer->begin && !inPlace)
        continue;
      if (inPlace)
        ++numInPlace;
      buffer->number = holder->number;
      holder = buffer;
      break;
    }
    if (buffer->number < 0) {
      buffer->number = next++;
      holders.push_back(buffer);
      ++numTemporaries;
    }
  }
}
