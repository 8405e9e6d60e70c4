//===- Occupancy.cpp - blocks that must fit on a multiprocessor -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates of the registers that compilers need for a thread of the emitted
// source.
//
//===----------------------------------------------------------------------===//

#include "passes/Occupancy.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace heddle::fused {

/// Registers of a multiprocessor.
static constexpr int64_t kRegisters = 65536;

static int64_t blocksFor(int64_t registers, int64_t threads, int64_t most) {
  registers = llvm::alignTo(registers, 8);
  return std::clamp<int64_t>(kRegisters / (threads * registers), 1, most);
}

//===----------------------------------------------------------------------===//
// The schedule `stream`
//===----------------------------------------------------------------------===//

/// The operations of elements.
static SmallVector<Operation *> elementOps(SweepOp sweep, unsigned number) {
  SmallVector<Operation *> ops;
  if (auto levels = Levels::infer(sweep, number); succeeded(levels))
    for (Operation &op : sweep.getSegmentBlock(number).without_terminator())
      if (op.getNumResults() == 1 &&
          levels->of(op.getResult(0)).level == Level::element)
        ops.push_back(&op);
  return ops;
}

/// Whether a segment divides elements or takes their square roots. Both call a
/// function for rare operands.
static bool callsFunctions(ArrayRef<Operation *> ops) {
  return llvm::any_of(ops, [](Operation *op) {
    return isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp>(op);
  });
}

/// The number of scalars that operations of elements use.
static int64_t scalarsOf(SweepOp sweep, unsigned number,
                         ArrayRef<Operation *> ops) {
  auto levels = Levels::infer(sweep, number);
  llvm::SmallDenseSet<Value> scalars;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (succeeded(levels) && levels->of(operand).level != Level::element &&
          !operand.getDefiningOp<arith::ConstantOp>())
        scalars.insert(operand);
  return scalars.size();
}

/// Registers for elements of 16 bits in rounds, which stay two in a register
/// until they are used. `words` has the registers of the operands.
static int64_t packedRegisters(SweepOp sweep, unsigned number, int64_t words) {
  SmallVector<Operation *> ops = elementOps(sweep, number);
  int64_t between = words * 2 / 3;
  if (callsFunctions(ops))
    return 24 + words + std::max<int64_t>(between, 16);
  return 12 + words + between +
         std::max<int64_t>(scalarsOf(sweep, number, ops) - 2, 0);
}

/// Registers of a thread: for its elements, for addresses and intermediate
/// values (two thirds as many, plus 12), and for scalars that are loaded. A
/// double takes two registers; its divisions and square roots need more, least
/// if a thread holds only two. Elements of 16 bits stay two in a register until
/// they are used, except in a sum.
static int64_t streamRegisters(SweepOp sweep, const SweepLayout &layout,
                               unsigned number) {
  const SegmentLayout &segment = layout.segments[number];
  Block &body = sweep.getSegmentBlock(number);
  int64_t halfWords = 0, loaded = 0;
  bool packed = segment.vector == 8; // elements of 16 bits
  // If a segment writes no elements, a thread holds those of all rounds at
  // once.
  bool writes = llvm::any_of(segment.operands, [](const OperandSlot &slot) {
    return slot.written && slot.index == kI;
  });
  int64_t rounds =
      writes ? 1
             : std::max<int64_t>(1, segment.tile /
                                        (layout.threads * segment.vector));
  bool doubles = llvm::any_of(body.getOps<ReduceOp>(), [](ReduceOp op) {
    return op.getValue().getType().isF64();
  });
  for (auto [argument, slot] : llvm::zip(body.getArguments(), segment.inputs)) {
    if (slot < 0 && !layout.scalars[-1 - slot].isByValue)
      loaded += 3;
    if (slot >= 0 && segment.operands[slot].index == kScalar &&
        storageBytes(segment.operands[slot].storage) == 8)
      loaded += 3;
    if (slot < 0 || segment.operands[slot].index != kI)
      continue;
    int64_t bytes = storageBytes(segment.operands[slot].storage);
    doubles |= bytes == 8;
    halfWords += segment.vector * rounds *
                 (bytes == 8             ? 4
                  : packed && bytes == 2 ? 1
                                         : 2);
  }
  int64_t words = llvm::divideCeil(halfWords, 2);
  int64_t ofDoubles = !doubles ? 0 : segment.vector == 2 ? 8 : 24;
  if (writes && packed)
    return packedRegisters(sweep, number, words) + loaded + ofDoubles +
           (segment.endsAfterStores ? 8 : 0);
  if (writes)
    return 12 + words + words * 2 / 3 + loaded + ofDoubles +
           (words > 16 ? 8 : 0) + (segment.endsAfterStores ? 8 : 0);
  // All loads of elements are in flight at once. The addresses of member values
  // stay in registers until the member is complete.
  return 8 + words + loaded + (doubles ? 24 : 0) +
         2 * llvm::count_if(segment.operands, [](const OperandSlot &slot) {
           return isMemberIndex(slot.index);
         });
}

