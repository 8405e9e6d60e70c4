//===- Steps.h - the order in which a program is executed -------*- C++ -*-===//
//
// The launches, copies and fills of a program or of the body of a loop, the
// buffers that each of them reads and writes, and the dependences that follow.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_STEPS_H
#define HEDDLE_CODEGEN_LAYOUT_STEPS_H

#include "codegen/layout/SweepLayout.h"

namespace heddle {

/// The buffers that a step reads and writes.
struct BufferAccess {
  llvm::DenseSet<int> reads, writes;
  static BufferAccess of(const SweepLayout &layout);
  void add(const BufferAccess &other);
  /// The buffers that are written, in ascending order.
  std::vector<int> sortedWrites() const;
};

enum class StepKind { sweep, loop, copy, fill };

struct Step {
  StepKind kind;
  /// The sweep or loop; null for a copy or fill.
  mlir::Operation *op = nullptr;
  /// The buffer that a copy reads, and the one that a copy or fill writes.
  int from = -1, to = -1;
  BufferAccess access;
};

/// The steps of a block in order.
struct Steps {
  /// The steps of the body of a program or of a loop. Emits an error if the
  /// buffers of a loop do not allow its copies.
  static mlir::FailureOr<Steps> of(mlir::Block &block, const Buffers &buffers);

  llvm::SmallVector<Step> steps;
  /// Pairs (before, after) of steps with a conflict, ordered by the second,
  /// without those that other pairs imply.
  llvm::SmallVector<std::pair<int, int>> dependences;
  /// In a loop: the buffer whose flags tell whether another iteration follows.
  int condition = -1;

  /// Whether step `number` depends on the step right before it, and on no other
  /// directly, and both are sweeps: the later one may be a programmatic
  /// dependent launch.
  bool followsOneSweep(int number) const;

private:
  mlir::LogicalResult addBlock(mlir::Block &block, const Buffers &buffers);
  mlir::LogicalResult addLoop(fused::LoopOp loop, const Buffers &buffers);
  mlir::LogicalResult addCopiesOfIteration(fused::LoopOp loop,
                                           const Buffers &buffers);
  void addCopiesOfResults(fused::ProgramOp program, const Buffers &buffers);
  void addCopy(int from, int to);
  /// The steps so far that matter to a later one.
  struct BufferUses {
    llvm::DenseMap<int, int> writers;
    llvm::DenseMap<int, llvm::SmallVector<int, 1>> readers;
    llvm::SmallVector<int> update(int to, const BufferAccess &access);
  };
  void findDependences();
};

/// The buffer in which each result of a program is in the end: that of the
/// argument that it replaces, or its own. -1 if it has none.
llvm::SmallVector<int> buffersOfResults(fused::ProgramOp program,
                                        const Buffers &buffers);

/// Whether a loop yields each carried value in the buffer in which the loop
/// carries it, so that an iteration needs no copies.
bool carriesInPlace(fused::LoopOp loop, const Buffers &buffers);

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_STEPS_H
