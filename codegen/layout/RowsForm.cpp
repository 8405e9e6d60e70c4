//===- RowsForm.cpp - forms of a `rows` sweep -----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/RowsForm.h"
#include "codegen/layout/BranchlessMath.h"
#include "dialect/Bindings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/bit.h"
#include <limits>

using namespace mlir;
using heddle::fused::Level;

namespace heddle {

int columnBatch(size_t words) {
  int batch = 8;
  while (batch > 1 && batch * words > kMostLoadedWords)
    batch /= 2;
  return batch;
}

DownBatch downBatch(DownBatch batch, size_t elementWords, size_t columnWords,
                    size_t rowWords) {
  constexpr size_t mostWords = 40, mostLoaded = 32;
  constexpr int64_t enoughRows = 4;
  auto words = [&] {
    return batch.columns * (batch.rows * elementWords + columnWords) +
           batch.rows * rowWords;
  };
  // Fewer rows of as many columns, if the columns then fit.
  int64_t rows = batch.rows;
  while (batch.rows > enoughRows &&
         batch.columns * batch.rows * elementWords > mostLoaded)
    batch.rows /= 2;
  if (words() > mostWords)
    batch.rows = rows;
  while (batch.columns > batch.fewestColumns && words() > mostWords)
    batch.columns /= 2;
  while (batch.rows > 1 && words() > mostWords)
    batch.rows /= 2;
  return batch;
}

bool goesDownColumns(const SegmentLayout &layout, fused::SweepOp sweep,
                     unsigned segment) {
  auto levels = fused::Levels::infer(sweep, segment);
  return layout.tickets >= 0 && succeeded(levels) &&
         llvm::all_of(sweep.getSegmentBlock(segment).getOps<fused::ReduceOp>(),
                      [&](fused::ReduceOp op) {
                        return op.getLevel() == Level::column ||
                               levels->countedBy(op) == Level::column;
                      }) &&
         llvm::none_of(layout.results, [&](int slot) {
           return slot >= 0 && (layout.operands[slot].index == kI ||
                                layout.operands[slot].index == kIJ);
         });
}

bool goesDownColumns(fused::SweepOp sweep, const SweepLayout &layout) {
  for (auto [s, segment] : llvm::enumerate(layout.segments))
    if (!goesDownColumns(segment, sweep, s))
      return false;
  return true;
}

/// The divisions, roots, exponentials and so on that compute values of `wanted`
/// levels.
static int64_t functionsOf(fused::SweepOp sweep, unsigned segment,
                           ArrayRef<Level> wanted) {
  auto levels = fused::Levels::infer(sweep, segment);
  if (failed(levels))
    return 0;
  return llvm::count_if(
      sweep.getSegmentBlock(segment).without_terminator(), [&](Operation &op) {
        return (isa<arith::DivFOp>(op) ||
                op.getDialect()->getNamespace() == "math") &&
               llvm::is_contained(wanted, levels->of(op.getResult(0)).level);
      });
}

bool hasAdjacentColumns(fused::SweepOp sweep, const SegmentLayout &layout,
                        unsigned segment) {
  bool any = false;
  for (const OperandSlot &operand : layout.operands)
    if (operand.index == kIJ) {
      if (!operand.storage.isF16() && !operand.storage.isBF16())
        return false;
      any = true;
    }
  return any && layout.held.columns > 0 &&
         (layout.columns
              ? layout.vector > 1 && llvm::isPowerOf2_64(layout.vector) &&
                    !functionsOf(sweep, segment,
                                 {Level::element, Level::column})
              : goesDownColumns(layout, sweep, segment));
}

bool hasVectors(fused::SweepOp sweep, const SweepLayout &layout) {
  if (!layout.columns)
    return false;
  for (unsigned s = 0; s < layout.segments.size(); ++s) {
    auto levels = fused::Levels::infer(sweep, s);
    if (failed(levels))
      return false;
    for (Value value : fused::backwardSlice(fused::elementResults(sweep, s)))
      if (Level level = levels->of(value).level;
          (level == Level::element || level == Level::column) &&
          value.getType().getIntOrFloatBitWidth() > 32)
        return false;
  }
  return true;
}

int64_t mostVectorColumns(const SweepLayout &layout) {
  int64_t rows = 1;
  for (const SegmentLayout &segment : layout.segments)
    if (segment.columns)
      rows = std::max(rows, segment.tile);
  return (int64_t(1) << 31) / rows - 1;
}

int64_t turnsAtOnce(fused::SweepOp sweep, unsigned segment, int64_t bytes) {
  constexpr int64_t mostBytes = 96, most = 4, mostOfFunctions = 2;
  bool functions =
      functionsOf(sweep, segment, {Level::element, Level::column}) > 0;
  return std::clamp<int64_t>(mostBytes / std::max<int64_t>(bytes, 1), 1,
                             functions ? mostOfFunctions : most);
}

bool dividesColumns(fused::SweepOp sweep, const SweepLayout &layout) {
  if (sweep.getScheduleAttr().getKind() != fused::ScheduleKind::rows ||
      sweep.getWhere() || isa<fused::LoopOp>(sweep->getParentOp()) ||
      layout.endsList || !goesDownColumns(sweep, layout))
    return false;
  for (auto [s, segment] : llvm::enumerate(layout.segments))
    for (Operation &op : sweep.getSegmentBlock(s)) {
      auto reduce = dyn_cast<fused::ReduceOp>(op);
      if (isa<fused::PrecomputeOp>(op) ||
          (reduce && reduce.getLevel() != Level::column))
        return false;
    }
  return llvm::all_of(layout.segments, [](const SegmentLayout &segment) {
    return llvm::all_of(segment.results, [&](int slot) {
      return slot == SegmentLayout::kNowhere ||
             (slot >= 0 && segment.operands[slot].index == kJ);
    });
  });
}

bool dividesRows(fused::SweepOp sweep, const SweepLayout &layout) {
  if (sweep.getScheduleAttr().getKind() != fused::ScheduleKind::rows ||
      sweep.getWhere() || isa<fused::LoopOp>(sweep->getParentOp()) ||
      layout.columns || layout.columnRange)
    return false;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    Block &body = sweep.getSegmentBlock(s);
    auto levels = fused::Levels::infer(sweep, s);
    if (failed(levels))
      return false;
    llvm::DenseSet<Value> hinted = fused::onlyHinted(body);
    bool any = false;
    for (auto reduce : body.getOps<fused::ReduceOp>()) {
      bool ofRow = reduce.getLevel() == Level::row;
      if (!ofRow && levels->countedBy(reduce) == Level::element)
        return false;
      any |= ofRow && !hinted.contains(reduce.getResult(0));
    }
    if (!any)
      return false;
  }
  return true;
}

