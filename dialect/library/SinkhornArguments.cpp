//===- SinkhornArguments.cpp - arguments of the program sinkhorn ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two sides, the arguments of the program, and the initial potentials.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Sinkhorn.h"

using namespace mlir;
using heddle::foreach::Axis;

namespace heddle::library::sinkhorn {

Builder::Builder(ProgramBuilder &program, const SinkhornOptions &options)
    : program(program), options(options) {
  MLIRContext *context = program.getBuilder().getContext();
  storage = typeNamed(options.dtype.value, context);
  compute = options.compute.value == "matrix"
                ? foreach::computeType(storage)
                : typeNamed(options.compute.value, context);
  bool scaling = options.convention.value == "scaling";
  bool byRows = options.layout.value == "row";
  flag = program.getBuilder().getI1Type();
  rows = {.name = "u",
          .weight = "a",
          .sum = "row",
          .potential = scaling ? "u" : "f",
          .rhoName = "rho_a",
          .tauName = "tau_a",
          .along = byRows ? Axis::j : Axis::i,
          .index = byRows ? kI : kJ,
          .relaxed = options.rhoA != 0};
  columns = {.name = "v",
             .weight = "b",
             .sum = "col",
             .potential = scaling ? "v" : "g",
             .rhoName = "rho_b",
             .tauName = "tau_b",
             .along = byRows ? Axis::i : Axis::j,
             .index = byRows ? kJ : kI,
             .relaxed = options.rhoB != 0};
}

bool Builder::usesEps() const {
  return options.givesCost() || rows.relaxed || columns.relaxed ||
         options.convention.value != "scaling" || options.hasOutput("cost") ||
         options.hasOutput("dual") || options.hasOutput("transforms");
}

void Builder::declare() {
  matrix = program.list(options.givesCost() ? "C" : "L", 2, storage);
  bool plain = options.weights.value == "plain";
  for (Side *side : {&rows, &columns})
    side->weights = program.list((plain ? "" : "log_") + side->weight.str(), 1,
                                 compute, plain ? 1.0 : 0.0);
  if (options.init.value == "given")
    for (Side *side : {&rows, &columns})
      side->given = program.list(side->potential, 1, compute, 0.0);
  for (int64_t d = 1; d <= options.points; ++d)
    points.push_back(program.list("x" + std::to_string(d), 1, compute));

  if (options.anneal.value == "list")
    epsilons = program.list("epsilons", 1, program.f64());
  if (options.hasOutput("history"))
    history = program.list("errors", 1, compute, 0.0);

  Hyperparameters hyper(program, options.groups, "");
  if (usesEps())
    eps = hyper.declare("eps", options.eps);
  if (rows.relaxed)
    rows.rho = hyper.declare("rho_a", options.rhoA);
  if (columns.relaxed)
    columns.rho = hyper.declare("rho_b", options.rhoB);
  if (!options.iterate)
    return;
  if (options.omega != 1)
    omega = hyper.declare("omega", options.omega);
  if (options.anneal.value == "geometric") {
    eps0 = hyper.declare("eps0", options.eps0);
    decay = hyper.declare("decay", options.decay);
  }
  tol = hyper.declare("tol", options.tol);
  limit = program.count("limit", static_cast<int32_t>(options.limit));
}

/// The potentials before the first iteration.
Value Builder::startOf(const Side &side) {
  StringRef convention = options.convention.value;
  if (side.given && convention == "scaling")
    return side.given;
  if (!side.given && convention == "geomloss")
    return side.logWeights;
  Body body(program);
  Scalar log = body.read(side.logWeights, "log_" + side.weight.str(), compute);
  Scalar start = log.constant(0.0, "zero");
  if (side.given) {
    start = body.read(side.given, side.potential, compute);
    start = (start / body.read(eps, "eps", compute)).as(side.name);
    if (convention == "geomloss")
      start = (start + log).as("weighted");
  }
  body.write(start, vector(), side.name.str() + "0");
  return body.map().front();
}

} // namespace heddle::library::sinkhorn
