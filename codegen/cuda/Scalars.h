//===- Scalars.h - scalar operations as C++ expressions ---------*- C++ -*-===//
//
// The text of the operations that bodies compute with.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_SCALARS_H
#define HEDDLE_CODEGEN_CUDA_SCALARS_H

#include "codegen/cuda/Names.h"
#include "mlir/IR/Operation.h"

namespace heddle::cuda {

/// The C++ type in which values of `type` are computed.
llvm::StringRef computedType(mlir::Type type);

/// The C++ type in which elements of `type` are stored.
llvm::StringRef storedType(mlir::Type type);

/// An expression and how tightly its outermost operator binds.
struct Expression {
  std::string text;
  enum Binding { loosest, comparison, sum, product, unary, primary } binding;
};

/// The expression of one scalar operation over its operands' texts, or nothing
/// where there is none.
std::optional<Expression>
printScalar(mlir::Operation *op,
            llvm::function_ref<Expression(mlir::Value)> operand);

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_SCALARS_H
