//===- SegmentEmitter.cpp - code for a segment of a sweep -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/SegmentEmitter.h"
#include "codegen/cpu/Scalars.h"
#include "codegen/cpu/Storage.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"

using heddle::foreach::isList;
using llvm::Twine;
using llvm::Value;

namespace heddle::cpu {

SegmentEmitter::SegmentEmitter(SweepContext &context, const Segment &segment,
                               Value *descriptor, Value *arguments)
    : context(context), ir(context.ir), b(ir.b), layout(context.layout),
      segment(segment), slots(layout.segments[segment.number]),
      descriptor(descriptor), arguments(arguments),
      aliasScopes(b.getContext(),
                  layout.scratch.size() + slots.operands.size()) {
  if (descriptor)
    for (size_t k = 0; k < slots.operands.size(); ++k)
      operands.push_back(ir.field(b.getPtrTy(), descriptor,
                                  8 * static_cast<int64_t>(k), "operand"));
  for (const OperandSlot &slot : slots.operands)
    memoryOfBuffer.try_emplace(slot.buffer, memoryOfBuffer.size());
}

//===----------------------------------------------------------------------===//
// Descriptors, arguments
//===----------------------------------------------------------------------===//

Value *SegmentEmitter::wideField(int64_t offset, const Twine &name) {
  return ir.field(b.getInt64Ty(), descriptor, offset, name);
}

Value *SegmentEmitter::field(int64_t offset, const Twine &name) {
  return b.CreateSExt(ir.field(b.getInt32Ty(), descriptor, offset, name),
                      b.getInt64Ty());
}

Value *SegmentEmitter::argument(int64_t position, const Twine &name) {
  return ir.field(b.getPtrTy(), arguments, 8 * position, name);
}

Value *SegmentEmitter::scalar(int slot) {
  return argument(
      context.signature.positionOf(KernelArgumentKind::scalar, slot), "scalar");
}

Value *SegmentEmitter::scratch(int slot) {
  return argument(
      context.signature.positionOf(KernelArgumentKind::scratch, slot),
      "scratch");
}

Value *SegmentEmitter::scratch(const SegmentReduction &reduction,
                               ScratchPer per) {
  return scratch(layout.scratchOf(reduction.op, per));
}

Value *SegmentEmitter::members() {
  // The second field of a heddle::table.
  int table = context.signature.positionOf(KernelArgumentKind::table);
  return ir.field(b.getPtrTy(), argument(table, "table"), 8, "members");
}

Value *SegmentEmitter::flag() {
  mlir::Value where = context.sweep.getWhere();
  if (!where)
    return nullptr;
  Value *address = nullptr;
  if (!isList(where.getType()))
    address = scalar(*layout.whereScalar);
  else if (descriptor)
    address = operands[layout.whereOperand[segment.number]];
  if (!address)
    return nullptr;
  return b.CreateIsNotNull(b.CreateLoad(b.getInt8Ty(), address, "where"));
}

//===----------------------------------------------------------------------===//
// Aliasing
//===----------------------------------------------------------------------===//

// A buffer that is written overlaps no other buffer (the runtime checks this
// when buffers are bound), and neither does a scratch area. The metadata says
// so, so that loops vectorize without checks at run time.
void SegmentEmitter::tag(llvm::Instruction *access, int memory) {
  auto [scopes, others] = aliasScopes.of(memory);
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, scopes);
  access->setMetadata(llvm::LLVMContext::MD_noalias, others);
}

