//===- SinkhornUpdate.cpp - the update of one side ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// u = log a - LSE_j(L + v), or the same for v. A row without an allowed entry,
// or without weight, has the potential -inf, and no NaN follows from it.
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
    return body.read(matrix, kIJ, "l", number);
  Scalar cost = body.read(matrix, kIJ, "c", number);
  return (cost * body.read(scale, "scale", number)).as("l");
}

/// log sum exp(L + the other side's potentials).
Value Builder::sumsOf(const Side &side, const Side &other, Shift shift) {
  Body body(program);
  Scalar l = element(body);
  Scalar potential =
      body.read(other.potentials, other.index, other.name, number);
  body.write((l + potential).as("x"), vector(), side.sum);
  if (shift == Shift::fromOwn)
    body.shift(shiftOf(body, side));
  return body.reduce(ReduceKind::logsumexp, side.along);
}

/// The sum for which an update does not change the side's potentials: a shift
/// near the sum when the loop is close to its solution.
Scalar Builder::shiftOf(Body &body, const Side &side) {
  Scalar log = body.read(side.logWeights, side.index,
                         "log_" + side.weight.str(), number);
  Scalar own = body.read(side.potentials, side.index, side.name, number);
  if (!side.relaxed)
    return log - own;
  Scalar tau = body.read(side.tau, "tau", number);
  return options.regularizer.value == "kl" ? (log - own).as("gap") / tau
                                           : log - (own / tau).as("pull");
}

/// Whether a row or column is inactive: its weight is 0 (`log` is -inf) and its
/// sum is neither +inf nor NaN, so that its potential does not depend on the
/// sum. A separate value, so that later passes find it and skip the sum.
Scalar isInactive(Scalar log, Scalar sum) {
  Scalar weightless = equal(log, log.constant(-INFINITY, "none"));
  Scalar bounded = less(sum, sum.constant(INFINITY, "most"));
  return (weightless.as("weightless") & bounded.as("bounded")).as("inactive");
}

/// The potentials of the side for which the sums of the plan are its weights.
Value Builder::update(const Side &side, Value sums) {
  std::string name = side.name.str() + "1";
  Body body(program);
  Scalar log = body.read(side.logWeights, "log_" + side.weight.str(), number);
  Scalar sum = body.read(sums, side.sum, number);
  Scalar none = sum.constant(-INFINITY, "none");
  Scalar next;
  if (!side.relaxed) {
    next = log - sum;
  } else {
    Scalar tau = body.read(side.tau, "tau", number);
    next = options.regularizer.value == "kl" ? log - (tau * sum).as("pull")
                                             : tau * (log - sum).as("gap");
  }
  next = select(equal(sum, none).as("empty"), none, next.as("fitted"));
  if (omega) {
    next = next.as("full");
    // before + omega (next - before); next where `before` is -inf
    Scalar before = body.read(side.potentials, side.name, number);
    Scalar step = body.read(omega, "omega", number);
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
