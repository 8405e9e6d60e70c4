//===- Machine.h - threads and blocks of a grid on a host -------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An emulated GPU, which runs launches of compiled source. The threads of a
// block are fibers, which switch at barriers, at shuffles and at accesses to
// data that other threads can change. A few blocks run at a time. Random
// numbers from a seed select the thread that continues, so that a missing
// barrier gives wrong results and every run can be repeated.
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
  /// Another launch, which must have ended or, if programmatic, allowed this
  /// launch to begin.
  struct Dependency {
    unsigned launch;
    bool programmatic;
  };

  heddle_entry entry;
  std::vector<void *> slots;
  unsigned grid = 1, block = 256, cluster = 1;
  /// At least so many blocks run at the same time.
  unsigned together = 1;
  /// All blocks run at the same time.
  bool cooperative = false;
  std::vector<Dependency> dependencies;
};

/// The events of a run.
struct GridRecord {
  /// Empty, or the reason why the launches could not be completed.
  std::string error;
  /// Switches between threads of a block, and between blocks.
  uint64_t switches = 0, slotSwitches = 0;
};

/// Runs `launches`, each as soon as its dependencies allow. `hook` is the
/// variable in the compiled source that points to the machine.
GridRecord runOnCpu(const std::vector<GridLaunch> &launches,
                    heddle_machine **hook, uint64_t seed);

} // namespace heddle::test

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_MACHINE_H
