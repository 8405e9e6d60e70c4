//===- Sinkhorn.cpp - entropic optimal transport --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For every problem of a list, the program computes the potentials u and v of
// the plan exp(u_i + L_ij + v_j) whose row and column sums are the weights a
// and b. The parts of the builder are:
//
//   SinkhornOptions.cpp     the options and their checks
//   SinkhornArguments.cpp   arguments and initial potentials
//   SinkhornChecks.cpp      problems without a solution
//   SinkhornAnnealing.cpp   eps of each iteration
//   SinkhornUpdate.cpp      the update of one side
//   SinkhornError.cpp       the error of an iteration
//   SinkhornLoop.cpp        the loop
//   SinkhornOutputs.cpp     the results
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Sinkhorn.h"
#include "dialect/library/Programs.h"

using namespace mlir;

namespace heddle::library {

static void buildSinkhorn(ProgramBuilder &program,
                          const SinkhornOptions &options) {
  sinkhorn::Builder(program, options).build();
}

std::vector<Entry> sinkhornPrograms() {
  return {program("sinkhorn", "entropic optimal transport, in the log domain",
                  buildSinkhorn)};
}

void sinkhorn::Builder::build() {
  declare();
  checkArguments();
  if (!options.anneals())
    followEps(eps);
  if (!options.iterate)
    takeGiven();
  else if (first().index == kI)
    iterate();
  else
    iterateFromHalfway();
  addOutputs();
}

} // namespace heddle::library
