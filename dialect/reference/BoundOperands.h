//===- BoundOperands.h - the operands of a map or reduction -----*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_BOUNDOPERANDS_H
#define HEDDLE_DIALECT_REFERENCE_BOUNDOPERANDS_H

#include "dialect/Bindings.h"
#include "dialect/reference/Body.h"
#include "dialect/reference/Interpreter.h"

#include <memory>
#include <optional>

namespace heddle::reference {

using Values = llvm::SmallVector<std::shared_ptr<Value>>;

/// The elements over which a body runs, for one member.
struct Domain {
  int64_t rows = 1, columns = 1;
  int64_t size() const { return rows * columns; }
};

/// The further values of a loop of which no iteration ran, and the entry of an
/// empty vector.
double ofNoIteration(mlir::Type storage);

/// The operands of a map or a reduction, and their indices.
class BoundOperands {
public:
  BoundOperands(mlir::Operation *op, llvm::ArrayRef<int32_t> indices,
                Values values, int64_t iteration)
      : op(op), indices(indices), values(std::move(values)),
        iteration(iteration), rank(domainRank(indices)) {}

  /// The number of members, or none if all operands are device scalars.
  mlir::FailureOr<std::optional<size_t>> countMembers();
  mlir::FailureOr<Domain> domainOf(size_t member);
  /// The extents of a result with one element for each element of the domain:
  /// the extents of an operand of this size, or else of the domain.
  std::vector<int64_t> extentsOf(size_t member, const Domain &domain);

  llvm::SmallVector<Body::Operand> describe();
  /// Sets the uniform operands of `body`, and the extents of the member.
  void setUniform(Body &body, size_t member, const Domain &domain);
  /// Sets the other operands and the positions for `count` elements, starting
  /// at element `first` of run `run`; runs are rows, or columns if `down`.
  void setElements(Body &body, size_t member, const Domain &domain, bool down,
                   int64_t run, int64_t first, int64_t count);

  const Tensor &tensor(size_t operand, size_t member) const;
  int64_t getRank() const { return rank; }

private:
  std::string describeOperand(size_t operand) const;
  llvm::LogicalResult unify(std::optional<int64_t> &extent, int64_t found,
                            size_t operand, size_t member,
                            llvm::StringRef what);

  mlir::Operation *op;
  llvm::ArrayRef<int32_t> indices;
  Values values;
  int64_t iteration;
  int64_t rank;
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_BOUNDOPERANDS_H
