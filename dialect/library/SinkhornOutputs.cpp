//===- SinkhornOutputs.cpp - the results of the program sinkhorn ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An output is a reduction of the plan's entries, which the body of the
// reduction computes from the matrix and the potentials. The plan is stored
// only if it is itself an output.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Sinkhorn.h"

#include <cmath>

using namespace mlir;
using heddle::foreach::Axis;
using heddle::foreach::ListType;
using heddle::foreach::ReduceKind;

namespace heddle::library::sinkhorn {

/// `x`, or 0 where `weight` is 0, even if `x` is infinite there.
static Scalar whereSome(Scalar weight, Scalar x, StringRef name) {
  Scalar zero = weight.constant(0.0, "zero");
  return select(equal(weight, zero).as("nothing"), zero, x).as(name);
}

/// Rescales the potentials to the last eps, which a problem may not have
/// reached.
void Builder::reachLastEps() {
  Value ratio = ratioOf(epsNow, eps);
  for (Side *side : {&rows, &columns})
    rescale(*side, ratio, side->name);
  followEps(eps);
}

/// The potentials in the chosen convention. If the weights are factors of the
/// plan, points without weight have the potential 0.
Value Builder::inConvention(const Side &side) {
  if (options.convention.value == "scaling")
    return side.potentials;
  Body body(program);
  Scalar potential = body.read(side.potentials, side.name, compute);
  Scalar eps = body.read(this->eps, "eps", compute);
  if (options.convention.value == "geomloss") {
    Scalar log =
        body.read(side.logWeights, "log_" + side.weight.str(), compute);
    Scalar weightless = equal(log, log.constant(-INFINITY, "none"));
    potential = select(weightless.as("weightless"), log.constant(0.0, "zero"),
                       (potential - log).as("free"))
                    .as("apart");
  }
  potential = (eps * potential).as(side.potential);
  body.write(potential, vector(), side.potential);
  return body.map().front();
}

/// One entry of the plan.
Scalar Builder::planOf(Body &body) {
  Scalar l = element(body);
  Scalar u = body.read(rows.potentials, rows.index, "u", compute);
  Scalar v = body.read(columns.potentials, columns.index, "v", compute);
  return exp(((u + l).as("near") + v).as("log_p")).as("p");
}

Value Builder::planMatrix() {
  Body body(program);
  body.write(planOf(body), ListType::get(2, compute), "plan");
  return body.map().front();
}

/// The sums of the plan over rows or columns.
Value Builder::marginalOf(const Side &side) {
  Body body(program);
  body.write(planOf(body), vector(), "marginal_" + side.weight.str());
  return body.reduce(ReduceKind::add, side.along);
}

Value Builder::transportCost() {
  Body body(program);
  Scalar p = planOf(body), c;
  if (options.givesCost()) {
    c = body.read(matrix, kIJ, "cost", compute);
  } else {
    Scalar l = body.read(matrix, kIJ, "log_kernel", compute);
    c = -(body.read(eps, "eps", compute) * l).as("less");
    c = c.as("cost");
  }
  body.write(whereSome(p, (p * c).as("work"), "moved"), each(compute), "cost");
  return body.reduce(ReduceKind::add, Axis::member);
}

/// A side's part of the dual value: sum a f, or
/// rho sum a (1 - exp(-f / rho)) if the side is relaxed.
Value Builder::gainOf(const Side &side) {
  Body body(program);
  Scalar potential = body.read(side.potentials, side.name, compute);
  Scalar log = body.read(side.logWeights, "log_" + side.weight.str(), compute);
  Scalar weight = exp(log).as(side.weight);
  Scalar f = body.read(eps, "eps", compute) *
             (options.regularizer.value == "kl" ? (potential - log).as("apart")
                                                : potential);
  // A point without an allowed entry may have any potential; +inf gives the
  // largest gain.
  Scalar none = log.constant(-INFINITY, "none");
  f = select(equal(potential, none).as("empty"),
             log.constant(INFINITY, "largest"), f.as("allowed"))
          .as(&side == &rows ? "f" : "g");
  if (side.relaxed) {
    Scalar rho = body.read(side.rho, side.rhoName, compute);
    Scalar pull = (-(f / rho).as("slack")).as("pull");
    Scalar gain = (-expm1(pull).as("excess")).as("lost");
    Scalar bounded = (rho * gain.as("share")).as("bounded");
    // With an infinite price, the sums must match.
    Scalar finite = less(rho, rho.constant(INFINITY, "most")).as("finite");
    f = select(finite, bounded, f).as("fair");
  }
  body.write(whereSome(weight, (weight * f).as("gain"), "counted"),
             each(compute), "gain_" + side.weight.str());
  return body.reduce(ReduceKind::add, Axis::i);
}

Value Builder::planMass() {
  Body body(program);
  body.write(planOf(body), each(compute), "mass");
  return body.reduce(ReduceKind::add, Axis::member);
}

/// The sum of a side's weights.
Value Builder::totalOf(const Side &side) {
  Body body(program);
  Scalar log = body.read(side.logWeights, "log_" + side.weight.str(), compute);
  body.write(exp(log).as(side.weight), each(compute),
             "total_" + side.weight.str());
  return body.reduce(ReduceKind::add, Axis::i);
}

/// The dual value of the potentials, a lower bound of the objective: the gains
/// of both sides minus eps times the mass of the plan; with KL to a b^T, plus
/// eps times the mass of a b^T.
Value Builder::dualValue() {
  Value gains[] = {gainOf(rows), gainOf(columns)};
  Value mass = planMass();
  bool relative = options.regularizer.value == "kl";
  Value totals[2];
  if (relative)
    totals[0] = totalOf(rows), totals[1] = totalOf(columns);

  Body body(program);
  Scalar gain = (body.read(gains[0], "gain_a", compute) +
                 body.read(gains[1], "gain_b", compute))
                    .as("gain");
  Scalar excess = body.read(mass, "mass", compute);
  if (relative) {
    Scalar all = body.read(totals[0], "total_a", compute) *
                 body.read(totals[1], "total_b", compute);
    excess = (excess - all.as("all")).as("excess");
  }
  Scalar paid = (body.read(eps, "eps", compute) * excess).as("paid");
  body.write((gain - paid).as("dual"), each(compute), "dual");
  return body.map().front();
}

/// The soft transform of the other side's potentials, -eps LSE(L + v): the
/// potential without weights that an update would give if the sums of this side
/// had to match. It does not depend on the weights of this side.
Value Builder::transformOf(const Side &side, const Side &other) {
  std::string name = "transform_" + side.weight.str();
  Value sums = sumsOf(side, other);
  Body body(program);
  Scalar sum = body.read(sums, side.sum, compute);
  Scalar eps = body.read(this->eps, "eps", compute);
  body.write((-(eps * sum).as("pull")).as(name), vector(), name);
  return body.map().front();
}

/// The column with the largest entry of each row, the first of several; -1 if
/// there are no columns.
Value Builder::largestOfRows() {
  Body body(program);
  Scalar l = element(body);
  Scalar v = body.read(columns.potentials, columns.index, "v", compute);
  body.write((l + v).as("x"), vector(), "largest");
  return body.argmax(rows.along, "argmax");
}

/// plan @ x for one coordinate of X.
Value Builder::productWith(Value point, StringRef name) {
  Body body(program);
  Scalar p = planOf(body);
  Scalar x = body.read(point, columns.index, "x", compute);
  body.write((p * x).as("carried"), vector(), name);
  return body.reduce(ReduceKind::add, rows.along);
}

/// The barycentric projection: the mean of X under each row of the plan; 0 in a
/// row without mass.
Value Builder::projectionOf(Value product, Value mass, StringRef name) {
  Body body(program);
  Scalar sum = body.read(product, "sum", compute);
  Scalar p = body.read(mass, "p", compute);
  body.write(whereSome(p, (sum / p).as("mean"), "y"), vector(), name);
  return body.map().front();
}

void Builder::addOutputs() {
  if (epsNow)
    reachLastEps();
  if (options.iterate) {
    for (const Side *side : {&rows, &columns})
      if (side->given || options.hasOutput("potentials"))
        program.result(inConvention(*side), side->given);
    concludeStatus();
    for (Value value : {error, iterations, converged, status})
      program.result(value);
  }
  if (history)
    program.result(errors, history);
  if (options.hasOutput("plan"))
    program.result(planMatrix());
  if (options.hasOutput("cost"))
    program.result(transportCost());
  if (options.hasOutput("dual"))
    program.result(dualValue());
  Value rowMass;
  if (options.hasOutput("marginals") || options.hasOutput("projection"))
    rowMass = marginalOf(rows);
  if (options.hasOutput("marginals")) {
    program.result(rowMass);
    program.result(marginalOf(columns));
  }
  if (options.hasOutput("transforms")) {
    program.result(transformOf(rows, columns));
    program.result(transformOf(columns, rows));
  }
  if (options.hasOutput("argmax"))
    program.result(largestOfRows());
  for (auto [d, point] : llvm::enumerate(points)) {
    std::string number = std::to_string(d + 1);
    Value product = productWith(point, "product" + number);
    if (options.hasOutput("product"))
      program.result(product);
    if (options.hasOutput("projection"))
      program.result(projectionOf(product, rowMass, "y" + number));
  }
}

} // namespace heddle::library::sinkhorn
