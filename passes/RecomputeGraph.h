//===- RecomputeGraph.h - values that a sweep could recompute ---*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sweep that reads a list which an earlier sweep computed could compute its
// values again, from the operands of the earlier sweep. The nodes of the graph
// are these values and operands, back to the arguments of the block. The reader
// gets each value that it needs by loading it or by computing it, for which it
// needs the operands of the value. The cheapest cut of the graph says which.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_RECOMPUTEGRAPH_H
#define HEDDLE_PASSES_RECOMPUTEGRAPH_H

#include "cmake/LlvmStatistics.h"

#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"
#include "passes/Domains.h"
#include "passes/MinimumCut.h"

#include <map>
#include <optional>
#include <set>

namespace heddle::fused {

/// The indices, in the domain of the reader, of the rows and columns of another
/// sweep's domain (of its elements, if it is over vectors); 0 if the reader has
/// no such index.
struct IndexMap {
  int32_t rows = kI, columns = kJ;

  /// The index of an operand in the domain of the reader.
  std::optional<int32_t> of(int32_t index) const;
  /// The dimension of the reader's domain that `axis` is, a dimension of the
  /// other sweep's domain of rank `from`; nothing if the reader has no such
  /// dimension. `isSame` says whether both domains have the same extents.
  std::optional<foreach::Axis> of(foreach::Axis axis, int64_t from,
                                  bool isSame) const;
  bool isIdentity() const { return rows == kI && columns == kJ; }
  auto operator<=>(const IndexMap &) const = default;
};

/// Facts about the sweeps of a block, and about the lists that they replace.
class RecomputeFacts {
public:
  RecomputeFacts(mlir::Block &block, const Domains &domains);

  /// The levels of the body of a sweep of one segment; null if the sweep is not
  /// one of these.
  const Levels *levelsOf(SweepOp sweep);
  /// Whether `sweep` visits its matrices by rows.
  bool visitsRows(SweepOp sweep);
  /// The domain of a sweep of one segment of the block.
  Shape domainOf(SweepOp sweep) const {
    return domains.lookup(&sweep.getSegmentBlock(0));
  }
  /// The value that replaces `argument`, of the program or of the loop; null if
  /// none does.
  mlir::Value replacementOf(mlir::Value argument) const;
  bool isLoopInit(mlir::Value value) const { return loopInits.contains(value); }
  /// To be called if `by` takes the place of `value`.
  void replace(mlir::Value value, mlir::Value by);
  /// To be called before the body of `sweep` changes.
  void forget(SweepOp sweep);

private:
  mlir::Block &block;
  /// By the bodies, which stay when a sweep gets further results.
  llvm::DenseMap<mlir::Block *, std::unique_ptr<Levels>> levels;
  llvm::DenseMap<mlir::Block *, bool> rows;
  llvm::DenseMap<mlir::Block *, Shape> domains;
  /// The operand of the terminator that replaces an argument.
  llvm::DenseMap<mlir::Value, unsigned> replacing;
  llvm::DenseSet<mlir::Value> loopInits;
};

/// One way in which `reader` gets its values.
class RecomputeGraph {
public:
  /// A value that the reader may load or compute.
  struct Node {
    /// The value in the body of `sweep`, which computes it. Null for an operand
    /// that no body computes.
    mlir::Value value;
    SweepOp sweep;
    IndexMap map;
    /// The list that holds the value, and the reader's index for it. If null, a
    /// loaded value becomes a new result of `sweep`.
    mlir::Value stored;
    int32_t index = 0;
    Level level = Level::list;
    /// The weight of the bytes that move if the value is loaded.
    int64_t load = 0;
    /// The weight of the operations if it is computed.
    int64_t compute = 0;
    /// The nodes of the operands of the operation that computes the value. A
    /// list that is narrower than its values has one operand, the value.
    llvm::SmallVector<int, 4> operands;
    bool isRounding = false;
    /// The choice of the cut.
    bool isLoaded = false, isComputed = false;

    bool canLoad() const;
  };

  /// `moved` has results of earlier sweeps that the reader is to compute and to
  /// store in their place, so that the arguments that they replace stay valid.
  RecomputeGraph(RecomputeFacts &facts, SweepOp reader,
                 llvm::ArrayRef<mlir::OpResult> moved);