static int64_t streamBlocks(SweepOp sweep, const SweepLayout &layout) {
  int64_t registers = 0;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
    registers = std::max(registers, streamRegisters(sweep, layout, s));
  return blocksFor(registers, layout.threads, 8);
}

//===----------------------------------------------------------------------===//
// The schedule `rows`
//===----------------------------------------------------------------------===//

/// If blocks share rows, a thread needs registers for a batch and its
/// addresses. Math in double needs more, and so may a segment whose rows are
/// not shared.
static int64_t sharedBlocks(SweepOp sweep, const SweepLayout &layout) {
  int64_t blocks = 5;
  for (auto [s, segment] : llvm::enumerate(layout.segments)) {
    if (!segment.columns) {
      blocks = std::min<int64_t>(blocks, 4);
      continue;
    }
    auto levels = Levels::infer(sweep, s);
    for (Value value : backwardSlice(elementResults(sweep, s)))
      if (succeeded(levels) && levels->of(value).level > Level::member &&
          value.getType().getIntOrFloatBitWidth() == 64)
        blocks = std::min<int64_t>(blocks, 2);
  }
  return blocks;
}

/// If threads traverse columns, the latency of loads is hidden only by other
/// warps.
static int64_t downBlocks(SweepOp sweep) {
  bool doubles = false;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
    for (Operation &op : sweep.getSegmentBlock(s).without_terminator())
      doubles |= isa<ReduceOp>(op) && op.getOperand(0).getType().isF64();
  return doubles ? 2 : 3;
}

/// While a block writes the elements of a row, other blocks must load.
static int64_t rowBlocks(const SweepLayout &layout) {
  auto isElement = [](const OperandSlot &slot) { return slot.index == kIJ; };
  size_t most = 0;
  bool doubles = false;
  for (const SegmentLayout &segment : layout.segments) {
    if (llvm::none_of(segment.operands, [&](const OperandSlot &slot) {
          return slot.written && isElement(slot);
        }))
      return 1;
    size_t words = 0;
    for (const OperandSlot &slot : segment.operands)
      if (slot.read && (isElement(slot) || slot.index == kJ)) {
        bool wide = storageBytes(slot.storage) == 8;
        doubles |= wide;
        words += wide ? 2 : 1;
      }
    most = std::max(most, words);
  }
  return blocksFor(24 + 3 * columnBatch(most) * most + (doubles ? 48 : 0),
                   layout.threads, 5);
}

int64_t residentBlocks(SweepOp sweep, const SweepLayout &layout) {
  if (sweep.getScheduleAttr().getKind() == ScheduleKind::stream)
    return streamBlocks(sweep, layout);
  if (layout.columns)
    return sharedBlocks(sweep, layout);
  if (goesDownColumns(sweep, layout))
    return downBlocks(sweep);
  return rowBlocks(layout);
}

} // namespace heddle::fused