/// The values from which a segment computes elements.
static llvm::DenseSet<Value> usedByElements(fused::SweepOp sweep,
                                            unsigned segment) {
  SmallVector<Value> roots = fused::elementResults(sweep, segment);
  if (auto levels = fused::Levels::infer(sweep, segment); succeeded(levels))
    for (auto reduce : sweep.getSegmentBlock(segment).getOps<fused::ReduceOp>())
      if (levels->countedBy(reduce) == Level::element)
        roots.push_back(reduce.getValue());
  return fused::backwardSlice(roots);
}

/// The values from which a segment computes its element results, if it keeps
/// the values of elements that it reduces over the row.
static llvm::DenseSet<Value> usedBesideKept(fused::SweepOp sweep,
                                            unsigned segment) {
  llvm::DenseSet<Value> kept, used;
  for (auto op : sweep.getSegmentBlock(segment).getOps<fused::ReduceOp>())
    if (op.getLevel() == Level::row && op.getValue().getDefiningOp())
      kept.insert(op.getValue());
  SmallVector<Value> left = fused::elementResults(sweep, segment);
  while (!left.empty()) {
    Value value = left.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (used.insert(value).second && op && !kept.contains(value) &&
        !isa<fused::ReduceOp>(op))
      llvm::append_range(left, op->getOperands());
  }
  return used;
}

int64_t heldWords(fused::SweepOp sweep, const SweepLayout &layout) {
  int64_t most = 0;
  for (auto [s, segment] : llvm::enumerate(layout.segments)) {
    // Before and after kept values take the place of operands.
    int64_t words = 0, wordsAfter = 0;
    llvm::DenseSet<Value> used = usedByElements(sweep, s),
                          usedAfter = usedBesideKept(sweep, s),
                          hinted = fused::onlyHinted(sweep.getSegmentBlock(s));
    Block &body = sweep.getSegmentBlock(s);
    llvm::SmallDenseSet<int> held;
    for (auto [argument, slot] :
         llvm::zip_equal(body.getArguments(), segment.inputs))
      if (slot >= 0 && used.contains(argument) && !hinted.contains(argument) &&
          held.insert(slot).second)
        if (const OperandSlot &operand = segment.operands[slot];
            operand.index == kIJ || operand.index == kJ) {
          int64_t ofOperand = storageBytes(operand.storage) == 8 ? 2 : 1;
          words += ofOperand;
          if (operand.index == kJ || usedAfter.contains(argument))
            wordsAfter += ofOperand;
        }
    int64_t keptWords = 0, columnWords = 0;
    for (auto op : body.getOps<fused::ReduceOp>()) {
      Type type = op.getValue().getType();
      if (op.getLevel() == Level::column)
        columnWords += stateBytes(op.getKind(), type) / 4;
      else if (op.getLevel() == Level::row)
        keptWords = std::max<int64_t>(keptWords, type.isF64() ? 2 : 1);
    }
    if (!fused::elementResults(sweep, s).empty())
      words = std::max(words, wordsAfter + keptWords);
    most = std::max(most, words + columnWords);
  }
  return most;
}

