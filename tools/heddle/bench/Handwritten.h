//===- Handwritten.h - hand-written optimizer steps -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of test/bench/handwritten as instantiated graphs. NVRTC compiles
// them with the options of generated source.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTEN_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTEN_H

#include "Lists.h"

#include <map>

namespace heddle::bench {

/// One hand-written step over the lists of a model.
struct HandwrittenStep {
  std::string name;
  int launches = 0;
  /// Whether the step has the layout of today's libraries instead of the
  /// fastest known one.
  bool multiTensorApply = false;
  std::vector<runtime::DeviceMemory> memory; ///< tables and scratch
  runtime::GraphExecHandle graph;

  llvm::Error replay(Device &device) const;
};

/// The compiled files.
class Handwritten {
public:
  static llvm::Expected<std::unique_ptr<Handwritten>> create(Device &device);

  /// Every hand-written form of `optimizer` for the element types of `lists`:
  /// of "adamw", "sgd" and "clip_adamw"; there is none of others.
  llvm::Expected<std::vector<HandwrittenStep>> steps(llvm::StringRef optimizer,
                                                     const Lists &lists);

private:
  explicit Handwritten(Device &device) : device(device) {}

  llvm::Error compile(llvm::StringRef file, ElementTypes types);
  llvm::Expected<CUfunction> function(ElementTypes types,
                                      llvm::StringRef entry);
  llvm::Expected<HandwrittenStep> adamw(const Lists &lists,
                                        llvm::StringRef entry);
  llvm::Expected<HandwrittenStep> sgd(const Lists &lists);
  llvm::Expected<HandwrittenStep> clip(const Lists &lists,
                                       llvm::StringRef entry);
  llvm::Expected<HandwrittenStep> multiTensorApply(const Lists &lists);
  llvm::Expected<char *> table(HandwrittenStep &step, const void *descriptors,
                               size_t bytes);
  llvm::Expected<char *> scratch(HandwrittenStep &step, size_t bytes);

  Device &device;
  /// The modules by the name of their element types.
  std::map<std::string, std::vector<std::shared_ptr<runtime::Module>>> modules;
  runtime::DeviceMemory hyperparameters;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTEN_H
