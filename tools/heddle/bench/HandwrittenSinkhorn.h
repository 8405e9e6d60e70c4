//===- HandwrittenSinkhorn.h - hand-written Sinkhorn solvers ----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Sinkhorn kernels of test/bench/handwritten, in the size classes that suit
// a problem. Each kernel reads the matrix at most once per iteration.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENSINKHORN_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENSINKHORN_H

#include "Problem.h"

namespace heddle::bench {

/// The macros that a kernel is compiled with: its size class.
struct HandwrittenClass {
  int element = 0, threads = 512, items = 1, rows = 1;
  /// For sinkhorn.cu and sinkhorn_thread_groups.cu.
  int stages = 4, columnsShared = 0, cluster = 1;
  /// For sinkhorn_thread_groups.cu; 0 selects another kernel.
  int threadGroups = 0;
  /// For sinkhorn_resident.cu; 0 selects another kernel.
  int blocks = 0;

  /// For example "512x12, 2 rows, clusters of 2".
  std::string describe() const;
};

/// Returns the classes that were fastest for similar problems, the fastest
/// first; empty if no class is wide enough.
std::vector<HandwrittenClass> handwrittenClasses(const ProblemShape &shape);

/// Compiles all classes of `shapes` in parallel into the disk cache. Ignores
/// errors; the solve that needs the class reports them.
void precompileHandwritten(Device &device, llvm::ArrayRef<ProblemShape> shapes);

/// A kernel bound to a problem. Each replay starts from potentials of 0.
class HandwrittenSolve {
public:
  static llvm::Expected<HandwrittenSolve>
  create(Device &device, const Problem &problem,
         const HandwrittenClass &chosen);

  llvm::Error set(double tolerance, int limit);
  llvm::Error replay();
  /// The potentials of the last replay: u, then v.
  llvm::Expected<std::vector<double>> potentials();
  llvm::Expected<int> iterations();
  std::string describe() const { return chosen.describe(); }

private:
  /// The by-value argument of the kernels; the resident kernel takes the fields
  /// up to `error`.
  struct Arguments {
    char *c;
    long long stride;
    int rows, columns;
    char *logA, *logB, *u, *v, *eps, *tolerance, *limit, *iterations, *error;
    char *partial, *panelError, *barrier;
  };

  HandwrittenSolve(Device &device, const ProblemShape &shape,
                   const HandwrittenClass &chosen)
      : device(&device), shape(shape), chosen(chosen) {}
  llvm::Error allocate(const Problem &problem);
  llvm::Error load();
  llvm::Error issue(CUstream stream);

  Device *device;
  ProblemShape shape;
  HandwrittenClass chosen;
  std::shared_ptr<runtime::Module> module;
  CUfunction function = nullptr;
  Arguments arguments = {};
  /// The second argument of the kernels: row_bytes or rows_of_block.
  int second = 0;
  int dynamicBytes = 0, grid = 0;
  std::vector<runtime::DeviceMemory> memory;
  runtime::GraphExecHandle graph;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENSINKHORN_H
