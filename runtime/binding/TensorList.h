//===- TensorList.h - The caller's tensors for a list ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The addresses, extents and row strides of the members of a list, in flat
// arrays: a list that is bound in every step is compared with the one before,
// and the comparison is a few memcmp.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_BINDING_TENSORLIST_H
#define HEDDLE_RUNTIME_BINDING_TENSORLIST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle::runtime {

/// The caller's tensor for one member of a list: its address and extents, in
/// elements.
struct ListMember {
  void *data = nullptr;
  llvm::SmallVector<int64_t, 4> extents;
  /// Rank 2: elements from one row to the next; 0: dense.
  int64_t rowStride = 0;
};

/// Arrays that describe the tensors of a list, as the C interface has them.
struct TensorArrays {
  TensorArrays(size_t members, void *const *pointers, const int *ranks,
               const int64_t *extents, const int64_t *strides)
      : members(members), pointers(pointers), ranks(ranks), extents(extents),
        strides(strides) {}

  size_t members;
  void *const *pointers;
  const int *ranks;
  const int64_t *extents; ///< of all members, one after the other
  const int64_t *strides; ///< null: all members are dense
};

/// The tensors of a list. Owns the arrays, not the tensors.
class TensorList {
public:
  TensorList() = default;
  explicit TensorList(const TensorArrays &arrays);
  explicit TensorList(llvm::ArrayRef<ListMember> members);

  size_t size() const { return pointers.size(); }
  bool empty() const { return pointers.empty(); }
  void *data(size_t member) const { return pointers[member]; }
  llvm::ArrayRef<int64_t> extents(size_t member) const {
    return llvm::ArrayRef(allExtents)
        .slice(offsets[member], static_cast<size_t>(ranks[member]));
  }
  int64_t rowStride(size_t member) const { return strides[member]; }
  TensorArrays arrays() const;

  /// Whether `arrays` has the same members, extents and row strides.
  bool hasShapesOf(const TensorArrays &arrays) const;
  /// Takes the addresses of `arrays`, which has the same shapes. Returns
  /// whether one of them differs.
  bool takeAddresses(const TensorArrays &arrays);

private:
  std::vector<void *> pointers;
  std::vector<int> ranks;
  std::vector<int64_t> allExtents, strides;
  std::vector<size_t> offsets; ///< of a member's extents in `allExtents`
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_BINDING_TENSORLIST_H
