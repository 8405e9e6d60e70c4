//===- Sequences.h - Calls of the C interface that belong together --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence makes its handles, uses them and frees them. It ends at the first
// call that fails. It allocates nothing itself, so a test can refuse memory
// while it runs.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_BOUNDARY_SEQUENCES_H
#define HEDDLE_TEST_UNIT_BOUNDARY_SEQUENCES_H

#include "heddle.h"

#include <string>

namespace heddle::test {

/// How a sequence ended.
struct Outcome {
  heddle_status status = HEDDLE_OK;
  const char *call = ""; ///< the call that failed
  char error[256] = "";
  bool wrongResult = false;

  bool succeeded() const { return status == HEDDLE_OK && !wrongResult; }
};

/// Compiles a program for the cpu target, and frees it.
Outcome compileForCpu();
/// The source, the plan and the explanation of a program.
Outcome inspectProgram();
/// An executable of the cpu target, for runOnCpu(). Null if it does not
/// compile.
heddle_executable *cpuExecutable();
/// Binds, prepares and replays an elementwise program and a loop, binds other
/// buffers, and replays again.
Outcome runOnCpu(heddle_executable *elementwise, heddle_executable *loop);
heddle_executable *cpuLoopExecutable();

/// The plan of a loop whose kernels the stand-in driver has, with source.
const std::string &cudaPlan();
/// Makes an executable of cudaPlan(), and frees it.
Outcome loadPlan();
heddle_executable *cudaExecutable();
/// An executable whose lists can be bound to other addresses in each step.
heddle_executable *cudaSumExecutable();
heddle_executable *cudaDistancesExecutable();
/// As runOnCpu(), with memory of the device.
Outcome runOnCuda(heddle_executable *loop, heddle_executable *sum);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_BOUNDARY_SEQUENCES_H
