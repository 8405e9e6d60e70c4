//===- SinkhornUpdate.cpp - the update of one side ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// u = log a - LSE_j(L + v), or the same for v. A row without an allowed entry,
// or without weight, has the potential -inf, which never leads to NaN.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Sinkhorn.h"

#include <cmath>

using namespace mlir;
using heddle::foreach::ReduceKind;

namespace heddle::library::sinkhorn {

/// L at one entry of the matrix.
Scalar Builder::element(Body &body) {
  if (!options.givesCost())
    return body.read(matrix, kIJ, "l", compute);
  Scalar cost = body.read(matrix, kIJ, "c", compute);
  return (cost * body.read(scale, "scale", compute)).as("l");
}

/// log sum exp(L + the other side's potentials).
Value Builder::sumsOf(const Side &side, const Side &other, Shift shift) {
  Body body(program);
  Scalar l = element(body);
  Scalar potential =
      body.read(other.potentials, other.index, other.name, compute);
  body.write((l + potential).as("x"), vector(), side.sum);
  if (shift == Shift::fromOwn)
    body.shift(shiftOf(body, side));
  return body.reduce(ReduceKind::logsumexp, side.along);
}

/// The sum for which an update does not change the side's potentials. Near the
/// solution it is a good estimate of the sum.
Scalar Builder::shiftOf(Body &body, const Side &side) {
  Scalar log = body.read(side.logWeights, side.index,
                         "log_" + side.weight.str(), compute);
  Scalar own = body.read(side.potentials, side.index, side.name, compute);
  if (!side.relaxed)
    return log - own;
  Scalar tau = body.read(side.tau, "tau", compute);
  return options.regularizer.value == "kl" ? (log - own).as("gap") / tau
                                           : log - (own / tau).as("pull");
}

/// Whether a row or column is inactive: its weight is 0 (`log` is -inf) and its
/// sum is neither +inf nor NaN, so that its potential does not depend on the
/// sum. The condition is a separate value, so that passes can recognize it.
Scalar isInactive(Scalar log, Scalar sum) {
  Scalar weightless = equal(log, log.constant(-INFINITY, "none"));
  Scalar bounded = less(sum, sum.constant(INFINITY, "most"));
  return (weightless.as("weightless") & bounded.as("bounded")).as("inactive");
}

/// The updated potentials of the side: the sums of the plan become its weights.
Value Builder::update(const Side &side, Value sums) {
  std::string name = side.name.str() + "1";
  Body body(program);
  Scalar log = body.read(side.logWeights, "log_" + side.weight.str(), compute);
  Scalar sum = body.read(sums, side.sum, compute);
  Scalar none = sum.constant(-INFINITY, "none");
  Scalar next;
  if (!side.relaxed) {
    next = log - sum;
  } else {
    Scalar tau = body.read(side.tau, "tau", compute);
    next = options.regularizer.value == "kl" ? log - (tau * sum).as("pull")
                                             : tau * (log - sum).as("gap");
  }
  next = select(equal(sum, none).as("empty"), none, next.as("fitted"));
  if (omega) {
    next = next.as("full");
    // before + omega (next - before); next where `before` is -inf
    Scalar before = body.read(side.potentials, side.name, compute);
    Scalar step = body.read(omega, "omega", compute);
    Scalar fresh = equal(before, none).as("fresh");
    Scalar kept = (before - (step * before).as("part")).as("rest");
    kept = select(fresh, none.constant(0.0, "zero"), kept).as("kept");
    step = select(fresh, none.constant(1.0, "one"), step).as("step");
    next = kept + (step * next).as("moved");
  }
  next = select(isInactive(log, sum), none, next.as("reached")).as(name);
  body.write(next, vector(), name);
  return body.map().front();
}

} // namespace heddle::library::sinkhorn
