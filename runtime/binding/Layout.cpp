//===- Layout.cpp - From bound buffers to tables and sizes ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/binding/LayoutResolver.h"

#include "runtime/plan/PanelClass.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

Error Layout::Resolver::run() {
  layout.bufferViews.resize(plan.buffers.size());
  joinFamilies();
  if (Error error = readArguments())
    return error;
  if (Error error = checkFamilies())
    return error;
  for (int list : plan.derivedLists())
    if (Error error = resolveDerived(list))
      return error;
  if (Error error = checkSegments())
    return error;
  if (Error error = checkCopies())
    return error;
  if (Error error = checkAddresses())
    return error;
  if (Error error = checkOverlap())
    return error;
  return sizeTables();
}

int64_t Layout::Resolver::countOf(const PlanTable &table,
                                  const PlanSegment &segment, size_t position) {
  if (!segment.count)
    return 1;
  const MemberView &member = members(segment.count->buffer)[position];
  return table.rank == 1 ? member.elements()
                         : member.extent[segment.count->dimension];
}

int64_t Layout::Resolver::columnsOf(const PlanSegment &segment,
                                    size_t position) {
  return segment.columns ? members(segment.columns->buffer)[position]
                               .extent[segment.columns->dimension]
                         : 1;
}

int memberListOf(const Plan &plan, const PlanSegment &segment) {
  for (const PlanOperand &operand : segment.operands)
    if (plan.buffers[operand.buffer].kind == BufferKind::List)
      return operand.buffer;
  return segment.count ? segment.count->buffer : -1;
}

int64_t Layout::Resolver::multipleOf(const PlanSegment &segment,
                                     size_t position, int64_t columns) {
  auto fits = [&](int64_t elements) {
    return columns % elements == 0 &&
           all_of(segment.operands, [&](const PlanOperand &operand) {
             bool ofRows = operand.index == OperandIndex::IJ;
             if (!ofRows && operand.index != OperandIndex::J)
               return true;
             const MemberView &member = members(operand.buffer)[position];
             int64_t bytes =
                 elements * dtypeSize(plan.buffers[operand.buffer].dtype);
             return (!ofRows || member.rowStride % elements == 0) &&
                    reinterpret_cast<uintptr_t>(member.address) %
                            std::min(bytes, kVectorBytes) ==
                        0;
           });
  };
  int64_t multiple = kMostMultiple;
  while (multiple > 1 && !fits(multiple))
    multiple /= 2;
  return multiple;
}

Error Layout::Resolver::sizeTables() {
  layout.tableViews.resize(plan.tables.size());
  for (auto [index, table] : enumerate(plan.tables)) {
    TableView &view = layout.tableViews[index];
    int64_t tiles = 0, memberCount = 0;
    SharedTiles shared;
    RowPartCount parts;
    std::vector<int64_t> allSteps = segmentSteps(plan, table);
    for (auto [segmentIndex, segment] : enumerate(table.segments)) {
      ArrayRef<int64_t> steps = ArrayRef(allSteps).slice(
          segmentIndex * (kStepHeader + table.pointers),
          kStepHeader + table.pointers);
      int list = memberListOf(plan, segment);
      size_t size = list < 0 ? 1 : members(list).size();
      for (size_t position = 0; position < size; ++position) {
        if (list >= 0 && members(list)[position].inactive)
          continue;
        int64_t count = countOf(table, segment, position);
        int64_t shift =
            segment.alignTiles
                ? alignmentShift(steps, operandsOf(segment, position), count)
                : 0;
        int64_t columns = columnsOf(segment, position);
        int64_t rows = rowsOfTile(segment.tile, segment.held, columns, count);
        int64_t own = tilesOf(count + shift, rows);
        tiles += own;
        ++memberCount;
        if (tiles > INT32_MAX || memberCount >= INT32_MAX)
          return makeError(
              StatusCode::BadInput,
              "table '{0}': expected fewer than 2^31 tiles, found more",
              table.name);
        if (table.rank != 2) {
          view.elements =
              SaturatingAdd<uint64_t>(view.elements, segment.count ? count : 0);
          continue;
        }
        if (columns > (maxElements - view.columnTotal) / own)
          return makeError(
              StatusCode::BadInput,
              "table '{0}': expected fewer than 2^60 columns of all tiles, "
              "found more",
              table.name);
        view.columnTotal += own * columns;
        if (table.blockColumns && count > 0 && columns > segment.held.columns)
          shared.add(rows, columns, own);
        parts.add(table, columns, own);
        view.narrowest =
            memberCount == 1 ? columns : std::min(view.narrowest, columns);
        view.widest = std::max(view.widest, columns);
        view.longest = std::max(view.longest, count);
        view.extents.push_back({count, columns});
        if (columns > segment.held.columns) {
          view.sharedRows.push_back({count, columns});
          view.multiples.push_back(multipleOf(segment, position, columns));
        }
      }
    }
    view.memberCount = static_cast<int>(memberCount);
    view.tileCount = static_cast<int>(tiles);
    if (!shared.tilesOfWidth.empty())
      view.blocksPerTile = static_cast<int>(
          std::min(shared.blocksPerTile(table, tiles), INT32_MAX / tiles));
    if (table.rowParts) {
      view.blocksPerTile = parts.blocksPerTile(table);
      if (view.blocksPerTile > 1)
        view.partsPerTile = static_cast<int>(parts.mostParts);
    }
    view.elementBytes = elementBytes(table);
  }
  uint64_t total = layout.arenaSize;
  for (const PlanScratch &scratch : plan.scratch) {
    uint64_t count = 1;
    if (scratch.per != ScratchPer::Once) {
      const TableView &view = layout.tableViews[scratch.table];
      count = scratchCount(scratch.per, view);
    }
    uint64_t bytes = SaturatingMultiply<uint64_t>(count, scratch.bytes);
    layout.scratchSizes.push_back(bytes);
    total = SaturatingAdd(total, bytes);
  }
  // More than any machine has. Sums and rounding below it cannot overflow.
  constexpr uint64_t mostBytes = uint64_t(1) << 60;
  if (total > mostBytes)
    return makeError(StatusCode::BadInput,
                     "expected fewer than 2^60 bytes of results, temporaries "
                     "and scratch memory, found more");
  return Error::success();
}

