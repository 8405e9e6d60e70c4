//===- BufferAssigner.h - a buffer for every value --------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of fused-assign-buffers, which share one state. Each part is in a
// file of its own.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_PASSES_BUFFERASSIGNER_H
#define HEDDLE_PASSES_BUFFERASSIGNER_H

#include "cmake/LlvmStatistics.h"

#include "dialect/FusedLevels.h"
#include "passes/Domains.h"
#include "passes/Traffic.h"

#include <set>

namespace heddle::fused {

/// A buffer that holds a result or a temporary.
struct NewBuffer {
  mlir::Type type;
  Shape shape;
  BufferRole role;
  std::string name;
  /// The lifetime, as positions of operations.
  int begin = 0, end = 0;
  /// The first and the last value that the buffer holds.
  mlir::Value first, last;
  /// The final number; temporaries that share a buffer have the same number.
  int number = -1;
};

class BufferAssigner {
public:
  BufferAssigner(ProgramOp program, bool remarks)
      : program(program), domains(program), remarks(remarks) {}
  mlir::LogicalResult run();

  /// Results in the buffer of the value that they replace, buffers of
  /// temporaries, and copies.
  unsigned numInPlace = 0, numTemporaries = 0, numCopies = 0;

private:
  // Positions in the order of execution.
  void number(mlir::Block &block);
  int beginOf(mlir::Operation *op) const { return begins.lookup(op); }
  int endOf(mlir::Operation *op) const { return ends.lookup(op); }
  int lastUse(mlir::Value value) const;

  // Whether a value may overwrite another in its buffer.
  bool mayReplace(mlir::Value result, mlir::Value old,
                  std::string *why = nullptr);
  bool mayOverwrite(mlir::OpResult result, mlir::OpOperand &use,
                    std::string *why);
  void readFirst(mlir::Value result, mlir::Value old);
  struct Segment;
  const Segment &segmentOf(SweepOp sweep, unsigned number);

  // Requests for buffers, from the results of the program backwards.
  int bufferOf(mlir::Value value) const;
  void set(mlir::Value value, int buffer);
  int addBuffer(mlir::Value value, BufferRole role, mlir::Type type = {});
  void request(mlir::Value value, int buffer, mlir::Value old);
  void requestLoop(LoopOp loop, unsigned result, int buffer, mlir::Value old);
  void requestProgramResults();
  void requestLoopValues(mlir::Block &block);
  void assignTemporaries(mlir::Block &block);
  void extend(int buffer, int begin, int end);

  /// Temporaries of one type and shape, the last of each number: those whose
  /// content no longer matters, and the others by the end of their lifetimes.
  struct Holders {
    struct ByNumber {
      bool operator()(const NewBuffer *a, const NewBuffer *b) const {
        return a->number < b->number;
      }
    };
    std::set<NewBuffer *, ByNumber> unused;
    std::multimap<int, NewBuffer *> busy;
  };
  void shareTemporaries();
  NewBuffer *takeHolder(Holders &holders, const NewBuffer &buffer);
  mlir::LogicalResult writeAttributes();
  void countCopies(mlir::Block &block);

  ProgramOp program;
  Domains domains;
  bool remarks;
  int position = 0;
  llvm::DenseMap<mlir::Operation *, int> begins, ends;
  /// Buffer numbers before temporaries share: arguments, then `buffers`.
  llvm::DenseMap<mlir::Value, int> assigned;
  llvm::SmallVector<NewBuffer> buffers;
  llvm::DenseMap<mlir::Operation *, int> flagBuffers;
  llvm::SmallVector<int> programResultBuffers;
  unsigned numArguments = 0;
  /// Properties of a segment, which many results of a sweep need.
  struct Segment {
    int64_t rank; // of the domain
    mlir::FailureOr<Levels> levels = mlir::failure();
    /// The values from which elements are computed.
    llvm::DenseSet<mlir::Value> usedByElements;
  };
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>,
                 std::unique_ptr<Segment>>
      segments;
};

/// The bytes that `program`, whose values have no buffers, would move as it is,
/// with the copies that it would need.
TrafficList trafficWithCopies(ProgramOp program);

} // namespace heddle::fused

#endif // HEDDLE_PASSES_BUFFERASSIGNER_H
