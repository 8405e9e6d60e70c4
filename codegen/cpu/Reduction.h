//===- Reduction.h - running states of reductions ---------------*- C++ -*-===//
//
// A reduction has a running state, its neutral element, a way to combine two
// states and to take the value of a state, as on the device. A state has one
// part or two (a maximum and a sum; a value and its position). The parts are
// those of dialect/ReduceKinds.td; how a kind combines them is written here.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_REDUCTION_H
#define HEDDLE_CODEGEN_CPU_REDUCTION_H

#include "codegen/cpu/Ir.h"
#include "dialect/Fused.h"
#include "dialect/ReduceKinds.h"

namespace heddle::cpu {

/// The parts of a state, each a value or a vector of them.
using State = llvm::SmallVector<llvm::Value *, 2>;

/// The running states of the threads of a block: an array for each part.
using Lanes = llvm::SmallVector<llvm::Value *, 2>;

class Reduction {
public:
  Reduction(Ir &ir, fused::ReduceKind kind, mlir::Type type, int64_t threads);

  State neutral();
  State lift(llvm::Value *value, llvm::Value *position);
  State combine(const State &a, const State &c);
  /// The value of a state, and its position if the kind has one.
  llvm::SmallVector<llvm::Value *, 2> values(const State &state);

  /// States in memory, one after the other, part after part in each.
  int64_t bytes() const;
  llvm::Value *address(llvm::Value *states, llvm::Value *index);
  State load(llvm::Value *address,
             llvm::function_ref<void(llvm::Instruction *)> tag = nullptr);
  void store(const State &state, llvm::Value *address,
             llvm::function_ref<void(llvm::Instruction *)> tag = nullptr);

  /// Lanes, all neutral where there are `used` of them.
  Lanes makeLanes(const llvm::Twine &name);
  void clearLanes(const Lanes &lanes, llvm::Value *used);
  State loadLane(const Lanes &lanes, llvm::Value *index);
  void storeLane(const State &state, const Lanes &lanes, llvm::Value *index);
  /// The block's state out of its first `used` lanes; the others are neutral.
  State overBlock(const Lanes &lanes, llvm::Value *used);
  /// Combines `count` states in memory in the order of a block.
  State overStates(llvm::Value *states, llvm::Value *count);

private:
  bool isPair() const { return parts.size() == 2; }
  llvm::Value *limit(bool largest);
  State combineArgmax(const State &a, const State &c);
  State combineLogsumexp(const State &a, const State &c);
  void treeOfVectors(const Lanes &lanes, llvm::Value *first, State &result);
  void treeOfLanes(const Lanes &lanes, llvm::Value *first, State &result);
  llvm::Function *blockFunction();
  llvm::Function *statesFunction();
  std::string nameOf(const llvm::Twine &function);
  llvm::Type *stateType();
  llvm::Value *pack(const State &state);
  State unpack(llvm::Value *packed);

  Ir &ir;
  llvm::IRBuilder<> &b;
  fused::ReduceKind kind;
  mlir::Type type;
  int64_t threads;
  llvm::SmallVector<foreach::StatePart, 2> layout;
  llvm::SmallVector<llvm::Type *, 2> parts; // types of `layout` in memory
};

} // namespace heddle::cpu

#endif // HEDDLE_CODEGEN_CPU_REDUCTION_H
