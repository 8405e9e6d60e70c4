//===- Problem.h - a transport problem on the device ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uniform costs in [0, 1) and equal weights, shared by all candidates.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_PROBLEM_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_PROBLEM_H

#include "Device.h"
#include "ElementTypes.h"
#include "runtime/heddle.hpp"

namespace heddle::bench {

/// The type of weights and potentials for costs of an element type.
inline runtime::DType computeType(runtime::DType dtype) {
  return dtype == runtime::DType::F64 ? dtype : runtime::DType::F32;
}

/// Extents and element type of a problem.
struct ProblemShape {
  int64_t rows = 0, columns = 0;
  runtime::DType dtype = runtime::DType::F32;

  /// The compute type, in which the vectors are stored as well.
  runtime::DType compute() const { return computeType(dtype); }
  size_t bytes() const {
    return static_cast<size_t>(rows * columns) * runtime::dtypeSize(dtype);
  }
  /// For example "5001x6001 f32".
  std::string name() const;
};

/// Conversions between doubles and the bytes of a compute type.
std::vector<char> storeReals(runtime::DType dtype,
                             llvm::ArrayRef<double> values);
std::vector<double> loadReals(runtime::DType dtype,
                              llvm::ArrayRef<char> stored);

/// Fills `count` elements at `to` with uniform numbers in [0, 1).
llvm::Error fillUniform(Device &device, char *to, int64_t count,
                        runtime::DType dtype);

/// The arguments of the program 'sinkhorn'.
struct TransportLists {
  runtime::DType dtype = runtime::DType::F32;
  std::vector<heddle::Tensor> costs, a, b;
};

class Problem {
public:
  static llvm::Expected<Problem> create(Device &device,
                                        const ProblemShape &shape);

  const ProblemShape &getShape() const { return shape; }
  TransportLists lists() const {
    return {shape.dtype,
            {{costs(), {shape.rows, shape.columns}}},
            {{a(), {shape.rows}}},
            {{b(), {shape.columns}}}};
  }
  char *costs() const { return matrix.address(); }
  /// Equal weights and their logarithms.
  char *a() const { return vectors[0].address(); }
  char *b() const { return vectors[1].address(); }
  char *logA() const { return vectors[2].address(); }
  char *logB() const { return vectors[3].address(); }

private:
  explicit Problem(const ProblemShape &shape) : shape(shape) {}

  ProblemShape shape;
  runtime::DeviceMemory matrix, vectors[4];
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_PROBLEM_H
