//===- Sinkhorn.cpp - entropic optimal transport --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trip updates one side, u = log a - LSE_j(L + v), then the other,
// v = log b - LSE_i(L + u), and measures by how much the potentials that it
// began with miss the first side's weights. A row without an entry that allows
// it, or without a weight, has the potential -inf and no NaN comes of it.
//
// A sweep over the matrix completes rows on its way and columns at its end, so
// a trip reads the matrix once if the sums of rows in memory come first: of C,
// or of its transpose where it is stored by columns. Where the columns in
// memory are updated first, the loop is moved by half a trip: they are updated
// before it, and each trip ends with their update for the next.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Sinkhorn.h"

#include <cmath>

using namespace mlir;
using heddle::foreach::Axis;
using heddle::foreach::ListType;
using heddle::foreach::ReduceKind;

namespace heddle::library {

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

void SinkhornOptions::describe(OptionList &list) {
  list.add("eps", eps, "strength of the entropy, in units of the cost");
  list.add("rho_a", rhoA,
           "row sums may differ from a at rho_a KL(P 1 | a); 0 keeps them");
  list.add("rho_b", rhoB, "the same of column sums and b");
  list.add("omega", omega,
           "step along an update: below 1 damps, above 1 over-relaxes");
  list.add("anneal", anneal,
           "eps of a trip: eps; geometric, max(eps, eps0 decay^trip); list, "
           "max(eps, epsilons[trip]) with a vector for each problem");
  list.add("eps0", eps0, "eps of the first trip of a geometric annealing");
  list.add("decay", decay, "factor from one trip's eps to the next");
  list.add("tol", tol, "a problem stops at an error of at most this");
  list.add("limit", limit, "trips at most");
  list.add("matrix", matrix, "the cost C is given, or L = -C / eps");
  list.add("layout", layout,
           "of the matrix in memory; one stored by columns is bound as its "
           "transpose");
  list.add("weights", weights, "a and b are given, or their logarithms");
  list.add("normalize", normalize, "divides weights by their sum");
  list.add("regularizer", regularizer,
           "eps KL(P | a b^T), or eps sum P (log P - 1); they differ where a "
           "side is relaxed");
  list.add("order", order,
           "whose potentials are updated first: u of rows or v");
  list.add("norm", norm, "of the error over the side updated first");
  list.add("convention", convention,
           "plan of the potentials: scaling, exp(u + L + v); ott, exp((f + g - "
           "C) / eps); geomloss, a b exp((f + g - C) / eps)");
  list.add("init", init, "starts from potentials that are 0, or given");
  list.add("outputs", outputs, "what is returned; several are joined by '/'");
  list.add("points", points,
           "number of coordinates of X for product and projection");
  list.add("groups", groups,
           "one value of eps, rho, omega, decay and tol for each problem");
  list.add("dtype", dtype, "element type of the matrix");
  list.add("compute", compute,
           "type of the arithmetic, weights and potentials; 'matrix' is f64 of "
           "an f64 matrix, or else f32");
}

std::string SinkhornOptions::check() const {
  if (!(eps > 0))
    return "'eps' has to be positive";
  if (rhoA < 0 || rhoB < 0)
    return std::string(rhoA < 0 ? "'rho_a'" : "'rho_b'") +
           " has to be positive, or 0 where sums are met exactly";
  if (!(omega > 0 && omega < 2))
    return "'omega' has to lie between 0 and 2";
  if (!(eps0 > 0))
    return "'eps0' has to be positive";
  if (!(decay > 0 && decay < 1))
    return "'decay' has to lie between 0 and 1";
  if (limit < 0 || limit > INT32_MAX)
    return "'limit' has to be a number of trips, from 0 to 2147483647";
  if (anneals() && !givesCost())
    return "'anneal' needs a cost; a log kernel has an eps of its own";
  bool usesPoints = asksFor("product") || asksFor("projection");
  if (points < 0 || points > 64)
    return "'points' has to be a number of coordinates, from 0 to 64";
  if (usesPoints && points == 0)
    return "'outputs=" +
           std::string(asksFor("product") ? "product" : "projection") +
           "' needs the number of coordinates: set 'points', too";
  if (points != 0 && !usesPoints)
    return "'points' are used by 'outputs=product' and 'outputs=projection'";
  return {};
}

void buildSinkhorn(ProgramBuilder &program, const SinkhornOptions &options) {
  sinkhorn::Builder(program, options).build();
}

namespace sinkhorn {

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Builder::Builder(ProgramBuilder &program, const SinkhornOptions &options)
    : program(program), options(options) {
  MLIRContext *context = program.getBuilder().getContext();
  storage = typeNamed(options.dtype.value, context);
  number = options.compute.value == "matrix"
               ? foreach::computeType(storage)
               : typeNamed(options.compute.value, context);
  bool scaling = options.convention.value == "scaling";
  bool byRows = options.layout.value == "row";
  flag = program.getBuilder().getI1Type();
  rows = {.name = "u",
          .weight = "a",
          .sum = "row",
          .potential = scaling ? "u" : "f",
          .rhoName = "rho_a",
          .tauName = "tau_a",
          .along = byRows ? Axis::j : Axis::i,
          .index = byRows ? kI : kJ,
          .relaxed = options.rhoA != 0};
  columns = {.name = "v",
             .weight = "b",
             .sum = "col",
             .potential = scaling ? "v" : "g",
             .rhoName = "rho_b",
             .tauName = "tau_b",
             .along = byRows ? Axis::i : Axis::j,
             .index = byRows ? kJ : kI,
             .relaxed = options.rhoB != 0};
}

bool Builder::usesEps() const {
  return options.givesCost() || rows.relaxed || columns.relaxed ||
         options.convention.value != "scaling" || options.asksFor("cost") ||
         options.asksFor("dual");
}

void Builder::declare() {
  matrix = program.list(options.givesCost() ? "C" : "L", 2, storage);
  bool plain = options.weights.value == "plain";
  for (Side *side : {&rows, &columns})
    side->weights = program.list((plain ? "" : "log_") + side->weight.str(), 1,
                                 number, plain ? 1.0 : 0.0);
  if (options.init.value == "given")
    for (Side *side : {&rows, &columns})
      side->given = program.list(side->potential, 1, number, 0.0);
  for (int64_t d = 1; d <= options.points; ++d)
    points.push_back(program.list("x" + std::to_string(d), 1, number));

  if (options.anneal.value == "list")
    epsilons = program.list("epsilons", 1, program.f64());
  if (options.asksFor("history"))
    history = program.list("errors", 1, number, 0.0);

  Hyperparameters hyper(program, options.groups, "");
  if (usesEps())
    eps = hyper.declare("eps", options.eps);
  if (rows.relaxed)
    rows.rho = hyper.declare("rho_a", options.rhoA);
  if (columns.relaxed)
    columns.rho = hyper.declare("rho_b", options.rhoB);
  if (options.omega != 1)
    omega = hyper.declare("omega", options.omega);
  if (options.anneal.value == "geometric") {
    eps0 = hyper.declare("eps0", options.eps0);
    decay = hyper.declare("decay", options.decay);
  }
  tol = hyper.declare("tol", options.tol);
  limit = program.count("limit", static_cast<int32_t>(options.limit));
}

/// What is rounded to infinity in the type that is computed with.
double Builder::largest() const {
  return number.isF64() ? INFINITY : 0x1.ffffffp127;
}

/// What follows from the eps `at` alone, in double: -1 / eps, and the factors
/// tau of relaxed sides.
void Builder::followEps(Value at) {
  if (!options.givesCost() && !rows.relaxed && !columns.relaxed)
    return;
  Body body(program);
  Scalar eps = body.read(at, "eps", program.f64());
  Scalar one = eps.constant(1.0, "one");
  SmallVector<Value *> places;
  auto write = [&](Scalar value, Value &place, StringRef name) {
    body.write(value.as(name), at.getType(), name);
    places.push_back(&place);
  };
  if (options.givesCost()) {
    // NaN, not infinite: that would forbid every pair.
    Scalar inverse = (one / eps).as("inverse");
    Scalar isNumber = less(inverse, eps.constant(largest(), "most"));
    write(-select(isNumber.as("number"), inverse, eps.constant(NAN, "never"))
               .as("per_eps"),
          scale, "scale");
  }
  for (Side *side : {&rows, &columns})
    if (side->relaxed) {
      // rho / (rho + eps), of an infinite rho, too
      Scalar rho = body.read(side->rho, side->rhoName, program.f64());
      Scalar slack = (one + (eps / rho).as("quotient")).as("slack");
      write(one / slack, side->tau, side->tauName);
    }
  for (auto [place, value] : llvm::zip_equal(places, body.map()))
    *place = value;
}

/// The eps that potentials at hand belong to before the first trip: the last
/// one. Each problem carries its own, so that none waits for the others.
Value Builder::startingEps() {
  if (options.groups)
    return eps;
  Body body(program);
  body.read(sound, "sound", flag);
  body.write(body.read(eps, "eps", program.f64()), each(program.f64()),
             "eps_each");
  return body.map().front();
}

/// The eps of the trip at hand, of the one after it, or of the first.
Scalar Builder::epsOfTrip(Body &body, Index when) {
  Scalar last = body.read(eps, "eps", program.f64());
  Scalar now;
  if (epsilons) {
    now = body.read(epsilons, when, "entry", program.f64());
  } else {
    now = body.read(eps0, "eps0", program.f64());
    if (when != kFirst) {
      Scalar decay = body.read(this->decay, "decay", program.f64());
      Scalar number = trip(now).as("trip");
      if (when == kNext)
        number = (number + integer(number, 1, "step")).as("next");
      now = (now * power(decay, number).as("decayed")).as("entry");
    }
  }
  return maximum(now, last).as("eps_t");
}

/// Moves on from the eps `before` to the one of a trip: potentials keep
/// f = eps u.
void Builder::anneal(Value before, Index when) {
  Body body(program);
  Scalar now = epsOfTrip(body, when);
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

/// What potentials are multiplied by where eps changes.
Value Builder::ratioOf(Value before, Value now) {
  Body body(program);
  Scalar ratio = body.read(before, "eps_before", program.f64()) /
                 body.read(now, "eps_t", program.f64());
  body.write(ratio.as("ratio"), before.getType(), "ratio");
  return body.map().front();
}

void Builder::rescale(Side &side, Value ratio, StringRef name) {
  Body body(program);
  Scalar potential = body.read(side.potentials, side.name, number);
  Scalar factor = body.read(ratio, "ratio", number);
  body.write((potential * factor).as("rescaled"), vector(), name);
  side.potentials = body.map().front();
}

/// The potentials before the first trip.
Value Builder::startOf(const Side &side) {
  StringRef convention = options.convention.value;
  if (side.given && convention == "scaling")
    return side.given;
  if (!side.given && convention == "geomloss")
    return side.logWeights;
  Body body(program);
  Scalar log = body.read(side.logWeights, "log_" + side.weight.str(), number);
  Scalar start = log.constant(0.0, "zero");
  if (side.given) {
    start = body.read(side.given, side.potential, number);
    start = (start / body.read(eps, "eps", number)).as(side.name);
    if (convention == "geomloss")
      start = (start + log).as("weighted");
  }
  body.write(start, vector(), side.name.str() + "0");
  return body.map().front();
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// L at one entry of the matrix.
Scalar Builder::element(Body &body) {
  if (!options.givesCost())
    return body.read(matrix, kIJ, "l", number);
  Scalar cost = body.read(matrix, kIJ, "c", number);
  return (cost * body.read(scale, "scale", number)).as("l");
}

/// log sum exp(L + the other side's potentials).
Value Builder::sumsOf(const Side &side, const Side &other, Guess guess) {
  Body body(program);
  Scalar l = element(body);
  Scalar potential =
      body.read(other.potentials, other.index, other.name, number);
  body.write((l + potential).as("x"), vector(), side.sum);
  if (guess == Guess::fromOwn)
    body.guess(guessOf(body, side));
  return body.reduce(ReduceKind::logsumexp, side.along);
}

/// The sum for which an update would leave the side's potentials as they are.
Scalar Builder::guessOf(Body &body, const Side &side) {
  Scalar log = body.read(side.logWeights, side.index,
                         "log_" + side.weight.str(), number);
  Scalar own = body.read(side.potentials, side.index, side.name, number);
  if (!side.relaxed)
    return log - own;
  Scalar tau = body.read(side.tau, "tau", number);
  return options.regularizer.value == "kl" ? (log - own).as("gap") / tau
                                           : log - (own / tau).as("pull");
}

/// Whether nothing weighs (`log` is -inf), so that nothing follows from a sum,
/// be it any number but +inf. Said by itself, since who sums up may then leave
/// such a sum alone; NaN and +inf are passed on.
static Scalar isIdle(Scalar log, Scalar sum) {
  Scalar weightless = equal(log, log.constant(-INFINITY, "none"));
  Scalar bounded = less(sum, sum.constant(INFINITY, "most"));
  return (weightless.as("weightless") & bounded.as("bounded")).as("idle");
}

/// The side's potentials that give it its weights.
Value Builder::update(const Side &side, Value sums) {
  std::string name = side.name.str() + "1";
  Body body(program);
  Scalar log = body.read(side.logWeights, "log_" + side.weight.str(), number);
  Scalar sum = body.read(sums, side.sum, number);
  Scalar none = sum.constant(-INFINITY, "none");
  Scalar next;
  if (!side.relaxed) {
    next = log - sum;
  } else {
    Scalar tau = body.read(side.tau, "tau", number);
    next = options.regularizer.value == "kl" ? log - (tau * sum).as("pull")
                                             : tau * (log - sum).as("gap");
  }
  next = select(equal(sum, none).as("empty"), none, next.as("meets"));
  if (omega) {
    next = next.as("full");
    // before + omega (next - before), and from nothing all of it
    Scalar before = body.read(side.potentials, side.name, number);
    Scalar step = body.read(omega, "omega", number);
    Scalar fresh = equal(before, none).as("fresh");
    Scalar kept = (before - (step * before).as("part")).as("rest");
    kept = select(fresh, none.constant(0.0, "zero"), kept).as("kept");
    step = select(fresh, none.constant(1.0, "one"), step).as("step");
    next = kept + (step * next).as("moved");
  }
  next = select(isIdle(log, sum), none, next.as("reached")).as(name);
  body.write(next, vector(), name);
  return body.map().front();
}

/// By how much the potentials that a trip begins with miss a weight of the side
/// that it updates first; where those are relaxed, by how much the update moves
/// them.
Scalar Builder::missOf(Body &body, const Side &side, Value sums, Value next) {
  Scalar miss;
  if (!side.relaxed) {
    Scalar potential = body.read(side.potentials, side.name, number);
    Scalar sum = body.read(sums, side.sum, number);
    Scalar log = body.read(side.logWeights, "log_" + side.weight.str(), number);
    Scalar mass = exp((potential + sum).as("log_mass")).as("mass");
    Scalar weight = exp(log).as(side.weight);
    miss = abs((mass - weight).as("excess")).as("miss");
    // Mass that has nowhere to go: no trip will place it.
    Scalar none = sum.constant(-INFINITY, "none");
    Scalar stuck = equal(sum, none).as("empty") & less(none, log).as("weighs");
    miss = select(stuck.as("stuck"), sum.constant(NAN, "never"), miss);
    Scalar absent = isIdle(maximum(potential, log).as("most"), sum);
    miss = select(absent, sum.constant(0.0, "zero"), miss.as("seen"));
  } else {
    Scalar before = body.read(side.potentials, side.name, number);
    Scalar after = body.read(next, side.name.str() + "1", number);
    Scalar same = equal(before, after).as("same");
    Scalar move = abs((after - before).as("gap")).as("move");
    miss = select(same, move.constant(0.0, "zero"), move);
  }
  miss = miss.as("d");
  return options.norm.value == "l2" ? (miss * miss).as("square") : miss;
}

/// What was missed, over all of a side.
Value Builder::total(Body &body, Scalar miss) {
  body.write(miss, each(number), options.norm.value == "l1" ? "error1" : "all");
  return body.reduce(
      options.norm.value == "max" ? ReduceKind::max : ReduceKind::add, Axis::i);
}

/// The error of a trip, the one that is reported, and whether a problem goes
/// on: never from a NaN, and always on the way to the last eps, where the error
/// is not yet one of the solution and counts as infinite.
Builder::Decision Builder::decide(Value all) {
  Body body(program);
  Scalar error = body.read(all, "all", number);
  bool finished = options.norm.value == "l1";
  if (options.norm.value == "l2")
    error = sqrt(error).as("error");
  if (options.norm.value == "max")
    error = maximum(error, error.constant(0.0, "zero")).as("error");
  if (!finished)
    body.write(error, each(number), "error1");
  Scalar reported = error;
  if (epsNow) {
    Scalar now = body.read(epsNow, "eps_t", program.f64());
    Scalar last = body.read(eps, "eps", program.f64());
    Scalar most = error.constant(INFINITY, "most");
    Scalar open = less(last, now).as("open") & atMost(error, most).as("number");
    reported = select(open.as("early"), most, error).as("reported");
    body.write(reported, each(number), "reported");
  }
  Scalar tol = body.read(this->tol, "tol", number);
  body.write(less(tol, reported).as("more"), each(flag), "more");
  auto results = body.map();
  Value error1 = finished ? all : results.front();
  return {error1, epsNow ? *(results.end() - 2) : error1, results.back()};
}

void Builder::iterate() {
  Value starts[] = {startOf(rows), startOf(columns)};
  Value startEps = options.anneals() ? startingEps() : Value();
  Loop loop(program);
  rows.potentials = loop.carry(starts[0], "u");
  columns.potentials = loop.carry(starts[1], "v");
  if (startEps)
    anneal(loop.carry(startEps, "eps_before"), kTrip);
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
  auto results = loop.upto(limit, more, "trips");
  rows.potentials = results[0];
  columns.potentials = results[1];
  if (startEps)
    epsNow = results[2];
  trips = results.pop_back_val();
  this->error = results.pop_back_val();
  if (history)
    errors = results.back();
}

/// The same trips, each from the middle of one to the middle of the next. What
/// was computed for a trip that is not taken is dropped: the potentials
/// returned are those of the trip, as are its error and its eps. An update for
/// a trip of another eps is of potentials that are rescaled to that.
void Builder::iterateFromHalfway() {
  Side &one = first(), &other = second();
  Value starts[] = {startOf(one), startOf(other)};
  one.potentials = starts[0];
  other.potentials = starts[1];
  Value startEps = options.anneals() ? startingEps() : Value();
  if (startEps)
    anneal(startEps, kFirst);
  Value firstEps = epsNow, ahead, missed;
  auto updateAhead = [&](Guess guess) {
    Value sums = sumsOf(one, other, guess);
    ahead = update(one, sums);
    Body body(program);
    body.write(missOf(body, one, sums, ahead), vector(), "missed");
    missed = body.map().front();
  };
  updateAhead(Guess::none);

  Loop loop(program);
  loop.carry(starts[0], one.name); // to return where there is no trip
  other.potentials = loop.carry(starts[1], other.name);
  one.potentials = loop.carry(ahead, one.name.str() + "_ahead");
  missed = loop.carry(missed, "missed");
  if (startEps) {
    Value before = loop.carry(startEps, "eps_before");
    epsNow = loop.carry(firstEps, "eps_ahead");
    rescale(other, ratioOf(before, epsNow), other.name.str() + "_t");
    followEps(epsNow);
  }
  Value record = history ? loop.carry(history, "errors") : Value();

  Body body(program);
  Value all = total(body, body.read(missed, "d", number));
  auto [error, reported, more] = decide(all);
  // The potentials that the loop carries are of other eps than the sums.
  Guess guess = startEps ? Guess::fromOwn : Guess::none;
  other.potentials = update(other, sumsOf(other, one, guess));
  Value ends[] = {one.potentials, other.potentials};
  Value lastEps = epsNow;
  if (startEps)
    anneal(lastEps, kNext);
  updateAhead(guess);

  loop.yield(ends[0], one.name);
  loop.yield(ends[1], other.name);
  loop.yield(ahead, one.name.str() + "_ahead");
  loop.yield(missed, "missed");
  if (startEps) {
    loop.yield(lastEps, "eps_last");
    loop.yield(epsNow, "eps_ahead");
  }
  if (history)
    loop.yield(program.record(error, record, "errors1"), "errors");
  loop.yield(reported, "error");
  auto results = loop.upto(limit, more, "trips");
  one.potentials = results[0];
  other.potentials = results[1];
  if (startEps)
    epsNow = results[4];
  trips = results.pop_back_val();
  this->error = results.pop_back_val();
  if (history)
    errors = results.back();
}

void Builder::build() {
  declare();
  checkArguments();
  if (!options.anneals())
    followEps(eps);
  if (first().index == kI)
    iterate();
  else
    iterateFromHalfway();
  addOutputs();
}

} // namespace sinkhorn
} // namespace heddle::library
