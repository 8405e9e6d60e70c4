//===- Ir.h - building LLVM IR ----------------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An IRBuilder with the constructs that the emitter uses: loops, local arrays,
// and the types of values.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_IR_H
#define HEDDLE_CODEGEN_CPU_IR_H

#include "codegen/cpu/Host.h"
#include "mlir/IR/Types.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace heddle::cpu {

class Ir {
public:
  Ir(llvm::Module &module, const HostTraits &host)
      : b(module.getContext()), module(module), host(host) {}

  llvm::IRBuilder<> b;
  llvm::Module &module;
  const HostTraits host;

  /// The type in which a value is computed; for f16 and bf16, an integer that
  /// holds the bits.
  llvm::Type *typeOf(mlir::Type type);
  /// The type of a value in memory: a flag takes a byte.
  llvm::Type *memoryTypeOf(mlir::Type type);

  llvm::ConstantInt *i64(int64_t value) { return b.getInt64(value); }
  llvm::Value *smaller(llvm::Value *a, llvm::Value *c);
  /// `count` divided by the constant `by`, rounded up.
  llvm::Value *ceilDiv(llvm::Value *count, int64_t by);

  /// An array of `count` values on the stack of the current function.
  llvm::AllocaInst *local(llvm::Type *type, int64_t count,
                          const llvm::Twine &name);
  /// The address of element `index` of an array.
  llvm::Value *element(llvm::Type *type, llvm::Value *base, llvm::Value *index);
  /// The field of a descriptor or structure at a constant offset in bytes.
  llvm::Value *field(llvm::Type *type, llvm::Value *base, int64_t offset,
                     const llvm::Twine &name);

  /// Emits body(k) for k = 0, 1, ... below `end`.
  void loop(llvm::Value *end, const llvm::Twine &name,
            llvm::function_ref<void(llvm::Value *)> body);
  /// Emits `body`, which may return, under `condition`.
  void when(llvm::Value *condition, llvm::function_ref<void()> body);

  /// Creates a function, private to this module unless `visible`, and moves the
  /// builder to its start.
  llvm::Function *function(const llvm::Twine &name, llvm::Type *result,
                           llvm::ArrayRef<llvm::Type *> parameters,
                           bool visible = false);
};

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_IR_H
