//===- Scalars.h - scalar operations as LLVM IR -----------------*- C++ -*-===//
//
// The operations that bodies compute with.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_SCALARS_H
#define HEDDLE_CODEGEN_CPU_SCALARS_H

#include "codegen/cpu/Ir.h"
#include "mlir/IR/Operation.h"

namespace heddle::cpu {

/// The value of one scalar operation over those of its operands; null where the
/// operation is none that is known.
llvm::Value *emitScalar(Ir &ir, mlir::Operation *op,
                        llvm::function_ref<llvm::Value *(mlir::Value)> operand);

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_SCALARS_H
