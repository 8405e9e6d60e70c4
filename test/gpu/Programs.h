//===- Programs.h - Programs shared by tests ------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sources of modules, and the extents of their lists.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_GPU_PROGRAMS_H
#define HEDDLE_TEST_GPU_PROGRAMS_H

#include "ProgramHarness.h"

namespace heddle::test {

/// The softmax of every row, and the sums of its columns.
inline constexpr const char *kSoftmax = R"mlir(
!mats = !foreach.list<tensor<?x?xf32>>
!list = !foreach.list<tensor<?xf32>>
func.func @softmax(%x: !mats) -> (!list, !mats, !list) {
  %log_sum = foreach.reduce logsumexp along j (%x = %x[i, j] : !mats) -> !list {
    foreach.yield %x : f32
  }
  %share = foreach.map (%x = %x[i, j] : !mats, %l = %log_sum[i] : !list) -> !mats {
    %gap = arith.subf %x, %l : f32
    %share = math.exp %gap : f32
    foreach.yield %share : f32
  }
  %column = foreach.reduce add along i (%share = %share[i, j] : !mats) -> !list {
    foreach.yield %share : f32
  }
  return %log_sum, %share, %column : !list, !mats, !list
})mlir";

inline Extents softmaxExtents(const std::string &list, const Member &member) {
  if (list == "log_sum")
    return {member.extents[0]};
  if (list == "column")
    return {member.extents[1]};
  return member.extents;
}

} // namespace heddle::test

#endif // HEDDLE_TEST_GPU_PROGRAMS_H
