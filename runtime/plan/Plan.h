//===- Plan.h - The plan of a program -------------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C++ form of docs/plan.md, with its JSON form and its validation. A plan
// lists the buffers of a program, the tables through which kernels find their
// work, the nodes of one step, and their order. It holds no pointer, no extent
// and no member count; these are known when buffers are bound (Binding.h).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PLAN_PLAN_H
#define HEDDLE_RUNTIME_PLAN_PLAN_H

#include "runtime/plan/Source.h"
#include "runtime/support/Status.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace llvm::json {
class Value;
} // namespace llvm::json

namespace heddle::runtime {

enum class DType : uint8_t { F64, F32, F16, BF16, I1, I8, I16, I32, I64 };

/// Whether elements are floating-point numbers.
constexpr bool isFloat(DType dtype) { return dtype <= DType::BF16; }
/// Bytes of one element; i1 takes one byte.
unsigned dtypeSize(DType dtype);
llvm::StringRef dtypeName(DType dtype);
std::optional<DType> parseDType(llvm::StringRef name);

enum class BufferKind : uint8_t { List, Scalar };
enum class BufferRole : uint8_t { Argument, Result, Temporary };

/// The extent of one dimension of a buffer.
struct ExtentRef {
  int buffer = -1;
  int dimension = 0;
};

struct PlanBuffer {
  std::string name;
  BufferKind kind = BufferKind::List;
  DType dtype = DType::F32;
  /// The rank of a member: 0, 1 (any dense tensor, flattened) or 2 (leading
  /// dimensions are collapsed into rows).
  int rank = 0;
  BufferRole role = BufferRole::Argument;
  /// Whether a result replaces the argument, which is then updated in place.
  bool donated = false;
  /// The value of a scalar argument that is neither set nor bound.
  std::optional<double> defaultValue;
  /// Whether the caller may set a scalar argument to finite numbers above 0
  /// only.
  bool positive = false;
  /// For a result or temporary list: the extent that each dimension equals.
  std::vector<ExtentRef> extents;
  /// For a result or temporary list: the list whose member count it shares.
  int members = -1;

