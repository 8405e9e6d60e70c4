//===- ProgramNodes.h - the nodes of a program ------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sweeps, loops, copies and fills of a program or of a loop's body, in the
// order of execution, with the buffers that each node reads and writes and the
// resulting dependences. The plan has the same nodes, and one more for a sweep
// whose members end in a launch of their own.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_PROGRAMNODES_H
#define HEDDLE_CODEGEN_LAYOUT_PROGRAMNODES_H

#include "codegen/layout/SweepLayout.h"

#include <memory>

namespace heddle {

/// The buffers that a node reads and writes.
struct BufferAccess {
  llvm::DenseSet<int> reads, writes;
  static BufferAccess of(const SweepLayout &layout);
  void add(const BufferAccess &other);
  /// The buffers that are written, in ascending order.
  std::vector<int> sortedWrites() const;
};

enum class ProgramNodeKind { sweep, loop, copy, fill };

struct ProgramNodes;

struct ProgramNode {
  ProgramNodeKind kind;
  /// The sweep or loop; null for a copy or fill.
  mlir::Operation *op = nullptr;
  /// The buffer that a copy reads, and the buffer that a copy or fill writes.
  int from = -1, to = -1;
  BufferAccess access;
  /// The nodes of a loop's body.
  std::shared_ptr<const ProgramNodes> body;
};

/// The nodes of a block, in order.
struct ProgramNodes {
  /// The nodes of the body of a program or of a loop. Emits an error if the
  /// buffers of a loop do not allow its copies.
  static mlir::FailureOr<ProgramNodes> of(mlir::Block &block,
                                          const Buffers &buffers);

  llvm::SmallVector<ProgramNode> nodes;
  /// Pairs (before, after) of nodes with a conflict, ordered by `after`,
  /// without pairs that other pairs imply.
  llvm::SmallVector<std::pair<int, int>> dependences;
  /// In a loop: the buffer of the condition.
  int condition = -1;

  /// Whether node `number` and the previous node are sweeps, and the previous
  /// node is the only one on which it depends directly. Then the edge between
  /// the two may be programmatic.
  bool followsOneSweep(int number) const;

private:
  mlir::LogicalResult addBlock(mlir::Block &block, const Buffers &buffers);
  mlir::LogicalResult addLoop(fused::LoopOp loop, const Buffers &buffers);
  mlir::LogicalResult addCopiesOfIteration(fused::LoopOp loop,
                                           const Buffers &buffers);
  void addCopiesOfResults(fused::ProgramOp program, const Buffers &buffers);
  void addCopy(int from, int to);
  /// The earlier nodes on which a later node may depend.
  struct BufferUses {
    llvm::DenseMap<int, int> writers;
    llvm::DenseMap<int, llvm::SmallVector<int, 1>> readers;
    llvm::SmallVector<int> update(int to, const BufferAccess &access);
  };
  void findDependences();
};

/// The buffer of each result of a program: that of the argument that the result
/// replaces, or its own. Empty before buffers are assigned.
llvm::SmallVector<int> buffersOfResults(fused::ProgramOp program);

/// Whether a loop yields each carried value in the buffer of the carried value,
/// so that an iteration needs no copies.
bool carriesInPlace(fused::LoopOp loop, const Buffers &buffers);

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_PROGRAMNODES_H
