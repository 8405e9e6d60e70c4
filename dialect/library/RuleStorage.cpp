//===- RuleStorage.cpp - how lists store the elements of a rule -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options `rounding` and `master`: rounding at random, and parameters of 16
// bits with exact f32 numbers behind them.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/RuleParts.h"
#include "dialect/library/StoredBits.h"

using namespace mlir;

namespace heddle::library {

/// Finds the families of which elements are rounded at random. Their random
/// numbers depend on the step counter.
void RuleProgram::findDraws() {
  for (auto &lists : families) {
    const Family &family = lists->family;
    for (const Rule::Stored *list : stored) {
      bool isParam = list->leaf == param;
      Type type = isParam ? family.storage : options.stateOf(family);
      lists->draws |=
          list->leaf->level == Level::element && list->output != list->leaf &&
          !list->output->isConstant() && options.isRoundedAtRandom(type) &&
          !(isParam && options.master.value != "none");
    }
    lists->counts = lists->draws || places->reaches(step);
  }
}

/// Declares the list beside the parameters of a family; returns the one that
/// the formula reads as the parameter.
Value RuleProgram::declareMaster(FamilyLists &lists) {
  Type i16 = IntegerType::get(program.f32().getContext(), 16);
  if (options.splits(lists.family))
    lists.low = values[{&lists, paramLow}] =
        program.list(named("param_low", &lists), 1, i16, 0.0);
  if (!options.hasMaster(lists.family))
    return lists.param;
  return lists.master =
             program.list(named("master_param", &lists), 1, program.f32());
}

/// In a body that reads parameters in two halves, makes the parameter of both.
void RuleProgram::joinHalves(RuleBody &body, const Needs &needs,
                             FamilyLists *lists) {
  if (!lists || !lists->low || !llvm::is_contained(needs.read, param))
    return;
  Halves halves{body.value(param), body.value(paramLow)};
  body.replace(param, body.name(joined(halves), "master"));
}

/// The random numbers of the elements of a list, for each step and list
/// others.
Scalar RuleProgram::randomBits(RuleBody &body, FamilyLists &lists,
                               unsigned draw) {
  Type i64 = IntegerType::get(lists.family.storage.getContext(), 64);
  if (!body.getDraws().seed.getValue()) {
    Scalar steps = body.read(lists.step, "step", program.f32());
    Scalar block = body.read(lists.block, "first_block", i64);
    Scalar of = body.read(seed, "seed", i64);
    body.getDraws() = {of, block, steps, body.name(position(of), "at")};
  }
  auto [of, block, steps, at] = body.getDraws();
  Scalar stream = body.name(streamOf(steps, draw), "stream");
  return body.name(library::randomBits(of, stream, block, at), "bits");
}

/// Appends the value that replaces a list, and that of the list beside it.
void RuleProgram::write(RuleBody &body, unsigned output, FamilyLists &lists) {
  const Rule::Stored &list = *stored[output];
  Type type = lists.replaced[output].getType();
  Type element = foreach::storageType(type);
  Scalar value = body.value(list.output);
  auto add = [&](Scalar added, Type stored, StringRef name) {
    body.getBody().write(added, stored, named(name + "1", &lists));
  };
  bool isParam = list.leaf == param;
  if (isParam && lists.low) {
    Halves halves = split(value);
    add(halves.high, type, list.name);
    return add(halves.low, lists.low.getType(), "param_low");
  }
  if (options.isRoundedAtRandom(element) && !list.output->isConstant())
    value = body.name(
        roundedAtRandom(value, randomBits(body, lists, output), element),
        list.name + "_rounded");
  add(value, type, isParam && lists.master ? "master_param" : list.name);
  if (isParam && lists.master)
    add(value, lists.param.getType(), list.name);
}

/// Makes the new value of a list a result, and that of the list beside it.
void RuleProgram::returnOutput(unsigned output, FamilyLists &lists) {
  bool isParam = stored[output]->leaf == param;
  if (isParam && lists.master)
    program.result(lists.beside1, lists.param);
  program.result(lists.outputs[output], lists.replaced[output]);
  if (isParam && lists.low)
    program.result(lists.beside1, lists.low);
}

} // namespace heddle::library