int64_t rowStateWords(fused::SweepOp sweep) {
  int64_t most = 0;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    int64_t words = 0;
    for (auto op : sweep.getSegmentBlock(s).getOps<fused::ReduceOp>())
      if (op.getLevel() == Level::row)
        words += stateBytes(op.getKind(), op.getValue().getType()) / 4;
    most = std::max(most, words);
  }
  return most;
}

/// The code of a held row is printed for each form again, so a row with many
/// reductions would take seconds to compile.
static constexpr int64_t kFewStateWords = 4;

/// The code of an element is printed for each element that a thread holds, so a
/// row with many functions would take seconds to compile.
static constexpr int64_t kFewFunctions = 4;

int64_t functionsOfElements(fused::SweepOp sweep) {
  int64_t count = 0;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
    count += functionsOf(sweep, s, Level::element);
  return count;
}

bool accessesDoubles(const SegmentLayout &segment) {
  return llvm::any_of(segment.operands, [](const OperandSlot &slot) {
    return slot.index == kIJ && storageBytes(slot.storage) == 8;
  });
}

int64_t singleRows(fused::SweepOp sweep, const SweepLayout &layout) {
  if (rowStateWords(sweep) > kFewStateWords)
    return 1;
  return holdsParts(sweep, layout) ? 8 : 4;
}

int64_t narrowRows(fused::SweepOp sweep, const SweepLayout &layout) {
  int64_t rows = std::max<int64_t>(1, singleRows(sweep, layout) / 2);
  bool mapsDoubles = false;
  for (auto [s, segment] : llvm::enumerate(layout.segments))
    mapsDoubles |=
        accessesDoubles(segment) && !fused::elementResults(sweep, s).empty();
  return mapsDoubles ? std::min<int64_t>(rows, 2) : rows;
}

static bool reducesColumns(const SweepLayout &layout) {
  return llvm::any_of(layout.segments, [](const SegmentLayout &segment) {
    return segment.tickets >= 0;
  });
}

bool onlyReducesRows(fused::SweepOp sweep, const SweepLayout &layout) {
  constexpr int64_t mostWords = 3;
  for (unsigned s = 0; s < layout.segments.size(); ++s)
    if (!fused::elementResults(sweep, s).empty())
      return false;
  return !reducesColumns(layout) && layout.heldWords <= mostWords &&
         rowStateWords(sweep) <= 1 && functionsOfElements(sweep) == 0;
}

int64_t shortRows(fused::SweepOp sweep, const SweepLayout &layout) {
  constexpr int64_t mostWords = 2;
  // Tiles that combine columns have many rows, one after the other, so the
  // latency of memory counts for each.
  bool ofColumns = reducesColumns(layout) && layout.heldWords <= mostWords &&
                   rowStateWords(sweep) <= kFewStateWords;
  return ofColumns || layout.onlyReducesRows ? 2 : 1;
}

int64_t wideRows(fused::SweepOp sweep, const SweepLayout &layout) {
  if (!layout.onlyReducesRows || loadedWords(layout, kPartItems) > kPartItems)
    return 1;
  bool onlyRows = true, any = false;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
    for (auto op : sweep.getSegmentBlock(s).getOps<fused::ReduceOp>()) {
      onlyRows &= op.getLevel() == Level::row;
      any = true;
    }
  return any && onlyRows ? 2 : 1;
}

/// Whether a thread loads an operand for each column of a row.
static bool isLoadedByColumn(const OperandSlot &slot) {
  return slot.read && (slot.index == kIJ || slot.index == kJ);
}

bool loadsHalves(const SegmentLayout &segment) {
  return llvm::any_of(segment.operands, [](const OperandSlot &slot) {
    return isLoadedByColumn(slot) &&
           (slot.storage.isF16() || slot.storage.isBF16());
  });
}

