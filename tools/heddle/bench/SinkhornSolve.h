//===- SinkhornSolve.h - heddle's solve of a transport problem --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program 'sinkhorn' bound to a problem, through the public interface.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNSOLVE_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNSOLVE_H

#include "Generated.h"
#include "Problem.h"

namespace heddle::bench {

/// Returns the largest difference over the largest magnitude; all values must
/// be finite.
double relativeDifference(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b);
llvm::Error checkFinite(llvm::StringRef whose,
                        llvm::ArrayRef<double> potentials);

class SinkhornSolve {
public:
  static llvm::Expected<SinkhornSolve>
  create(Device &device, std::string program, const TransportLists &lists);

  /// Binds the arguments of `graph`.
  static llvm::Error bind(heddle::Graph &graph, const TransportLists &lists);

  llvm::Error set(double tolerance, int limit);
  llvm::Error replay() { return generated.replay(); }

  /// The potentials of the last replay: u of all problems, then v.
  llvm::Expected<std::vector<double>> potentials();
  /// Copies the first bytes of a result's first member to the host.
  llvm::Error read(const std::string &result, void *to, size_t bytes);

  const Generated &getGenerated() const { return generated; }

private:
  SinkhornSolve(Device &device, Generated generated, TransportLists lists)
      : device(&device), generated(std::move(generated)),
        lists(std::move(lists)) {}

  Device *device;
  Generated generated;
  TransportLists lists;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNSOLVE_H
