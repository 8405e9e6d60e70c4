//===- Optimizers.h - the benchmark of optimizer steps ----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares heddle's step, hand-written steps and the floor over real models.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_OPTIMIZERS_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_OPTIMIZERS_H

#include "../Console.h"
#include "../ShapesFile.h"
#include "CompileTimes.h"
#include "Device.h"
#include "Gradients.h"
#include "Lists.h"

#include <map>

namespace heddle::bench {

/// An optimizer of the benchmark.
struct Optimizer {
  llvm::StringRef name;
  llvm::StringRef text; ///< the program in float32
  /// How often a step must read or write a parameter or gradient, and an
  /// element of the state.
  int paramAccesses, stateAccesses;
  int states = 2; ///< lists of state
  /// Whether there is a kernel by hand; others are measured if they are named.
  bool isByHand = false;
  /// The hyperparameter that is set before every replay.
  llvm::StringRef hyper = "lr";

  std::string program(ElementTypes types) const;
  /// The bytes that a step must move.
  int bytesPerParameter(ElementTypes types) const {
    return paramAccesses * dtypeSize(types.param) +
           stateAccesses * dtypeSize(types.state);
  }
};
llvm::ArrayRef<Optimizer> optimizers();

/// Times are in seconds.
struct OptimizerRow {
  std::string optimizer, program, model;
  ElementTypes types;
  int64_t tensors = 0, parameters = 0, launches = 0;
  int bytesPerParameter = 0;
  double floor = 0;
  double generated = 0;    ///< heddle's replay
  double generatedSet = 0; ///< with the learning rate set before every replay
  double host = 0;         ///< host time of one replay
  GradientTimes gradients;
  double rebind = 0; ///< host and device time to change all pointers
  double handwritten = 0;
  std::string handwrittenName;
  int handwrittenLaunches = 0;
  double multiTensorApply = 0; ///< 0: no such kernel
  int multiTensorApplyLaunches = 0;
  /// Whether three steps give the same bits as the hand-written kernels; unset
  /// if the model is too large to compare.
  std::optional<bool> sameBits;
};

/// Increments of counters, by the kind of change.
using CounterChanges = std::map<std::string, std::map<std::string, uint64_t>>;

struct OptimizerReport {
  double copyBandwidth = 0;
  InitialGradients gradients = InitialGradients::random;
  std::vector<OptimizerRow> rows;
  std::vector<CompileTime> compileTimes;
  CounterChanges counters;
  std::vector<std::string> skipped; ///< models, with the reason
};

/// The measurements: every optimizer with all element types on every model.
struct OptimizerChoice {
  std::vector<cli::Model> models;
  std::vector<Optimizer> optimizers;
  std::vector<ElementTypes> types;
  InitialGradients gradients = InitialGradients::random;
};

llvm::Expected<OptimizerReport> measureOptimizers(Device &device,
                                                  const OptimizerChoice &choice,
                                                  cli::Progress &progress);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_OPTIMIZERS_H
