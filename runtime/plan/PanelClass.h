//===- PanelClass.h - Shapes of blocks that keep panels of rows -*- C++ -*-===//
//
// A loop in panels is compiled for a class of widths: threads of a block, crews
// that they form, columns of a thread, rows of a crew that are on their way,
// blocks to a panel, and whether a cluster has a member to itself. A class
// follows from extents and from what an architecture offers, never from how
// many multiprocessors a device has: results depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PLAN_PANELCLASS_H
#define HEDDLE_RUNTIME_PLAN_PANELCLASS_H

#include "runtime/plan/Plan.h"

namespace heddle::runtime {

struct PanelClass {
  int threads = 512, crews = 1, items = 1, stages = 2, cluster = 1, team = 0;
  /// Rows that a crew takes at a time.
  int rows = 1;
  /// Whether the members differ in width by more than the last item.
  bool ragged = false;
  /// Dynamic shared memory of a block.
  int sharedBytes = 0;

  /// Panels of a member, as device/panel_class.cuh counts them.
  int panels() const {
    return team           ? team
           : cluster == 1 ? kMostPanels
           : cluster == 2 ? 66
           : cluster == 4 ? 30
                          : 14;
  }
  static constexpr int kMostPanels = 132;
  /// Members that are under way at a time, each with a team, and rows and
  /// columns that one has at most (device/panel_class.cuh).
  static constexpr int kMostTeams = 8, kTeamRows = 1024, kTeamColumns = 768;

  /// What selects the class in the text: options of its compilation.
  std::vector<std::string> defines() const;
  /// "512 threads with 12 columns each, 8 rows on their way".
  std::string describe() const;
  bool operator==(const PanelClass &) const = default;
};

/// Shared memory of a block of `arch` ("sm_90"), or 0 where it has no bulk
/// copies.
int64_t panelBytesOf(llvm::StringRef arch);

/// The class for members that have `narrowest` to `widest` columns and at most
/// `longest` rows, on an architecture whose blocks have `sharedBytes` of shared
/// memory; nothing where none is wide enough.
std::optional<PanelClass> panelClassFor(const PlanPanel &panel,
                                        int64_t narrowest, int64_t widest,
                                        int64_t longest, int64_t sharedBytes);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PLAN_PANELCLASS_H
