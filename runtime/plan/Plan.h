//===- Plan.h - The plan of a program -------------------------------------===//
//
// The C++ mirror of docs/plan.md, as plain data, with its JSON form and its
// validation. A plan names the buffers of a program, the tables through which
// kernels find their work, the launches of one step and their order. It holds
// no pointer, no extent and no member count: those arrive when buffers are
// bound (Binding.h).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PLAN_PLAN_H
#define HEDDLE_RUNTIME_PLAN_PLAN_H

#include "runtime/plan/Source.h"
#include "runtime/support/Status.h"

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

/// Bytes of one element; i1 takes one byte.
unsigned dtypeSize(DType dtype);
llvm::StringRef dtypeName(DType dtype);
std::optional<DType> parseDType(llvm::StringRef name);

enum class BufferKind : uint8_t { List, Scalar };
enum class BufferRole : uint8_t { Argument, Result, Temporary };

/// One extent of a buffer: dimension `dimension` of buffer `buffer`.
struct ExtentRef {
  int buffer = -1;
  int dimension = 0;
};

struct PlanBuffer {
  std::string name;
  BufferKind kind = BufferKind::List;
  DType dtype = DType::F32;
  /// Of a member's domain: 0, 1 (any dense tensor, flattened) or 2 (leading
  /// dimensions collapsed into rows).
  int rank = 0;
  BufferRole role = BufferRole::Argument;
  /// An argument that a result replaces: updated in place.
  bool donated = false;
  /// Value of a scalar argument until it is set or bound.
  std::optional<double> defaultValue;
  /// Of a result or temporary list: what each dimension equals (rank entries).
  std::vector<ExtentRef> extents;
  /// Of a result or temporary list: the list whose member count it shares.
  int members = -1;
};

struct PlanResult {
  std::string name;
  int buffer = -1;
};

/// `Length` and `Stride`: the operand slot holds no address but a count that
/// belongs to the operand before it: its elements, or the elements from one row
/// to the next.
enum class OperandIndex : uint8_t { None, I, J, IJ, Length, Stride };

struct PlanOperand {
  int buffer = -1;
  OperandIndex index = OperandIndex::I;
};

struct PlanSegment {
  /// Elements (rank 1) or rows (rank 2) in a tile.
  int64_t tile = 1;
  /// A first tile may be shorter than the others, so that those are aligned.
  bool shift = false;
  std::vector<PlanOperand> operands;
  std::optional<ExtentRef> count;
  std::optional<ExtentRef> columns;
};

struct PlanTable {
  std::string name;
  int rank = 1;
  /// Operand slots in a descriptor: the largest number of operands over the
  /// segments.
  int pointers = 0;
  bool tileDescriptors = true;
  /// Columns of a tile of rows that a block processes at a time, whatever
  /// TableView::blocksPerTile is. 0: one block processes the whole tile.
  int64_t blockColumns = 0;
  std::vector<PlanSegment> segments;
};

/// The last three belong to panel loops, which process one member after the
/// other. Their areas are sized for the widest member, the longest and any.
enum class ScratchPer : uint8_t {
  Tile,
  Member,
  TileColumn,
  Once,
  PanelColumn,
  Row,
  Panel
};

struct PlanScratch {
  ScratchPer per = ScratchPer::Once;
  int table = -1;
  int64_t bytes = 0;
  bool zero = false;
};

/// `Scalar`: a by-value scalar, that is, a scalar argument that nothing in the
/// program writes. The variant says whether a kernel takes its value or its
/// address.
enum class ArgumentKind : uint8_t { Table, Buffer, Scalar, Scratch };

struct PlanArgument {
  ArgumentKind kind = ArgumentKind::Table;
  int index = -1;
};

enum class GridKind : uint8_t { Tiles, Members, Resident, Fixed };

struct PlanVariant {
  /// Kernel entry; empty for the graph form of a while node.
  std::string entry;
  /// A conditional WHILE node around the body (while nodes only).
  bool graphForm = false;
  int block = 256;
  GridKind grid = GridKind::Tiles;
  /// Number of blocks of a fixed grid.
  int64_t gridBlocks = 1;
  /// Dynamic shared memory in bytes.
  int sharedBytes = 0;
  bool cooperative = false;
  /// Whether this variant reads the tile descriptors of its tables.
  bool tileDescriptors = true;
  /// The kernel takes the values of the node's by-value scalars, not their
  /// addresses.
  bool scalarsByValue = false;
  std::optional<int64_t> maxTiles;
  std::optional<int64_t> minTiles;
  /// The element operands take at most this many times the L2 cache.
  std::optional<double> fitsL2;

  /// Whether `when` was given.
  bool hasPredicate() const { return maxTiles || minTiles || fitsL2; }
};

/// The panel form of a while node: one launch, compiled from Plan::panelSource
/// for the class of the bound widths (PanelClass.h).
struct PlanPanel {
  std::string entry;
  /// The table whose members are divided into panels.
  int table = -1;
  /// Bytes of an element of each matrix that is read.
  std::vector<int> elementBytes;
  /// Bytes of a computed value.
  int computeBytes = 4;
  /// 4-byte words that a thread keeps for each of its columns, and for each
  /// element of the row that its thread group processes.
  int words = 2, rowWords = 1;
  /// Reductions of columns, and of rows.
  int columns = 1, rows = 1;
  /// Bytes per row, and per column, that a cluster that processes a member
  /// alone caches in shared memory between iterations.
  int keptOfRow = 0, keptOfColumn = 0;
  /// Whether a cluster may process a member alone.
  bool clusterPerMember = true;
  std::vector<PlanArgument> arguments;
};

enum class NodeKind : uint8_t { Kernel, While, Copy, Fill };

struct PlanEdge {
  int from = 0;
  int to = 0;
  /// `to` may begin before `from` has ended: its kernel waits by itself.
  bool programmatic = false;
};

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
  double value = 0; ///< of every element, rounded to the buffer's dtype

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
  /// The source of panel loops, compiled once for each class of widths; empty
  /// if there are none.
  std::string panelSource;
  std::map<std::string, std::string> headers;
  std::vector<std::string> options;

  /// Index of the argument (or, failing that, of the result) called `name`; -1
  /// if there is none.
  int findArgument(llvm::StringRef name) const;
  /// Index of the buffer that the result called `name` lives in; -1 if there is
  /// none.
  int findResult(llvm::StringRef name) const;
  /// The table of a sweep: the one with the sweep's name, or else the node's.
  /// -1 if there is none.
  int tableOfSweep(const PlanNode &node, llvm::StringRef sweep) const;
};

/// Checks everything that the rest of the runtime relies on: positions in
/// range, kinds and ranks that fit, edges that point forward, a variant without
/// a predicate at the end. The error names the place, what was expected and
/// what was found.
llvm::Error validatePlan(const Plan &plan);

llvm::json::Value planToJSON(const Plan &plan);

/// Reads and validates. The error names the path inside the JSON value.
llvm::Expected<Plan> planFromJSON(const llvm::json::Value &value);

/// planFromJSON of a text.
llvm::Expected<Plan> parsePlan(llvm::StringRef text);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PLAN_PLAN_H
