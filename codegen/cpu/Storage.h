//===- Storage.h - elements in memory ---------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads, stores and conversions between storage types and compute types.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_STORAGE_H
#define HEDDLE_CODEGEN_CPU_STORAGE_H

#include "codegen/cpu/Ir.h"

namespace heddle::cpu {

/// Converts a value of type `from` to type `to`: floats widen or round to
/// nearest even (f64 to 16 bits through f32, as on every target).
llvm::Value *convert(Ir &ir, llvm::Value *value, mlir::Type from,
                     mlir::Type to);

/// Reads and writes an element of type `storage`, whose address is a multiple
/// of its size.
llvm::LoadInst *loadStored(Ir &ir, mlir::Type storage, llvm::Value *address);
llvm::StoreInst *storeStored(Ir &ir, mlir::Type storage, llvm::Value *value,
                             llvm::Value *address);

/// The value that `loadStored` has read: a byte becomes a flag.
llvm::Value *fromMemory(Ir &ir, mlir::Type storage, llvm::Value *loaded);

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_STORAGE_H
