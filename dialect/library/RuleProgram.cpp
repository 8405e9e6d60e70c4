//===- RuleProgram.cpp - the program of a rule ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/library/RuleProgram.h"
#include "dialect/library/RuleBody.h"
#include "dialect/library/RulePlaces.h"

using namespace mlir;
using heddle::foreach::ListType;
using heddle::foreach::scalarOf;

namespace heddle::library {

namespace {
/// One family of a program.
struct FamilyLists {
  FamilyLists(const Family &family, ElementStages stages)
      : family(family), stages(std::move(stages)) {}

  Family family;
  ElementStages stages;
  Value param;
  /// The list that each output replaces, and its new value.
  SmallVector<Value> replaced, outputs;
  /// The step counter before and after this step.
  Value step, step1;
};

class RuleProgram {
public:
  RuleProgram(ProgramBuilder &program, Rule &rule);

  void build();

private:
  using Roots = std::vector<Node *>;

  void declareLists(FamilyLists &lists);
  void declareHypers(FamilyLists *lists);
  void buildStage(unsigned stage);
  void buildScalars(Level level, unsigned stage, FamilyLists *lists);
  void buildElements(unsigned stage, FamilyLists &lists);
  void buildMembers(FamilyLists &lists);
  void buildReduction(Node *node);
  Scalar reduced(RuleBody &body, Node *node, FamilyLists &lists);
  Value combine(Node *node, ArrayRef<Value> parts);

  void read(RuleBody &body, const Needs &needs, FamilyLists *lists);
  void readElements(RuleBody &body, const Needs &needs, FamilyLists &lists);
  Value valueOf(Node *node, FamilyLists *lists);
  Type storedType(Node *node, FamilyLists *lists) const;
  /// A name of the function, unique and with the suffix of the family.
  std::string named(const Twine &name, FamilyLists *lists) {
    return names.unique((name + (lists ? lists->family.suffix : "")).str());
  }

