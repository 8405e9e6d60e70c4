//===- EvaluateReduce.cpp - evaluation of foreach.reduce ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run of elements after the other: rows, columns, members or the list.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Evaluator.h"
#include "dialect/reference/TensorRanges.h"

#include <algorithm>

using namespace mlir;
using heddle::foreach::Axis;

namespace heddle::reference {

/// Reduces one member. Along i, or over a vector, runs are columns. The result
/// has one element for each run. Along the list, the reduction continues in the
/// next member.
void Evaluator::reduceRuns(foreach::ReduceOp op, BoundOperands &operands,
                           Body &body, RunReduction &reduction, size_t member,
                           size_t members, const Domain &domain,
                           Values &results) {
  bool matrix = operands.getRank() == 2;
  bool down = !matrix || op.getAxis() == Axis::i;
  int64_t runs = matrix ? (down ? domain.columns : domain.rows) : 1;
  int64_t length = down ? domain.rows : domain.columns;
  bool whole = op.getAxis() == Axis::member || op.getAxis() == Axis::list;
  if (op.getAxis() != Axis::list)
    reduction.clear();
  operands.setUniform(body, member, domain);
  body.beginMember(length);
  for (int64_t run = 0; run < runs; ++run) {
    if (!whole)
      reduction.clear();
    for (int64_t first = 0; first < length; first += kBlock) {
      int64_t n = std::min(kBlock, length - first);
      operands.setElements(body, member, domain, down, run, first, n);
      body.run(n);
      reduction.add(body, n);
    }
    if (!whole)
      reduction.store(results, member, run, domain.columns, members);
  }
  if (op.getAxis() == Axis::member)
    reduction.store(results, member, 0, domain.columns, members);
}

LogicalResult Evaluator::evaluate(foreach::ReduceOp op) {
  BoundOperands operands(op, op.getIndices(), valuesOf(op.getInputs()),
                         iteration);
  auto members = operands.countMembers();
  if (failed(members))
    return failure();
  Body body(op.getBody().front(), options, operands.describe(), iteration);
  RunReduction reduction(op, options);
  int64_t columns = 0;
  size_t count = members->value_or(1);
  Values results;
  for (mlir::Value result : op.getResults()) {
    results.push_back(std::make_shared<Value>());
    results.back()->members.resize(op.getAxis() == Axis::list ? 1 : count);
    define(result, results.back());
  }
  for (size_t member = 0; member < count; ++member) {
    bool skipped = isSkipped(op.getInputs(), member);
    Domain domain;
    if (!skipped) {
      auto found = operands.domainOf(member);
      if (failed(found))
        return failure();
      domain = *found;
    }
    if (op.getAxis() != Axis::list)
      for (auto &result : results) {
        Tensor &tensor = result->members[member];
        int64_t size = 1;
        if (operands.getRank() == 2 && op.getAxis() != Axis::member) {
          size = op.getAxis() == Axis::i ? domain.columns : domain.rows;
          tensor.extents = {size};
        }
        allocate(tensor, size);
      }
    columns = std::max(columns, domain.columns);
    if (!skipped)
      reduceRuns(op, operands, body, reduction, member, count, domain, results);
    else if (op.getAxis() == Axis::list)
      reduction.skip(1); // positions count members
  }
  if (op.getAxis() == Axis::list) {
    for (auto &result : results)
      allocate(result->members.front(), 1);
    reduction.store(results, 0, 0, columns, count);
  }
  for (auto &result : results)
    llvm::for_each(result->members, forgetExactRanges);
  return success();
}

} // namespace heddle::reference
