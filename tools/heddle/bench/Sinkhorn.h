//===- Sinkhorn.h - the benchmark of dense Sinkhorn -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares heddle's solve, hand-written solves and the floor over dense
// matrices.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORN_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORN_H

#include "../Console.h"
#include "../ShapesFile.h"
#include "Problem.h"

namespace heddle::bench {

/// A fixed solve runs kIterations iterations. A stopping solve runs to the
/// tolerance, or at most kMostIterations iterations.
inline constexpr int kIterations = 100, kMostIterations = 1000;
inline constexpr double kTolerance = 1e-4;

/// Times are in seconds; 0 means not measured.
struct SinkhornRow {
  ProblemShape shape;
  std::string program;
  /// The fastest memory that holds the matrix: "shared memory", "L2" or
  /// "memory".
  std::string fits;
  /// The size class of the panel loop; empty if the loop has no panel schedule.
  std::string panels;
  int64_t launches = 0;
  /// kIterations times one read of the matrix.
  double floor = 0;
  double generated = 0; ///< a fixed solve
  double overhead = 0;  ///< a solve with a limit of 0 iterations
  double handwritten = 0;
  std::string handwrittenClass;
  /// Additional time for the transport plan, and its floor: one read and one
  /// write of the matrix.
  double plan = 0, planFloor = 0;
  /// A stopping solve.
  double stopping = 0;
  int iterations = 0, handwrittenIterations = 0;
  bool converged = false;
  /// Largest difference between the potentials of a fixed solve and those of
  /// the hand-written kernel, relative to the largest potential.
  std::optional<double> difference;
  std::optional<bool> sameBits; ///< of the potentials in two replays
  /// Cold compile times: of the program, and of the size class of the problem.
  double compileProgram = 0, compileClass = 0;
  /// Failed measurements; their fields stay 0.
  std::vector<std::string> failures;
};

struct SinkhornReport {
  double copyBandwidth = 0;
  std::vector<SinkhornRow> rows;
  std::vector<std::string> skipped; ///< problems, with the reason
};

/// Returns the problems of a file of the form
/// {"DTYPE": [[rows, columns], ...]}.
llvm::Expected<std::vector<ProblemShape>>
problemShapes(llvm::ArrayRef<cli::Model> models);

/// Calls `measured` with the report after every row.
llvm::Expected<SinkhornReport> measureSinkhorn(
    Device &device, llvm::ArrayRef<ProblemShape> shapes,
    cli::Progress &progress,
    llvm::function_ref<llvm::Error(const SinkhornReport &)> measured);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORN_H
