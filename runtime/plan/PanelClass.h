//===- PanelClass.h - Size classes of panel loops ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A panel loop is compiled for a size class: the threads of a block, thread
// groups, items per thread, row stages, blocks of a cluster, and whether one
// cluster processes a member alone. A class follows from extents and from
// the architecture, but not from the number of multiprocessors, because the
// bits of the results depend on the class.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PLAN_PANELCLASS_H
#define HEDDLE_RUNTIME_PLAN_PANELCLASS_H

#include "codegen/device/panel_constants.h"
#include "runtime/plan/Plan.h"

namespace heddle::runtime {

/// A size class.
struct PanelClass {
  int threads = 512, groups = 1, itemsPerThread = 1, stages = 2, cluster = 1;
  /// The number of blocks of a cluster per member, or 0.
  int clusterPerMember = 0;
  /// The number of rows that a thread group processes at a time.
  int rows = 1;
  /// Whether the members differ in width by more than the last item of a
  /// thread.
  bool ragged = false;
  /// Dynamic shared memory of a block.
  int sharedBytes = 0;

  /// The number of panels of a member.
  int panels() const {
    return clusterPerMember ? clusterPerMember : panels_of_clusters[cluster];
  }

  /// The macros that select the class, as options of NVRTC.
  std::vector<std::string> defines() const;
  /// A description such as "512 threads, 12 items per thread, 8 row stages".
  std::string describe() const;
  bool operator==(const PanelClass &) const = default;
};

/// The shared memory of a block of `arch` ("sm_90") in bytes, or 0 if `arch`
/// has no bulk copies.
int64_t panelBytesOf(llvm::StringRef arch);

/// The class for members with `narrowest` to `widest` columns and at most
/// `longest` rows, for blocks with `sharedBytes` bytes of shared memory;
/// nothing if the members fit no class.
std::optional<PanelClass> panelClassFor(const PlanPanel &panel,
                                        int64_t narrowest, int64_t widest,
                                        int64_t longest, int64_t sharedBytes);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PLAN_PANELCLASS_H
