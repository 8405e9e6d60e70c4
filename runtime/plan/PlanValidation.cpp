//===- PlanValidation.cpp - What the runtime relies on in a plan ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every message has the path in the plan, what was expected and what was found.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Plan.h"

#include "runtime/plan/Scalar.h"
#include "runtime/support/Text.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;

namespace heddle::runtime {

namespace {

/// Checks a plan and returns the first error.
class Validator {
public:
  explicit Validator(const Plan &plan) : plan(plan) {}

  Error run() {
    StringSet<> argumentNames, resultNames;
    SmallDenseSet<int> resultBuffers;
    for (auto [index, buffer] : enumerate(plan.buffers)) {
      where = ("buffers[" + Twine(index) + "] '" + buffer.name + "'").str();
      if (Error error = checkBuffer(buffer, static_cast<int>(index)))
        return error;
      if (buffer.role == BufferRole::Argument &&
          !argumentNames.insert(buffer.name).second)
        return bad("expected one argument of this name, found two");
    }
    if (Error error = checkDerivedLists())
      return error;
    for (auto [index, result] : enumerate(plan.results)) {
      where = ("results[" + Twine(index) + "] '" + result.name + "'").str();
      if (Error error = checkBufferIndex("buffer", result.buffer))
        return error;
      const PlanBuffer &buffer = plan.buffers[result.buffer];
      if (buffer.role == BufferRole::Argument && !buffer.donated)
        return bad("expected a result or a donated argument, found argument '" +
                   buffer.name + "'");
      // Memory that is bound to one result must not serve another.
      if (!resultBuffers.insert(result.buffer).second)
        return bad("expected a buffer of its own, found buffer " +
                   Twine(result.buffer) + " of another result");
      if (!resultNames.insert(result.name).second)
        return bad("expected one result of this name, found two");
    }
    for (auto [index, table] : enumerate(plan.tables)) {
      where = ("tables[" + Twine(index) + "] '" + table.name + "'").str();
      if (Error error = checkTable(table))
        return error;
    }
    for (auto [index, scratch] : enumerate(plan.scratch)) {
      where = ("scratch[" + Twine(index) + "]").str();
      if (scratch.bytes < 0)
        return bad("expected a size of at least 0 bytes, found " +
                   Twine(scratch.bytes));
      if (scratch.per != ScratchPer::Once && !isTable(scratch.table))
        return bad("expected a table in [0, " + Twine(plan.tables.size()) +
                   "), found " + Twine(scratch.table));
      if (scratch.per == ScratchPer::TileColumn &&
          plan.tables[scratch.table].rank != 2)
        return bad("expected a table of rank 2 for 'tile_column', found rank " +
                   Twine(plan.tables[scratch.table].rank));
    }
    written.resize(plan.buffers.size());
    collectWritten(plan.graph);
    return checkGraph(plan.graph, "", /*inLoop=*/false);
  }

private:
  Error bad(const Twine &message) {
    return make_error<StatusError>(
        StatusCode::BadInput, ("bad plan: " + where + ": " + message).str());
  }

  void collectWritten(const PlanGraph &graph) {
    for (const PlanNode &node : graph.nodes) {
      auto add = [&](int buffer) {
        if (buffer >= 0 && buffer < static_cast<int>(plan.buffers.size()))
          written.set(buffer);
      };
      for (int buffer : node.writes)
        add(buffer);
      add(node.to);
      add(node.iterations);
      collectWritten(node.body);
    }
  }

  bool isTable(int index) const {
    return index >= 0 && index < static_cast<int>(plan.tables.size());
  }

  Error checkBufferIndex(StringRef field, int index) {
    if (index >= 0 && index < static_cast<int>(plan.buffers.size()))
      return Error::success();
    return bad(field + ": expected a buffer in [0, " +
               Twine(plan.buffers.size()) + "), found " + Twine(index));
  }

  Error checkScalar(StringRef field, int index, DType dtype) {
    if (Error error = checkBufferIndex(field, index))
      return error;
    const PlanBuffer &buffer = plan.buffers[index];
    if (buffer.kind != BufferKind::Scalar || buffer.dtype != dtype)
      return bad(field + ": expected a scalar of " + dtypeName(dtype) +
                 ", found a " +
                 (buffer.kind == BufferKind::List ? "list" : "scalar") +
                 " of " + dtypeName(buffer.dtype));
    return Error::success();
  }

