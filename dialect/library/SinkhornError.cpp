//===- SinkhornError.cpp - the error of an iteration ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The error decides whether a problem continues.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Sinkhorn.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;
using heddle::foreach::Axis;
using heddle::foreach::ReduceKind;

namespace heddle::library::sinkhorn {

/// The change of a potential by rounding, as a share of the potential and its
/// logarithmic weight: 2^-22 in f32, twice the largest relative distance of two
/// neighbouring numbers. Rounding alone changes a potential in every iteration,
/// because the sums of an iteration depend on the rounded potentials before it.
static double shareOfRounding(Type compute) {
  const llvm::fltSemantics &type = cast<FloatType>(compute).getFloatSemantics();
  int digits = llvm::APFloat::semanticsPrecision(type);
  return std::ldexp(1.0, 2 - digits);
}

/// The difference between a weight of the side that is updated first and the
/// sum of the plan for the potentials at the start of the iteration. For a
/// relaxed side, the change of the potential by the update, or 0 if it is no
/// more than rounding.
Scalar Builder::missOf(Body &body, const Side &side, Value sums, Value next) {
  Scalar miss;
  if (!side.relaxed) {
    Scalar potential = body.read(side.potentials, side.name, compute);
    Scalar sum = body.read(sums, side.sum, compute);
    Scalar log =
        body.read(side.logWeights, "log_" + side.weight.str(), compute);
    Scalar mass = exp((potential + sum).as("log_mass")).as("mass");
    Scalar weight = exp(log).as(side.weight);
    miss = abs((mass - weight).as("excess")).as("miss");
    // No iteration can transport mass that has no allowed entry.
    Scalar none = sum.constant(-INFINITY, "none");
    Scalar stuck = equal(sum, none).as("empty") & less(none, log).as("weighs");
    miss = select(stuck.as("stuck"), sum.constant(NAN, "never"), miss);
    Scalar absent = isInactive(maximum(potential, log).as("most"), sum);
    miss = select(absent, sum.constant(0.0, "zero"), miss.as("seen"));
  } else {
    Scalar before = body.read(side.potentials, side.name, compute);
    Scalar after = body.read(next, side.name.str() + "1", compute);
    Scalar log =
        body.read(side.logWeights, "log_" + side.weight.str(), compute);
    Scalar same = equal(before, after).as("same"); // also if both are -inf
    Scalar move = abs((after - before).as("gap")).as("move");
    Scalar size = (abs(after).as("potential_size") + abs(log).as("weight_size"))
                      .as("size");
    Scalar share = size.constant(shareOfRounding(compute), "share");
    Scalar rounding = (share * size).as("rounding");
    Scalar still = (same | less(move, rounding).as("within")).as("still");
    miss = select(still, move.constant(0.0, "zero"), move);
  }
  miss = miss.as("d");
  return options.norm.value == "l2" ? (miss * miss).as("square") : miss;
}

/// The norm of the differences over a side.
Value Builder::total(Body &body, Scalar miss) {
  body.write(miss, each(compute),
             options.norm.value == "l1" ? "error1" : "all");
  return body.reduce(
      options.norm.value == "max" ? ReduceKind::max : ReduceKind::add, Axis::i);
}

/// The error of an iteration, the reported error, and whether a problem
/// continues. A problem stops if its error is NaN. Before the last eps a
/// problem continues, and its reported error is infinite, because its error
/// does not belong to the last eps.
Builder::Decision Builder::decide(Value all) {
  Body body(program);
  Scalar error = body.read(all, "all", compute);
  bool finished = options.norm.value == "l1";
  if (options.norm.value == "l2")
    error = sqrt(error).as("error");
  if (options.norm.value == "max")
    error = maximum(error, error.constant(0.0, "zero")).as("error");
  if (!finished)
    body.write(error, each(compute), "error1");
  Scalar reported = error;
  if (epsNow) {
    Scalar now = body.read(epsNow, "eps_t", program.f64());
    Scalar last = body.read(eps, "eps", program.f64());
    Scalar most = error.constant(INFINITY, "most");
    Scalar open = less(last, now).as("open") & atMost(error, most).as("number");
    reported = select(open.as("early"), most, error).as("reported");
    body.write(reported, each(compute), "reported");
  }
  Scalar tol = body.read(this->tol, "tol", compute);
  body.write(less(tol, reported).as("more"), each(flag), "more");
  auto results = body.map();
  Value error1 = finished ? all : results.front();
  return {error1, epsNow ? *(results.end() - 2) : error1, results.back()};
}

} // namespace heddle::library::sinkhorn
