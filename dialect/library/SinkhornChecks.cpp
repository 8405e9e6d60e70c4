//===- SinkhornChecks.cpp - problems that have no solution ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights and scalars are checked before the loop, by reductions of vectors. If
// a check fails, the logarithms of the problem's weights are NaN, so that the
// problem stops after one iteration. The solution shows NaN in the matrix and
// weights without an allowed entry.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Sinkhorn.h"

#include <cmath>

using namespace mlir;
using heddle::foreach::Axis;
using heddle::foreach::ReduceKind;

namespace heddle::library::sinkhorn {

/// Whether no weight is negative, infinite or NaN.
Value Builder::allGood(const Side &side) {
  Body body(program);
  Scalar weight = body.read(side.weights, side.weight, compute);
  Scalar good = less(weight, weight.constant(INFINITY, "most")).as("below");
  if (options.weights.value == "plain")
    good = (good & atMost(weight.constant(0.0, "zero"), weight).as("above"))
               .as("good");
  body.write(good, each(flag), "good_" + side.weight.str());
  return body.reduce(ReduceKind::all, Axis::i);
}

Value Builder::massOf(const Side &side) {
  Body body(program);
  Scalar weight = body.read(side.weights, side.weight, program.f64());
  if (options.weights.value == "log")
    weight = exp(weight).as("weight");
  body.write(weight, each(program.f64()), "mass_" + side.weight.str());
  return body.reduce(ReduceKind::add, Axis::i);
}

/// Whether `low < x < high`.
static Scalar between(Scalar x, double low, double high, StringRef name) {
  Scalar above = less(x.constant(low, "low"), x).as("above");
  Scalar below = less(x, x.constant(high, "high")).as("below");
  return (above & below).as(name);
}

void Builder::checkArguments() {
  Value goodA = allGood(rows), goodB = allGood(columns);
  bool balanced = !rows.relaxed && !columns.relaxed;
  Value massA, massB;
  if (balanced || options.normalize) {
    massA = massOf(rows);
    massB = massOf(columns);
  }

  Body body(program);
  struct Check {
    Scalar good;
    Status status;
    std::string failed; // the name of its bit
  };
  SmallVector<Check> checks;
  Scalar weighsA = body.read(goodA, "good_a", flag);
  Scalar weighsB = body.read(goodB, "good_b", flag);
  checks.push_back({weighsA, kWeightsA, "bad_a"});
  checks.push_back({weighsB, kWeightsB, "bad_b"});
  auto read = [&](Value value, StringRef name) {
    return body.read(value, name, program.f64());
  };
  if (massA) {
    Scalar a = read(massA, "mass_a"), b = read(massB, "mass_b");
    Scalar good;
    if (options.normalize) {
      good =
          between(a, 0, INFINITY, "some_a") & between(b, 0, INFINITY, "some_b");
    } else {
      // Sums of weights that were normalized in single precision may differ by
      // this share.
      Scalar gap = abs((a - b).as("excess")).as("gap");
      Scalar share = a.constant(1e-4, "share");
      good = atMost(gap, (share * maximum(a, b).as("larger")).as("allowed"));
    }
    // The masses are compared only if the weights are valid.
    Scalar weigh = (weighsA & weighsB).as("weigh");
    good = (good.as("agree") | (!weigh).as("unknown")).as("good_masses");
    checks.push_back({good, kMasses, "bad_masses"});
  }
  if (eps) {
    // eps and 1 / eps must be finite in the compute type.
    auto isGood = [&](Value value, StringRef name) {
      return between(read(value, name),
                     compute.isF64() ? 0x1p-1024 : 1 / largest(), largest(),
                     ("good_" + name).str());
    };
    Scalar good = isGood(eps, "eps");
    if (eps0) {
      good = (good & isGood(eps0, "eps0")).as("good_ends");
      good = (good & between(read(decay, "decay"), 0, 1, "good_decay"))
                 .as("good_annealing");
    }
    checks.push_back({good, kEps, "bad_eps"});
  }
  for (const Side *side : {&rows, &columns})
    if (side->relaxed) {
      Scalar rho = read(side->rho, side->rhoName);
      Scalar good = less(rho.constant(0.0, "low"), rho);
      checks.push_back({good.as("good_" + side->rhoName.str()), kRho,
                        "bad_" + side->rhoName.str()});
    }
  if (omega)
    checks.push_back({between(read(omega, "omega"), 0, 2, "good_omega"), kOmega,
                      "bad_omega"});

  Scalar none = integer(checks.front().good, 0, "none"), bits, sound;
  SmallVector<Scalar> failed;
  for (const Check &check : checks)
    failed.push_back(
        select(check.good, none, integer(none, check.status, "bit"))
            .as(check.failed));
  for (Scalar bit : failed)
    bits = bits ? (bits | bit).as("bits") : bit;
  for (const Check &check : checks)
    sound = sound ? (sound & check.good).as("sound") : check.good;
  body.write(bits, each(bits.getType()), "failed");
  body.write(sound, each(flag), "sound");
  auto results = body.map();
  this->failed = results[0];
  this->sound = results[1];
  takeLogarithms(rows, massA);
  takeLogarithms(columns, massB);
}

void Builder::takeLogarithms(Side &side, Value mass) {
  std::string name = "log_" + side.weight.str();
  Body body(program);
  Scalar weight = body.read(side.weights, side.weight, compute);
  if (options.weights.value == "plain")
    weight = log(weight).as("log");
  if (options.normalize)
    weight = (weight - log(body.read(mass, "mass", compute)).as("log_mass"))
                 .as("share");
  Scalar good = body.read(sound, "sound", flag);
  weight = select(good, weight, weight.constant(NAN, "never")).as(name);
  body.write(weight, vector(), name);
  side.logWeights = body.map().front();
}

/// Whether a weight has no allowed entry.
Value Builder::anyStuck(const Side &side) {
  Body body(program);
  Scalar potential = body.read(side.potentials, side.name, compute);
  Scalar log = body.read(side.logWeights, "log_" + side.weight.str(), compute);
  Scalar none = log.constant(-INFINITY, "none");
  Scalar empty = equal(potential, none).as("empty");
  Scalar weighs = less(none, log).as("weighs");
  body.write((empty & weighs).as("stuck"), each(flag),
             "stuck_" + side.weight.str());
  return body.reduce(ReduceKind::any, Axis::i);
}

void Builder::concludeStatus() {
  SmallVector<Value> reductions;
  for (const Side *side : {&rows, &columns})
    if (!side->relaxed)
      reductions.push_back(anyStuck(*side));

  Body body(program);
  Scalar bits = body.read(failed, "failed", program.getBuilder().getI32Type());
  Scalar good = body.read(sound, "sound", flag);
  Scalar error = body.read(this->error, "error", compute);
  Scalar none = integer(bits, 0, "none"), stuck;
  for (Value reduction : reductions) {
    Scalar side = body.read(reduction, "stuck", flag);
    stuck = stuck ? (stuck | side).as("anywhere") : side;
  }
  Scalar late =
      select(isNaN(error).as("nan"), integer(bits, kNumbers, "numbers"), none)
          .as("late");
  Scalar done = atMost(error, body.read(tol, "tol", compute)).as("done");
  if (stuck) {
    late = select(stuck, integer(bits, kInfeasible, "infeasible"), late)
               .as("seen");
    done = (done & (!stuck).as("placed")).as("ended");
  }
  done = (done & good).as("solved");
  Scalar status = (bits | select(good, late, none).as("found")).as("status");
  body.write(status, each(status.getType()), "status");
  body.write(done, each(flag), "converged");
  auto results = body.map();
  this->status = results[0];
  converged = results[1];
}

} // namespace heddle::library::sinkhorn
