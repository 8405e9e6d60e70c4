//===- BoundLists.h - the lists of any program ------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list arguments of a program over the members of a model, as 'heddle run'
// has them: the first donated list and the lists that are not donated are
// random, the other lists are 0. Each list has one allocation with 16-byte
// aligned members.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_BOUNDLISTS_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_BOUNDLISTS_H

#include "Generated.h"

#include <map>

namespace heddle::bench {

/// The initial values that a program declares, by argument.
using InitialValues = std::map<std::string, double>;

class BoundLists {
public:
  /// Allocates and fills the lists, and binds them to the graph of `generated`,
  /// which must not outlive them. Lists in `initial` have their initial value;
  /// if there are any, all other donated lists are parameters.
  static llvm::Expected<BoundLists> create(Device &device, Generated &generated,
                                           llvm::ArrayRef<Extents> shapes,
                                           const InitialValues &initial = {});

  /// The bytes that a step must move: every list argument is read once, and
  /// every result is written once.
  static int64_t bytesToMove(const runtime::Plan &plan,
                             const PlanShapes &shapes);
  /// Bytes of the lists of all arguments and results.
  static double bytesOfLists(const runtime::Plan &plan,
                             const PlanShapes &shapes);

  /// The first list argument.
  const char *first() const { return memory.front().address(); }

private:
  std::vector<runtime::DeviceMemory> memory;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_BOUNDLISTS_H
