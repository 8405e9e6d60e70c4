//===- RuleProgram.cpp - the program of a rule ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the arguments and the results.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/RuleProgram.h"
#include "dialect/library/RuleParts.h"

using namespace mlir;

namespace heddle::library {

RuleProgram::RuleProgram(ProgramBuilder &program, Rule &rule)
    : program(program), options(rule.getOptions()), rule(rule),
      step(rule.step().in(rule.getTrace())),
      param(rule.getTrace().leaf(Node::Kind::list, "param", Level::element)),
      paramLow(
          rule.getTrace().leaf(Node::Kind::list, "param_low", Level::element)) {
  rule.connectSteps();
  // A state that no other output needs, and that keeps its value, is unused.
  SmallVector<Node *> changed, outputs;
  for (const Rule::Stored &list : rule.getStored())
    if (list.output != list.leaf)
      changed.push_back(list.output);
  Needs used(changed, [](const Node *) { return true; });
  for (const Rule::Stored &list : rule.getStored())
    if (list.output != list.leaf ||
        llvm::is_contained(used.computed, list.leaf)) {
      stored.push_back(&list);
      outputs.push_back(list.output);
    }
  for (auto [list, output] : llvm::zip(stored, outputs)) {
    rule.getTrace().order(output);
    if (output->name.empty() && !output->isConstant())
      output->name = list->name + "1";
  }
  places = std::make_unique<Places>(outputs, options.groups);

  SmallVector<Node *> leaves;
  for (const Rule::Stored *list : stored)
    leaves.push_back(list->leaf);
  for (const Family &family :
       familiesOf(options, program.getBuilder().getContext())) {
    SmallVector<bool> exact;
    for (Node *leaf : leaves)
      exact.push_back(leaf == param
                          ? family.storage == family.compute ||
                                options.hasMaster(family)
                          : options.stateOf(family) == family.compute);
    families.push_back(std::make_unique<FamilyLists>(
        family, ElementStages(*places, leaves, exact)));
  }
  findDraws();
}

void RuleProgram::declareLists(FamilyLists &lists) {
  const Family &family = lists.family;
  auto declareGrad = [&] {
    Node *grad = rule.getTrace().leaf(Node::Kind::list, "grad", Level::element);
    values[{&lists, grad}] = lists.grad =
        program.list(named("grad", &lists), 1, family.storage);
  };
  for (const Rule::Stored *list : stored) {
    std::string name = named(list->name, &lists);
    Value made;
    if (list->name == "grad") {
      made = lists.grad;
    } else if (list->name == "param") {
      lists.param = program.list(name, 1, family.storage);
      made = declareMaster(lists);
    } else if (list->leaf->level == Level::member) {
      made = program.list(name, 0, program.f32(), list->initial);
    } else {
      made = program.list(name, 1, options.stateOf(family), list->initial);
    }
    lists.replaced.push_back(made);
    values[{&lists, list->leaf}] = made;
    if (list->leaf == param)
      declareGrad();
  }
  lists.outputs.resize(stored.size());
  if (lists.counts)
    lists.step = program.list(named("step", &lists), 0, program.f32(), 0.0);
  Type i64 = IntegerType::get(family.storage.getContext(), 64);
  if (lists.draws)
    lists.block = program.list(named("first_block", &lists), 0, i64, 0.0);
}

void RuleProgram::declareHypers(FamilyLists *lists) {
  std::string suffix = lists ? lists->family.suffix : options.scalarSuffix();
  Hyperparameters declared(program, options.groups, suffix);
  for (const Rule::Hyper &hyper : rule.getHypers())
    if (places->reaches(hyper.leaf)) {
      names.take(hyper.name + suffix);
      values[{lists, hyper.leaf}] = declared.declare(hyper.name, hyper.value);
    }
}

void RuleProgram::build() {
  for (auto &lists : families)
    declareLists(*lists);
  if (!options.groups)
    declareHypers(nullptr);
  else
    for (auto &lists : families)
      declareHypers(lists.get());
  if (llvm::any_of(families, [](auto &lists) { return lists->draws; })) {
    names.take("seed");
    seed = program.count("seed", 0, /*width=*/64);
  }
  for (unsigned stage = 0; stage <= places->getLastStage(); ++stage)
    buildStage(stage);
  for (auto &lists : families) {
    for (unsigned k = 0; k < stored.size(); ++k)
      returnOutput(k, *lists);
    if (lists->step)
      program.result(lists->step1, lists->step);
  }
}

void buildRule(ProgramBuilder &program, const OptimizerOptions &options,
               llvm::function_ref<void(Rule &)> formula) {
  Rule rule(options);
  formula(rule);
  rule.addTail();
  RuleProgram(program, rule).build();
}

} // namespace heddle::library
