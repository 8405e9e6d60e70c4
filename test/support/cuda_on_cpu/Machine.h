//===- Machine.h - threads and blocks of a grid on a host -------*- C++ -*-===//
//
// Runs launches of compiled text. Threads of a block are fibers that give way
// to each other where they meet (barriers, shuffles) and at accesses that
// others can interfere with; some blocks are under way at a time. Who goes on
// is drawn from a seed, so that a missing barrier gives wrong results and every
// run can be repeated.
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
  /// Another launch, which must have ended, or let this one begin.
  struct Dependency {
    unsigned launch;
    bool programmatic;
  };

  heddle_entry entry;
  std::vector<void *> slots;
  unsigned grid = 1, block = 256, cluster = 1;
  /// Every block is under way at once.
  bool cooperative = false;
  std::vector<Dependency> dependencies;
};

/// What happened while launches ran.
struct GridRecord {
  /// Empty, or why the launches could not be completed.
  std::string error;
  /// Switches from one thread to another, and from one block to another.
  uint64_t switches = 0, handOvers = 0;
};

/// Runs `launches`, each as soon as those that it depends on allow. `hook` is
/// the variable through which the text finds the machine.
GridRecord runOnCpu(const std::vector<GridLaunch> &launches,
                    heddle_machine **hook, uint64_t seed);

} // namespace heddle::test

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_MACHINE_H