  /// Finds the cheapest way. Returns its weight, with the copies of arguments;
  /// nothing if there is none.
  std::optional<int64_t> cut();

  /// What the reader has to load to compute some nodes, however long it takes
  /// to compute them: the fewest bytes.
  struct Needs {
    /// The nodes, and the weight of their bytes.
    llvm::SmallVector<int> loaded;
    int64_t weight = 0;
    /// A node that it can neither load nor compute; -1 if there is none.
    int missing = -1;
  };
  /// What the reader needs for the nodes `wanted`. If the cut does not compute
  /// these, then besides the nodes that it loads. To be called after `cut`.
  Needs needsOf(llvm::ArrayRef<int> wanted, bool areComputed) const;
  /// Whether the reader would combine its elements in another order if it
  /// loaded a node.
  bool changesOrder(const Node &node) const;
  /// The weight of the bytes of the list that holds the value of a node.
  int64_t bytesOfList(const Node &node) const;

  /// The result of an operation before the reader that replaces `operand`, and
  /// does not move; null if there is none.
  mlir::OpResult writerBefore(mlir::Value operand) const;
  /// Why the reader may not compute and store `result`, an element value of an
  /// earlier sweep over the same domain; empty if it may.
  llvm::StringRef reasonToStay(mlir::OpResult result);

  /// The sweep that replaces the scalar that a node loads, and has to keep its
  /// old value for that; null for other nodes.
  SweepOp keeperOf(const Node &node);
  /// Whether no other operation reads the list of the node.
  bool isLastReader(const Node &node);
  /// The dimension of the reader that `node`, an extent or a position, is of;
  /// nothing if the reader has no such dimension, or for other nodes.
  std::optional<foreach::Axis> axisOf(const Node &node) const;

  llvm::SmallVector<Node, 0> nodes;
  /// The nodes of the lists that the reader binds, and of moved results.
  llvm::SmallVector<int> roots, movedRoots;
  /// Results that would have to move so that the reader could load the argument
  /// that they replace.
  llvm::SmallVector<mlir::OpResult> movable;
  /// Operands of the reader that an earlier sweep would replace in place if the
  /// reader did not read them. The new values are copied in the end.
  llvm::SmallVector<mlir::Value> copied;

private:
  static constexpr int64_t kNever = MinimumCut::kInfinite;

  struct Candidate {
    int64_t distance;
    int node;
    bool operator<(const Candidate &other) const {
      return std::tie(distance, node) < std::tie(other.distance, other.node);
    }
  };
  void addRoots();
  void expand();
  void expandNode(int number);
  int addNode(Node node);
  int nodeOfOperand(mlir::Value operand, int32_t index);
  int nodeOfValue(mlir::Value value, SweepOp sweep, IndexMap map);
  int nodeOfArgument(mlir::BlockArgument argument, SweepOp sweep, IndexMap map);
  std::optional<int32_t> indexIn(Level level, SweepOp sweep, IndexMap map);
  Level levelIn(Level level, SweepOp sweep, IndexMap map);
  std::optional<IndexMap> mapOf(SweepOp sweep, Level level, int32_t index);
  int64_t costOfLoad(const Node &node);
  int64_t costOfNewResult(const Node &node);
  int64_t costOfCompute(const Node &node);
  int64_t costOfCopy(mlir::Value operand) const;
  int64_t readersOfRows(const Node &node);
  bool isOverwritten(mlir::Value operand);
  void addCopied();
  void addMovable(mlir::OpResult result);
  int missingFor(llvm::ArrayRef<int> wanted) const;

  RecomputeFacts &facts;
  SweepOp reader;
  llvm::DenseSet<mlir::Value> moved;
  int64_t rank;
  /// The operands that the reader binds, at their indices.
  llvm::DenseSet<std::pair<mlir::Value, int32_t>> bound;
  bool readerVisitsRows, readerReduces;
  std::map<std::pair<void *, int32_t>, int> operandNodes;
  std::map<std::pair<void *, IndexMap>, int> valueNodes;
  /// The nodes whose operands are not yet known, the cheapest to reach first.
  std::set<Candidate> candidates;
  llvm::SmallVector<int64_t> distances;
};

/// The weight of bytes or operations of a level in a domain of rank `rank`.
int64_t weightOf(Level level, int64_t rank);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_RECOMPUTEGRAPH_H
