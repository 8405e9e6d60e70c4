//===- Ir.cpp - building LLVM IR ------------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Ir.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/IR/Module.h"

using llvm::BasicBlock;
using llvm::Twine;
using llvm::Value;

namespace heddle::cpu {

llvm::Type *Ir::typeOf(mlir::Type type) {
  if (type.isF64())
    return b.getDoubleTy();
  if (type.isF32())
    return b.getFloatTy();
  return b.getIntNTy(type.getIntOrFloatBitWidth());
}

llvm::Type *Ir::memoryTypeOf(mlir::Type type) {
  return type.isInteger(1) ? b.getInt8Ty() : typeOf(type);
}

Value *Ir::smaller(Value *a, Value *c) {
  return b.CreateSelect(b.CreateICmpSLT(a, c), a, c);
}

Value *Ir::ceilDiv(Value *count, int64_t by) {
  return b.CreateUDiv(b.CreateAdd(count, i64(by - 1)), i64(by));
}

llvm::AllocaInst *Ir::local(llvm::Type *type, int64_t count,
                            const Twine &name) {
  BasicBlock &entry = b.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> atEntry(&entry, entry.begin());
  llvm::AllocaInst *array =
      atEntry.CreateAlloca(llvm::ArrayType::get(type, count), nullptr, name);
  array->setAlignment(llvm::Align(64));
  return array;
}

Value *Ir::element(llvm::Type *type, Value *base, Value *index) {
  return b.CreateInBoundsGEP(type, base, index);
}

Value *Ir::field(llvm::Type *type, Value *base, int64_t offset,
                 const Twine &name) {
  Value *address = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, offset);
  return b.CreateLoad(type, address, name);
}

void Ir::loop(Value *end, const Twine &name,
              llvm::function_ref<void(Value *)> body) {
  llvm::LLVMContext &context = b.getContext();
  llvm::Function *function = b.GetInsertBlock()->getParent();
  BasicBlock *before = b.GetInsertBlock();
  auto *head = BasicBlock::Create(context, name, function);
  auto *inside = BasicBlock::Create(context, name + ".body", function);
  auto *done = BasicBlock::Create(context, name + ".end", function);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode *k = b.CreatePHI(b.getInt64Ty(), 2, name);
  k->addIncoming(i64(0), before);
  b.CreateCondBr(b.CreateICmpSLT(k, end), inside, done);
  b.SetInsertPoint(inside);
  body(k);
  k->addIncoming(b.CreateAdd(k, i64(1), "", /*HasNUW=*/true, /*HasNSW=*/true),
                 b.GetInsertBlock());
  b.CreateBr(head);
  b.SetInsertPoint(done);
}

void Ir::when(Value *condition, llvm::function_ref<void()> body) {
  llvm::Function *function = b.GetInsertBlock()->getParent();
  auto *then = BasicBlock::Create(b.getContext(), "then", function);
  auto *done = BasicBlock::Create(b.getContext(), "done", function);
  b.CreateCondBr(condition, then, done);
  b.SetInsertPoint(then);
  body();
  if (!b.GetInsertBlock()->getTerminator())
    b.CreateBr(done);
  b.SetInsertPoint(done);
}

llvm::Function *Ir::function(const Twine &name, llvm::Type *result,
                             llvm::ArrayRef<llvm::Type *> parameters,
                             bool visible) {
  auto *type = llvm::FunctionType::get(result, parameters, /*isVarArg=*/false);
  auto *made =
      llvm::Function::Create(type,
                             visible ? llvm::GlobalValue::ExternalLinkage
                                     : llvm::GlobalValue::InternalLinkage,
                             name, module);
  made->setDoesNotThrow();
  made->addFnAttr(llvm::Attribute::MustProgress);
  b.SetInsertPoint(BasicBlock::Create(b.getContext(), "entry", made));
  return made;
}

} // namespace heddle::cpu
