//===- Adam.cpp - Adam and AdamW ------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations and their order match torch's loop over tensors. Values that
// depend only on the step counter and the betas are computed once per member in
// double. lr and the weight decay may change every step, so values that depend
// on them are computed for every element, hidden behind memory accesses.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Programs.h"

using namespace mlir;
using heddle::foreach::ListType;

namespace heddle::library {

void AdamOptions::describe(OptionList &list) {
  list.add("lr", lr, "learning rate");
  list.add("beta1", beta1, "decay of the mean of gradients");
  list.add("beta2", beta2, "decay of the mean of squared gradients");
  list.add("eps", eps, "added to the denominator");
  list.add("weight_decay", weightDecay,
           "weight decay; 0 omits it from the program");
  list.add("amsgrad", amsgrad, "divide by the largest mean of squares so far");
  list.add("decoupled", decoupled,
           "apply the decay to the parameters (AdamW), not to the gradients");
  OptimizerOptions::describe(list);
}

namespace {
struct Lists {
  Value param, grad, expAvg, expAvgSq, maxExpAvgSq, step;
};
struct Scalars {
  Value lr, beta1, beta2, eps, weightDecay;
  Value w1, w2; // 1 - beta1, 1 - beta2
};
} // namespace

static Lists declareLists(ProgramBuilder &program, const AdamOptions &options,
                          const Family &family) {
  auto named = [&](StringRef name) { return (name + family.suffix).str(); };
  Type state = options.stateOf(family);
  Lists lists;
  lists.param = program.list(named("param"), 1, family.storage);
  lists.grad = program.list(named("grad"), 1, family.storage);
  lists.expAvg = program.list(named("exp_avg"), 1, state, 0.0);
  lists.expAvgSq = program.list(named("exp_avg_sq"), 1, state, 0.0);
  if (options.amsgrad)
    lists.maxExpAvgSq = program.list(named("max_exp_avg_sq"), 1, state, 0.0);
  lists.step = program.list(named("step"), 0, program.f32(), 0.0);
  return lists;
}

static Scalars declareScalars(Hyperparameters hyper,
                              const AdamOptions &options) {
  Scalars scalars;
  scalars.lr = hyper.declare("lr", options.lr);
  scalars.beta1 = hyper.declare("beta1", options.beta1);
  scalars.beta2 = hyper.declare("beta2", options.beta2);
  scalars.eps = hyper.declare("eps", options.eps);
  if (options.weightDecay != 0)
    scalars.weightDecay = hyper.declare("weight_decay", options.weightDecay);
  return scalars;
}

/// The incremented step counter, 1 - beta1^t, and the root of 1 - beta2^t.
static SmallVector<Value> biasCorrections(ProgramBuilder &program,
                                          const Family &family,
                                          const Lists &lists,
                                          const Scalars &scalars) {
  Body body(program);
  Scalar step = body.read(lists.step, "step", program.f32());
  Scalar beta1 = body.read(scalars.beta1, "beta1", program.f64());
  Scalar beta2 = body.read(scalars.beta2, "beta2", program.f64());
  Scalar step1 = (step + step.constant(1.0, "tick")).as("step1");
  Scalar t = toInteger(step1).as("t");
  Scalar one = beta1.constant(1.0, "one");
  Scalar bc1 = (one - power(beta1, t).as("beta1_t")).as("bc1");
  Scalar bc2 = (one - power(beta2, t).as("beta2_t")).as("bc2");
  Scalar root = sqrt(bc2).as("root");
  Type stored = ListType::get(0, family.compute);
  body.write(step1, lists.step.getType(), "step1" + family.suffix);
  body.write(bc1, stored, "bc1" + family.suffix);
  body.write(root, stored, "root" + family.suffix);
  return body.map();
}

static void update(ProgramBuilder &program, const AdamOptions &options,
                   const Family &family, const Lists &lists,
                   const Scalars &scalars) {
  auto corrections = biasCorrections(program, family, lists, scalars);

  Body body(program);
  Type compute = family.compute;
  Scalar param = body.read(lists.param, "param", compute);
  Scalar grad = body.read(lists.grad, "grad", compute);
  Scalar expAvg = body.read(lists.expAvg, "exp_avg", compute);
  Scalar expAvgSq = body.read(lists.expAvgSq, "exp_avg_sq", compute);
  Scalar maxExpAvgSq;
  if (options.amsgrad)
    maxExpAvgSq = body.read(lists.maxExpAvgSq, "max_exp_avg_sq", compute);
  Scalar bc1 = body.read(corrections[1], "bc1", compute);
  Scalar root = body.read(corrections[2], "root", compute);
  Scalar lr = body.read(scalars.lr, "lr", compute);
  Scalar beta2 = body.read(scalars.beta2, "beta2", compute);
  Scalar w1 = body.read(scalars.w1, "w1", compute);
  Scalar w2 = body.read(scalars.w2, "w2", compute);
  Scalar eps = body.read(scalars.eps, "eps", compute);

  if (options.maximize)
    grad = (-grad).as("ascent");
  if (scalars.weightDecay) {
    Scalar weightDecay =
        body.read(scalars.weightDecay, "weight_decay", compute);
    if (options.decoupled) {
      Scalar shrink = (lr * weightDecay).as("shrink");
      Scalar decay = (lr.constant(1.0, "one") - shrink).as("decay");
      param = (param * decay).as("decayed");
    } else {
      Scalar penalty = (weightDecay * param).as("penalty");
      grad = (grad + penalty).as("penalized");
    }
  }

  // exp_avg.lerp(grad, 1 - beta1)
  Scalar gap = (grad - expAvg).as("gap");
  Scalar move = (w1 * gap).as("move");
  expAvg = (expAvg + move).as("exp_avg1");
  // exp_avg_sq * beta2 + (1 - beta2) * grad * grad
  Scalar kept = (expAvgSq * beta2).as("kept");
  Scalar weighted = (w2 * grad).as("weighted");
  Scalar square = (weighted * grad).as("square");
  expAvgSq = (kept + square).as("exp_avg_sq1");

  Scalar second = expAvgSq;
  if (options.amsgrad)
    second = maxExpAvgSq = maximum(maxExpAvgSq, expAvgSq).as("max_exp_avg_sq1");
  Scalar deviation = sqrt(second).as("deviation");
  Scalar corrected = (deviation / root).as("corrected");
  Scalar denom = (corrected + eps).as("denom");
  Scalar stepSize = (lr / bc1).as("step_size");
  Scalar ratio = (expAvg / denom).as("ratio");
  Scalar change = (stepSize * ratio).as("change");
  param = (param - change).as("param1");

  auto write = [&](Scalar value, Value replaced, StringRef name) {
    body.write(value, replaced.getType(), (name + family.suffix).str());
  };
  write(param, lists.param, "param1");
  write(expAvg, lists.expAvg, "exp_avg1");
  write(expAvgSq, lists.expAvgSq, "exp_avg_sq1");
  if (options.amsgrad)
    write(maxExpAvgSq, lists.maxExpAvgSq, "max_exp_avg_sq1");
  auto results = body.map();
  program.result(results[0], lists.param);
  program.result(results[1], lists.expAvg);
  program.result(results[2], lists.expAvgSq);
  if (options.amsgrad)
    program.result(results[3], lists.maxExpAvgSq);
  program.result(corrections[0], lists.step);
}

void buildAdam(ProgramBuilder &program, const AdamOptions &options) {
  auto families = familiesOf(options, program.getBuilder().getContext());
  SmallVector<Lists> lists;
  for (const Family &family : families)
    lists.push_back(declareLists(program, options, family));
  SmallVector<Scalars> scalars;
  for (const Family &family : families) {
    if (!options.groups && !scalars.empty()) {
      scalars.push_back(scalars.front());
      continue;
    }
    Hyperparameters hyper(program, options.groups, family.suffix);
    Scalars declared = declareScalars(hyper, options);
    auto weights =
        oneMinus(program, {declared.beta1, declared.beta2}, {"beta1", "beta2"},
                 {"w1", "w2"}, hyper.getSuffix());
    declared.w1 = weights[0];
    declared.w2 = weights[1];
    scalars.push_back(declared);
  }
  for (auto [k, family] : llvm::enumerate(families))
    update(program, options, family, lists[k], scalars[k]);
}

} // namespace heddle::library