  Error checkExtent(StringRef field, const ExtentRef &extent) {
    if (Error error = checkBufferIndex(field, extent.buffer))
      return error;
    const PlanBuffer &buffer = plan.buffers[extent.buffer];
    if (buffer.kind != BufferKind::List)
      return bad(field + ": expected a list, found scalar '" + buffer.name +
                 "'");
    if (extent.dimension < 0 || extent.dimension >= buffer.rank)
      return bad(field + ": expected a dimension in [0, " + Twine(buffer.rank) +
                 ") of '" + buffer.name + "', found " +
                 Twine(extent.dimension));
    return Error::success();
  }

  Error checkBuffer(const PlanBuffer &buffer, int index) {
    if (buffer.name.empty() && buffer.role != BufferRole::Temporary)
      return bad("expected a name");
    if (buffer.rank < 0 || buffer.rank > 2)
      return bad("expected a rank of 0, 1 or 2, found " + Twine(buffer.rank));
    if (buffer.donated && buffer.role != BufferRole::Argument)
      return bad("expected only arguments to be donated");
    if (buffer.kind == BufferKind::Scalar) {
      if (buffer.positive &&
          (buffer.role != BufferRole::Argument || !isFloat(buffer.dtype)))
        return bad("expected 'positive' for arguments of floats only");
      if (buffer.rank != 0)
        return bad("expected a scalar of rank 0, found rank " +
                   Twine(buffer.rank));
      ScalarBytes bytes;
      if (buffer.defaultValue)
        if (Error error = encodeScalar(buffer, *buffer.defaultValue, bytes))
          return bad("default: " + takeError(std::move(error)).second);
      return Error::success();
    }
    if (buffer.defaultValue || buffer.positive)
      return bad("expected a default, or 'positive', for scalars only");
    if (buffer.role == BufferRole::Argument)
      return Error::success();
    if (Error error = checkBufferIndex("members", buffer.members))
      return error;
    if (plan.buffers[buffer.members].kind != BufferKind::List ||
        buffer.members == index)
      return bad("members: expected another list, found '" +
                 plan.buffers[buffer.members].name + "'");
    if (static_cast<int>(buffer.extents.size()) != buffer.rank)
      return bad("expected " + counted(buffer.rank, "extent") + ", found " +
                 Twine(buffer.extents.size()));
    for (const ExtentRef &extent : buffer.extents) {
      if (Error error = checkExtent("extents", extent))
        return error;
      if (extent.buffer == index)
        return bad("extents: expected the extents of another buffer");
    }
    return Error::success();
  }

  Error checkDerivedLists() {
    BitVector resolved(plan.buffers.size());
    for (int list : plan.derivedLists())
      resolved.set(list);
    for (auto [index, buffer] : enumerate(plan.buffers)) {
      where = ("buffers[" + Twine(index) + "] '" + buffer.name + "'").str();
      if (buffer.isDerived() && !resolved.test(index))
        return bad("expected extents and members of other lists, found lists "
                   "that depend on each other");
    }
    return Error::success();
  }

  /// Checks that the operand slot after each matrix holds its row stride.
  Error checkStrides(const PlanSegment &segment) {
    const std::vector<PlanOperand> &operands = segment.operands;
    for (size_t k = 0; k <= operands.size(); ++k) {
      bool matrix = k > 0 && operands[k - 1].index == OperandIndex::IJ;
      bool stride =
          k < operands.size() && operands[k].index == OperandIndex::Stride;
      if (matrix && !(stride && operands[k].buffer == operands[k - 1].buffer))
        return bad("operand '" + plan.buffers[operands[k - 1].buffer].name +
                   "': expected the same buffer with 'stride' after 'ij'");
      if (stride && !matrix)
        return bad("operand '" + plan.buffers[operands[k].buffer].name +
                   "': expected the same buffer with 'ij' before 'stride'");
    }
    return Error::success();
  }

