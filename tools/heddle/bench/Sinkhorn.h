//===- Sinkhorn.h - the benchmark of dense Sinkhorn -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle's solve, the one written by hand and the floor, over dense matrices.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORN_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORN_H

#include "../Console.h"
#include "../ShapesFile.h"
#include "Problem.h"

namespace heddle::bench {

/// Iterations of a solve that is not stopped, and the tolerance of one that is.
inline constexpr int kIterations = 100, kMostIterations = 1000;
inline constexpr double kTolerance = 1e-4;

/// Times are in seconds; 0 where nothing was measured.
struct SinkhornRow {
  ProblemShape shape;
  std::string program;
  /// Where the matrix fits: "shared memory", "L2" or "memory".
  std::string fits;
  /// The class of widths that the loop is compiled for; empty where the loop
  /// is walked sweep by sweep.
  std::string panels;
  int64_t launches = 0;
  /// kIterations times one read of the matrix.
  double floor = 0;
  double generated = 0; ///< the whole solve of kIterations
  double fixed = 0;     ///< a solve of no iteration
  double handwritten = 0;
  std::string handwrittenClass;
  /// The plan besides, and the floor of that: a read and a write.
  double plan = 0, planFloor = 0;
  /// A solve that stops by itself.
  double stopping = 0;
  int trips = 0, handwrittenTrips = 0;
  bool converged = false;
  /// Of potentials after kIterations, over the largest.
  std::optional<double> difference;
  std::optional<bool> sameBits;
  /// Cold: from program text to a loaded program, and from there to the class
  /// of this problem's widths.
  double compileProgram = 0, compileClass = 0;
  /// What did not work; the other fields hold what did.
  std::vector<std::string> failures;
};

struct SinkhornReport {
  double copyBandwidth = 0;
  std::vector<SinkhornRow> rows;
  std::vector<std::string> skipped; ///< problems, with the reason
};

/// A file's problems, by element type: {"DTYPE": [[rows, columns], ...]}.
llvm::Expected<std::vector<ProblemShape>>
problemShapes(llvm::ArrayRef<cli::Model> models);

/// `measured` sees the report after every row.
llvm::Expected<SinkhornReport> measureSinkhorn(
    Device &device, llvm::ArrayRef<ProblemShape> shapes,
    cli::Progress &progress,
    llvm::function_ref<llvm::Error(const SinkhornReport &)> measured);

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_SINKHORN_H