  /// Whether it is a result or temporary list.
  bool isDerived() const {
    return kind == BufferKind::List && role != BufferRole::Argument;
  }
};

struct PlanResult {
  std::string name;
  int buffer = -1;
};

/// For `Length` and `Stride`, the operand slot holds a number about the operand
/// before it instead of an address: its number of elements, or its row stride.
enum class OperandIndex : uint8_t { None, I, J, IJ, Length, Stride };

struct PlanOperand {
  int buffer = -1;
  OperandIndex index = OperandIndex::I;
};

/// The most columns of a row whose parts a block can hold, and the least bound
/// on the columns of a part. The order of reductions depends on these numbers.
/// `row_parts.cuh` has them, too.
inline constexpr int64_t kHeldPartsColumns = 1 << 20, kPartColumns = 4096;

/// The columns of a part are a multiple of this number, except in the last one.
inline constexpr int64_t kPartMultiple = 64;

/// The most columns of a part, unless the row has more than kHeldPartsColumns.
/// A row of at most `wholeColumns` columns has one part.
constexpr int64_t partColumns(int64_t wholeColumns) {
  return wholeColumns / 2 > kPartColumns ? wholeColumns / 2 : kPartColumns;
}
constexpr int64_t mostRowParts(int64_t wholeColumns) {
  return kHeldPartsColumns / partColumns(wholeColumns);
}

/// The most parts of a row whose blocks are a cluster; `row_parts.cuh` has it,
/// too.
inline constexpr int64_t kMostClusterParts = 16;

/// In a table with `long_parts`, rows of more than `mostShortColumns` columns
/// have parts of at most `longPartColumns`, so that more rows fit on the
/// device.
constexpr int64_t mostShortColumns(int64_t wholeColumns) {
  return kMostClusterParts * partColumns(wholeColumns);
}
constexpr int64_t longPartColumns(int64_t wholeColumns) {
  return partColumns(wholeColumns) / 2 * 5;
}

/// The most units of a tall tile.
inline constexpr int64_t kMostTallUnits = 64;

/// The most elements in a tile of held rows.
inline constexpr int64_t kMostTallElements = 32768;

/// The rows that a block holds in registers (docs/lowering.md). Tiles of such
/// rows have more of them, and so may tiles of wider rows; see rowsOfTile.
struct HeldRows {
  /// The most columns of a held row; 0 if no row is held.
  int64_t columns = 0;
  /// The elements in a whole tile, if the number of columns is rounded up to a
  /// power of two.
  int64_t elements = 4096;
  /// A tall tile of wider rows has so many times the rows of another.
  int64_t tallUnits = 1;
};

struct PlanSegment {
  /// The number of elements (rank 1) or rows (rank 2) in a tile.
  int64_t tile = 1;
  HeldRows held;
  /// Whether the first tile of a member may be shorter, so that the other tiles
  /// are aligned.
  bool alignTiles = false;
  std::vector<PlanOperand> operands;
  std::optional<ExtentRef> count;
  std::optional<ExtentRef> columns;
};

struct PlanTable {
  std::string name;
  int rank = 1;
  /// The number of operand slots in a descriptor: the largest number of
  /// operands of any segment.
  int pointers = 0;
  bool tileDescriptors = true;
  /// The number of columns of a row tile that a block processes at a time, if
  /// several blocks divide the tile. 0: one block processes the whole tile.
  int64_t blockColumns = 0;
  /// Whether several blocks may divide the parts of a wide row (partsOfRow).
  /// The blocks of a row wait for each other.
  bool rowParts = false;
  /// The most columns of a row that has one part.
  int64_t wholeColumns = kPartColumns;
  /// Whether blocks that divide a row keep their parts in registers, if the
  /// parts have at most kPartColumns columns. Then any number of rows is
  /// divided.
  bool heldParts = false;
  /// Whether a block may have several parts of a row, so that any number of
  /// blocks can divide it.
  bool severalParts = false;
  /// Whether very wide rows have longer parts (longPartColumns).
  bool longParts = false;
  /// Whether members of wider rows come first: their tiles take longest. Only
  /// if no order of sums depends on it.
  bool widestFirst = false;
  std::vector<PlanSegment> segments;
};

/// A scratch area has one element for each of these. `PanelColumn`, `Row`,
/// `Panel` and `Column` are for panel loops, which process one member after the
/// other: their areas have the size for the largest member.
enum class ScratchPer : uint8_t {
  Tile,
  Member,
  TileColumn,
  Once,
  PanelColumn,
  Row,
  Panel,
  Column,
  /// One for each of the blocks that divide a tile.
  TileBlock
};

struct PlanScratch {
  ScratchPer per = ScratchPer::Once;
  int table = -1;
  int64_t bytes = 0;
  bool zero = false;
};

/// `Scalar` is a by-value scalar: a scalar argument that no node writes. The
/// variant decides whether the kernel takes its value or its address.
enum class ArgumentKind : uint8_t { Table, Buffer, Scalar, Scratch };

struct PlanArgument {
  ArgumentKind kind = ArgumentKind::Table;
  int index = -1;
};

enum class GridKind : uint8_t { Tiles, Members, Resident, Fixed };

/// The most distances of a launch. All GPUs accept 4096 bytes of parameters.
/// `tables.cuh` has it, too.
inline constexpr int kMostDistances = 480;
/// The most other arguments of a launch with distances.
inline constexpr size_t kMostArgumentsBesideDistances = 24;

/// The most elements of a vector that PlanVariant::mostlyMultiplesOf may name.
inline constexpr int64_t kMostMultiple = 16;

struct PlanVariant {
  /// The entry of the kernel; empty for the graph form of a while node.
  std::string entry;
  /// A conditional WHILE node around the body (while nodes only).
  bool graphForm = false;
  int block = 256;
  GridKind grid = GridKind::Tiles;
  /// The number of blocks of a fixed grid.
  int64_t gridBlocks = 1;
  /// Dynamic shared memory in bytes.
  int sharedBytes = 0;
  bool cooperative = false;
  /// Whether this variant reads the tile descriptors of its tables.
  bool tileDescriptors = true;
  /// Whether the kernel takes the values of by-value scalars instead of their
  /// addresses.
  bool scalarsByValue = false;
  std::optional<int64_t> maxTiles;
  std::optional<int64_t> minTiles;
  /// The table has at least so many elements.
  std::optional<int64_t> minElements;
  /// The bytes of the element operands are at most this multiple of the L2
  /// cache.
  std::optional<double> fitsL2;
  /// No row of the table has more columns.
  std::optional<int64_t> maxColumns;
  /// At least half of the elements of the table are in rows of more columns.
  std::optional<int64_t> mostlyOver;
  /// At least 7/8 of the elements of the table in rows that are not held are in
  /// rows of vectors of so many elements (TableView::sharedRows): a power of
  /// two from 2 to kMostMultiple.
  std::optional<int64_t> mostlyMultiplesOf;
  /// Blocks divide all rows of the table into short parts that they hold, and
  /// no row has more parts.
  std::optional<int64_t> maxParts;
  /// Whether the blocks of a row are a cluster.
  bool cluster = false;
  /// The operand slots of which the kernel takes distances, as its last
  /// argument.
  std::vector<int> distances;

