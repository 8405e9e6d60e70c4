//===- Lists.h - parameters, gradients and state on the device --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two sets of gradients have the same values. Each kind of list has one
// allocation with 16-byte aligned members. All candidates use the same memory.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_LISTS_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_LISTS_H

#include "../ShapesFile.h"
#include "Device.h"

namespace heddle::bench {

/// The float32 lists of one model.
class Lists {
public:
  enum Kind { param, grad, first, second, otherGrad };

  static llvm::Expected<std::unique_ptr<Lists>> create(Device &device,
                                                       const cli::Model &model);

  const cli::Model &getModel() const { return model; }
  size_t size() const { return counts.size(); }
  int64_t count(size_t member) const { return counts[member]; }
  char *at(Kind kind, size_t member) const {
    return memory[kind].address() + offsets[member];
  }
  /// The float32 step counter of a member; the counters form one array.
  char *step(size_t member) const { return steps.address() + 4 * member; }
  /// Bytes of one kind of list.
  size_t bytes() const { return total; }
  const char *base(Kind kind) const { return memory[kind].address(); }

  /// Restores the initial parameters and gradients and clears the state.
  llvm::Error reset(Device &device);

private:
  explicit Lists(const cli::Model &model) : model(model) {}

  cli::Model model;
  std::vector<int64_t> counts;
  std::vector<size_t> offsets;
  size_t total = 0;
  runtime::DeviceMemory memory[5], steps, pattern;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_LISTS_H
