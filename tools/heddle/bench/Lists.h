//===- Lists.h - parameters, gradients and state on the device --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two sets of gradients have the same values. Each kind of list has one
// allocation with 16-byte aligned members. All candidates use the same memory.
// State is 0, also where an optimizer starts with another value: times do not
// depend on it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_LISTS_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_LISTS_H

#include "../ShapesFile.h"
#include "Device.h"
#include "ElementTypes.h"

namespace heddle::bench {

/// The initial values of gradients.
enum class InitialGradients { random, zero };

/// The lists of one model.
class Lists {
public:
  /// `first` is the first list of state; the others follow.
  enum Kind { param, grad, otherGrad, first, second, kinds = first + 4 };

  static llvm::Expected<std::unique_ptr<Lists>>
  create(Device &device, const cli::Model &model, ElementTypes types = {},
         InitialGradients gradients = InitialGradients::random, int states = 2);
  /// Bytes of all lists of a model.
  static double bytes(const cli::Model &model, ElementTypes types, int states);

  const cli::Model &getModel() const { return model; }
  ElementTypes getTypes() const { return types; }
  size_t size() const { return counts.size(); }
  int64_t count(size_t member) const { return counts[member]; }
  runtime::DType dtype(Kind kind) const {
    return isState(kind) ? types.state : types.param;
  }
  char *at(Kind kind, size_t member, int64_t element = 0) const {
    return memory[kind].address() + offsets[isState(kind)][member] +
           element * dtypeSize(dtype(kind));
  }
  /// The most values of state that each tensor has, such as its step counter.
  static constexpr size_t kTensorStates = 4;
  /// A float32 value of a member; those of all members form one array.
  char *tensorState(size_t which, size_t member) const {
    return tensorStates.address() + 4 * (which * size() + member);
  }
  char *step(size_t member) const { return tensorState(0, member); }
  /// Bytes of one kind of list.
  size_t bytes(Kind kind) const { return total[isState(kind)]; }
  const char *base(Kind kind) const { return memory[kind].address(); }

  /// Restores the initial parameters and gradients and clears the state.
  llvm::Error reset(Device &device);

private:
  Lists(const cli::Model &model, ElementTypes types, InitialGradients gradients,
        int states)
      : model(model), types(types), gradients(gradients), states(states) {}
  static bool isState(Kind kind) { return kind >= first; }

  cli::Model model;
  ElementTypes types;
  InitialGradients gradients;
  int states;
  std::vector<int64_t> counts;
  /// In bytes: of parameters and gradients, and of state.
  std::vector<size_t> offsets[2];
  size_t total[2] = {0, 0};
  runtime::DeviceMemory memory[kinds], tensorStates, pattern;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_LISTS_H
