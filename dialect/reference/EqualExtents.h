//===- EqualExtents.h - dimensions that have equal extents ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_EQUALEXTENTS_H
#define HEDDLE_DIALECT_REFERENCE_EQUALEXTENTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <optional>

namespace heddle::reference {

/// The dimensions of lists that have equal extents, because an operation of the
/// function as written binds them to one axis, or one list takes the place of
/// another. A compiled program may require less, because passes remove unused
/// operands and operations.
class EqualExtents {
public:
  explicit EqualExtents(mlir::func::FuncOp function);

  /// A dimension of a list.
  using Dimension = std::pair<const void *, unsigned>;
  /// The representative of all dimensions with the extent of this one.
  Dimension of(mlir::Value list, unsigned dimension) {
    return classes.getOrInsertLeaderValue(
        {list.getAsOpaquePointer(), dimension});
  }

private:
  using Extent = std::optional<Dimension>;
  void join(Extent &extent, mlir::Value list, unsigned dimension);
  void join(mlir::Value a, mlir::Value b);
  void joinDomain(mlir::ValueRange operands, llvm::ArrayRef<int32_t> indices,
                  Extent &rows, Extent &columns);
  void join(mlir::Operation *op);

  llvm::EquivalenceClasses<Dimension> classes;
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_EQUALEXTENTS_H
