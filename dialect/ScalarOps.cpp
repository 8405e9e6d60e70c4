//===- ScalarOps.cpp - the scalar operations that a body may hold ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/ScalarOps.h"
#include "dialect/Foreach.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle {

ArrayRef<ScalarOp> scalarOps() {
  static const ScalarOp table[] = {
#define HEDDLE_SCALAR(OP, COST, ACCURACY, RANGE, REFERENCE, CUDA, LLVM)        \
  {TypeID::get<OP>(), OP::getOperationName(), ScalarCost::COST,                \
   accuracy::ACCURACY},
#include "dialect/ScalarOps.def"
  };
  return table;
}

const ScalarOp *findScalarOp(Operation *op) {
  TypeID id = op->getName().getTypeID();
  for (const ScalarOp &scalar : scalarOps())
    if (scalar.id == id)
      return &scalar;
  return nullptr;
}

std::string namesOfScalarOps(StringRef dialect) {
  SmallVector<StringRef> names;
  auto add = [&](StringRef name) {
    if (name.consume_front(dialect) && name.consume_front("."))
      names.push_back(name);
  };
#define HEDDLE_SCALAR_LEAF(OP) add(OP::getOperationName());
#include "dialect/ScalarOps.def"
  for (const ScalarOp &scalar : scalarOps())
    add(scalar.name);
  llvm::sort(names);
  return llvm::join(names, ", ");
}

bool isScalarOp(Operation *op) {
#define HEDDLE_SCALAR_LEAF(OP)                                                 \
  if (isa<OP>(op))                                                             \
    return true;
#include "dialect/ScalarOps.def"
  return findScalarOp(op) != nullptr;
}

std::string whyNotScalar(StringRef name) {
  StringRef dialect = name.split('.').first;
  if (dialect != "arith" && dialect != "math")
    return "";
  std::string allowed = namesOfScalarOps(dialect);
  SmallVector<StringRef> names;
  StringRef(allowed).split(names, ", ");
  if (llvm::is_contained(names, name.split('.').second))
    return "";
  return ("'" + name + "' is not a scalar operation of programs; those of " +
          dialect + " are " + allowed)
      .str();
}

LogicalResult emitNotScalar(Operation &op, StringRef place) {
  StringRef dialect = op.getName().getDialectNamespace();
  std::string allowed = namesOfScalarOps(dialect);
  InFlightDiagnostic error = op.emitOpError("is not a scalar operation, which ")
                             << place << " requires";
  if (!allowed.empty())
    error << "; the scalar operations of " << dialect << " are " << allowed;
  return error;
}

} // namespace heddle
