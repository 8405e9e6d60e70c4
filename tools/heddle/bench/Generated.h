//===- Generated.h - heddle's own step --------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program compiled by heddle and bound to the lists of a model.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_GENERATED_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_GENERATED_H

#include "Lists.h"
#include "runtime/heddle.hpp"

namespace heddle::bench {

class Generated {
public:
  static llvm::Expected<Generated> create(Device &device, std::string program);

  /// Binds the program's arguments by their places: the first list that is
  /// updated is the parameters, other lists that are updated are state, lists
  /// that are not are gradients, lists of scalars step counters. With
  /// `swapState` the two lists of state change places: other pointers.
  llvm::Error bind(const Lists &lists, bool swapState = false);
  llvm::Error prepare();
  llvm::Error replay();
  llvm::Error setScalar(llvm::StringRef name, double value);

  heddle::Graph &getGraph() { return graph; }
  const runtime::Plan &getPlan() const { return plan; }
  int64_t launches(const cli::Model &model) const;
  /// Wall clock of one replay on the host, median of 320.
  llvm::Expected<double> hostTime();

private:
  Generated(Device &device, heddle::Executable executable, heddle::Graph graph,
            runtime::Plan plan)
      : device(&device), executable(std::move(executable)),
        graph(std::move(graph)), plan(std::move(plan)) {}

  Device *device;
  heddle::Executable executable;
  heddle::Graph graph;
  runtime::Plan plan;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_GENERATED_H
