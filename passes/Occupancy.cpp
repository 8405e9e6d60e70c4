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
#include "codegen/layout/BranchlessMath.h"
#include "codegen/layout/DrawnNumbers.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// Elements of 16 bits stay two in a register until they are used.
static bool arePacked(const OperandSlot &slot) {
  return slot.storage.isF16() || slot.storage.isBF16();
}

/// Whether a segment divides f32 elements or takes their roots.
static bool divides(SweepOp sweep, unsigned number) {
  auto levels = Levels::infer(sweep, number);
  return succeeded(levels) &&
         llvm::any_of(sweep.getSegmentBlock(number), [&](Operation &op) {
           return hasBranchlessForm(&op) &&
                  levels->of(op.getResult(0)).level == Level::element;
         });
}

static bool writesElements(const SegmentLayout &segment) {
  return llvm::any_of(segment.operands, [](const OperandSlot &slot) {
    return slot.written && slot.index == kI;
  });
}

static int64_t roundsOf(const SweepLayout &layout,
                        const SegmentLayout &segment) {
  return std::max<int64_t>(1, segment.tile / (layout.threads * segment.vector));
}

/// Whether a thread maps its elements in several rounds.
static bool mapsInRounds(SweepOp sweep, const SweepLayout &layout,
                         unsigned number) {
  const SegmentLayout &segment = layout.segments[number];
  return writesElements(segment) && roundsOf(layout, segment) > 1 &&
         sweep.getSegmentBlock(number).getOps<ReduceOp>().empty();
}

/// The fewest registers of a thread that divides f32 elements or takes their
/// roots. With 32, NVRTC 13 spills, and the kernel is compiled again.
static constexpr int64_t kLeastForDivisions = 40;

/// The words of elements that a thread holds. If a segment writes no elements,
/// it holds those of all rounds at once.
static int64_t elementWords(SweepOp sweep, const SweepLayout &layout,
                            unsigned number) {
  const SegmentLayout &segment = layout.segments[number];
  int64_t rounds = writesElements(segment) ? 1 : roundsOf(layout, segment);
  int64_t halfWords = 0;
  for (int slot : segment.inputs)
    if (slot >= 0 && segment.operands[slot].index == kI) {
      const OperandSlot &operand = segment.operands[slot];
      halfWords += segment.vector * rounds *
                   (storageBytes(operand.storage) == 8 ? 4
                    : arePacked(operand)               ? 1
                                                       : 2);
    }
  return llvm::divideCeil(halfWords, 2);
}

/// Registers of a thread: for its elements, for addresses and intermediate
/// values (two thirds as many, plus 12), and for scalars that are loaded. A
/// double takes two registers; its divisions and square roots need more, least
/// if a thread holds only two. So do divisions of elements of 16 bits.
static int64_t streamRegisters(SweepOp sweep, const SweepLayout &layout,
                               unsigned number) {
  const SegmentLayout &segment = layout.segments[number];
  Block &body = sweep.getSegmentBlock(number);
  int64_t loaded = 0, byAddress = 0;
  bool writes = writesElements(segment);
  bool doubles = llvm::any_of(body.getOps<ReduceOp>(), [](ReduceOp op) {
    return op.getValue().getType().isF64();
  });
  bool packed = false;
  for (auto [argument, slot] : llvm::zip(body.getArguments(), segment.inputs)) {
    byAddress += slot < 0 && !layout.scalars[-1 - slot].isByValue;
    if (slot >= 0 && segment.operands[slot].index == kScalar &&
        storageBytes(segment.operands[slot].storage) == 8)
      loaded += 3;
    if (slot < 0 || segment.operands[slot].index != kI)
      continue;
    const OperandSlot &operand = segment.operands[slot];
    doubles |= storageBytes(operand.storage) == 8;
    packed |= arePacked(operand);
  }
  loaded += byAddress * (doubles || packed ? 3 : 2);
  // Extents and positions have 64 bits; conversions of them need registers.
  // Drawn numbers are words of a block of the generator.
  auto levels = Levels::infer(sweep, number);
  for (Operation &op : body)
    if (isa<foreach::ExtentOp>(op))
      loaded += 4;
    else if (failed(levels))
      continue;
    else if (isa<foreach::IndexOp>(op) && !isPositionOfDrawn(&op, *levels))
      loaded += 4 + 2 * segment.vector;
    else if (auto random = dyn_cast<foreach::RandomOp>(op);
             random && isDrawn(random, *levels))
      loaded += segment.vector * storageBytes(random.getType()) / 4;
    else if (isa<foreach::JoinOp>(op))
      loaded += 2 * segment.vector; // the halves, beside the float
  int64_t words = elementWords(sweep, layout, number);
  // With several segments, the descriptor of the tile stays in registers.
  int64_t ofDoubles = !doubles                      ? 0
                      : segment.vector > 2          ? 24
                      : layout.segments.size() == 1 ? 8
                                                    : 16;
  // The scalars take the registers of up to two values of a member that a
  // segment replaces, such as its step counter; each further one has its
  // address, and doubles that are computed of it, if no loop over rounds is
  // between them.
  int64_t replaced =
      llvm::count_if(segment.operands, [](const OperandSlot &slot) {
        return slot.written && isMemberIndex(slot.index);
      });
  int64_t ofMembers = mapsInRounds(sweep, layout, number)
                          ? 0
                          : 9 * std::max<int64_t>(0, replaced - 2);
  int64_t ofDivisions = packed && divides(sweep, number) ? 4 : 0;
  if (writes) {
    int64_t registers = 12 + words + words * 2 / 3 + loaded + ofDoubles +
                        ofDivisions + ofMembers + (words > 16 ? 8 : 0) +
                        (segment.endsAfterStores ? 8 : 0);
    return divides(sweep, number) ? std::max(registers, kLeastForDivisions)
                                  : registers;
  }
  // All loads of elements are in flight at once. The addresses of member values
  // stay in registers until the member is complete.
  return 8 + words + loaded + (doubles ? 24 : 0) +
         2 * llvm::count_if(segment.operands, [](const OperandSlot &slot) {
           return isMemberIndex(slot.index);
         });
}

