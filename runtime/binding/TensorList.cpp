//===- TensorList.cpp - The caller's tensors for a list -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/binding/TensorList.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

TensorList::TensorList(const TensorArrays &arrays)
    : pointers(arrays.pointers, arrays.pointers + arrays.members),
      ranks(arrays.ranks, arrays.ranks + arrays.members) {
  size_t total = 0;
  offsets.reserve(size());
  for (int rank : ranks) {
    offsets.push_back(total);
    total += static_cast<size_t>(rank);
  }
  allExtents.assign(arrays.extents, arrays.extents + total);
  if (arrays.strides)
    strides.assign(arrays.strides, arrays.strides + arrays.members);
  else
    strides.resize(size());
}

TensorList::TensorList(ArrayRef<ListMember> members) {
  for (const ListMember &member : members) {
    pointers.push_back(member.data);
    ranks.push_back(static_cast<int>(member.extents.size()));
    offsets.push_back(allExtents.size());
    append_range(allExtents, member.extents);
    strides.push_back(member.rowStride);
  }
}

TensorArrays TensorList::arrays() const {
  return {size(), pointers.data(), ranks.data(), allExtents.data(),
          strides.data()};
}

bool TensorList::hasShapesOf(const TensorArrays &arrays) const {
  return arrays.members == size() &&
         std::equal(ranks.begin(), ranks.end(), arrays.ranks) &&
         std::equal(allExtents.begin(), allExtents.end(), arrays.extents) &&
         (arrays.strides
              ? std::equal(strides.begin(), strides.end(), arrays.strides)
              : all_of(strides, [](int64_t stride) { return stride == 0; }));
}

bool TensorList::takeAddresses(const TensorArrays &arrays) {
  if (std::equal(pointers.begin(), pointers.end(), arrays.pointers))
    return false;
  std::copy_n(arrays.pointers, size(), pointers.begin());
  return true;
}

} // namespace heddle::runtime
