//===- RuleParts.h - the parts of the program of a rule ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares the arguments of the program, then builds its maps and reductions,
// stage by stage.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_RULEPARTS_H
#define HEDDLE_DIALECT_LIBRARY_RULEPARTS_H

#include "dialect/library/RuleBody.h"
#include "dialect/library/RulePlaces.h"

#include <map>
#include <memory>

namespace heddle::library {

/// One family of a program.
struct FamilyLists {
  FamilyLists(const Family &family, ElementStages stages)
      : family(family), stages(std::move(stages)) {}

  Family family;
  ElementStages stages;
  mlir::Value param, grad;
  /// The list that each output replaces, and its new value.
  llvm::SmallVector<mlir::Value> replaced, outputs;
  /// The step counter before and after this step.
  mlir::Value step, step1;
  /// The parameters in f32, or their lower halves; null without.
  mlir::Value master, low;
  /// The list that the formula reads as the parameter.
  mlir::Value wholeParam() const { return master ? master : param; }
  /// The new value of the list beside the one that has the parameter: of `low`,
  /// or, beside `master`, of `param`.
  mlir::Value beside1;
  /// Whether steps are counted, and elements are rounded at random; the first
  /// block of the random numbers of each tensor.
  bool counts = false, draws = false;
  mlir::Value block;
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
  mlir::Value combine(Node *node, llvm::ArrayRef<mlir::Value> parts);

  void read(RuleBody &body, const Needs &needs, FamilyLists *lists);
  void readElements(RuleBody &body, const Needs &needs, FamilyLists &lists);
  mlir::Value valueOf(Node *node, FamilyLists *lists);
  mlir::Type storedType(Node *node, FamilyLists *lists) const;

  // RuleStorage.cpp
  void findDraws();
  mlir::Value declareMaster(FamilyLists &lists);
  void joinHalves(RuleBody &body, const Needs &needs, FamilyLists *lists);
  void write(RuleBody &body, unsigned output, FamilyLists &lists);
  void returnOutput(unsigned output, FamilyLists &lists);
  Scalar randomBits(RuleBody &body, FamilyLists &lists, unsigned draw);
  /// A name of the function, unique and with the suffix of the family.
  std::string named(const llvm::Twine &name, FamilyLists *lists) {
    return names.unique((name + (lists ? lists->family.suffix : "")).str());
  }

  ProgramBuilder &program;
  const OptimizerOptions &options;
  Rule &rule;
  UniqueNames names{/*first=*/1};
  Node *step, *param, *paramLow;
  /// The seed of random numbers; null without.
  mlir::Value seed;
  /// The lists that the formula uses; an output for each.
  llvm::SmallVector<const Rule::Stored *> stored;
  std::unique_ptr<Places> places;
  std::vector<std::unique_ptr<FamilyLists>> families;
  /// The value of a node outside of bodies, for a family or for all (null).
  std::map<std::pair<FamilyLists *, Node *>, mlir::Value> values;
};

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_RULEPARTS_H
