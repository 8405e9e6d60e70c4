//===- SinkhornSolve.cpp - heddle's solve of a transport problem ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results are read from the memory that the graph allocates for them.
//
//===----------------------------------------------------------------------===//

#include "SinkhornSolve.h"

#include "../Support.h"

using namespace llvm;
using namespace heddle::runtime;
using heddle::cli::toError;
using heddle::cli::toExpected;

namespace heddle::bench {

Expected<SinkhornSolve> SinkhornSolve::create(Device &device,
                                              std::string program,
                                              const Problem &problem) {
  auto generated = Generated::create(device, std::move(program));
  if (!generated)
    return generated.takeError();
  SinkhornSolve solve(device, std::move(*generated), problem.getShape());
  if (Error error = bind(solve.generated.getGraph(), problem))
    return std::move(error);
  return solve;
}

Error SinkhornSolve::bind(heddle::Graph &graph, const Problem &problem) {
  const ProblemShape &shape = problem.getShape();
  auto vectors = static_cast<heddle_dtype>(shape.compute());
  if (Error error = toError(
          graph.bindList("C", static_cast<heddle_dtype>(shape.dtype),
                         {{problem.costs(), {shape.rows, shape.columns}}})))
    return error;
  if (Error error =
          toError(graph.bindList("a", vectors, {{problem.a(), {shape.rows}}})))
    return error;
  return toError(
      graph.bindList("b", vectors, {{problem.b(), {shape.columns}}}));
}

Error SinkhornSolve::set(double tolerance, int limit) {
  if (Error error = generated.setScalar("tol", tolerance))
    return error;
  if (Error error = generated.setScalar("limit", limit))
    return error;
  return generated.prepare();
}

Expected<std::vector<double>> SinkhornSolve::potentials() {
  size_t real = dtypeSize(shape.compute());
  std::vector<char> stored((shape.rows + shape.columns) * real);
  if (Error error = read("u", stored.data(), shape.rows * real))
    return std::move(error);
  if (Error error =
          read("v", stored.data() + shape.rows * real, shape.columns * real))
    return std::move(error);
  return loadReals(shape.compute(), stored);
}

Error SinkhornSolve::read(const std::string &result, void *to, size_t bytes) {
  auto members = toExpected(generated.getGraph().result(result));
  if (!members)
    return members.takeError();
  return device->download(to, static_cast<char *>(members->front().data),
                          bytes);
}

} // namespace heddle::bench
