//===- PanelClass.h - Size classes of panel loops ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A panel loop is compiled for a size class: the threads of a block, thread
// groups, items per thread, row stages, blocks of a cluster, and whether one
// cluster processes a member alone. A class follows from extents and from
// the architecture, but not from the number of multiprocessors, because the
// bits of the results depend on the class. The members of a list may have
// different classes.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PLAN_PANELCLASS_H
#define HEDDLE_RUNTIME_PLAN_PANELCLASS_H

#include "codegen/device/panel_constants.h"
#include "runtime/plan/Plan.h"

#include "llvm/ADT/ArrayRef.h"

namespace heddle::runtime {

/// A size class.
struct PanelClass {
  int threads = 512, groups = 1, itemsPerThread = 1, stages = 2, cluster = 1;
  /// The number of blocks of a cluster per member, or 0. A cluster may have one
  /// block.
  int clusterPerMember = 0;
  /// With a cluster per member: the most rows of a block, and the most columns.
  int memberRows = 64, memberColumns = 64;
  /// The number of blocks that should fit on a multiprocessor.
  int blocks = 1;
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

/// The rows and columns of a member.
struct PanelExtents {
  int64_t rows = 0, columns = 0;
};

/// Members of one size class: their positions in the list.
struct PanelMembers {
  PanelClass shape;
  std::vector<int> members;
};

/// The classes of a list's members, for blocks with `sharedBytes` bytes of
/// shared memory; nothing if some members fit no class. Members that one
/// cluster can process alone have a class that depends on their own extents;
/// more precisely, the constants that affect bits do. All others share a class.
std::optional<std::vector<PanelMembers>>
panelClassesFor(const PlanPanel &panel, llvm::ArrayRef<PanelExtents> members,
                int64_t sharedBytes);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PLAN_PANELCLASS_H