/// Whether elements depend on precomputed scalars.
static bool usesPrecomputed(SweepOp sweep, unsigned segment) {
  return llvm::any_of(backwardSlice(elementResults(sweep, segment)),
                      [](Value value) {
                        return value.getDefiningOp<PrecomputeOp>() != nullptr;
                      });
}

/// Measured: blocks that should fit on a multiprocessor if elements are mapped
/// in rounds. With more, memory is not faster. With few words for each thread,
/// and none of them precomputed, a short list is, by 2 %.
static constexpr int64_t kBlocksOfRounds = 5, kBlocksOfShortRounds = 6,
                         kFewWords = 12;

/// The most blocks of a segment.
static int64_t mostBlocks(SweepOp sweep, const SweepLayout &layout,
                          unsigned number) {
  constexpr int64_t unlimited = 8;
  const SegmentLayout &segment = layout.segments[number];
  if (!mapsInRounds(sweep, layout, number))
    return unlimited;
  if (llvm::any_of(segment.operands, arePacked)) {
    // Elements of several sizes: some have 16 bits.
    return segment.vector < 8 ? unlimited : kBlocksOfRounds;
  }
  bool isShort = elementWords(sweep, layout, number) <= kFewWords &&
                 !usesPrecomputed(sweep, number);
  return isShort ? kBlocksOfShortRounds : kBlocksOfRounds;
}

/// Measured: a loop over rounds of f32 fits into the registers that the most
/// blocks leave.
static bool fitsRegisters(SweepOp sweep, const SweepLayout &layout,
                          unsigned number) {
  return mapsInRounds(sweep, layout, number) &&
         llvm::all_of(
             layout.segments[number].operands, [](const OperandSlot &slot) {
               return slot.index != kI || storageBytes(slot.storage) == 4;
             });
}

static int64_t streamBlocks(SweepOp sweep, const SweepLayout &layout) {
  int64_t registers = 1, most = 8;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    if (!fitsRegisters(sweep, layout, s))
      registers = std::max(registers, streamRegisters(sweep, layout, s));
    most = std::min(most, mostBlocks(sweep, layout, s));
  }
  return blocksFor(registers, layout.threads, most);
}

//===----------------------------------------------------------------------===//
// The schedule `rows`
//===----------------------------------------------------------------------===//

/// If blocks share rows, a thread needs registers for a batch and its
/// addresses. Math in double or without branches needs more, and so may a
/// segment whose rows are not shared.
static int64_t sharedBlocks(SweepOp sweep, const SweepLayout &layout) {
  int64_t blocks = 5;
  for (auto [s, segment] : llvm::enumerate(layout.segments)) {
    if (!segment.columns || usesBranchlessRows(sweep, s))
      blocks = std::min<int64_t>(blocks, 4);
    if (!segment.columns)
      continue;
    auto levels = Levels::infer(sweep, s);
    for (Value value : backwardSlice(elementResults(sweep, s)))
      if (succeeded(levels) && levels->of(value).level > Level::member &&
          value.getType().getIntOrFloatBitWidth() == 64)
        blocks = std::min<int64_t>(blocks, 2);
  }
  return blocks;
}

