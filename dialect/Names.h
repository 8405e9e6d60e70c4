//===- Names.h - the names of values ----------------------------*- C++ -*-===//
//
// A value's name is the one its SSA name had in the text it was read from, kept
// in its location. Names make buffers bindable, IR and CUDA readable, and never
// change what is computed.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_NAMES_H
#define HEDDLE_DIALECT_NAMES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"

namespace heddle {

/// The name of `value`, or an empty string where it has none.
llvm::StringRef nameOf(mlir::Value value);

/// A location that names the single result or block argument that carries it.
mlir::Location namedLoc(mlir::MLIRContext *context, llvm::StringRef name);

/// A location that names every result of an operation, in order.
mlir::Location namedLoc(mlir::MLIRContext *context,
                        llvm::ArrayRef<llvm::StringRef> names);

/// Gives `value` a name: a block argument or the result of an operation.
void setName(mlir::Value value, llvm::StringRef name);

/// Copies the names of `from` to `to`, pairwise.
void copyNames(mlir::ValueRange from, mlir::ValueRange to);

/// Reports the names of values to the printer.
void printNames(mlir::ValueRange values,
                llvm::function_ref<void(mlir::Value, llvm::StringRef)> set);

} // namespace heddle

#endif // HEDDLE_DIALECT_NAMES_H
