//===- Sgd.cpp - stochastic gradient descent ------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas are torch's, with plain or Nesterov momentum. On the first step
// the momentum buffer becomes the undamped gradient. Without dampening a buffer
// of zeros has this effect, so only dampening needs a step counter.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

using namespace mlir;
using heddle::foreach::ListType;

namespace heddle::library {

void SgdOptions::describe(OptionList &list) {
  list.add("lr", lr, "learning rate");
  list.add("momentum", momentum, "momentum; 0 omits the momentum buffer");
  list.add("dampening", dampening,
           "fraction of a gradient that is not added to the momentum buffer");
  list.add("weight_decay", weightDecay,
           "weight decay; 0 omits it from the program");
  list.add("nesterov", nesterov, "use Nesterov momentum");
  OptimizerOptions::describe(list);
}

std::string SgdOptions::check() const {
  if (nesterov && (momentum == 0 || dampening != 0))
    return "'nesterov=true' needs 'momentum' and no 'dampening'";
  if (dampening != 0 && momentum == 0)
    return "'dampening' needs 'momentum'";
  return {};
}

namespace {
struct Lists {
  Value param, grad, buffer, step;
};
struct Scalars {
  Value lr, momentum, dampening, weightDecay;
};
} // namespace

static Lists declareLists(ProgramBuilder &program, const SgdOptions &options,
                          const Family &family) {
  auto named = [&](StringRef name) { return (name + family.suffix).str(); };
  Lists lists;
  lists.param = program.list(named("param"), 1, family.storage);
  lists.grad = program.list(named("grad"), 1, family.storage);
  if (options.momentum != 0)
    lists.buffer =
        program.list(named("momentum_buffer"), 1, options.stateOf(family), 0.0);
  if (options.dampening != 0)
    lists.step = program.list(named("step"), 0, program.f32(), 0.0);
  return lists;
}

static Scalars declareScalars(Hyperparameters hyper,
                              const SgdOptions &options) {
  Scalars scalars;
  scalars.lr = hyper.declare("lr", options.lr);
  if (options.momentum != 0)
    scalars.momentum = hyper.declare("momentum", options.momentum);
  if (options.dampening != 0)
    scalars.dampening = hyper.declare("dampening", options.dampening);
  if (options.weightDecay != 0)
    scalars.weightDecay = hyper.declare("weight_decay", options.weightDecay);
  return scalars;
}

/// The incremented step counter, and the factor of a gradient in the buffer: 1
/// on the first step, 1 - dampening later.
static SmallVector<Value> gradientShare(ProgramBuilder &program,
                                        const Family &family,
                                        const Lists &lists,
                                        const Scalars &scalars) {
  Body body(program);
  Scalar step = body.read(lists.step, "step", program.f32());
  Scalar dampening = body.read(scalars.dampening, "dampening", program.f64());
  Scalar first = equal(step, step.constant(0.0, "zero")).as("first");
  Scalar one = dampening.constant(1.0, "one");
  Scalar damped = (one - dampening).as("damped");
  Scalar share = select(first, one, damped).as("share");
  Scalar step1 = (step + step.constant(1.0, "tick")).as("step1");
  body.write(step1, lists.step.getType(), "step1" + family.suffix);
  body.write(share, ListType::get(0, family.compute), "share" + family.suffix);
  return body.map();
}

static void update(ProgramBuilder &program, const SgdOptions &options,
                   const Family &family, const Lists &lists,
                   const Scalars &scalars) {
  SmallVector<Value> shares;
  if (lists.step)
    shares = gradientShare(program, family, lists, scalars);

  Body body(program);
  Type compute = family.compute;
  Scalar param = body.read(lists.param, "param", compute);
  Scalar grad = body.read(lists.grad, "grad", compute);
  Scalar buffer, momentum, share;
  if (lists.buffer)
    buffer = body.read(lists.buffer, "momentum_buffer", compute);
  if (lists.step)
    share = body.read(shares[1], "share", compute);
  Scalar lr = body.read(scalars.lr, "lr", compute);
  if (lists.buffer)
    momentum = body.read(scalars.momentum, "momentum", compute);

  if (options.maximize)
    grad = (-grad).as("ascent");
  if (scalars.weightDecay) {
    Scalar weightDecay =
        body.read(scalars.weightDecay, "weight_decay", compute);
    Scalar penalty = (weightDecay * param).as("penalty");
    grad = (grad + penalty).as("penalized");
  }
  Scalar direction = grad;
  if (lists.buffer) {
    Scalar kept = (buffer * momentum).as("kept");
    Scalar added = share ? (share * grad).as("added") : grad;
    buffer = (kept + added).as("momentum_buffer1");
    direction = buffer;
    if (options.nesterov) {
      Scalar lookahead = (momentum * buffer).as("lookahead");
      direction = (grad + lookahead).as("direction");
    }
  }
  Scalar change = (lr * direction).as("change");
  param = (param - change).as("param1");

  body.write(param, lists.param.getType(), "param1" + family.suffix);
  if (lists.buffer)
    body.write(buffer, lists.buffer.getType(),
               "momentum_buffer1" + family.suffix);
  auto results = body.map();
  program.result(results[0], lists.param);
  if (lists.buffer)
    program.result(results[1], lists.buffer);
  if (lists.step)
    program.result(shares[0], lists.step);
}

void buildSgd(ProgramBuilder &program, const SgdOptions &options) {
  auto families = familiesOf(options, program.getBuilder().getContext());
  SmallVector<Lists> lists;
  for (const Family &family : families)
    lists.push_back(declareLists(program, options, family));
  SmallVector<Scalars> scalars;
  for (const Family &family : families) {
    if (!options.groups && !scalars.empty())
      scalars.push_back(scalars.front());
    else
      scalars.push_back(declareScalars(
          Hyperparameters(program, options.groups, family.suffix), options));
  }
  for (auto [k, family] : llvm::enumerate(families))
    update(program, options, family, lists[k], scalars[k]);
}

} // namespace heddle::library
