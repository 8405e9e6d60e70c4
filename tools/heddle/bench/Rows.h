//===- Rows.h - the benchmarks of programs ----------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares programs with the floor: those of test/bench/programs over the rows
// and columns of matrices, for rows of any width, and those of any folder.
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
  std::string name;
  /// Whether it is measured over the parameters of models if the command line
  /// names no lists; otherwise over matrices of many widths.
  bool overModels = true;
  std::string module;

  /// The module, for lists of an element type: the type takes the place of f32
  /// in its line `!element = f32` and, if it is f64, in `!real = f32`. An error
  /// if the module has no such lines and the type is not f32.
  llvm::Expected<std::string> text(runtime::DType dtype) const;
};
llvm::ArrayRef<RowProgram> rowPrograms();

/// The programs of a folder, the files that end in .mlir, by name; or the
/// program of one file.
llvm::Expected<std::vector<RowProgram>> readPrograms(llvm::StringRef path);

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
  std::string benchmark; ///< its name on the command line
  double copyBandwidth = 0;
  std::vector<RowTimes> rows;
  std::vector<std::string> skipped; ///< inputs, with the reason
};

/// A program and its inputs.
struct RowChoice {
  RowProgram program;
  std::vector<cli::Model> inputs;
};

llvm::Expected<RowReport> measureRows(Device &device, llvm::StringRef benchmark,
                                      llvm::ArrayRef<RowChoice> choices,
                                      llvm::ArrayRef<runtime::DType> types,
                                      cli::Progress &progress);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_ROWS_H