  /// Whether the variant has a `when`.
  bool hasPredicate() const {
    return maxTiles || minTiles || minElements || fitsL2 || maxColumns ||
           mostlyOver || mostlyMultiplesOf || maxParts;
  }
};

/// The panel form of a while node: one launch, compiled from Plan::panelSource
/// for the size class of the bound extents (PanelClass.h).
struct PlanPanel {
  std::string entry;
  /// The table whose members are divided into panels.
  int table = -1;
  /// The bytes of an element, for each matrix that is read element by element.
  std::vector<int> elementBytes;
  /// The bytes of the compute type.
  int computeBytes = 4;
  /// 4-byte words that a thread holds for each of its columns, and for each
  /// element of the current row.
  int words = 2, rowWords = 1;
  /// The number of reductions over columns, and over rows.
  int columns = 1, rows = 1;
  /// Bytes per row, and per column, that a cluster per member caches in shared
  /// memory between iterations.
  int keptOfRow = 0, keptOfColumn = 0;
  /// Whether one cluster may process a member alone.
  bool clusterPerMember = true;
  std::vector<PlanArgument> arguments;
};

enum class NodeKind : uint8_t { Kernel, While, Copy, Fill };

struct PlanEdge {
  int from = 0;
  int to = 0;
  /// `to` may start before `from` ends; the kernel of `to` waits by itself.
  bool programmatic = false;
};

/// The part of its sweeps that a kernel runs: all of them, their tiles, or the
/// ends of their members and of the list, for which the tiles are complete.
enum class SweepPart : uint8_t { Whole, Tiles, Ends };

struct PlanNode;

/// Nodes and the order between them: the step itself, or the body of a loop.
struct PlanGraph {
  std::vector<PlanNode> nodes;
  std::vector<PlanEdge> edges;
};

struct PlanNode {
  NodeKind kind = NodeKind::Kernel;
  std::string name;
  // Kernel nodes, and the cooperative form of while nodes.
  std::vector<std::string> sweeps;
  SweepPart part = SweepPart::Whole;
  int table = -1;
  std::vector<PlanVariant> variants;
  std::vector<PlanArgument> arguments;
  std::vector<int> writes;
  bool always = false;
  // While nodes.
  PlanGraph body;
  int iterations = -1;
  int limit = -1;
  int condition = -1;
  std::optional<PlanPanel> panel;
  // Copy and fill nodes.
  int from = -1;
  int to = -1;
  double value = 0; ///< of a fill; rounded to the buffer's dtype

  bool hasByValueScalars() const;
};

struct Plan {
  std::string name;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanResult> results;
  std::vector<PlanTable> tables;
  std::vector<PlanScratch> scratch;
  PlanGraph graph;
  Source source;
  /// The source of the panel loops, which is compiled for each size class;
  /// empty if there are none.
  std::string panelSource;
  std::map<std::string, std::string> headers;
  std::vector<std::string> options;

  /// The buffer of the argument `name`; -1 if there is none.
  int findArgument(llvm::StringRef name) const;
  /// The buffer of the result `name`; -1 if there is none.
  int findResult(llvm::StringRef name) const;
  /// The table with the name of the sweep, or else the node's table; -1 if
  /// there is none.
  int tableOfSweep(const PlanNode &node, llvm::StringRef sweep) const;
  /// The result and temporary lists, each after the buffers from which it has
  /// its extents and its members. Leaves out lists that depend on themselves.
  std::vector<int> derivedLists() const;
};

/// Calls `visit` on every node, including the bodies of loops.
void forEachNode(const PlanGraph &graph,
                 llvm::function_ref<void(const PlanNode &)> visit);

/// Checks everything that the rest of the runtime relies on, such as indices in
/// range, matching kinds and ranks, forward edges, and a last variant without
/// conditions. The error has the path in the plan.
llvm::Error validatePlan(const Plan &plan);

llvm::json::Value planToJSON(const Plan &plan);

/// Reads and validates a plan. The error has the path inside the JSON value.
llvm::Expected<Plan> planFromJSON(const llvm::json::Value &value);

/// Reads and validates a plan from JSON text.
llvm::Expected<Plan> parsePlan(llvm::StringRef text);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PLAN_PLAN_H
