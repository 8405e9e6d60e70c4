//===- BoundOperands.cpp - the operands of a map or reduction -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/BoundOperands.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "runtime/support/Text.h"

#include <limits>

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::storageType;

namespace heddle::reference {

/// The rows and columns of a matrix: all leading dimensions form the rows.
static Domain matrixOf(const Tensor &tensor) {
  Domain domain;
  if (!tensor.extents.empty())
    domain.columns = tensor.extents.back();
  for (int64_t extent :
       ArrayRef(tensor.extents).drop_back(tensor.extents.empty() ? 0 : 1))
    domain.rows *= extent;
  return domain;
}

double ofNoIteration(Type storage) {
  return isa<FloatType>(storage) ? std::numeric_limits<double>::infinity() : 0;
}

std::string BoundOperands::describeOperand(size_t operand) const {
  StringRef name = nameOf(op->getOperand(operand));
  std::string text = "operand #" + std::to_string(operand);
  return name.empty() ? text : text + " '" + name.str() + "'";
}

const Tensor &BoundOperands::tensor(size_t operand, size_t member) const {
  const auto &members = values[operand]->members;
  return members[isList(op->getOperand(operand).getType()) ? member : 0];
}

FailureOr<std::optional<size_t>> BoundOperands::countMembers() {
  std::optional<size_t> count;
  for (size_t k = 0; k < values.size(); ++k) {
    if (!isList(op->getOperand(k).getType()))
      continue;
    size_t found = values[k]->members.size();
    if (count && *count != found)
      return op->emitOpError()
             << describeOperand(k) << " has " << counted(found, "member")
             << "; expected " << *count;
    count = found;
  }
  return count;
}

LogicalResult BoundOperands::unify(std::optional<int64_t> &extent,
                                   int64_t found, size_t operand, size_t member,
                                   StringRef what) {
  if (extent && *extent != found)
    return op->emitOpError()
           << describeOperand(operand) << " has " << found << ' ' << what
           << " in member " << member << "; expected " << *extent;
  extent = found;
  return success();
}

FailureOr<Domain> BoundOperands::domainOf(size_t member) {
  std::optional<int64_t> rows, columns;
  for (size_t k = 0; k < values.size(); ++k) {
    const Tensor &from = tensor(k, member);
    LogicalResult fits = success();
    if (indices[k] == kIJ) {
      Domain matrix = matrixOf(from);
      fits = unify(rows, matrix.rows, k, member, "rows");
      if (succeeded(fits))
        fits = unify(columns, matrix.columns, k, member, "columns");
    } else if (indices[k] == kI) {
      fits =
          unify(rows, from.size(), k, member, rank == 2 ? "rows" : "elements");
    } else if (indices[k] == kJ) {
      fits = unify(columns, from.size(), k, member, "columns");
    }
    if (failed(fits))
      return failure();
  }
  return Domain{rows.value_or(1), columns.value_or(1)};
}

std::vector<int64_t> BoundOperands::extentsOf(size_t member,
                                              const Domain &domain) {
  int32_t full = rank == 2 ? kIJ : rank == 1 ? kI : kScalar;
  for (size_t k = 0; k < values.size(); ++k)
    if (rank > 0 && indices[k] == full)
      return tensor(k, member).extents;
  if (rank == 0)
    return {};
  return rank == 1 ? std::vector<int64_t>{domain.rows}
                   : std::vector<int64_t>{domain.rows, domain.columns};
}

SmallVector<Body::Operand> BoundOperands::describe() {
  SmallVector<Body::Operand> operands;
  for (auto [k, operand] : llvm::enumerate(op->getOperands()))
    operands.push_back(
        {storageType(operand.getType()), isMemberIndex(indices[k])});
  return operands;
}

void BoundOperands::setUniform(Body &body, size_t member,
                               const Domain &domain) {
  body.setExtents(domain.rows, domain.columns);
  for (size_t k = 0; k < values.size(); ++k) {
    if (!isMemberIndex(indices[k]))
      continue;
    const Tensor &from = tensor(k, member);
    int64_t entry = indices[k] == kIteration ? iteration
                    : indices[k] == kNext    ? iteration + 1
                                             : 0;
    int64_t at = std::min(entry, from.size() - 1);
    double none = ofNoIteration(storageType(op->getOperand(k).getType()));
    auto entryOf = [&](const std::vector<double> &plane) {
      return at >= 0 ? plane[at] : none;
    };
    *body.operand(k) = entryOf(from.data);
    if (!body.hasRanges())
      continue;
    *body.operandLow(k) = entryOf(from.lows());
    *body.operandHigh(k) = entryOf(from.highs());
  }
}

/// Copies `count` elements of a plane of an operand, as setElements() says.
static void copyElements(const double *from, bool alongRun, int32_t index,
                         bool down, const Domain &domain, int64_t run,
                         int64_t first, int64_t count, double *to) {
  if (!alongRun)
    std::fill_n(to, count, from[run]);
  else if (index != kIJ)
    std::copy_n(from + first, count, to);
  else if (!down)
    std::copy_n(from + run * domain.columns + first, count, to);
  else
    for (int64_t e = 0; e < count; ++e)
      to[e] = from[(first + e) * domain.columns + run];
}

void BoundOperands::setElements(Body &body, size_t member, const Domain &domain,
                                bool down, int64_t run, int64_t first,
                                int64_t count) {
  body.setPositions(down ? first : run, down ? run : first, down, count);
  for (size_t k = 0; k < values.size(); ++k) {
    if (isMemberIndex(indices[k]))
      continue;
    const Tensor &from = tensor(k, member);
    bool alongRun = indices[k] == kIJ || (indices[k] == kI) == down;
    auto copy = [&](const std::vector<double> &plane, double *to) {
      copyElements(plane.data(), alongRun, indices[k], down, domain, run, first,
                   count, to);
    };
    copy(from.data, body.operand(k));
    if (!body.hasRanges())
      continue;
    copy(from.lows(), body.operandLow(k));
    copy(from.highs(), body.operandHigh(k));
  }
}

} // namespace heddle::reference
