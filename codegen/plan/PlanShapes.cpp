//===- PlanShapes.cpp - extents and launches for given shapes -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables imply equal extents. For example, a list that a segment indexes by `i`
// has as many elements as a list that it indexes by `ij` has rows.
//
//===----------------------------------------------------------------------===//

#include "codegen/plan/PlanShapes.h"
#include "runtime/binding/Tables.h"
#include "runtime/plan/PanelClass.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle {

int64_t elementCount(ArrayRef<int64_t> extents) {
  int64_t count = 1;
  for (int64_t extent : extents)
    if (MulOverflow(count, extent, count))
      count = INT64_MAX;
  return llvm::is_contained(extents, 0) ? 0 : count;
}

int64_t addCounts(int64_t a, int64_t b) {
  int64_t sum;
  return AddOverflow(a, b, sum) ? INT64_MAX : sum;
}

Expected<std::vector<Extents>> shapesFromJSON(const json::Value &value,
                                              StringRef where) {
  auto error = [&](const Twine &text) {
    return makeError(StatusCode::BadInput, "{0}{1}", where, text.str());
  };
  const json::Array *list = value.getAsArray();
  if (!list)
    return error(": expected an array of shapes, [[dim, ...], ...]");
  std::vector<Extents> shapes;
  for (auto [k, entry] : enumerate(*list)) {
    const json::Array *dims = entry.getAsArray();
    if (!dims)
      return error(
          formatv("[{0}]: expected a shape, [dim, ...], found {1}", k, entry)
              .str());
    Extents extents;
    int64_t count = 1;
    for (const json::Value &dim : *dims) {
      std::optional<int64_t> extent = dim.getAsInteger();
      if (!extent || *extent < 0)
        return error(formatv("[{0}]: expected dimensions that are integers of "
                             "at least 0, found {1}",
                             k, dim)
                         .str());
      // Without zeros: a list of columns can have elements if there is no row.
      if (MulOverflow(count, std::max<int64_t>(*extent, 1), count) ||
          count > int64_t(1) << 48)
        return error(
            formatv("[{0}]: expected a shape of at most 2^48 elements, found "
                    "{1}",
                    k, entry)
                .str());
      extents.push_back(*extent);
    }
    shapes.push_back(std::move(extents));
  }
  return shapes;
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

/// A unique number for a dimension of a buffer.
static unsigned dimensionId(int buffer, int dimension) {
  return 2 * buffer + dimension;
}

/// Joins the extents of source and target of every copy.
static void joinCopies(const Plan &plan, const PlanGraph &graph,
                       IntEqClasses &classes) {
  for (const PlanNode &node : graph.nodes) {
    if (node.kind == NodeKind::Copy)
      for (int dimension = 0; dimension < plan.buffers[node.to].rank;
           ++dimension)
        classes.join(dimensionId(node.from, dimension),
                     dimensionId(node.to, dimension));
    joinCopies(plan, node.body, classes);
  }
}

/// The classes of equal dimensions, by dimensionId.
static IntEqClasses equalDimensions(const Plan &plan) {
  IntEqClasses classes(2 * plan.buffers.size());
  auto join = [&](std::optional<ExtentRef> a, int buffer, int dimension) {
    if (a && a->buffer >= 0)
      classes.join(dimensionId(a->buffer, a->dimension),
                   dimensionId(buffer, dimension));
  };
  for (auto [number, buffer] : enumerate(plan.buffers))
    for (auto [dimension, extent] : enumerate(buffer.extents))
      join(extent, number, dimension);
  for (const PlanTable &table : plan.tables)
    for (const PlanSegment &segment : table.segments)
      for (const PlanOperand &operand : segment.operands) {
        int rank = plan.buffers[operand.buffer].rank;
        if (operand.index == OperandIndex::IJ && rank == 2) {
          join(segment.count, operand.buffer, 0);
          join(segment.columns, operand.buffer, 1);
        } else if (operand.index == OperandIndex::J && rank == 1) {
          join(segment.columns, operand.buffer, 0);
        } else if (operand.index == OperandIndex::I && rank == 1) {
          // In a table of rank 1, `count` is the product of all extents.
          bool flattened = table.rank == 1 && segment.count &&
                           plan.buffers[segment.count->buffer].rank == 2;
          if (!flattened)
            join(segment.count, operand.buffer, 0);
        }
      }
  joinCopies(plan, plan.graph, classes);
  return classes;
}

PlanShapes PlanShapes::bind(const Plan &plan, ArrayRef<Extents> shapes,
                            ArrayRef<EqualPair> equal,
                            ArrayRef<std::vector<Extents>> given) {
  IntEqClasses classes = equalDimensions(plan);
  for (auto [a, b] : equal)
    classes.join(dimensionId(a.buffer, a.dimension),
                 dimensionId(b.buffer, b.dimension));
  auto classOf = [&](int buffer, int dimension) {
    return classes.findLeader(dimensionId(buffer, dimension));
  };
  PlanShapes result(plan);
  result.buffers.assign(plan.buffers.size(),
                        std::vector<Extents>(shapes.size()));
  for (auto [number, buffer] : enumerate(plan.buffers))
    if (buffer.kind == BufferKind::Scalar)
      result.buffers[number].clear();

  for (auto [member, shape] : enumerate(shapes)) {
    std::map<unsigned, int64_t> known;
    for (auto [number, members] : enumerate(given))
      if (!members.empty())
        for (auto [dimension, extent] : enumerate(members[member]))
          known.try_emplace(classOf(number, dimension), extent);
    // The first list with an extent of a class sets the class; matrices come
    // first.
    auto set = [&](int buffer, int dimension, int64_t extent) {
      extent =
          known.try_emplace(classOf(buffer, dimension), extent).first->second;
      result.buffers[buffer][member].push_back(extent);
    };
    int64_t columns = shape.empty() ? 1 : shape.back();
    int64_t rows = shape.size() < 2
                       ? 1
                       : elementCount(ArrayRef<int64_t>(shape).drop_back());
    for (int rank : {2, 1})
      for (auto [number, buffer] : enumerate(plan.buffers)) {
        if (buffer.kind != BufferKind::List || buffer.rank != rank ||
            buffer.role != BufferRole::Argument)
          continue;
        set(number, 0, rank == 2 ? rows : elementCount(shape));
        if (rank == 2)
          set(number, 1, columns);
      }
    for (auto [number, buffer] : enumerate(plan.buffers))
      if (buffer.kind == BufferKind::List &&
          buffer.role != BufferRole::Argument)
        for (int dimension = 0; dimension < buffer.rank; ++dimension)
          set(number, dimension, 1);
  }
  return result;
}

int64_t PlanShapes::elementsOf(int buffer) const {
  int64_t count = 0;
  for (const Extents &extents : buffers[buffer])
    count = addCounts(count, elementCount(extents));
  return count;
}

//===----------------------------------------------------------------------===//
// Tiles and launches
//===----------------------------------------------------------------------===//

/// The first list of a segment; null if it has none. It has the members of the
/// segment; a segment without lists has one member.
static const PlanOperand *listOf(const Plan &plan, const PlanSegment &segment) {
  auto found = find_if(segment.operands, [&](const PlanOperand &operand) {
    return plan.buffers[operand.buffer].kind == BufferKind::List;
  });
  return found == segment.operands.end() ? nullptr : &*found;
}

int64_t PlanShapes::membersOf(int table) const {
  int64_t members = 0;
  for (const PlanSegment &segment : plan.tables[table].segments) {
    const PlanOperand *list = listOf(plan, segment);
    members += list ? buffers[list->buffer].size() : 1;
  }
  return members;
}

void PlanShapes::overMembers(
    int number,
    llvm::function_ref<void(int64_t columns, int64_t tiles)> add) const {
  const PlanTable &table = plan.tables[number];
  for (const PlanSegment &segment : table.segments) {
    const PlanOperand *list = listOf(plan, segment);
    if (!list) {
      add(1, 1);
      continue;
    }
    for (size_t member = 0; member < buffers[list->buffer].size(); ++member) {
      int64_t count = 1, columns = 1, rows = segment.tile;
      if (segment.count) {
        const Extents &extents = buffers[segment.count->buffer][member];
        count = table.rank == 1 ? elementCount(extents)
                                : extents[segment.count->dimension];
      }
      if (segment.columns) {
        columns = buffers[segment.columns->buffer][member]
                         [segment.columns->dimension];
        rows = runtime::rowsOfTile(segment.tile, segment.held, columns, count);
      }
      add(columns,
          std::max<int64_t>(1, divideCeil(static_cast<uint64_t>(count),
                                          static_cast<uint64_t>(rows))));
    }
  }
}

int64_t PlanShapes::tilesOf(int table) const {
  int64_t tiles = 0;
  overMembers(table, [&](int64_t, int64_t ofMember) {
    tiles = addCounts(tiles, ofMember);
  });
  return tiles;
}

int64_t PlanShapes::elementsOfTable(int table) const {
  int64_t elements = 0;
  for (const PlanSegment &segment : plan.tables[table].segments)
    if (segment.count)
      elements = addCounts(elements, elementsOf(segment.count->buffer));
  return elements;
}

int64_t PlanShapes::blocksPerTile(int number) const {
  const PlanTable &table = plan.tables[number];
  runtime::RowPartCount parts;
  overMembers(number, [&](int64_t columns, int64_t tiles) {
    parts.add(table, columns, tiles);
  });
  return table.rowParts ? parts.blocksPerTile(table) : 1;
}

/// The fewest and the most columns of a member of a table of matrices.
std::pair<int64_t, int64_t> PlanShapes::widthsOf(int table) const {
  int64_t narrowest = std::numeric_limits<int64_t>::max(), widest = 0;
  for (const PlanSegment &segment : plan.tables[table].segments)
    if (segment.columns)
      for (const Extents &extents : buffers[segment.columns->buffer]) {
        int64_t columns = extents[segment.columns->dimension];
        narrowest = std::min(narrowest, columns);
        widest = std::max(widest, columns);
      }
  return {narrowest, widest};
}

bool PlanShapes::haveShortParts(int table) const {
  auto [narrowest, widest] = widthsOf(table);
  return runtime::haveShortParts(plan.tables[table], narrowest, widest);
}

std::vector<runtime::PanelExtents> PlanShapes::extentsOf(int table,
                                                         bool alsoHeld) const {
  std::vector<runtime::PanelExtents> members;
  for (const PlanSegment &segment : plan.tables[table].segments)
    if (segment.columns && segment.count)
      for (auto [ofColumns, ofRows] :
           llvm::zip(buffers[segment.columns->buffer],
                     buffers[segment.count->buffer]))
        if (int64_t columns = ofColumns[segment.columns->dimension];
            alsoHeld || columns > segment.held.columns)
          members.push_back({ofRows[segment.count->dimension], columns});
  return members;
}

bool PlanShapes::areMostlyOver(int table, int64_t columns) const {
  return runtime::areMostlyOver(extentsOf(table, /*alsoHeld=*/true), columns);
}

bool PlanShapes::areMostlyVectorsOf(int table, int64_t elements) const {
  std::vector<runtime::PanelExtents> members =
      extentsOf(table, /*alsoHeld=*/false);
  return runtime::mostElements(
      members, runtime::kShareOfVectors,
      [&](size_t k) { return members[k].columns % elements == 0; });
}

int64_t PlanShapes::launches(const PlanGraph &graph) const {
  int64_t count = 0;
  for (const PlanNode &node : graph.nodes) {
    if (node.kind == NodeKind::While) {
      bool oneKernel = !node.variants.empty() && !node.variants[0].graphForm;
      count += oneKernel ? 1 : launches(node.body);
      continue;
    }
    int64_t tiles = 0;
    for (const PlanArgument &argument : node.arguments)
      if (argument.kind == ArgumentKind::Table)
        tiles = addCounts(tiles, tilesOf(argument.index));
    // The runtime skips a kernel without tiles unless it computes a list value.
    bool skipped = node.kind == NodeKind::Kernel && node.table >= 0 &&
                   tiles == 0 && !node.always;
    count += !skipped;
  }
  return count;
}

int64_t PlanShapes::launches() const { return launches(plan.graph); }

} // namespace heddle
