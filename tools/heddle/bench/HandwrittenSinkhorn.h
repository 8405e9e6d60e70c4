//===- HandwrittenSinkhorn.h - one read per iteration, by hand --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/bench/handwritten/sinkhorn.cu and sinkhorn_resident.cu, each in the size
// classes that suit a problem.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENSINKHORN_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENSINKHORN_H

#include "Problem.h"

namespace heddle::bench {

/// The macros that a kernel is compiled with.
struct HandwrittenClass {
  int element = 0, threads = 512, items = 1, rows = 1;
  /// Of sinkhorn.cu and sinkhorn_crews.cu.
  int stages = 4, columnsShared = 0, cluster = 1;
  /// Of sinkhorn_crews.cu; 0 for the others.
  int crews = 0;
  /// Of sinkhorn_resident.cu; 0 for the other.
  int blocks = 0;

  /// "512x12, 2 rows, clusters of 2"
  std::string describe() const;
};

/// Those that were fastest for problems like this one, the better first; none
/// where rows are wider than any.
std::vector<HandwrittenClass> handwrittenClasses(const ProblemShape &shape);

/// Compiles all classes of `shapes` side by side into heddle's cache; what does
/// not compile is said when it is needed.
void compileHandwrittenAhead(Device &device,
                             llvm::ArrayRef<ProblemShape> shapes);

/// A kernel bound to a problem. A replay starts from potentials that are 0.
class HandwrittenSolve {
public:
  static llvm::Expected<HandwrittenSolve>
  create(Device &device, const Problem &problem,
         const HandwrittenClass &chosen);

  llvm::Error set(double tolerance, int limit);
  llvm::Error replay();
  /// After the last replay: u, then v.
  llvm::Expected<std::vector<double>> potentials();
  llvm::Expected<int> iterations();
  std::string describe() const { return chosen.describe(); }

private:
  /// What the kernels take by value; the resident one knows those up to error.
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
  int second = 0, dynamicBytes = 0, grid = 0;
  std::vector<runtime::DeviceMemory> memory;
  runtime::GraphExecHandle graph;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENSINKHORN_H