int64_t loadedWords(const SweepLayout &layout, int64_t items) {
  int64_t most = 0;
  for (const SegmentLayout &segment : layout.segments) {
    int64_t bytes = 0;
    for (const OperandSlot &slot : segment.operands)
      if (isLoadedByColumn(slot))
        bytes += std::max<int64_t>(2, storageBytes(slot.storage));
    most = std::max<int64_t>(most, llvm::divideCeil(items * bytes, 4));
  }
  return most;
}

bool holdsParts(fused::SweepOp sweep, const SweepLayout &layout) {
  constexpr int64_t mostWords = 3;
  return layout.heldWords <= mostWords &&
         rowStateWords(sweep) <= kFewStateWords;
}

/// How often a block waits for the states of the other parts of a row: the
/// longest chain of reductions over the row, of which each uses the one before.
static int exchangesOfRow(fused::SweepOp sweep, unsigned segment) {
  llvm::DenseMap<Value, int> exchanges;
  int most = 0;
  for (Operation &op : sweep.getSegmentBlock(segment).without_terminator()) {
    int count = 0;
    for (OpOperand &operand : op.getOpOperands())
      if (!fused::isHint(operand))
        count = std::max(count, exchanges.lookup(operand.get()));
    auto reduce = dyn_cast<fused::ReduceOp>(op);
    count += reduce && reduce.getLevel() == Level::row;
    for (Value result : op.getResults())
      exchanges[result] = count;
    most = std::max(most, count);
  }
  return most;
}

int64_t mostAdjacentColumns(fused::SweepOp sweep, const SweepLayout &layout,
                            unsigned segment) {
  return exchangesOfRow(sweep, segment) < 2
             ? std::numeric_limits<int64_t>::max()
             : layout.wholeColumns;
}

bool hasSeveralParts(fused::SweepOp sweep, const SweepLayout &layout) {
  // The states of all parts that a block has are in shared memory, a word each.
  assert(!layout.onlyReducesRows || rowStateWords(sweep) <= 1);
  return layout.heldParts && layout.onlyReducesRows;
}

int64_t reducedItems(const SweepLayout &layout) {
  constexpr int64_t mostWords = 32;
  int64_t most = 1;
  for (const SegmentLayout &segment : layout.segments) {
    int64_t words = 0;
    for (const OperandSlot &slot : segment.operands)
      if (isLoadedByColumn(slot))
        words += storageBytes(slot.storage) == 8 ? 2 : 1;
    most = std::max(most, words);
  }
  return std::max<int64_t>(llvm::bit_floor(uint64_t(mostWords / most)),
                           kAdjacentInRow);
}

bool exchangesInClusters(fused::SweepOp sweep, const SweepLayout &layout) {
  constexpr int64_t fewBytes = 16384;
  int64_t columns = runtime::partColumns(layout.wholeColumns);
  if (!layout.heldParts || layout.severalParts ||
      columns <= runtime::kPartColumns)
    return false;
  for (auto [s, segment] : llvm::enumerate(layout.segments)) {
    int64_t bytes = 0;
    for (const OperandSlot &slot : segment.operands)
      if (slot.read && slot.index == kIJ)
        bytes += columns * storageBytes(slot.storage);
    if (exchangesOfRow(sweep, s) < 2 && bytes > fewBytes)
      return false;
  }
  return true;
}

bool holdsLongParts(fused::SweepOp sweep, const SweepLayout &layout) {
  if (!exchangesInClusters(sweep, layout) || layout.heldWords != 1)
    return false;
  for (auto [s, segment] : llvm::enumerate(layout.segments)) {
    for (auto [argument, slot] : llvm::zip_equal(
             sweep.getSegmentBlock(s).getArguments(), segment.inputs))
      if (slot >= 0 && segment.operands[slot].index == kIJ &&
          argument.getType().getIntOrFloatBitWidth() > 32)
        return false;
    if (exchangesOfRow(sweep, s) < 2 || usesBranchlessRows(sweep, s) ||
        llvm::count_if(segment.operands, [](const OperandSlot &slot) {
          return slot.read && slot.index == kIJ;
        }) != 1)
      return false;
  }
  return true;
}

bool holdsWideRows(fused::SweepOp sweep, const SweepLayout &layout) {
  constexpr int64_t mostWords = 2;
  return layout.heldWords <= mostWords &&
         rowStateWords(sweep) <= kFewStateWords;
}

