//===- SweepExtension.cpp - a sweep with more operands and results --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand that the sweep binds already is bound again. Later, `dropUnused`
// binds every operand once.
//
//===----------------------------------------------------------------------===//

#include "passes/SweepExtension.h"
#include "dialect/Names.h"
#include "passes/SweepBuilder.h"

using namespace mlir;

namespace heddle::fused {

Value SweepExtension::bind(Value operand, int32_t index, Type bound) {
  auto [found, isNew] =
      arguments.try_emplace(std::make_tuple(operand, index, bound));
  if (!isNew)
    return found->second;
  inputs.push_back(operand);
  indices.push_back(index);
  StringRef name = nameOf(operand);
  MLIRContext *context = sweep.getContext();
  found->second = sweep.getSegmentBlock(0).addArgument(
      bound, name.empty() ? Location(UnknownLoc::get(context))
                          : namedLoc(context, name));
  return found->second;
}

unsigned SweepExtension::addResult(Value value, Type type, StringRef name) {
  results.push_back({value, type, name.str()});
  return sweep.getSegmentResults(0).size() + results.size() - 1;
}

Value inEpilogue(SweepOp sweep, Value operand) {
  auto inputs = sweep.getEpilogueInputs();
  auto found = llvm::find(inputs, operand);
  if (!sweep.hasEpilogue() || found == inputs.end())
    return {};
  unsigned first = sweep.getListResults().size();
  return sweep.getEpilogue().front().getArgument(first +
                                                 (found - inputs.begin()));
}

unsigned SweepExtension::addOld(Value operand) {
  Value old = inEpilogue(sweep, operand);
  unsigned first = sweep.getNumResults() - sweep.getEpilogueResults().size();
  for (auto [k, yielded] :
       llvm::enumerate(sweep.getEpilogueYield().getValues()))
    if (yielded == old && sweep.getResult(first + k).getType() ==
                              foreach::scalarOf(old.getType()))
      return first + k + results.size();
  epilogueResults.push_back({old, foreach::scalarOf(old.getType()),
                             (nameOf(operand) + "_before").str()});
  return sweep.getNumResults() + results.size() + epilogueResults.size() - 1;
}

SweepOp SweepExtension::build(llvm::function_ref<void(Value, Value)> replaced) {
  unsigned own = sweep.getSegmentResults(0).size();
  SmallVector<Value> bound(sweep.getSegmentInputs(0));
  llvm::append_range(bound, inputs);
  SmallVector<int32_t> at(sweep.getSegmentIndices(0));
  llvm::append_range(at, indices);
  Block &body = sweep.getSegmentBlock(0);
  llvm::BitVector unused = unusedInputs(bound, at, [&](unsigned k) {
    return !body.getArgument(k).use_empty() ||
           llvm::any_of(results, [&](const Result &result) {
             return result.value == body.getArgument(k);
           });
  });
  SegmentSpec spec;
  for (unsigned k = 0; k < bound.size(); ++k)
    if (!unused[k]) {
      spec.inputs.push_back(bound[k]);
      spec.indices.push_back(at[k]);
    }
  body.eraseArguments(unused);
  llvm::append_range(spec.resultTypes, sweep.getSegmentResults(0).getTypes());
  SmallVector<Value> yielded(sweep.getSegmentYield(0).getValues());
  SmallVector<StringRef> names;
  for (Value result : sweep.getResults())
    names.push_back(nameOf(result));
  for (const Result &result : results) {
    spec.resultTypes.push_back(result.type);
    yielded.push_back(result.value);
  }
  for (const Result &result : llvm::reverse(results))
    names.insert(names.begin() + own, result.name);
  SmallVector<Type> epilogueTypes(sweep.getEpilogueResults().getTypes());
  SmallVector<Value> ended;
  for (const Result &result : epilogueResults) {
    names.push_back(result.name);
    epilogueTypes.push_back(result.type);
    ended.push_back(result.value);
  }
  OpBuilder builder(sweep);
  SweepOp extended =
      createSweep(builder, sweep.getLoc(), {spec}, sweep.getEpilogueInputs(),
                  epilogueTypes, sweep.getReversed(), sweep.getWhere());
  extended.getSegments()[0].takeBody(sweep.getSegments()[0]);
  if (sweep.hasEpilogue())
    extended.getEpilogue().takeBody(sweep.getEpilogue());
  extended.getSegmentYield(0).getValuesMutable().assign(yielded);
  if (!ended.empty())
    extended.getEpilogueYield().getValuesMutable().append(ended);
  setNames(extended, names);
  for (auto [k, result] : llvm::enumerate(sweep.getResults())) {
    Value by = extended.getResult(k < own ? k : k + results.size());
    result.replaceAllUsesWith(by);
    replaced(result, by);
  }
  sweep.erase();
  return extended;
}

} // namespace heddle::fused
