//===- Generated.h - a program compiled by heddle ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds a program to the lists of a model and replays it.
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

  /// Binds the program's arguments by position. The first donated list holds
  /// the parameters, the other donated lists hold state, lists that are not
  /// donated hold gradients, and lists of rank 0 hold values of tensors, such
  /// as step counters. `swapState` reverses the lists of state, which changes
  /// their pointers.
  llvm::Error bind(const Lists &lists, bool swapState = false);
  llvm::Error prepare();
  llvm::Error replay();
  llvm::Error setScalar(llvm::StringRef name, double value);

  heddle::Graph &getGraph() { return graph; }
  const runtime::Plan &getPlan() const { return plan; }
  int64_t launches(const cli::Model &model) const;
  std::vector<heddle_buffer_info> arguments() const {
    return executable.arguments();
  }
  /// Host time of one `step`, which submits a replay; median of 320.
  llvm::Expected<double> hostTime(llvm::function_ref<llvm::Error()> step);

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
