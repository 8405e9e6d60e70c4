//===- Rows.h - the benchmark of programs over rows -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares programs over the rows and columns of matrices with the floor, for
// rows of any width. test/bench/programs has the programs.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_ROWS_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_ROWS_H

#include "../Console.h"
#include "../ShapesFile.h"
#include "ElementTypes.h"

namespace heddle::bench {

class Device;

struct RowProgram {
  llvm::StringRef name;
  /// Whether it is measured over the parameters of models if the command line
  /// names no lists; otherwise over matrices of many widths.
  bool overModels;

  /// The module, for matrices of an element type.
  std::string text(runtime::DType dtype) const;
};
llvm::ArrayRef<RowProgram> rowPrograms();

/// Matrices with about 2^24 elements and rows of 1 to 10^6 elements, and those
/// of the goals of docs/benchmarks.md.
std::vector<cli::Model> defaultMatrices();

/// Times are in seconds.
struct RowTimes {
  std::string program, input;
  runtime::DType dtype = runtime::DType::F32;
  int64_t members = 0, elements = 0, launches = 0;
  /// The bytes of all arguments and results, each moved once.
  int64_t bytes = 0;
  double floor = 0;
  double generated = 0;   ///< 0: not measured
  double handwritten = 0; ///< 0: no such kernel
  std::string handwrittenName;
  /// Largest difference from the result of the hand-written kernel.
  std::optional<double> difference;
  std::vector<std::string> failures;
};

struct RowReport {
  double copyBandwidth = 0;
  std::vector<RowTimes> rows;
  std::vector<std::string> skipped; ///< inputs, with the reason
};

/// A program and its inputs.
struct RowChoice {
  RowProgram program;
  std::vector<cli::Model> inputs;
};

llvm::Expected<RowReport> measureRows(Device &device,
                                      llvm::ArrayRef<RowChoice> choices,
                                      llvm::ArrayRef<runtime::DType> types,
                                      cli::Progress &progress);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_ROWS_H
