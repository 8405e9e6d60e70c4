//===- Gradients.h - steps with new gradients -------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients have other addresses in most steps of a training. Measures steps
// that bind them before each replay.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_GRADIENTS_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_GRADIENTS_H

#include "Generated.h"

namespace heddle::bench {

/// Times of a step, in seconds.
struct GradientTimes {
  double hostSame = 0; ///< host: the same gradients bound before each replay
  double hostNew = 0;  ///< host: other gradients bound before each replay
  double hostSet = 0;  ///< host: the learning rate set before each replay
  /// Device: one graph that stays bound to one set. If the L2 cache may hold a
  /// set of gradients, two graphs, each with its own set, replayed in turn.
  double deviceSame = 0;
  double deviceNew = 0; ///< device: one graph, bound to the sets in turn
};

/// Measures `graphs`, two of one program, which are bound to `lists`. `hyper`
/// is the hyperparameter that is set before replays.
llvm::Expected<GradientTimes> timeGradients(Device &device,
                                            std::array<Generated *, 2> graphs,
                                            const Lists &lists,
                                            llvm::StringRef hyper);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_GRADIENTS_H