  Error checkTable(const PlanTable &table) {
    if (table.rank < 0 || table.rank > 2)
      return bad("expected a rank of 0, 1 or 2, found " + Twine(table.rank));
    if (table.segments.empty())
      return bad("expected at least one segment");
    if (table.blockColumns < 0 || (table.blockColumns && table.rank != 2))
      return bad("expected block_columns of 1 or more and a rank of 2, found " +
                 Twine(table.blockColumns) + " and " + Twine(table.rank));
    if (table.rowParts && (table.rank != 2 || table.blockColumns))
      return bad("row_parts: expected a rank of 2 and no block_columns, found "
                 "a rank of " +
                 Twine(table.rank) + " and block_columns of " +
                 Twine(table.blockColumns));
    if (table.heldParts && !table.rowParts)
      return bad("held_parts: expected row_parts, too");
    if (table.severalParts && !table.heldParts)
      return bad("several_parts: expected held_parts, too");
    if (table.longParts && (!table.heldParts || table.severalParts))
      return bad("long_parts: expected held_parts, too, and no several_parts");
    if (table.widestFirst && table.rank != 2)
      return bad("widest_first: expected a rank of 2, found " +
                 Twine(table.rank));
    if (table.wholeColumns < kPartColumns || table.wholeColumns > INT32_MAX ||
        (table.wholeColumns > kPartColumns && !table.rowParts))
      return bad("whole_columns: expected " + Twine(kPartColumns) + ".." +
                 Twine(INT32_MAX) + ", and row_parts if it is more than " +
                 Twine(kPartColumns) + ", found " + Twine(table.wholeColumns));
    size_t widest = 0;
    for (const PlanSegment &segment : table.segments) {
      widest = std::max(widest, segment.operands.size());
      if (segment.tile < 1 || segment.tile > INT32_MAX)
        return bad("expected a tile of 1.." + Twine(INT32_MAX) + ", found " +
                   Twine(segment.tile));
      if (segment.held.columns < 0 || (segment.held.columns && table.rank != 2))
        return bad("expected held_columns of 0 or more, and 0 unless the rank "
                   "is 2, found " +
                   Twine(segment.held.columns) + " and " + Twine(table.rank));
      if (segment.held.elements < 1 ||
          segment.held.elements > kMostTallElements)
        return bad("expected held_elements of 1.." + Twine(kMostTallElements) +
                   ", found " + Twine(segment.held.elements));
      if (segment.held.tallUnits < 1 ||
          segment.held.tallUnits > kMostTallUnits ||
          (segment.held.tallUnits > 1 &&
           (!segment.held.columns || !table.blockColumns)) ||
          !llvm::isPowerOf2_64(segment.held.tallUnits) ||
          segment.held.tallUnits * segment.tile > INT32_MAX)
        return bad("expected tall_units of 1, 2, 4.." + Twine(kMostTallUnits) +
                   ", 1 without held_columns or block_columns, and at most " +
                   Twine(INT32_MAX) + " rows in a tall tile, found " +
                   Twine(segment.held.tallUnits));
      // A segment of member scalars only has one tile for each member.
      bool hasElements =
          any_of(segment.operands, [](const PlanOperand &operand) {
            return operand.index != OperandIndex::None &&
                   operand.index != OperandIndex::Length &&
                   operand.index != OperandIndex::Stride;
          });
      if (table.rank == 0 ? segment.count.has_value()
                          : hasElements && !segment.count)
        return bad(table.rank == 0 ? "expected no count in a table of rank 0"
                                   : "expected a count in a table of rank " +
                                         Twine(table.rank));
      if ((table.rank == 2) != segment.columns.has_value())
        return bad(table.rank == 2
                       ? Twine("expected columns in a table of rank 2")
                       : "expected no columns in a table of rank " +
                             Twine(table.rank));
      if (segment.alignTiles && table.rank != 1)
        return bad("expected no aligned tiles in a table of rank " +
                   Twine(table.rank));
      bool hasLists = any_of(segment.operands, [&](const PlanOperand &operand) {
        return operand.buffer >= 0 &&
               operand.buffer < static_cast<int>(plan.buffers.size()) &&
               plan.buffers[operand.buffer].kind == BufferKind::List;
      });
      if (segment.columns && !segment.count && !hasLists)
        return bad("expected a count or a list beside the columns");
      if (segment.count)
        if (Error error = checkExtent("count", *segment.count))
          return error;
      if (segment.columns)
        if (Error error = checkExtent("columns", *segment.columns))
          return error;
      for (const PlanOperand &operand : segment.operands) {
        if (Error error = checkBufferIndex("operand", operand.buffer))
          return error;
        const PlanBuffer &buffer = plan.buffers[operand.buffer];
        bool twoDimensional = operand.index == OperandIndex::J ||
                              operand.index == OperandIndex::IJ;
        if (twoDimensional && table.rank != 2)
          return bad("operand '" + buffer.name +
                     "': expected the index 'i' or '' in a table of rank " +
                     Twine(table.rank));
        if (operand.index == OperandIndex::IJ && buffer.rank != 2)
          return bad("operand '" + buffer.name +
                     "': expected a list of rank 2 for the index 'ij', found "
                     "rank " +
                     Twine(buffer.rank));
        if (operand.index == OperandIndex::I && table.rank == 0)
          return bad("operand '" + buffer.name +
                     "': expected the index '' in a table of rank 0");
        if (operand.index != OperandIndex::None &&
            buffer.kind == BufferKind::Scalar)
          return bad("operand '" + buffer.name +
                     "': expected the index '' for a scalar");
      }
      if (Error error = checkStrides(segment))
        return error;
    }
    if (table.pointers < 0 || static_cast<size_t>(table.pointers) != widest)
      return bad("pointers: expected the largest number of operands, " +
                 Twine(widest) + ", found " + Twine(table.pointers));
    return Error::success();
  }

