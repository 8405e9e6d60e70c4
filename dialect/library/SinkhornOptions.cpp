//===- SinkhornOptions.cpp - the options of the program sinkhorn ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, help texts and checks.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/SinkhornOptions.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle::library {

void SinkhornOptions::describe(OptionList &list) {
  list.add("eps", eps, "strength of the entropy, in units of the cost");
  list.add(
      "rho_a", rhoA,
      "penalty of row sums that differ from a, rho_a KL(P 1 | a); 0 requires "
      "equality");
  list.add("rho_b", rhoB, "like rho_a, for column sums and b");
  list.add("omega", omega,
           "step size of an update: below 1 damps, above 1 over-relaxes");
  list.add(
      "anneal", anneal,
      "eps of an iteration: none, eps; geometric, max(eps, eps0 "
      "decay^iteration); list, max(eps, epsilons[iteration]) with a vector for "
      "each problem");
  list.add("eps0", eps0, "eps of the first iteration of a geometric annealing");
  list.add("decay", decay, "factor of eps from one iteration to the next");
  list.add("tol", tol, "a problem stops when its error is at most this");
  list.add("limit", limit, "largest number of iterations");
  list.add("matrix", matrix, "input: the cost C, or L = -C / eps");
  list.add("layout", layout,
           "order of the matrix in memory; bind a matrix that is stored by "
           "columns as its transpose");
  list.add("weights", weights, "input: a and b, or their logarithms");
  list.add("normalize", normalize, "divide weights by their sum");
  list.add(
      "regularizer", regularizer,
      "kl, eps KL(P | a b^T); entropy, eps sum P (log P - 1); they differ if "
      "a side is relaxed");
  list.add("order", order,
           "the potentials that are updated first: u of rows, or v of columns");
  list.add("norm", norm,
           "norm of the error, over the side that is updated first");
  list.add(
      "convention", convention,
      "plan as a function of the potentials: scaling, exp(u + L + v); ott, "
      "exp((f + g - C) / eps); geomloss, a b exp((f + g - C) / eps)");
  list.add("init", init, "initial potentials: 0, or given");
  list.add(
      "iterate", iterate,
      "false computes the outputs of the given potentials, without a loop");
  list.add("outputs", outputs, "results; join several with '/'");
  list.add("points", points,
           "number of coordinates of X for product and projection");
  list.add("groups", groups,
           "eps, rho, omega, eps0, decay and tol have one value for each "
           "problem");
  list.add("dtype", dtype, "element type of the matrix");
  list.add(
      "compute", compute,
      "compute type, and type of weights and potentials; 'matrix' is f64 for "
      "an f64 matrix and f32 otherwise");
}

std::string SinkhornOptions::check() const {
  auto expected = [](StringRef option, StringRef values, auto found) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "'" << option << "' must be " << values << ", found ";
    if constexpr (std::is_floating_point_v<decltype(found)>)
      os << numberText(found);
    else
      os << found;
    return text;
  };
  if (!(eps > 0))
    return expected("eps", "positive", eps);
  for (auto [option, rho] :
       {std::pair<StringRef, double>("rho_a", rhoA), {"rho_b", rhoB}})
    if (rho < 0)
      return expected(option, "positive, or 0 if sums must be equal", rho);
  if (!(omega > 0 && omega < 2))
    return expected("omega", "between 0 and 2", omega);
  if (!(eps0 > 0))
    return expected("eps0", "positive", eps0);
  if (!(decay > 0 && decay < 1))
    return expected("decay", "between 0 and 1", decay);
  if (limit < 0 || limit > INT32_MAX)
    return expected("limit", "a number of iterations from 0 to 2147483647",
                    limit);
  if (anneals() && !givesCost())
    return "'anneal' needs 'matrix=cost': a log kernel contains one eps";
  if (!iterate) {
    if (init.value != "given")
      return "'iterate=false' needs 'init=given': the outputs are those of "
             "given potentials";
    if (anneals())
      return "'iterate=false' needs 'anneal=none': no iteration changes eps";
    for (StringRef output : {"potentials", "history"})
      if (hasOutput(output))
        return "'iterate=false' has no output '" + output.str() +
               "': name other 'outputs'";
  }
  bool usesPoints = hasOutput("product") || hasOutput("projection");
  if (points < 0 || points > 64)
    return expected("points", "a number of coordinates from 0 to 64", points);
  if (usesPoints && points == 0)
    return "'outputs=" +
           std::string(hasOutput("product") ? "product" : "projection") +
           "' needs the number of coordinates: set 'points'";
  if (points != 0 && !usesPoints)
    return "'points' needs 'outputs=product' or 'outputs=projection'";
  return {};
}

} // namespace heddle::library
