//===- Families.h - lists that have the same members ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_FAMILIES_H
#define HEDDLE_DIALECT_REFERENCE_FAMILIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace heddle::reference {

/// The families of a function. Lists that one operation uses have the same
/// members and form a family. A member that is inactive in one list is inactive
/// in the whole family.
class Families {
public:
  explicit Families(mlir::func::FuncOp function) {
    function.walk([&](mlir::Operation *op) { join(op); });
  }

  /// A representative of the family of `list`.
  const void *of(mlir::Value list) {
    return classes.getOrInsertLeaderValue(list.getAsOpaquePointer());
  }

private:
  void join(mlir::Value a, mlir::Value b);
  void joinAll(mlir::ValueRange values);
  void join(mlir::Operation *op);

  llvm::EquivalenceClasses<const void *> classes;
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_FAMILIES_H