/// If threads traverse columns, the latency of loads is hidden only by other
/// warps. With one operand and one state, four blocks spill nothing; with more,
/// they do.
static int64_t downBlocks(SweepOp sweep, const SweepLayout &layout) {
  bool doubles = false;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
    for (Operation &op : sweep.getSegmentBlock(s).without_terminator())
      doubles |= isa<ReduceOp>(op) && op.getOperand(0).getType().isF64();
  constexpr int64_t fewWords = 2;
  return doubles ? 2 : layout.heldWords <= fewWords ? 4 : 3;
}

/// The registers of a thread of a sweep over rows besides those of elements and
/// columns. A sweep needs few if it only adds up elements that it computes
/// without functions: no row or column has a sum of its own, and no element or
/// column needs a division, root or exponential. If rows need one of 32 bits,
/// it needs some more.
static int64_t registersOfRows(SweepOp sweep) {
  constexpr int64_t few = 24, some = 32, many = 44;
  int64_t registers = few;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    auto levels = Levels::infer(sweep, s);
    if (failed(levels))
      return many;
    for (Operation &op : sweep.getSegmentBlock(s).without_terminator()) {
      if (auto reduce = dyn_cast<ReduceOp>(op);
          reduce && reduce.getLevel() > Level::member)
        return many;
      if (!isa<arith::DivFOp>(op) && op.getDialect()->getNamespace() != "math")
        continue;
      Level level = levels->of(op.getResult(0)).level;
      if (level == Level::row &&
          op.getResult(0).getType().getIntOrFloatBitWidth() <= 32)
        registers = some;
      else if (level > Level::member)
        return many;
    }
  }
  return registers;
}

/// Registers of a thread that holds elements and states of columns.
static int64_t heldRegisters(SweepOp sweep, const SweepLayout &layout) {
  return registersOfRows(sweep) + kHeldItems * layout.heldWords;
}

/// While a block writes the elements of a row, other blocks must load.
static int64_t rowBlocks(SweepOp sweep, const SweepLayout &layout) {
  auto isElement = [](const OperandSlot &slot) { return slot.index == kIJ; };
  size_t most = 0;
  bool doubles = false;
  int64_t held = blocksFor(heldRegisters(sweep, layout), layout.threads, 5);
  for (const SegmentLayout &segment : layout.segments) {
    if (llvm::none_of(segment.operands, [&](const OperandSlot &slot) {
          return slot.written && isElement(slot);
        }))
      return held;
    size_t words = 0;
    for (const OperandSlot &slot : segment.operands)
      if (slot.read && (isElement(slot) || slot.index == kJ)) {
        bool wide = storageBytes(slot.storage) == 8;
        doubles |= wide;
        words += wide ? 2 : 1;
      }
    most = std::max(most, words);
  }
  return std::min(
      held, blocksFor(24 + 3 * columnBatch(most) * most + (doubles ? 48 : 0),
                      layout.threads, 5));
}

/// The blocks of a sweep that divides rows: twice the most parts of a row fit
/// on 128 multiprocessors. A thread that holds 32 columns of a part has more
/// registers: four blocks spill, and take longer than three.
static int64_t blocksOfDividedRows(const SweepLayout &layout, int64_t blocks) {
  int64_t least = 2 * runtime::mostRowParts(layout.wholeColumns) / 128;
  bool isLong =
      runtime::partColumns(layout.wholeColumns) > runtime::kPartColumns;
  return isLong ? 3 : std::max(blocks, least);
}
static_assert(3 * 128 >= 2 * runtime::mostRowParts(4 * runtime::kPartColumns));

/// The registers of a thread that holds rows, besides those of elements. States
/// of more than `bytes` bytes are combined by code that needs registers of its
/// own. So do divisions without branches.
static int64_t registersBesideElements(SweepOp sweep, int64_t bytes) {
  bool hasWideStates = false, isBranchless = false;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    isBranchless |= usesBranchlessRows(sweep, s);
    for (auto op : sweep.getSegmentBlock(s).getOps<ReduceOp>()) {
      Type type = op.getValue().getType();
      hasWideStates |= stateBytes(op.getKind(), type) > bytes;
    }
  }
  return 24 + (hasWideStates ? 16 : 0) + (isBranchless ? 8 : 0);
}

/// Measured: the registers of a thread of a sweep that only reduces rows,
/// besides those of elements, which stay as they are stored.
static constexpr int64_t kBesideReduced = 16;