  /// Checks a variant whose kernel takes distances.
  Error checkDistances(const PlanNode &node, const PlanVariant &variant,
                       bool inLoop) {
    std::string name = "variant '" + variant.entry + "': distances: ";
    if (node.kind != NodeKind::Kernel || node.part == SweepPart::Ends || inLoop)
      return bad(name + "expected a kernel of tiles, outside of loops");
    if (node.table < 0 || plan.tables[node.table].rank != 1 ||
        !plan.tables[node.table].tileDescriptors || !variant.tileDescriptors)
      return bad(name + "expected a table of rank 1 with tile descriptors");
    if (variant.grid != GridKind::Tiles || variant.cooperative)
      return bad(name + "expected grid 'tiles' of a launch that is not "
                        "cooperative");
    int before = -1;
    for (int slot : variant.distances) {
      if (slot <= before || slot >= plan.tables[node.table].pointers)
        return bad(name + "expected ascending operand slots in [0, " +
                   Twine(plan.tables[node.table].pointers) + "), found " +
                   Twine(slot));
      before = slot;
      // Kernels of ends read such an operand, and take no distances.
      for (const PlanSegment &segment : plan.tables[node.table].segments) {
        if (slot >= static_cast<int>(segment.operands.size()))
          continue;
        const PlanOperand &operand = segment.operands[slot];
        const PlanBuffer &buffer = plan.buffers[operand.buffer];
        if (buffer.kind == BufferKind::List &&
            buffer.role == BufferRole::Argument &&
            !written.test(operand.buffer) &&
            operand.index == OperandIndex::None)
          return bad(name + "expected elements in slot " + Twine(slot) +
                     " of each segment, found values of members, '" +
                     buffer.name + "'");
      }
    }
    size_t tables = count_if(node.arguments, [](const PlanArgument &argument) {
      return argument.kind == ArgumentKind::Table;
    });
    if (tables != 1 || node.arguments.size() > kMostArgumentsBesideDistances)
      return bad(name + "expected one table and at most " +
                 Twine(kMostArgumentsBesideDistances - 1) +
                 " other arguments before them, found " +
                 counted(tables, "table") + " and " +
                 counted(node.arguments.size() - tables, "other argument"));
    // Another kernel of the table would read the addresses without distances.
    bool isShared = false;
    forEachNode(plan.graph, [&](const PlanNode &other) {
      isShared |= &other != &node && other.part != SweepPart::Ends &&
                  (other.table == node.table ||
                   any_of(other.arguments, [&](const PlanArgument &argument) {
                     return argument.kind == ArgumentKind::Table &&
                            argument.index == node.table;
                   }));
    });
    if (isShared)
      return bad(name + "expected a table of this node alone");
    return Error::success();
  }

