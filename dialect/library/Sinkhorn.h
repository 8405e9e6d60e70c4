//===- Sinkhorn.h - the parts of the program `sinkhorn` ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state that the parts of the builder share. The plan is
// exp(u_i + L_ij + v_j) with L = -C / eps, so the potentials u and v contain
// the weights. Sinkhorn.cpp lists the parts.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_SINKHORN_H
#define HEDDLE_DIALECT_LIBRARY_SINKHORN_H

#include "dialect/library/Optimizers.h"
#include "dialect/library/SinkhornOptions.h"

namespace heddle::library::sinkhorn {

/// Bits of the result `status`: the reasons why a problem is not solved.
enum Status : int32_t {
  kWeightsA = 1,    // a weight of `a` is negative, infinite or NaN
  kWeightsB = 2,    // of `b`
  kMasses = 4,      // the sums of `a` and `b` differ, and no side is relaxed
  kEps = 8,         // `eps`, `eps0` or `decay`
  kRho = 16,        // `rho_a` or `rho_b`
  kOmega = 32,      // `omega`
  kNumbers = 64,    // NaN in the matrix or the given potentials
  kInfeasible = 128 // a weight without an allowed entry in the matrix
};

/// The rows with their weights `a`, or the columns with `b`. A matrix that is
/// stored by columns is bound as its transpose; `index` and `along` refer to
/// the bound matrix.
struct Side {
  llvm::StringRef name, weight, sum; // u, a, row
  llvm::StringRef potential;         // the name of its argument and result
  llvm::StringRef rhoName, tauName;
  foreach
    ::Axis along; // the axis of the sums of this side
  Index index;
  bool relaxed;
  mlir::Value weights, given; // arguments
  mlir::Value rho, tau;       // of a relaxed side: tau = rho / (rho + eps)
  mlir::Value logWeights;
  mlir::Value potentials; // current potentials; after the loop, the solution
};

/// Whether a row or column is inactive, given the logarithm `log` of its weight
/// and its sum.
Scalar isInactive(Scalar log, Scalar sum);

class Builder {
public:
  Builder(ProgramBuilder &program, const SinkhornOptions &options);
  void build();

private:
  // In SinkhornArguments.cpp.
  bool usesEps() const;
  void declare();
  mlir::Value startOf(const Side &side);

  // In SinkhornAnnealing.cpp.
  double largest() const;
  void followEps(mlir::Value at);
  mlir::Value startingEps();
  Scalar epsOfIteration(Body &body, Index when);
  void anneal(mlir::Value before, Index when);
  mlir::Value ratioOf(mlir::Value before, mlir::Value now);
  void rescale(Side &side, mlir::Value ratio, llvm::StringRef name);

  // In SinkhornUpdate.cpp.
  Scalar element(Body &body);
  /// Whether a log-sum-exp has a shift, computed from the potentials of its own
  /// side. If the loop carries these potentials, the pass
  /// foreach-shift-logsumexp adds this shift.
  enum class Shift { none, fromOwn };
  mlir::Value sumsOf(const Side &side, const Side &other,
                     Shift shift = Shift::none);
  Scalar shiftOf(Body &body, const Side &side);
  mlir::Value update(const Side &side, mlir::Value sums);

  // In SinkhornError.cpp.
  Scalar missOf(Body &body, const Side &side, mlir::Value sums,
                mlir::Value next);
  mlir::Value total(Body &body, Scalar miss);
  struct Decision {
    mlir::Value error, reported, more;
  };
  Decision decide(mlir::Value all);

  // In SinkhornLoop.cpp.
  void takeGiven();
  void iterate();
  void iterateFromHalfway();

  // In SinkhornChecks.cpp.
  mlir::Value allGood(const Side &side);
  mlir::Value massOf(const Side &side);
  void checkArguments();
  void takeLogarithms(Side &side, mlir::Value mass);
  mlir::Value anyStuck(const Side &side);
  void concludeStatus();

  // In SinkhornOutputs.cpp.
  void reachLastEps();
  mlir::Value inConvention(const Side &side);
  Scalar planOf(Body &body);
  mlir::Value planMatrix();
  mlir::Value marginalOf(const Side &side);
  mlir::Value transportCost();
  mlir::Value gainOf(const Side &side);
  mlir::Value planMass();
  mlir::Value totalOf(const Side &side);
  mlir::Value dualValue();
  mlir::Value transformOf(const Side &side, const Side &other);
  mlir::Value largestOfRows();
  mlir::Value productWith(mlir::Value point, llvm::StringRef name);
  mlir::Value projectionOf(mlir::Value product, mlir::Value mass,
                           llvm::StringRef name);
  void addOutputs();

  mlir::Type vector() { return foreach::ListType::get(1, compute); }
  mlir::Type each(mlir::Type type) { return foreach::ListType::get(0, type); }
  Side &first() { return options.order.value == "u" ? rows : columns; }
  Side &second() { return options.order.value == "u" ? columns : rows; }

  ProgramBuilder &program;
  const SinkhornOptions &options;
  mlir::Type storage, compute; // storage type of the matrix, compute type
  mlir::Type flag;
  Side rows, columns;
  mlir::Value matrix;
  mlir::Value eps, eps0, decay, omega, tol, limit;
  llvm::SmallVector<mlir::Value> points;
  /// -1 / eps of the current iteration.
  mlir::Value scale;
  /// With annealing: eps of the iteration; after the loop, of the last one.
  mlir::Value epsNow;
  mlir::Value epsilons, history; // arguments
  /// Bits of `status` that are computed before the loop; whether all are 0.
  mlir::Value failed, sound;
  mlir::Value error, errors, iterations, converged, status;
};

} // namespace heddle::library::sinkhorn

#endif // HEDDLE_DIALECT_LIBRARY_SINKHORN_H
