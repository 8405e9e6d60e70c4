//===- Machine.h - threads and blocks of a grid on a host -------*- C++ -*-===//
//
// An emulated GPU: runs launches of compiled source. The threads of a block are
// fibers, which switch at barriers, at shuffles and at accesses to data that
// other threads can change. A few blocks run at a time. Random numbers from a
// seed decide which thread continues, so that a missing barrier gives wrong
// results and every run can be repeated.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_MACHINE_H
#define HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_MACHINE_H

#include "test/support/cuda_on_cpu/device_machine.h"

#include <cstdint>
#include <string>
#include <vector>

namespace heddle::test {

struct GridLaunch {
  /// Another launch, which must have ended, or allowed this one to begin.
  struct Dependency {
    unsigned launch;
    bool programmatic;
  };

  heddle_entry entry;
  std::vector<void *> slots;
  unsigned grid = 1, block = 256, cluster = 1;
  /// All blocks run at the same time.
  bool cooperative = false;
  std::vector<Dependency> dependencies;
};

/// What happened during a run.
struct GridRecord {
  /// Empty, or why the launches could not be completed.
  std::string error;
  /// Switches from one thread to another, and from one block to another.
  uint64_t switches = 0, handOvers = 0;
};

/// Runs `launches`, each as soon as its dependencies allow. `hook` is the
/// variable in the compiled source that points to the machine.
GridRecord runOnCpu(const std::vector<GridLaunch> &launches,
                    heddle_machine **hook, uint64_t seed);

} // namespace heddle::test

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_MACHINE_H