  Error checkVariants(const PlanNode &node, bool inLoop) {
    bool byValue = node.hasByValueScalars();
    if (node.variants.empty())
      return bad("expected at least one variant");
    for (const PlanVariant &variant : node.variants) {
      if (variant.graphForm) {
        if (node.kind != NodeKind::While)
          return bad("expected the form 'graph' in while nodes only");
        continue;
      }
      if (variant.entry.empty())
        return bad("expected a kernel entry in every variant");
      if (node.kind == NodeKind::While && !variant.cooperative)
        return bad("variant '" + variant.entry +
                   "': expected a cooperative kernel that runs the whole loop");
      if (variant.block < 1 || variant.block > 1024)
        return bad("variant '" + variant.entry +
                   "': expected a block of 1..1024 threads, found " +
                   Twine(variant.block));
      if (variant.gridBlocks < 1 || variant.gridBlocks > INT32_MAX)
        return bad("variant '" + variant.entry + "': expected a grid of 1.." +
                   Twine(INT32_MAX) + " blocks, found " +
                   Twine(variant.gridBlocks));
      if (variant.sharedBytes < 0)
        return bad("variant '" + variant.entry +
                   "': expected at least 0 bytes of shared memory, found " +
                   Twine(variant.sharedBytes));
      if (variant.minElements &&
          (node.table < 0 || plan.tables[node.table].rank != 1))
        return bad("variant '" + variant.entry +
                   "': min_elements: expected a node with a table of rank 1");
      // JSON has no infinity, but its readers accept 1e999.
      if (variant.fitsL2 &&
          !(*variant.fitsL2 >= 0 && std::isfinite(*variant.fitsL2)))
        return bad("variant '" + variant.entry +
                   "': fits_l2: expected a finite factor of at least 0, "
                   "found " +
                   formatv("{0}", *variant.fitsL2).str());
      if (variant.fitsL2 && node.table < 0)
        return bad("variant '" + variant.entry +
                   "': fits_l2: expected a node with a table");
      if (variant.maxColumns &&
          (node.table < 0 || plan.tables[node.table].rank != 2))
        return bad("variant '" + variant.entry +
                   "': max_columns: expected a node with a table of rank 2");
      if (variant.maxColumns && *variant.maxColumns < 1)
        return bad("variant '" + variant.entry +
                   "': max_columns: expected at least 1, found " +
                   Twine(*variant.maxColumns));
      if (variant.mostlyOver &&
          (node.table < 0 || plan.tables[node.table].rank != 2))
        return bad("variant '" + variant.entry +
                   "': mostly_over: expected a node with a table of rank 2");
      if (variant.mostlyOver &&
          (*variant.mostlyOver < 1 ||
           (variant.maxColumns && *variant.mostlyOver >= *variant.maxColumns)))
        return bad("variant '" + variant.entry +
                   "': mostly_over: expected a number from 1 to less than "
                   "max_columns, found " +
                   Twine(*variant.mostlyOver));
      if (variant.mostlyMultiplesOf &&
          (node.table < 0 || plan.tables[node.table].rank != 2))
        return bad("variant '" + variant.entry +
                   "': mostly_multiples_of: expected a node with a table of "
                   "rank 2");
      if (variant.mostlyMultiplesOf &&
          (*variant.mostlyMultiplesOf < 2 ||
           *variant.mostlyMultiplesOf > kMostMultiple ||
           !isPowerOf2_64(*variant.mostlyMultiplesOf)))
        return bad("variant '" + variant.entry +
                   "': mostly_multiples_of: expected 2, 4, 8 or 16, found " +
                   Twine(*variant.mostlyMultiplesOf));
      if (variant.maxParts &&
          (node.table < 0 || !plan.tables[node.table].heldParts))
        return bad(
            "variant '" + variant.entry +
            "': max_parts: expected a node with a table with held_parts");
      int64_t most = variant.cluster ? kMostClusterParts : mostRowParts(0);
      if (variant.maxParts &&
          (*variant.maxParts < 2 || *variant.maxParts > most))
        return bad("variant '" + variant.entry + "': max_parts: expected 2.." +
                   Twine(most) + ", found " + Twine(*variant.maxParts));
      if (variant.cluster && node.table >= 0 &&
          plan.tables[node.table].severalParts)
        return bad("variant '" + variant.entry +
                   "': cluster: expected a table without several_parts, whose "
                   "blocks have one part each");
      if (variant.cluster && !variant.maxParts)
        return bad("variant '" + variant.entry +
                   "': cluster: expected 'max_parts' in its 'when'");
      if (variant.maxParts &&
          (variant.grid != GridKind::Tiles || variant.cooperative))
        return bad("variant '" + variant.entry +
                   "': max_parts: expected grid 'tiles' of a launch that is "
                   "not cooperative");
      if (!variant.distances.empty())
        if (Error error = checkDistances(node, variant, inLoop))
          return error;
      // A driver may refuse new parameters for a node inside a loop.
      if (byValue && variant.scalarsByValue && inLoop)
        return bad("variant '" + variant.entry +
                   "': expected scalars by address in the body of a loop");
      if (node.table < 0 && (variant.grid == GridKind::Tiles ||
                             variant.grid == GridKind::Members))
        return bad(
            "variant '" + variant.entry +
            "': expected a number of blocks, because the node has no table");
    }
    const PlanVariant &last = node.variants.back();
    if (last.hasPredicate())
      return bad("expected a last variant without 'when', found '" +
                 last.entry + "'");
    if (byValue && last.scalarsByValue)
      return bad("expected a last variant with scalars by address, found '" +
                 last.entry + "'");
    return Error::success();
  }

