//===- HandwrittenBatch.h - a hand-written solver of lists ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinkhorn_batched.cu of test/bench/handwritten for a list of equal problems.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENBATCH_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENBATCH_H

#include "ProblemList.h"

namespace heddle::bench {

/// The macros that the kernel is compiled with: its size class.
struct BatchClass {
  int columnThreads = 16, rowThreads = 16, columnItems = 1, rowItems = 1;
  int cluster = 1;

  /// For example "16x16 threads of 7x7".
  std::string describe() const;
};

/// Returns the classes that were fastest for similar problems; empty if no
/// class holds the problem.
std::vector<BatchClass> batchClasses(int64_t rows, int64_t columns,
                                     runtime::DType dtype);

class HandwrittenBatch {
public:
  static llvm::Expected<HandwrittenBatch> create(Device &device,
                                                 const ProblemList &problems,
                                                 const BatchClass &chosen,
                                                 int iterations);

  llvm::Error replay();
  /// The potentials of the last replay: u of all problems, then v.
  llvm::Expected<std::vector<double>> potentials();
  std::string describe() const { return chosen.describe(); }

private:
  /// The by-value argument of the kernel.
  struct Arguments {
    const char *c;
    long long stride;
    int rows, columns;
    char *u, *v, *eps, *limit;
  };

  HandwrittenBatch(Device &device, const ProblemList &problems,
                   const BatchClass &chosen)
      : device(&device), chosen(chosen), dtype(problems.lists().dtype),
        count(problems.size()) {}
  llvm::Error load();
  llvm::Error issue(CUstream stream);

  Device *device;
  BatchClass chosen;
  runtime::DType dtype;
  size_t count;
  std::shared_ptr<runtime::Module> module;
  CUfunction function = nullptr;
  Arguments arguments = {};
  std::vector<runtime::DeviceMemory> memory;
  runtime::GraphExecHandle graph;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENBATCH_H