/// Whether a sweep only reduces one operand of f64 over rows, and the states
/// are one number.
static bool onlyReducesDoubles(SweepOp sweep, const SweepLayout &layout) {
  constexpr int64_t words = 2; // of a double
  if (layout.heldWords != words || rowStateWords(sweep) != words ||
      functionsOfElements(sweep) > 0)
    return false;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    if (!elementResults(sweep, s).empty())
      return false;
    for (auto op : sweep.getSegmentBlock(s).getOps<ReduceOp>())
      if (op.getLevel() != Level::row || !op.getValue().getType().isF64())
        return false;
  }
  return true;
}

int64_t heldBlocks(SweepOp sweep, const SweepLayout &layout, int64_t columns) {
  bool isShort = columns <= runtime::kPartColumns;
  // Short rows of several operands are slower with more blocks.
  if ((layout.onlyReducesRows && (!isShort || layout.heldWords == 1)) ||
      onlyReducesDoubles(sweep, layout)) {
    constexpr int64_t least = 40, ofConversions = 8;
    int64_t items = columns / layout.threads * (isShort ? layout.wideRows : 1);
    int64_t registers = kBesideReduced + loadedWords(layout, items);
    if (llvm::any_of(layout.segments, loadsHalves))
      registers += ofConversions;
    return blocksFor(std::max(least, registers), layout.threads, 6);
  }
  // The elements of further rows that a thread has at the same time.
  int64_t ofRows = kHeldItems * (layout.shortRows - 1);
  int64_t ofElements = isShort ? 8 + kHeldItems * layout.heldWords
                               : columns / layout.threads * layout.heldWords;
  return blocksFor(registersBesideElements(sweep, 4) + ofRows + ofElements,
                   layout.threads, 6);
}

/// A thread holds the elements of two rows, and as many values that it computes
/// from them.
int64_t pairedBlocks(SweepOp sweep, const SweepLayout &layout) {
  return blocksFor(registersBesideElements(sweep, 8) +
                       2 * 2 * kHeldItems * layout.heldWords,
                   layout.threads, 6);
}

/// Measured: the threads of a warp combine states of f64 without more
/// registers.
int64_t warpBlocks(SweepOp sweep, const SweepLayout &layout, int64_t columns) {
  if (onlyReducesDoubles(sweep, layout))
    return heldBlocks(sweep, layout, columns / 32 * layout.threads);
  return blocksFor(registersBesideElements(sweep, 8) +
                       columns / 32 * layout.heldWords,
                   layout.threads, 6);
}

/// Measured: the states of all reductions of a row take registers, too, because
/// blocks exchange them.
int64_t clusterBlocks(SweepOp sweep, const SweepLayout &layout) {
  int64_t items = runtime::partColumns(layout.wholeColumns) / layout.threads;
  return blocksFor(registersBesideElements(sweep, 4) +
                       items * layout.heldWords + 4 * rowStateWords(sweep),
                   layout.threads, 6);
}

/// Measured: while blocks wait for each other, others must load, although
/// threads spill some registers: 13 for 32 words and six blocks, 23 for a
/// softmax of f64 and four. A block that reduces several parts waits less.
int64_t partBlocks(SweepOp sweep, const SweepLayout &layout) {
  constexpr int64_t mostWords = 32, mostBlocks = 6, ofSeveralParts = 5;
  if (layout.severalParts)
    return ofSeveralParts;
  int64_t items = runtime::partColumns(layout.wholeColumns) / layout.threads;
  bool isLarge = items * layout.heldWords > mostWords;
  return functionsOfElements(sweep) > 0 || isLarge ? 4 : mostBlocks;
}

int64_t longPartBlocks(SweepOp sweep, const SweepLayout &layout) {
  return blocksFor(registersBesideElements(sweep, 4) +
                       kLongRegisters * layout.heldWords +
                       4 * rowStateWords(sweep),
                   layout.threads, 6);
}

static int64_t blocksByValue(SweepOp sweep, const SweepLayout &layout) {
  if (sweep.getScheduleAttr().getKind() == ScheduleKind::stream)
    return streamBlocks(sweep, layout);
  if (layout.columns)
    return sharedBlocks(sweep, layout);
  if (goesDownColumns(sweep, layout))
    return downBlocks(sweep, layout);
  return rowBlocks(sweep, layout);
}

int64_t residentBlocks(SweepOp sweep, const SweepLayout &layout,
                       ScalarPassing scalars) {
  int64_t blocks = blocksByValue(sweep, layout);
  // Loading scalars takes registers; parameters take none.
  if (scalars == ScalarPassing::address)
    blocks = std::max<int64_t>(1, blocks - 1);
  // The parts of a wide row are divided only if there is room for twice their
  // number. Otherwise one block has the whole row, which takes far longer than
  // spilled registers. Rows that are not wide have an entry of their own.
  return layout.rowParts ? blocksOfDividedRows(layout, blocks) : blocks;
}

} // namespace heddle::fused