uint64_t Layout::Resolver::scratchCount(ScratchPer per, const TableView &view) {
  switch (per) {
  case ScratchPer::Tile:
    return view.tileCount;
  case ScratchPer::Member:
    return view.memberCount;
  case ScratchPer::TileColumn:
    return view.columnTotal;
  case ScratchPer::PanelColumn:
    return SaturatingMultiply<uint64_t>(max_panels, view.widest);
  case ScratchPer::Panel:
    return max_panels;
  case ScratchPer::Row:
    return view.longest;
  case ScratchPer::Column:
    return view.widest;
  case ScratchPer::TileBlock:
    return SaturatingMultiply<uint64_t>(
        view.tileCount, std::max(view.blocksPerTile, view.partsPerTile));
  case ScratchPer::Once:
    break;
  }
  return 1;
}

std::vector<void *> Layout::Resolver::operandsOf(const PlanSegment &segment,
                                                 size_t position) {
  std::vector<void *> operands;
  for (const PlanOperand &operand : segment.operands)
    operands.push_back(
        members(operand.buffer)[isList(operand.buffer) ? position : 0].address);
  return operands;
}

int64_t Layout::Resolver::elementBytes(const PlanTable &table) {
  BitVector counted(plan.buffers.size());
  uint64_t bytes = 0;
  for (const PlanSegment &segment : table.segments)
    for (const PlanOperand &operand : segment.operands) {
      if (operand.index !=
              (table.rank == 2 ? OperandIndex::IJ : OperandIndex::I) ||
          counted.test(operand.buffer))
        continue;
      counted.set(operand.buffer);
      uint64_t size = dtypeSize(plan.buffers[operand.buffer].dtype);
      for (const MemberView &member : members(operand.buffer))
        if (!member.inactive)
          bytes =
              SaturatingMultiplyAdd<uint64_t>(member.elements(), size, bytes);
    }
  return std::min<uint64_t>(bytes, INT64_MAX);
}

Expected<Layout> Layout::resolve(const Binding &binding, AddressSpace &space) {
  Layout layout;
  layout.program = binding.planPointer();
  if (Error error = Resolver(layout, binding, space).run())
    return std::move(error);
  return layout;
}

void Layout::place(char *arena, char *slots) {
  for (auto [buffer, view] : zip(program->buffers, bufferViews)) {
    if (!view.owned)
      continue;
    char *base = buffer.kind == BufferKind::Scalar ? slots : arena;
    for (auto [member, offset] : zip(view.members, view.offsets))
      member.address = member.inactive ? nullptr : base + offset;
  }
}

