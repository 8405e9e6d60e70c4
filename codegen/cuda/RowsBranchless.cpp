//===- RowsBranchless.cpp - elements of rows without branches -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the elements that a thread holds with the divisions and square roots
// of codegen/device/branchless.cuh, into arrays. If one of them is out of
// range, the thread computes all of them again with the exact operations.
// Reductions and stores take the arrays afterwards.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/RowsEmitter.h"
#include "codegen/layout/BranchlessMath.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using heddle::fused::Level;

namespace heddle::cuda {

/// Whether the operations of `slice` are computed without branches.
bool RowsEmitter::isBranchless(const Slice &slice) const {
  return usesBranchlessRows(sweep, segment) &&
         llvm::any_of(slice.ops, [&](Operation *op) {
           return hasBranchlessForm(op) && !dividesByShared(op, levels);
         });
}

/// The values that operations of `slice` compute, in their order, once each.
SmallVector<Value> RowsEmitter::valuesIn(const Slice &slice,
                                         ArrayRef<Value> values) const {
  llvm::SmallSetVector<Value, 8> computed;
  for (Value value : values)
    if (Operation *op = value.getDefiningOp(); op && slice.ops.contains(op))
      if (!isa<arith::ConstantOp>(op))
        computed.insert(value);
  return computed.takeVector();
}

/// Declares an array for each of `values`; its element has the subscripts
/// `index`.
void RowsEmitter::declareArrays(ArrayRef<Value> values, StringRef extents,
                                StringRef index) {
  for (Value value : values) {
    StringRef own = nameOf(value);
    std::string name = scope.fresh(own.empty() ? StringRef("x") : own);
    os << computedType(value.getType()) << ' ' << name << extents << ";\n";
    homes[value] = (name + index).str();
  }
}

/// Makes the arrays of `values` the place where later code finds them.
void RowsEmitter::bindArrays(ArrayRef<Value> values) {
  for (Value value : values)
    scope.bind(value, homes[value]);
}

/// Prints `compute`, loops over elements that call computeElement(): without
/// branches, then again with them for a thread whose elements are out of range.
LogicalResult
RowsEmitter::emitBranchless(llvm::function_ref<LogicalResult()> compute) {
  allExact = scope.fresh("exact");
  math = scope.freshOwn("math");
  os << "bool " << allExact << " = true;\n";
  LogicalResult printed = compute();
  math.clear();
  if (succeeded(printed))
    names.functions->block("if (!" + allExact + ")",
                           [&] { printed = compute(); });
  allExact.clear();
  return printed;
}

/// Prints the operations of `slice` for one element. An element for which
/// `isUsed` does not hold may be out of range.
LogicalResult RowsEmitter::computeElement(const Slice &slice,
                                          StringRef isUsed) {
  if (math.empty())
    return declareSlice(slice);
  os << "heddle::element_math " << math << " = {true};\n";
  if (failed(declareSlice(slice)))
    return failure();
  os << allExact << " &= " << math << ".exact";
  if (!isUsed.empty())
    os << " | !(" << isUsed << ")";
  os << ";\n";
  return success();
}

std::optional<Expression> RowsEmitter::printOp(Operation *op) {
  if (op->getNumResults() != 1 || !hasBranchlessForm(op))
    return SegmentEmitter::printOp(op);
  Level level = levels.of(op->getResult(0)).level;
  auto call = [&](const Twine &function, StringRef more = "") {
    return Expression{
        (function + "(" + text(op->getOperand(0)) + more + ")").str(),
        Expression::primary};
  };
  if (!math.empty() && (level == Level::element || level == Level::column))
    return isa<math::SqrtOp>(op)
               ? call(math + ".root")
               : call(math + ".divide", ", " + text(op->getOperand(1)));
  if (isa<arith::DivFOp>(op) && level == Level::element)
    if (auto by = divisors.find(op->getOperand(1)); by != divisors.end())
      return call(by->second + ".divide", ", " + hasHeldColumn());
  return SegmentEmitter::printOp(op);
}

} // namespace heddle::cuda