  ProgramBuilder &program;
  const OptimizerOptions &options;
  Rule &rule;
  UniqueNames names{/*first=*/1};
  Node *step;
  /// The lists that the formula uses; an output for each.
  SmallVector<const Rule::Stored *> stored;
  std::unique_ptr<Places> places;
  std::vector<std::unique_ptr<FamilyLists>> families;
  /// The value of a node outside of bodies, for a family or for all (null).
  std::map<std::pair<FamilyLists *, Node *>, Value> values;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

RuleProgram::RuleProgram(ProgramBuilder &program, Rule &rule)
    : program(program), options(rule.getOptions()), rule(rule),
      step(rule.step().in(rule.getTrace())) {
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
      exact.push_back(leaf->name == "param"
                          ? family.storage == family.compute
                          : options.stateOf(family) == family.compute);
    families.push_back(std::make_unique<FamilyLists>(
        family, ElementStages(*places, leaves, exact)));
  }
}

void RuleProgram::declareLists(FamilyLists &lists) {
  const Family &family = lists.family;
  auto declareGrad = [&] {
    Node *grad = rule.getTrace().leaf(Node::Kind::list, "grad", Level::element);
    values[{&lists, grad}] =
        program.list(named("grad", &lists), 1, family.storage);
  };
  for (const Rule::Stored *list : stored) {
    std::string name = named(list->name, &lists);
    Value made;
    if (list->name == "param")
      made = lists.param = program.list(name, 1, family.storage);
    else if (list->leaf->level == Level::member)
      made = program.list(name, 0, program.f32(), list->initial);
    else
      made = program.list(name, 1, options.stateOf(family), list->initial);
    lists.replaced.push_back(made);
    values[{&lists, list->leaf}] = made;
    if (list->name == "param")
      declareGrad();
  }
  lists.outputs.resize(stored.size());
  if (places->reaches(step))
    lists.step = program.list(named("step", &lists), 0, program.f32(), 0.0);
}

void RuleProgram::declareHypers(FamilyLists *lists) {
  StringRef suffix = lists ? StringRef(lists->family.suffix) : "";
  Hyperparameters declared(program, options.groups, suffix);
  for (const Rule::Hyper &hyper : rule.getHypers())
    if (places->reaches(hyper.leaf)) {
      names.take((hyper.name + suffix).str());
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
  for (unsigned stage = 0; stage <= places->getLastStage(); ++stage)
    buildStage(stage);
  for (auto &lists : families) {
    for (auto [output, replaced] : llvm::zip(lists->outputs, lists->replaced))
      program.result(output, replaced);
    if (lists->step)
      program.result(lists->step1, lists->step);
  }
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void RuleProgram::buildStage(unsigned stage) {
  if (!options.groups)
    buildScalars(Level::hyper, stage, nullptr);
  else
    for (auto &lists : families)
      buildScalars(Level::hyper, stage, lists.get());
  buildScalars(Level::list, stage, nullptr);
  for (auto &lists : families) {
    buildScalars(Level::member, stage, lists.get());
    buildElements(stage, *lists);
    if (stage == places->getLastStage())
      buildMembers(*lists);
  }
  for (Node *node : places->getReductions())
    if (node->operands.front()->stage == stage)
      buildReduction(node);
}

Value RuleProgram::valueOf(Node *node, FamilyLists *lists) {
  auto found = values.find({lists, node});
  return found != values.end() ? found->second : values.at({nullptr, node});
}

void RuleProgram::read(RuleBody &body, const Needs &needs, FamilyLists *lists) {
  SmallVector<std::pair<Node *, Value>> operands;
  for (Node *node : needs.read)
    operands.emplace_back(node, valueOf(node, lists));
  body.read(operands);
}

/// Reads the operands of a body over elements. One of them is a list, because
/// the operands determine the domain.
void RuleProgram::readElements(RuleBody &body, const Needs &needs,
                               FamilyLists &lists) {
  read(body, needs, &lists);
  if (llvm::none_of(needs.read,
                    [](Node *node) { return node->level == Level::element; }))
    body.read(lists.param, "param", lists.family.compute);
}

/// The type of a value that a map over scalars stores.
Type RuleProgram::storedType(Node *node, FamilyLists *lists) const {
  Type type = program.f64();
  if (node->isFlag)
    type = IntegerType::get(type.getContext(), 1);
  else if (places->levelOf(node) == Level::member &&
           !places->isReadInDouble(node))
    type = lists->family.compute;
  return lists ? Type(ListType::get(0, type)) : Type(scalarOf(type));
}

/// Builds the map over hyperparameters, over values of the list, or over those
/// of tensors.
void RuleProgram::buildScalars(Level level, unsigned stage,
                               FamilyLists *lists) {
  std::vector<Node *> results = places->resultsOf(level, stage);
  bool increments =
      level == Level::member && stage == 0 && places->reaches(step);
  if (results.empty() && !increments)
    return;
  Needs needs(results, [&](const Node *node) {
    return places->isInScalarBody(node, level, stage);
  });
  RuleBody body(program, program.f64());
  if (increments) {
    llvm::erase(needs.read, step);
    Scalar counter = body.increment(step, lists->step);
    body.getBody().write(counter, lists->step.getType(), named("step1", lists));
  }
  read(body, needs, lists);
  body.compute(needs.computed);
  for (Node *node : results)
    body.getBody().write(body.value(node), storedType(node, lists),
                         named(wordOf(node), lists));
  SmallVector<Value> made = body.getBody().map();
  if (increments) {
    values[{lists, step}] = lists->step1 = made.front();
    made.erase(made.begin());
  }
  for (auto [node, value] : llvm::zip(results, made))
    values[{lists, node}] = value;
}

/// Builds the map over elements that stores the outputs of a stage.
void RuleProgram::buildElements(unsigned stage, FamilyLists &lists) {
  SmallVector<unsigned> positions;
  Roots roots;
  for (auto [k, list] : llvm::enumerate(stored)) {
    if (list->output == list->leaf) {
      lists.outputs[k] = lists.replaced[k];
    } else if (list->leaf->level == Level::element &&
               lists.stages.stageOf(k) == stage) {
      positions.push_back(k);
      roots.push_back(list->output);
    }
  }
  if (positions.empty())
    return;
  Needs needs(roots, lists.stages.inside(stage, /*reduces=*/false));
  RuleBody body(program, lists.family.compute);
  readElements(body, needs, lists);
  body.compute(needs.computed);
  for (unsigned k : positions)
    body.getBody().write(body.value(stored[k]->output),
                         lists.replaced[k].getType(),
                         named(stored[k]->name + "1", &lists));
  for (auto [k, value] : llvm::zip(positions, body.getBody().map())) {
    lists.outputs[k] = value;
    if (lists.stages.isEarly(k))
      values[{&lists, stored[k]->output}] = value;
  }
}

/// Builds the maps over tensors that store state with one value for each.
void RuleProgram::buildMembers(FamilyLists &lists) {
  for (auto [k, list] : llvm::enumerate(stored)) {
    if (list->leaf->level != Level::member || lists.outputs[k])
      continue;
    RuleBody body(program, program.f64());
    // The old value determines the domain if the new one has none.
    SmallVector<std::pair<Node *, Value>> operands;
    operands.emplace_back(list->leaf, lists.replaced[k]);
    if (!list->output->isConstant())
      operands.emplace_back(list->output, valueOf(list->output, &lists));
    if (operands.size() == 2 && isa<ListType>(operands[1].second.getType()))
      operands.erase(operands.begin());
    body.read(operands);
    body.getBody().write(body.value(list->output), lists.replaced[k].getType(),
                         named(list->name + "1", &lists));
    lists.outputs[k] = body.getBody().map().front();
  }
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Builds a reduction for each family, and the combination of the families.
void RuleProgram::buildReduction(Node *node) {
  const Reduction &reduction = *node->reduction;
  bool overList = reduction.axis == foreach::Axis::list;
  Type f64 = program.f64();
  Type number = node->isFlag ? IntegerType::get(f64.getContext(), 1) : f64;
  Type type = overList ? Type(scalarOf(number)) : ListType::get(0, number);
  bool ofElements = places->levelOf(node->operands.front()) == Level::element;
  SmallVector<Value> parts;
  for (auto &lists : families) {
    RuleBody body(program, ofElements ? lists->family.compute : f64);
    Scalar value = reduced(body, node, *lists);
    body.getBody().write(value, type, named(wordOf(node), lists.get()));
    parts.push_back(body.getBody().reduce(reduction.kind, reduction.axis));
    if (!overList)
      values[{lists.get(), node}] = parts.back();
  }
  if (overList)
    values[{nullptr, node}] = combine(node, parts);
}

/// The value of one element that a reduction combines.
Scalar RuleProgram::reduced(RuleBody &body, Node *node, FamilyLists &lists) {
  Node *operand = node->operands.front();
  Reduction::Of of = node->reduction->of;
  Type f64 = program.f64();
  bool ofElements = places->levelOf(operand) == Level::element;
  if (of == Reduction::Of::one) {
    Value counted = ofElements ? lists.param : valueOf(operand, &lists);
    Type type = foreach::storageType(counted.getType());
    body.read(counted, "counted", type.isInteger(1) ? type : f64);
    return body.constant(1.0, f64, "one");
  }
  Scalar value;
  if (!ofElements) {
    body.read({{operand, valueOf(operand, &lists)}});
    value = body.value(operand);
  } else {
    Needs needs({operand},
                lists.stages.inside(operand->stage, /*reduces=*/true));
    if (llvm::is_contained(needs.read, operand) && !operand->isFlag) {
      value = body.read(valueOf(operand, &lists), wordOf(operand), f64);
    } else {
      readElements(body, needs, lists);
      body.compute(needs.computed);
      value = body.value(operand);
      if (!operand->isFlag && value.getType() != f64)
        value = body.name(widen(value, f64), "wide");
    }
  }
  return of == Reduction::Of::square ? body.name(value * value, "square")
                                     : value;
}

Value RuleProgram::combine(Node *node, ArrayRef<Value> parts) {
  if (parts.size() == 1)
    return parts.front();
  using Combine = Scalar (*)(Scalar, Scalar);
  Combine function = nullptr;
  switch (node->reduction->kind) {
  case foreach::ReduceKind::max:
    function = maximum;
    break;
  case foreach::ReduceKind::min:
    function = minimum;
    break;
  case foreach::ReduceKind::any:
    function = operator|;
    break;
  case foreach::ReduceKind::all:
    function = operator&;
    break;
  default:
    function = operator+;
  }
  Type type = foreach::storageType(parts.front().getType());
  RuleBody body(program, type);
  SmallVector<Scalar> scalars;
  for (Value part : parts)
    scalars.push_back(body.read(part, nameOf(part), type));
  Scalar total = scalars.front();
  for (Scalar part : ArrayRef(scalars).drop_front())
    total = body.name(function(total, part), "combined");
  body.getBody().write(total, scalarOf(type), named(wordOf(node), nullptr));
  return body.getBody().map().front();
}

void buildRule(ProgramBuilder &program, const OptimizerOptions &options,
               llvm::function_ref<void(Rule &)> formula) {
  Rule rule(options);
  formula(rule);
  RuleProgram(program, rule).build();
}

} // namespace heddle::library
