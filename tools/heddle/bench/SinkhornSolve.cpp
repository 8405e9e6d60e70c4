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
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;
using namespace heddle::runtime;
using heddle::cli::toError;
using heddle::cli::toExpected;

namespace heddle::bench {

double relativeDifference(ArrayRef<double> a, ArrayRef<double> b) {
  double off = 0, most = 0;
  for (auto [x, y] : zip_equal(a, b)) {
    off = std::max(off, std::fabs(x - y));
    most = std::max(most, std::fabs(y));
  }
  return most > 0 ? off / most : off;
}

Error checkFinite(StringRef whose, ArrayRef<double> potentials) {
  if (all_of(potentials, [](double x) { return std::isfinite(x); }))
    return Error::success();
  return makeError(StatusCode::Failed, "the potentials of {0} are not finite",
                   whose);
}

Expected<SinkhornSolve> SinkhornSolve::create(Device &device,
                                              std::string program,
                                              const TransportLists &lists) {
  auto generated = Generated::create(device, std::move(program));
  if (!generated)
    return generated.takeError();
  SinkhornSolve solve(device, std::move(*generated), lists);
  if (Error error = bind(solve.generated.getGraph(), lists))
    return std::move(error);
  return solve;
}

Error SinkhornSolve::bind(heddle::Graph &graph, const TransportLists &lists) {
  auto vectors = static_cast<heddle_dtype>(computeType(lists.dtype));
  if (Error error = toError(graph.bindList(
          "C", static_cast<heddle_dtype>(lists.dtype), lists.costs)))
    return error;
  if (Error error = toError(graph.bindList("a", vectors, lists.a)))
    return error;
  return toError(graph.bindList("b", vectors, lists.b));
}

Error SinkhornSolve::set(double tolerance, int limit) {
  if (Error error = generated.setScalar("tol", tolerance))
    return error;
  if (Error error = generated.setScalar("limit", limit))
    return error;
  return generated.prepare();
}

Expected<std::vector<double>> SinkhornSolve::potentials() {
  DType real = computeType(lists.dtype);
  std::vector<char> stored;
  for (auto [name, weights] : {std::pair("u", &lists.a), {"v", &lists.b}}) {
    auto members = toExpected(generated.getGraph().result(name));
    if (!members)
      return members.takeError();
    for (auto [member, weight] : zip_equal(*members, *weights)) {
      size_t done = stored.size();
      stored.resize(done + weight.extents[0] * dtypeSize(real));
      if (Error error = device->download(stored.data() + done,
                                         static_cast<char *>(member.data),
                                         stored.size() - done))
        return std::move(error);
    }
  }
  return loadReals(real, stored);
}

Error SinkhornSolve::read(const std::string &result, void *to, size_t bytes) {
  auto members = toExpected(generated.getGraph().result(result));
  if (!members)
    return members.takeError();
  return device->download(to, static_cast<char *>(members->front().data),
                          bytes);
}

} // namespace heddle::bench
