//===- SinkhornAnnealing.cpp - eps, and how it changes in the loop --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With annealing every iteration has its own eps. The potentials u and v are in
// units of eps, so a change of eps rescales them.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Sinkhorn.h"

#include <cmath>

using namespace mlir;

namespace heddle::library::sinkhorn {

/// The smallest number that rounds to infinity in the compute type.
double Builder::largest() const {
  return compute.isF64() ? INFINITY : 0x1.ffffffp127;
}

/// Computes the scalars that depend on the eps `at` alone, in double: -1 / eps,
/// and the factors tau of relaxed sides.
void Builder::followEps(Value at) {
  if (!options.givesCost() && !rows.relaxed && !columns.relaxed)
    return;
  Body body(program);
  Scalar eps = body.read(at, "eps", program.f64());
  Scalar one = eps.constant(1.0, "one");
  SmallVector<Value *> targets;
  auto write = [&](Scalar value, Value &target, StringRef name) {
    body.write(value.as(name), at.getType(), name);
    targets.push_back(&target);
  };
  if (options.givesCost()) {
    // An infinite scale would forbid every pair, so it becomes NaN.
    Scalar inverse = (one / eps).as("inverse");
    Scalar isNumber = less(inverse, eps.constant(largest(), "most"));
    write(-select(isNumber.as("number"), inverse, eps.constant(NAN, "never"))
               .as("per_eps"),
          scale, "scale");
  }
  for (Side *side : {&rows, &columns})
    if (side->relaxed) {
      // rho / (rho + eps), in a form that is exact for an infinite rho
      Scalar rho = body.read(side->rho, side->rhoName, program.f64());
      Scalar slack = (one + (eps / rho).as("quotient")).as("slack");
      write(one / slack, side->tau, side->tauName);
    }
  for (auto [target, value] : llvm::zip_equal(targets, body.map()))
    *target = value;
}

/// The eps of the initial potentials: the last eps. Each problem carries its
/// own eps, so that problems stop independently.
Value Builder::startingEps() {
  if (options.groups)
    return eps;
  Body body(program);
  body.read(sound, "sound", flag);
  body.write(body.read(eps, "eps", program.f64()), each(program.f64()),
             "eps_each");
  return body.map().front();
}

/// The eps of the current iteration, of the next one, or of the first one.
Scalar Builder::epsOfIteration(Body &body, Index when) {
  Scalar last = body.read(eps, "eps", program.f64());
  Scalar now;
  if (epsilons) {
    now = body.read(epsilons, when, "entry", program.f64());
  } else {
    now = body.read(eps0, "eps0", program.f64());
    if (when != kFirst) {
      Scalar decay = body.read(this->decay, "decay", program.f64());
      Scalar number = iteration(now).as("iteration");
      if (when == kNext)
        number = (number + integer(number, 1, "step")).as("next");
      now = (now * power(decay, number).as("decayed")).as("entry");
    }
  }
  return maximum(now, last).as("eps_t");
}

/// Changes from the eps `before` to the eps of an iteration. The potentials are
/// rescaled, so that f = eps u does not change.
void Builder::anneal(Value before, Index when) {
  Body body(program);
  Scalar now = epsOfIteration(body, when);
  Scalar ratio = body.read(before, "eps_before", program.f64()) / now;
  StringRef name = when == kNext ? "eps_next" : "eps_t";
  body.write(now, before.getType(), name);
  body.write(ratio.as("ratio"), before.getType(), "ratio");
  auto results = body.map();
  epsNow = results[0];
  for (Side *side : {&rows, &columns})
    rescale(*side, results[1],
            side->name.str() + (when == kNext ? "_next" : "_t"));
  followEps(epsNow);
}

/// The factor of potentials when eps changes.
Value Builder::ratioOf(Value before, Value now) {
  Body body(program);
  Scalar ratio = body.read(before, "eps_before", program.f64()) /
                 body.read(now, "eps_t", program.f64());
  body.write(ratio.as("ratio"), before.getType(), "ratio");
  return body.map().front();
}

void Builder::rescale(Side &side, Value ratio, StringRef name) {
  Body body(program);
  Scalar potential = body.read(side.potentials, side.name, compute);
  Scalar factor = body.read(ratio, "ratio", compute);
  body.write((potential * factor).as("rescaled"), vector(), name);
  side.potentials = body.map().front();
}

} // namespace heddle::library::sinkhorn
