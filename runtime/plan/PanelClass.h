//===- PanelClass.h - Classes of the panel schedule -------------*- C++ -*-===//
//
// A loop by the panel schedule is compiled for a class of widths: threads of a
// block, thread groups, columns of a thread, rows of a group in flight, blocks
// of a panel, and whether a cluster has a member to itself. A class follows
// from extents and from the architecture, never from the number of
// multiprocessors of a device, because results depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PLAN_PANELCLASS_H
#define HEDDLE_RUNTIME_PLAN_PANELCLASS_H

#include "codegen/device/panel_constants.h"
#include "runtime/plan/Plan.h"

namespace heddle::runtime {

struct PanelClass {
  int threads = 512, groups = 1, itemsPerThread = 1, stages = 2, cluster = 1;
  /// Blocks of the cluster that has a member to itself, or 0.
  int clusterPerMember = 0;
  /// Rows that a thread group processes together.
  int rows = 1;
  /// Whether the members differ in width by more than a thread's last column.
  bool ragged = false;
  /// Dynamic shared memory of a block.
  int sharedBytes = 0;

  /// Panels of a member.
  int panels() const {
    return clusterPerMember ? clusterPerMember : panels_of_clusters[cluster];
  }

  /// The macros that select the class, as options of the compilation.
  std::vector<std::string> defines() const;
  /// "512 threads with 12 columns each, 8 rows in flight".
  std::string describe() const;
  bool operator==(const PanelClass &) const = default;
};

/// Shared memory of a block of `arch` ("sm_90"), or 0 where it has no bulk
/// copies.
int64_t panelBytesOf(llvm::StringRef arch);

/// The class for members that have `narrowest` to `widest` columns and at most
/// `longest` rows, on an architecture whose blocks have `sharedBytes` of shared
/// memory; nothing if no class is wide enough.
std::optional<PanelClass> panelClassFor(const PlanPanel &panel,
                                        int64_t narrowest, int64_t widest,
                                        int64_t longest, int64_t sharedBytes);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PLAN_PANELCLASS_H
