//===- SinkhornLists.h - the benchmark of lists of problems -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares one solve of a list of problems with a hand-written solver and the
// floor.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNLISTS_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNLISTS_H

#include "../Console.h"
#include "ProblemList.h"

namespace heddle::bench {

/// Equal problems of four sizes, uneven problems, and a large problem among
/// them.
std::vector<cli::Model> defaultProblemLists();

/// Times are in seconds; 0 means not measured.
struct SinkhornListRow {
  std::string list, program;
  runtime::DType dtype = runtime::DType::F32;
  int64_t problems = 0, elements = 0, launches = 0;
  /// kIterations times one read of all matrices.
  double bytes = 0, floor = 0;
  double generated = 0;
  double handwritten = 0;
  std::string handwrittenClass;
  /// Largest difference between the potentials and those of the hand-written
  /// kernel, relative to the largest potential.
  std::optional<double> difference;
  std::optional<bool> sameBits; ///< of the potentials in two replays
  std::vector<std::string> failures;
};

struct SinkhornListReport {
  double copyBandwidth = 0;
  std::vector<SinkhornListRow> rows;
  std::vector<std::string> skipped; ///< lists, with the reason
};

/// Calls `measured` with the report after every row.
llvm::Expected<SinkhornListReport> measureSinkhornLists(
    Device &device, llvm::ArrayRef<cli::Model> lists,
    llvm::ArrayRef<runtime::DType> types, cli::Progress &progress,
    llvm::function_ref<llvm::Error(const SinkhornListReport &)> measured);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORNLISTS_H