void Layout::forEachDescriptor(
    int table,
    function_ref<void(size_t segment, size_t position)> visit) const {
  struct Member {
    size_t segment, position;
    int64_t columns;
  };
  std::vector<Member> members;
  for (auto [index, segment] : enumerate(program->tables[table].segments)) {
    int list = memberListOf(*program, segment);
    size_t size = list < 0 ? 1 : bufferViews[list].members.size();
    for (size_t position = 0; position < size; ++position)
      if (list < 0 || !bufferViews[list].members[position].inactive)
        members.push_back({index, position, columnsOf(segment, position)});
  }
  if (program->tables[table].widestFirst)
    stable_sort(members, [](const Member &a, const Member &b) {
      return a.columns > b.columns;
    });
  for (const Member &member : members)
    visit(member.segment, member.position);
}

int64_t Layout::columnsOf(const PlanSegment &segment, size_t position) const {
  return segment.columns ? bufferViews[segment.columns->buffer]
                               .members[position]
                               .extent[segment.columns->dimension]
                         : 0;
}

std::vector<char> Layout::memberDescriptors(int index) const {
  const PlanTable &table = program->tables[index];
  DescriptorLayout descriptorLayout(table);
  std::vector<char> bytes(descriptorLayout.bytes() *
                          tableViews[index].memberCount);
  char *out = bytes.data();
  std::vector<int64_t> steps = segmentSteps(*program, table);
  MemberDescriptor descriptor;
  int firstTile = 0;
  int64_t columnBase = 0;
  forEachDescriptor(index, [&](size_t segmentIndex, size_t position) {
    const PlanSegment &segment = table.segments[segmentIndex];
    descriptor.operands.clear();
    for (const PlanOperand &operand : segment.operands) {
      const std::vector<MemberView> &views =
          bufferViews[operand.buffer].members;
      bool isList = program->buffers[operand.buffer].kind == BufferKind::List;
      const MemberView &member = views[isList ? position : 0];
      auto asPointer = [&](int64_t value) {
        return reinterpret_cast<void *>(static_cast<intptr_t>(value));
      };
      descriptor.operands.push_back(
          operand.index == OperandIndex::Length   ? asPointer(member.elements())
          : operand.index == OperandIndex::Stride ? asPointer(member.rowStride)
                                                  : member.address);
    }
    descriptor.count = 1;
    if (segment.count) {
      const MemberView &member =
          bufferViews[segment.count->buffer].members[position];
      descriptor.count = table.rank == 1
                             ? member.elements()
                             : member.extent[segment.count->dimension];
    }
    descriptor.columns = columnsOf(segment, position);
    descriptor.columnBase = columnBase;
    descriptor.firstTile = firstTile;
    int64_t shift =
        segment.alignTiles
            ? alignmentShift(ArrayRef(steps).slice(
                                 segmentIndex * (kStepHeader + table.pointers),
                                 kStepHeader + table.pointers),
                             descriptor.operands, descriptor.count)
            : 0;
    descriptor.tiles = static_cast<int>(
        tilesOf(descriptor.count + shift,
                rowsOfTile(segment.tile, segment.held, descriptor.columns,
                           descriptor.count)));
    descriptor.segment = static_cast<int>(segmentIndex);
    descriptor.index = static_cast<int>(position);
    writeMemberDescriptor(descriptorLayout, descriptor, out);
    out += descriptorLayout.bytes();
    firstTile += descriptor.tiles;
    columnBase += descriptor.tiles * descriptor.columns;
  });
  return bytes;
}

std::vector<Span> Layout::spans(int from, int to) const {
  std::vector<Span> result;
  unsigned size = dtypeSize(program->buffers[to].dtype);
  for (auto [position, member] : enumerate(bufferViews[to].members)) {
    if (member.inactive || member.elements() <= 0)
      continue;
    const MemberView *source =
        from < 0 ? nullptr : &bufferViews[from].members[position];
    bool dense = member.isDense() && (!source || source->isDense());
    int64_t rows = dense ? 1 : member.extent[0];
    int64_t bytes = member.elements() / rows * size;
    for (int64_t row = 0; row < rows; ++row)
      result.push_back(
          {source ? source->address + row * source->rowStride * size : nullptr,
           member.address + row * member.rowStride * size, bytes});
  }
  return result;
}

} // namespace heddle::runtime