int64_t mostHeldColumns(fused::SweepOp sweep, const SweepLayout &layout,
                        unsigned segment) {
  const SegmentLayout &slots = layout.segments[segment];
  bool holdsWide =
      layout.heldParts ||
      (layout.holdsWideRows && !goesDownColumns(slots, sweep, segment));
  return slots.held.columns && holdsWide ? kPartItems * layout.threads
                                         : slots.held.columns;
}

int64_t wholeColumns(fused::SweepOp sweep, const SweepLayout &layout) {
  constexpr int64_t registers = 96;
  if (!layout.heldParts || functionsOfElements(sweep) > kFewFunctions)
    return runtime::kPartColumns;
  int64_t words = std::max<int64_t>(1, layout.heldWords);
  return std::max(runtime::kPartColumns,
                  int64_t(llvm::bit_floor(uint64_t(registers / words))) *
                      layout.threads);
}

llvm::SmallVector<int64_t> columnsOfHeldRows(fused::SweepOp sweep,
                                             const SweepLayout &layout) {
  if (sweep.getScheduleAttr().getKind() != fused::ScheduleKind::rows ||
      isa<fused::LoopOp>(sweep->getParentOp()) || layout.columns ||
      goesDownColumns(sweep, layout))
    return {};
  int64_t columns = kPartItems * layout.threads;
  for (unsigned s = 0; s < layout.segments.size(); ++s)
    columns = std::min(columns, mostHeldColumns(sweep, layout, s));
  llvm::SmallVector<int64_t> entries;
  if (columns)
    entries.push_back(columns);
  for (columns = 2 * runtime::kPartColumns; columns <= layout.wholeColumns;
       columns *= 2)
    entries.push_back(columns);
  return entries;
}

llvm::SmallVector<int64_t> columnsOfWarps(fused::SweepOp sweep,
                                          const SweepLayout &layout) {
  constexpr int64_t registers = 32;
  if (layout.heldEntries.empty() || rowStateWords(sweep) > kFewStateWords ||
      functionsOfElements(sweep) > kFewFunctions)
    return {};
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    bool ofRow = false;
    for (auto op : sweep.getSegmentBlock(s).getOps<fused::ReduceOp>()) {
      if (op.getLevel() != Level::row)
        return {};
      ofRow = true;
    }
    if (!ofRow)
      return {};
  }
  llvm::SmallVector<int64_t> entries;
  for (int64_t items : {2 * kHeldItems, 4 * kHeldItems})
    if (items * layout.heldWords <= registers)
      entries.push_back(32 * items);
  return entries;
}

bool hasPairedEntry(fused::SweepOp sweep, const SweepLayout &layout) {
  if (layout.warpEntries.empty() || layout.heldWords != 1 ||
      layout.shortRows != 1)
    return false;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
    for (auto op : sweep.getSegmentBlock(s).getOps<fused::ReduceOp>())
      if (op.getValue().getType().isF64())
        return false;
  return true;
}

bool holdsInEveryEntry(const SweepLayout &layout, int64_t columns) {
  constexpr int64_t registers = 32;
  return columns / layout.threads * layout.heldWords <= registers;
}

int64_t unitWords(fused::ReduceOp op, int64_t units) {
  int64_t bytes = stateBytes(op.getKind(), op.getValue().getType());
  return llvm::divideCeil(bytes, 4) * DownBatch().columns *
         llvm::Log2_64(units);
}

int64_t tallUnits(fused::SweepOp sweep, unsigned segment, int64_t tile) {
  constexpr int64_t units = 4, mostBytes = 12;
  if (tile % DownBatch().rows)
    return 1; // a thread would load rows of two units at a time
  int64_t bytes = 0;
  for (auto op : sweep.getSegmentBlock(segment).getOps<fused::ReduceOp>())
    bytes += stateBytes(op.getKind(), op.getValue().getType());
  return bytes <= mostBytes ? units : 1;
}

runtime::HeldRows heldRows(fused::SweepOp sweep, const SweepLayout &layout,
                           unsigned segment) {
  runtime::HeldRows held;
  // Blocks that share a wide row access memory in a better order.
  held.columns = layout.segments[segment].columns ? kWarpColumns
                 : layout.wideRows > 1            ? kPartItems * layout.threads
                                                  : kBlockColumns;
  // A block that combines its elements or columns at the end of a tile reads
  // nothing meanwhile, so the tile has more of them.
  if (fused::reducesElementsOverMembers(sweep, segment) ||
      fused::reducesOverColumns(sweep, segment))
    held.elements *= 2;
  return held;
}

} // namespace heddle
