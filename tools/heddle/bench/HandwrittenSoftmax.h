//===- HandwrittenSoftmax.h - a hand-written softmax of rows ----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// row_softmax.cu of test/bench/handwritten in the size class of a matrix.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENSOFTMAX_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENSOFTMAX_H

#include "Device.h"
#include "ElementTypes.h"

namespace heddle::bench {

/// The macros that the kernels are compiled with, and the kernel.
struct SoftmaxClass {
  enum Kind { narrow, whole, chunked } kind = whole;
  int lanes = 32, items = 1;

  int threads() const { return lanes > 256 ? lanes : 256; }
  /// For example "32 lanes of 2, staged".
  std::string describe() const;
};
SoftmaxClass softmaxClass(int64_t columns, runtime::DType dtype);

class HandwrittenSoftmax {
public:
  /// For a dense matrix at `x`, which is 16-byte aligned.
  static llvm::Expected<HandwrittenSoftmax> create(Device &device,
                                                   const char *x, int64_t rows,
                                                   int64_t columns,
                                                   runtime::DType dtype);

  llvm::Error replay();
  const char *result() const { return y; }
  std::string describe() const { return chosen.describe(); }

private:
  explicit HandwrittenSoftmax(Device &device) : device(&device) {}
  llvm::Error load(runtime::DType dtype);
  llvm::Error launch(llvm::StringRef entry, CUstream stream, int64_t width,
                     int64_t height, llvm::ArrayRef<void *> arguments);
  llvm::Error issue(CUstream stream);

  Device *device;
  SoftmaxClass chosen;
  const char *x = nullptr;
  char *y = nullptr, *partial = nullptr;
  long long rows = 0;
  int columns = 0, rowsOfBlock = 0;
  std::shared_ptr<runtime::Module> module;
  std::vector<runtime::DeviceMemory> memory;
  runtime::GraphExecHandle graph;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_HANDWRITTENSOFTMAX_H
