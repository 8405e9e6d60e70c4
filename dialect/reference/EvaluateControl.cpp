//===- EvaluateControl.cpp - evaluation of loops and conditions -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// foreach.while, foreach.record and foreach.if. Members of a loop stop one by
// one; then they keep their values.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Evaluator.h"
#include "dialect/reference/TensorRanges.h"
#include "runtime/support/Text.h"
#include "llvm/Support/SaveAndRestore.h"

#include <algorithm>

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::storageType;

namespace heddle::reference {

/// Fills a further value of a loop in which no iteration ran.
static void fillUnknown(Type type, Value &value) {
  for (Tensor &tensor : value.members) {
    std::fill(tensor.data.begin(), tensor.data.end(),
              ofNoIteration(storageType(type)));
    tensor.low = tensor.high = {};
  }
}

/// Gives the elements of undecided members the range of all values: faithful
/// evaluations may stop these members in different iterations.
static void forgetUndecided(Type type, const Flags &undecided, bool perMember,
                            std::shared_ptr<Value> &value) {
  if (!llvm::is_contained(undecided, true))
    return;
  value = std::make_shared<Value>(*value);
  for (auto [member, tensor] : llvm::enumerate(value->members))
    if (!perMember || !isList(type) || undecided[member])
      forgetValues(storageType(type), tensor);
}

LogicalResult Evaluator::evaluate(foreach::WhileOp op) {
  Block &body = op.getBody().front();
  auto yield = op.getYield();
  if (!yield.getMore())
    return op.emitOpError("has no flag; expected a program whose shorthands "
                          "are expanded");
  size_t carried = op.getInits().size();
  const Tensor &bound = environment.lookup(op.getLimit())->members.front();
  auto limit = static_cast<int64_t>(bound.data.front());
  bool perMember = isList(yield.getMore().getType());
  const void *family = perMember ? families.of(yield.getMore()) : nullptr;
  Flags absent = perMember ? inactive.lookup(family) : Flags();

  Values current = valuesOf(op.getInits());
  Value iterations = Value::scalar(0);
  auto runBody = [&]() -> LogicalResult {
    for (size_t k = 0; k < carried; ++k)
      define(body.getArgument(k), current[k]);
    return evaluate(body);
  };

  // The body is evaluated once even if no iteration runs, to find the extents
  // of the further values.
  bool ran = limit > 0;
  Flags stopped = absent, undecided;
  llvm::SaveAndRestore outer(iteration, int64_t(0));
  for (; iteration == 0 || iteration < limit; ++iteration) {
    if (failed(runBody()))
      return failure();
    Values next = valuesOf(yield.getValues());
    auto more = environment.lookup(yield.getMore());
    if (iteration == 0) {
      iterations.members.assign(more->members.size(), Tensor{{}, {0}});
      stopped.resize(more->members.size());
      undecided.assign(more->members.size(), bound.hasRanges());
    }
    if (!ran) {
      for (size_t k = carried; k < next.size(); ++k) {
        auto unknown = std::make_shared<Value>(*next[k]);
        fillUnknown(yield.getValues()[k].getType(), *unknown);
        current.push_back(unknown);
      }
      break;
    }
    // Members that stopped before this iteration keep their values.
    if (perMember && iteration > 0)
      for (auto [k, value] : llvm::enumerate(next)) {
        if (!isList(yield.getValues()[k].getType()))
          continue;
        auto kept = std::make_shared<Value>(*value);
        if (kept->members.size() != stopped.size())
          return op.emitOpError("has ")
                 << counted(stopped.size(), "flag") << " for the "
                 << counted(kept->members.size(), "member") << " of value #"
                 << k;
        for (size_t member = 0; member < kept->members.size(); ++member)
          if (stopped[member])
            kept->members[member] = current[k]->members[member];
        next[k] = kept;
      }
    current = next;
    bool any = false;
    for (size_t member = 0; member < more->members.size(); ++member) {
      if (stopped[member])
        continue;
      iterations.members[member].data.front() += 1;
      stopped[member] = more->members[member].data.front() == 0;
      undecided[member] =
          undecided[member] || !rangeOf(more->members[member], 0).isExact();
      any |= !stopped[member];
    }
    if (perMember)
      inactive[family] = stopped;
    if (!any)
      break;
  }
  if (perMember)
    inactive[family] = absent;
  current.push_back(std::make_shared<Value>(iterations));
  for (auto [result, value] : llvm::zip(op.getResults(), current)) {
    forgetUndecided(result.getType(), undecided, perMember, value);
    define(result, value);
  }
  return success();
}

LogicalResult Evaluator::evaluate(foreach::RecordOp op) {
  const Value &value = *environment.lookup(op.getValue());
  auto recorded = std::make_shared<Value>(*environment.lookup(op.getInto()));
  bool each = isList(op.getValue().getType());
  size_t count = recorded->members.size();
  if (each && value.members.size() != count)
    return op.emitOpError("records ")
           << counted(value.members.size(), "value") << " in the vectors of "
           << counted(count, "member");
  for (auto [member, tensor] : llvm::enumerate(recorded->members))
    if (iteration < tensor.size() && !isInactive(op.getInto(), member))
      storeElement(storageType(op.getInto().getType()),
                   value.members[each ? member : 0], tensor, iteration);
  define(op.getResult(), std::move(recorded));
  return success();
}

LogicalResult Evaluator::evaluate(foreach::IfOp op) {
  auto flag = environment.lookup(op.getCondition());
  bool holds = flag->members.front().data.front() != 0;
  bool isDecided = rangeOf(flag->members.front(), 0).isExact();
  Values values, otherwise = valuesOf(op.getOtherwise());
  if (holds || !isDecided) {
    if (failed(evaluate(op.getBody().front())))
      return failure();
    values = valuesOf(op.getYield().getValues());
  }
  for (auto [k, result] : llvm::enumerate(op.getResults())) {
    std::shared_ptr<Value> value = holds ? values[k] : otherwise[k];
    if (!isDecided)
      value = std::make_shared<Value>(
          hullOf(*value, holds ? *otherwise[k] : *values[k]));
    define(result, value);
  }
  return success();
}

} // namespace heddle::reference
