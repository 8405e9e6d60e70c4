//===- SinkhornLoop.cpp - the loop of the program sinkhorn ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An iteration updates one side, then the other. It reads the matrix once if
// the sums along the rows in memory come first: a sweep completes rows as it
// reads them and columns at its end. The rows in memory are the rows of C, or
// the columns if C is stored by columns.
//
// If the columns in memory are updated first, the loop is shifted by half an
// iteration: the first update of the columns is before the loop, and the body
// of the loop ends with the update of the columns for the next iteration.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Sinkhorn.h"

using namespace mlir;

namespace heddle::library::sinkhorn {

/// Without a loop: the given potentials are the solution.
void Builder::takeGiven() {
  for (Side *side : {&rows, &columns})
    side->potentials = startOf(*side);
}

void Builder::iterate() {
  Value starts[] = {startOf(rows), startOf(columns)};
  Value startEps = options.anneals() ? startingEps() : Value();
  Loop loop(program);
  rows.potentials = loop.carry(starts[0], "u");
  columns.potentials = loop.carry(starts[1], "v");
  if (startEps)
    anneal(loop.carry(startEps, "eps_before"), kIteration);
  Value record = history ? loop.carry(history, "errors") : Value();

  Side &one = first(), &other = second();
  Value sums = sumsOf(one, other);
  Value updated = update(one, sums);
  Body body(program);
  Value all = total(body, missOf(body, one, sums, updated));
  one.potentials = updated;
  other.potentials = update(other, sumsOf(other, one));
  auto [error, reported, more] = decide(all);

  loop.yield(rows.potentials, "u");
  loop.yield(columns.potentials, "v");
  if (startEps)
    loop.yield(epsNow, "eps_last");
  if (history)
    loop.yield(program.record(error, record, "errors1"), "errors");
  loop.yield(reported, "error");
  auto results = loop.upto(limit, more, "iterations");
  rows.potentials = results[0];
  columns.potentials = results[1];
  if (startEps)
    epsNow = results[2];
  iterations = results.pop_back_val();
  this->error = results.pop_back_val();
  if (history)
    errors = results.back();
}

/// Builds the same iterations with a body that runs from the middle of one
/// iteration to the middle of the next. Values for an iteration that does not
/// run are dropped: the returned potentials, error and eps belong to the last
/// iteration. With annealing, potentials are rescaled before the update for the
/// next iteration.
void Builder::iterateFromHalfway() {
  Side &one = first(), &other = second();
  Value starts[] = {startOf(one), startOf(other)};
  one.potentials = starts[0];
  other.potentials = starts[1];
  Value startEps = options.anneals() ? startingEps() : Value();
  if (startEps)
    anneal(startEps, kFirst);
  Value firstEps = epsNow, updated, missed;
  auto updateFirst = [&](Shift shift) {
    Value sums = sumsOf(one, other, shift);
    updated = update(one, sums);
    Body body(program);
    body.write(missOf(body, one, sums, updated), vector(), "missed");
    missed = body.map().front();
  };
  updateFirst(Shift::none);

  Loop loop(program);
  loop.carry(starts[0], one.name); // the result if no iteration runs
  other.potentials = loop.carry(starts[1], other.name);
  one.potentials = loop.carry(updated, one.name.str() + "_updated");
  missed = loop.carry(missed, "missed");
  if (startEps) {
    Value before = loop.carry(startEps, "eps_before");
    epsNow = loop.carry(firstEps, "eps_t");
    rescale(other, ratioOf(before, epsNow), other.name.str() + "_t");
    followEps(epsNow);
  }
  Value record = history ? loop.carry(history, "errors") : Value();

  Body body(program);
  Value all = total(body, body.read(missed, "d", compute));
  auto [error, reported, more] = decide(all);
  // With annealing, the carried potentials and the sums have different eps, so
  // the shift is given here.
  Shift shift = startEps ? Shift::fromOwn : Shift::none;
  other.potentials = update(other, sumsOf(other, one, shift));
  Value ends[] = {one.potentials, other.potentials};
  Value lastEps = epsNow;
  if (startEps)
    anneal(lastEps, kNext);
  updateFirst(shift);

  loop.yield(ends[0], one.name);
  loop.yield(ends[1], other.name);
  loop.yield(updated, one.name.str() + "_updated");
  loop.yield(missed, "missed");
  if (startEps) {
    loop.yield(lastEps, "eps_last");
    loop.yield(epsNow, "eps_next");
  }
  if (history)
    loop.yield(program.record(error, record, "errors1"), "errors");
  loop.yield(reported, "error");
  auto results = loop.upto(limit, more, "iterations");
  one.potentials = results[0];
  other.potentials = results[1];
  if (startEps)
    epsNow = results[4];
  iterations = results.pop_back_val();
  this->error = results.pop_back_val();
  if (history)
    errors = results.back();
}

} // namespace heddle::library::sinkhorn