  Error checkNode(const PlanNode &node, bool inLoop) {
    for (int buffer : node.writes)
      if (Error error = checkBufferIndex("writes", buffer))
        return error;
    switch (node.kind) {
    case NodeKind::Copy:
    case NodeKind::Fill: {
      if (Error error = checkBufferIndex("to", node.to))
        return error;
      if (node.kind == NodeKind::Fill) {
        ScalarBytes bytes;
        if (Error error =
                encodeScalar(plan.buffers[node.to].dtype, node.value, bytes))
          return bad("value: " + takeError(std::move(error)).second);
        return Error::success();
      }
      if (Error error = checkBufferIndex("from", node.from))
        return error;
      const PlanBuffer &from = plan.buffers[node.from],
                       &to = plan.buffers[node.to];
      if (from.kind != to.kind || from.dtype != to.dtype ||
          from.rank != to.rank)
        return bad("expected '" + from.name + "' and '" + to.name +
                   "' to have the same kind, dtype and rank");
      return Error::success();
    }
    case NodeKind::While: {
      if (Error error = checkScalar("iterations", node.iterations, DType::I32))
        return error;
      if (Error error = checkScalar("limit", node.limit, DType::I32))
        return error;
      if (Error error = checkBufferIndex("condition", node.condition))
        return error;
      const PlanBuffer &condition = plan.buffers[node.condition];
      if (condition.dtype != DType::I1 || condition.rank != 0)
        return bad("condition: expected i1 of rank 0, found " +
                   dtypeName(condition.dtype) + " of rank " +
                   Twine(condition.rank));
      break;
    }
    case NodeKind::Kernel:
      break;
    }
    if (node.part != SweepPart::Whole &&
        (node.kind != NodeKind::Kernel || node.sweeps.size() != 1))
      return bad("part: expected 'tiles' and 'ends' for kernels of one sweep "
                 "only");
    if (node.table != -1 && !isTable(node.table))
      return bad("expected a table in [0, " + Twine(plan.tables.size()) +
                 "), found " + Twine(node.table));
    if (Error error = checkArguments(node.arguments))
      return error;
    if (node.panel)
      if (Error error = checkPanel(*node.panel))
        return error;
    return checkVariants(node, inLoop);
  }

