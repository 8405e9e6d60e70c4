//===- Storage.h - elements in memory ---------------------------*- C++ -*-===//
//
// Loads, stores and conversions between the types in which elements are stored
// and those in which they are computed.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_STORAGE_H
#define HEDDLE_CODEGEN_CPU_STORAGE_H

#include "codegen/cpu/Ir.h"

namespace heddle::cpu {

/// A value of type `from` as a value of type `to`: floats widen or round to
/// nearest even (f64 reaches 16 bits by way of f32, as on every target).
llvm::Value *convert(Ir &ir, llvm::Value *value, mlir::Type from,
                     mlir::Type to);

/// Reads and writes an element of type `storage`; it lies at a multiple of its
/// size.
llvm::LoadInst *loadStored(Ir &ir, mlir::Type storage, llvm::Value *address);
llvm::StoreInst *storeStored(Ir &ir, mlir::Type storage, llvm::Value *value,
                             llvm::Value *address);

/// What `loadStored` read, as a value: a byte becomes a flag.
llvm::Value *fromMemory(Ir &ir, mlir::Type storage, llvm::Value *loaded);

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_STORAGE_H