std::function<void(llvm::Instruction *)> SegmentEmitter::scratchTag(int slot) {
  return [this, slot](llvm::Instruction *access) { tag(access, slot); };
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value *SegmentEmitter::loadScalar(int slot, mlir::Type to) {
  mlir::Type storage = layout.scalars[slot].storage;
  Value *loaded = loadStored(ir, storage, scalar(slot));
  return convert(ir, fromMemory(ir, storage, loaded), storage, to);
}

void SegmentEmitter::storeScalar(int slot, mlir::Type from, Value *value) {
  mlir::Type storage = layout.scalars[slot].storage;
  storeStored(ir, storage, convert(ir, value, from, storage), scalar(slot));
}

Value *SegmentEmitter::iteration() {
  return b.CreateSExt(
      loadScalar(*layout.iteration, layout.scalars[*layout.iteration].storage),
      b.getInt64Ty(), "iteration");
}

Value *SegmentEmitter::lengthOf(int slot) {
  return b.CreatePtrToInt(operands[slot + 1], b.getInt64Ty(), "length");
}

Value *SegmentEmitter::strideOf(int slot) {
  return b.CreatePtrToInt(operands[slot + 1], b.getInt64Ty(), "stride");
}

Value *SegmentEmitter::addressOf(int slot, const Position &at) {
  const OperandSlot &operand = slots.operands[slot];
  if (operand.index == kScalar)
    return operands[slot];
  if (operand.index == kIJ)
    return ir.element(
        ir.memoryTypeOf(operand.storage), operands[slot],
        b.CreateAdd(b.CreateMul(at.index[kI], strideOf(slot)), at.index[kJ]));
  return ir.element(ir.memoryTypeOf(operand.storage), operands[slot],
                    at.index[operand.index]);
}

/// The address of a vector's entry for an iteration; for an empty vector, the
/// address of the value that stands for a missing entry.
Value *SegmentEmitter::addressOfEntry(int slot) {
  int32_t index = slots.operands[slot].index;
  Value *wanted = index == kFirst ? ir.i64(0) : iteration();
  if (index == kNext)
    wanted = b.CreateAdd(wanted, ir.i64(1));
  mlir::Type storage = slots.operands[slot].storage;
  mlir::Type computed = foreach::computeType(storage);
  Value *none = ir.local(ir.memoryTypeOf(storage), 1, "none");
  llvm::Type *type = ir.typeOf(computed);
  Value *ofNoIteration = type->isFloatingPointTy()
                             ? llvm::ConstantFP::getInfinity(type)
                             : llvm::Constant::getNullValue(type);
  storeStored(ir, storage, convert(ir, ofNoIteration, computed, storage), none);
  Value *length = lengthOf(slot);
  Value *entry = ir.smaller(wanted, b.CreateSub(length, ir.i64(1)));
  Value *address = ir.element(ir.memoryTypeOf(storage), operands[slot], entry);
  return b.CreateSelect(b.CreateICmpEQ(length, ir.i64(0)), none, address);
}

Value *SegmentEmitter::loadArgument(mlir::BlockArgument argument,
                                    const Position &at) {
  int slot = slots.inputs[argument.getArgNumber()];
  if (slot < 0)
    return loadScalar(-1 - slot, argument.getType());
  const OperandSlot &operand = slots.operands[slot];
  Value *address =
      isEntryIndex(operand.index) ? addressOfEntry(slot) : addressOf(slot, at);
  llvm::LoadInst *loaded = loadStored(ir, operand.storage, address);
  tag(loaded, memoryOf(operand));
  Value *value = fromMemory(ir, operand.storage, loaded);
  value = convert(ir, value, operand.storage, argument.getType());
  if (llvm::StringRef name = nameOf(argument); !name.empty())
    value->setName(name);
  return value;
}

/// The number of rows, or of elements of a `stream` sweep, is in the member
/// descriptor only.
Value *SegmentEmitter::extentAlong(foreach::Axis axis) {
  auto columns = [&] { return wideField(context.columnsOffset(), "columns"); };
  if (axis == foreach::Axis::j)
    return columns();
  Value *member = descriptor;
  if (!ofMember)
    member = ir.element(b.getInt8Ty(), members(),
                        b.CreateMul(field(context.countOffset() + 12, "member"),
                                    ir.i64(context.descriptorBytes())));
  Value *count =
      ir.field(b.getInt64Ty(), member, context.countOffset(), "extent");
  return axis == foreach::Axis::i || layout.rank < 2
             ? count
             : b.CreateMul(count, columns(), "extent");
}

/// Positions in a tile are counted from its first row or element.
Value *SegmentEmitter::positionAlong(foreach::Axis axis) {
  if (axis == foreach::Axis::j)
    return current->index[kJ];
  Value *first = wideField(context.countOffset(), "first");
  bool stream =
      context.sweep.getScheduleAttr().getKind() == fused::ScheduleKind::stream;
  Value *columns = layout.rank == 2
                       ? wideField(context.columnsOffset(), "columns")
                       : nullptr;
  if (stream && columns)
    first = b.CreateMul(first, columns);
  Value *at = b.CreateAdd(first, current->index[kI]);
  if (stream || axis == foreach::Axis::i)
    return at;
  return b.CreateAdd(b.CreateMul(at, columns), current->index[kJ]);
}

void SegmentEmitter::emitOp(mlir::Operation &op) {
  if (auto extent = llvm::dyn_cast<foreach::ExtentOp>(op))
    return set(extent, extentAlong(extent.getAxis()));
  if (auto index = llvm::dyn_cast<foreach::IndexOp>(op))
    return set(index, positionAlong(index.getAxis()));
  if (auto precompute = llvm::dyn_cast<fused::PrecomputeOp>(op)) {
    // Recomputed at every use, with the same bits as precomputed scalars.
    for (auto [argument, input] :
         llvm::zip(precompute.getBody().getArguments(), precompute.getInputs()))
      set(argument, get(input));
    for (mlir::Operation &inner :
         precompute.getBody().front().without_terminator())
      emitOp(inner);
    for (auto [result, value] :
         llvm::zip(precompute.getResults(), precompute.getYield().getValues()))
      set(result, get(value));
    return;
  }
  if (auto record = llvm::dyn_cast<fused::RecordOp>(op))
    return set(record.getResult(), get(record.getValue()));
  if (llvm::isa<foreach::IterationOp>(op))
    return set(op.getResult(0),
               loadScalar(*layout.iteration, op.getResult(0).getType()));
  Value *value =
      emitScalar(ir, &op, [&](mlir::Value operand) { return get(operand); });
  if (!value) {
    if (!context.failed)
      op.emitOpError("cannot be compiled for the cpu target");
    context.failed = true;
    value = llvm::PoisonValue::get(ir.typeOf(op.getResult(0).getType()));
  }
  if (llvm::StringRef name = nameOf(op.getResult(0));
      !name.empty() && !value->hasName())
    value->setName(name);
  set(op.getResult(0), value);
}

void SegmentEmitter::compute(const Segment::Values &needed, const Position &at,
                             llvm::function_ref<bool(mlir::Value)> filter) {
  auto wanted = [&](mlir::Value value) {
    return needed.contains(value) && (!filter || filter(value));
  };
  current = &at;
  for (mlir::BlockArgument argument : segment.body().getArguments())
    if (wanted(argument))
      set(argument, loadArgument(argument, at));
  for (mlir::Operation &op : segment.body().without_terminator())
    if (!llvm::isa<fused::ReduceOp>(op) &&
        llvm::any_of(op.getResults(), wanted))
      emitOp(op);
}

void SegmentEmitter::store(const SegmentResult &result, const Position &at) {
  const OperandSlot &operand = slots.operands[result.slot];
  Value *value =
      convert(ir, get(result.value), result.value.getType(), operand.storage);
  auto storeAt = [&](const Position &at) {
    tag(storeStored(ir, operand.storage, value, addressOf(result.slot, at)),
        memoryOf(operand));
  };
  if (operand.index != kIteration)
    return storeAt(at);
  Position entry;
  entry.index[kIteration] = iteration();
  ir.when(b.CreateICmpSLT(entry.index[kIteration], lengthOf(result.slot)),
          [&] { storeAt(entry); });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Reduction SegmentEmitter::reductionOf(const SegmentReduction &reduction) {
  fused::ReduceOp op = reduction.op;
  return Reduction(ir, op.getKind(), op.getValue().getType(), layout.threads);
}

void SegmentEmitter::setResults(const SegmentReduction &reduction,
                                Reduction &states, const State &state) {
  fused::ReduceOp op = reduction.op;
  for (auto [result, value] : llvm::zip(op.getResults(), states.values(state)))
    set(result, value);
}

} // namespace heddle::cpu