  Error checkPanel(const PlanPanel &panel) {
    if (panel.entry.empty())
      return bad("panel: expected an entry");
    if (!isTable(panel.table) || plan.tables[panel.table].rank != 2)
      return bad("panel: expected a table of rank 2");
    // The limit keeps products of these numbers within 64 bits.
    constexpr int most = 4096;
    auto inRange = [](int number) { return number >= 1 && number <= most; };
    if (!inRange(panel.elementBytes.size()) || !inRange(panel.words) ||
        !inRange(panel.rowWords) || !inRange(panel.columns) ||
        !inRange(panel.rows) || !inRange(panel.computeBytes) ||
        !llvm::all_of(panel.elementBytes, inRange))
      return bad("panel: expected matrices, reductions, words and bytes of at "
                 "least 1 and at most " +
                 Twine(most));
    for (int kept : {panel.keptOfRow, panel.keptOfColumn})
      if (kept < 0 || kept > most)
        return bad("panel: expected 0 to " + Twine(most) +
                   " bytes to be kept of a row or column, found " +
                   Twine(kept));
    return checkArguments(panel.arguments);
  }

  Error checkArguments(ArrayRef<PlanArgument> arguments) {
    for (const PlanArgument &argument : arguments) {
      if (argument.kind == ArgumentKind::Table && !isTable(argument.index))
        return bad("arguments: expected a table in [0, " +
                   Twine(plan.tables.size()) + "), found " +
                   Twine(argument.index));
      if (argument.kind == ArgumentKind::Scratch &&
          (argument.index < 0 ||
           argument.index >= static_cast<int>(plan.scratch.size())))
        return bad("arguments: expected a scratch area in [0, " +
                   Twine(plan.scratch.size()) + "), found " +
                   Twine(argument.index));
      if (argument.kind == ArgumentKind::Buffer ||
          argument.kind == ArgumentKind::Scalar) {
        if (Error error = checkBufferIndex("arguments", argument.index))
          return error;
        if (plan.buffers[argument.index].kind != BufferKind::Scalar)
          return bad("arguments: expected a scalar, found list '" +
                     plan.buffers[argument.index].name +
                     "' (lists are passed through tables)");
      }
      if (argument.kind == ArgumentKind::Scalar &&
          (plan.buffers[argument.index].role != BufferRole::Argument ||
           plan.buffers[argument.index].donated ||
           written.test(argument.index)))
        return bad("arguments: expected a scalar that no node writes, found '" +
                   plan.buffers[argument.index].name + "'");
    }
    return Error::success();
  }

  Error checkGraph(const PlanGraph &graph, const std::string &prefix,
                   bool inLoop) {
    for (auto [index, node] : enumerate(graph.nodes)) {
      std::string place =
          (Twine(prefix) + "nodes[" + Twine(index) + "] '" + node.name + "'")
              .str();
      where = place;
      if (Error error = checkNode(node, inLoop))
        return error;
      if (node.kind == NodeKind::While) {
        if (node.body.nodes.empty())
          return bad("expected a body with at least one node");
        if (Error error =
                checkGraph(node.body, place + ": body: ", /*inLoop=*/true))
          return error;
      }
    }
    int size = static_cast<int>(graph.nodes.size());
    std::vector<int> edgesInto(size, 0);
    for (const PlanEdge &edge : graph.edges)
      if (edge.to >= 0 && edge.to < size)
        ++edgesInto[edge.to];
    for (auto [index, edge] : enumerate(graph.edges)) {
      where = (Twine(prefix) + "edges[" + Twine(index) + "]").str();
      if (edge.from < 0 || edge.to >= size || edge.from >= edge.to)
        return bad("expected [from, to] with 0 <= from < to < " + Twine(size) +
                   ", found [" + Twine(edge.from) + ", " + Twine(edge.to) +
                   "]");
      if (!edge.programmatic)
        continue;
      if (inLoop)
        return bad("expected no programmatic edge in the body of a loop");
      for (int end : {edge.from, edge.to})
        if (graph.nodes[end].kind != NodeKind::Kernel)
          return bad("expected a programmatic edge between kernels, found '" +
                     graph.nodes[end].name + "'");
      // The second kernel waits for the first kernel only.
      if (edgesInto[edge.to] != 1)
        return bad("expected no edge besides a programmatic edge into '" +
                   graph.nodes[edge.to].name + "'");
    }
    return Error::success();
  }

  const Plan &plan;
  std::string where;
  BitVector written; ///< buffers that some node writes
};

} // namespace

Error validatePlan(const Plan &plan) { return Validator(plan).run(); }

} // namespace heddle::runtime
