//===- Sinkhorn.h - the parts of the program `sinkhorn` ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the checks before the loop, the loop and the outputs after it share. The
// plan is exp(u_i + L_ij + v_j) with L = -C / eps, so the weights are part of
// the potentials u and v.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_SINKHORN_H
#define HEDDLE_DIALECT_LIBRARY_SINKHORN_H

#include "dialect/library/Programs.h"

namespace heddle::library::sinkhorn {

/// Bits of the result `status`: what keeps a problem from being solved.
enum Status : int32_t {
  kWeightsA = 1,    // a weight of `a` is negative, infinite or NaN
  kWeightsB = 2,    // of `b`
  kMasses = 4,      // those of `a` and `b` differ, and both have to be met
  kEps = 8,         // `eps`, `eps0` or `decay`
  kRho = 16,        // `rho_a` or `rho_b`
  kOmega = 32,      // `omega`
  kNumbers = 64,    // NaN in the matrix or the given potentials
  kInfeasible = 128 // a weight that no entry of the matrix lets go anywhere
};

/// The rows with their weights `a`, or the columns with `b`. In a matrix that
/// is stored by columns, those are the rows: `index` and `along` say how it is
/// bound.
struct Side {
  llvm::StringRef name, weight, sum; // u, a, row
  llvm::StringRef potential;         // as its argument and result are called
  llvm::StringRef rhoName, tauName;
  foreach
    ::Axis along; // what the sums of this side run along
  Index index;
  bool relaxed;
  mlir::Value weights, given; // arguments
  mlir::Value rho, tau;       // where it is relaxed: tau = rho / (rho + eps)
  mlir::Value logWeights;
  mlir::Value potentials; // at hand: those of the trip, then the solution's
};

class Builder {
public:
  Builder(ProgramBuilder &program, const SinkhornOptions &options);
  void build();

private:
  // Arguments, in Sinkhorn.cpp.
  void declare();
  double largest() const;
  void followEps(mlir::Value at);
  mlir::Value startOf(const Side &side);
  mlir::Value startingEps();

  // The loop, in Sinkhorn.cpp.
  Scalar element(Body &body);
  /// Whether a sum is guessed, from the potentials of its side. Where they are
  /// what the loop carries, foreach-shift-logsumexp finds that guess itself.
  enum class Guess { none, fromOwn };
  mlir::Value sumsOf(const Side &side, const Side &other,
                     Guess guess = Guess::none);
  Scalar guessOf(Body &body, const Side &side);
  mlir::Value update(const Side &side, mlir::Value sums);
  Scalar missOf(Body &body, const Side &side, mlir::Value sums,
                mlir::Value next);
  mlir::Value total(Body &body, Scalar miss);
  struct Decision {
    mlir::Value error, reported, more;
  };
  Decision decide(mlir::Value all);
  Scalar epsOfTrip(Body &body, Index when);
  void anneal(mlir::Value before, Index when);
  mlir::Value ratioOf(mlir::Value before, mlir::Value now);
  void rescale(Side &side, mlir::Value ratio, llvm::StringRef name);
  void iterate();
  void iterateFromHalfway();

  // Before it and after it, in SinkhornChecks.cpp.
  mlir::Value allGood(const Side &side);
  mlir::Value massOf(const Side &side);
  void checkArguments();
  void takeLogarithms(Side &side, mlir::Value mass);
  mlir::Value anyStuck(const Side &side);
  void concludeStatus();

  // In SinkhornOutputs.cpp.
  void reachLastEps();
  mlir::Value asConvened(const Side &side);
  Scalar planOf(Body &body);
  mlir::Value planMatrix();
  mlir::Value marginalOf(const Side &side);
  mlir::Value transportCost();
  mlir::Value gainOf(const Side &side);
  mlir::Value planMass();
  mlir::Value totalOf(const Side &side);
  mlir::Value dualValue();
  mlir::Value largestOfRows();
  mlir::Value productWith(mlir::Value point, llvm::StringRef name);
  mlir::Value projectionOf(mlir::Value product, mlir::Value mass,
                           llvm::StringRef name);
  void addOutputs();

  mlir::Type vector() { return foreach::ListType::get(1, number); }
  mlir::Type each(mlir::Type type) { return foreach::ListType::get(0, type); }
  Side &first() { return options.order.value == "u" ? rows : columns; }
  Side &second() { return options.order.value == "u" ? columns : rows; }
  bool usesEps() const;

  ProgramBuilder &program;
  const SinkhornOptions &options;
  mlir::Type storage, number; // of the matrix, of the arithmetic
  mlir::Type flag;
  Side rows, columns;
  mlir::Value matrix;
  mlir::Value eps, eps0, decay, omega, tol, limit;
  llvm::SmallVector<mlir::Value> points;
  /// -1 / eps: of the trip while one is built.
  mlir::Value scale;
  /// With annealing: eps of the trip, after the loop of the last one.
  mlir::Value epsNow;
  mlir::Value epsilons, history; // arguments
  /// Bits of what is known before the loop, and whether there are none.
  mlir::Value failed, sound;
  mlir::Value error, errors, trips, converged, status;
};

} // namespace heddle::library::sinkhorn

#endif // HEDDLE_DIALECT_LIBRARY_SINKHORN_H
