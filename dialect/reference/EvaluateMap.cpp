//===- EvaluateMap.cpp - evaluation of foreach.map ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One member after the other, in blocks of elements.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Evaluator.h"
#include "dialect/reference/Rounding.h"
#include "dialect/reference/TensorRanges.h"

#include <algorithm>

using namespace mlir;
using heddle::foreach::storageType;

namespace heddle::reference {

LogicalResult Evaluator::evaluate(foreach::MapOp op) {
  BoundOperands operands(op, op.getIndices(), valuesOf(op.getInputs()),
                         iteration);
  auto members = operands.countMembers();
  if (failed(members))
    return failure();
  Body body(op.getBody().front(), options, operands.describe(), iteration);
  size_t count = members->value_or(1);
  Values results;
  for (mlir::Value result : op.getResults()) {
    results.push_back(std::make_shared<Value>());
    results.back()->members.resize(count);
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
    for (auto &result : results) {
      Tensor &tensor = result->members[member];
      tensor.extents = operands.extentsOf(member, domain);
      int64_t size = 1;
      for (int64_t extent : tensor.extents)
        size *= extent;
      allocate(tensor, size);
    }
    if (skipped)
      continue;
    operands.setUniform(body, member, domain);
    body.beginMember(domain.size());
    // A vector is one run of elements, a matrix one run for each row.
    bool matrix = operands.getRank() == 2;
    int64_t runs = matrix ? domain.rows : 1;
    int64_t length = matrix ? domain.columns : domain.rows;
    for (int64_t run = 0; run < runs; ++run)
      for (int64_t first = 0; first < length; first += kBlock) {
        int64_t n = std::min(kBlock, length - first);
        operands.setElements(body, member, domain, /*down=*/!matrix, run, first,
                             n);
        body.run(n);
        for (auto [k, result] : llvm::enumerate(results)) {
          Tensor &tensor = result->members[member];
          Type storage = storageType(op.getResult(k).getType());
          auto put = [&](const double *from, std::vector<double> &plane) {
            double *to = &plane[run * length + first];
            std::copy_n(from, n, to);
            roundAll(storage, to, n);
          };
          put(body.yielded(k), tensor.data);
          if (!body.hasRanges())
            continue;
          put(body.yieldedLow(k), tensor.low);
          put(body.yieldedHigh(k), tensor.high);
        }
      }
    for (auto &result : results)
      forgetExactRanges(result->members[member]);
  }
  return success();
}

} // namespace heddle::reference
