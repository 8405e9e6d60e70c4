//===- Reduction.h - running states of reductions ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits a reduction as it runs on the device: its state, the neutral element,
// the combination of two states and the value of a state. A state has one or
// two parts (a maximum and a sum, or a value and its position), which
// dialect/ReduceKinds.td defines; this class defines the combination.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CPU_REDUCTION_H
#define HEDDLE_CODEGEN_CPU_REDUCTION_H

#include "codegen/cpu/Ir.h"
#include "dialect/Fused.h"
#include "dialect/ReduceKinds.h"

namespace heddle::cpu {

/// The parts of a state, each a value or a vector of values.
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

  /// States in memory, one after the other, each with its parts in order.
  int64_t bytes() const;
  llvm::Value *address(llvm::Value *states, llvm::Value *index);
  State load(llvm::Value *address,
             llvm::function_ref<void(llvm::Instruction *)> tag = nullptr);
  void store(const State &state, llvm::Value *address,
             llvm::function_ref<void(llvm::Instruction *)> tag = nullptr);

  /// Makes lanes, by default one for each thread; clearLanes sets the first
  /// `used` of them to the neutral element.
  Lanes makeLanes(const llvm::Twine &name, int64_t count = 0);
  void clearLanes(const Lanes &lanes, llvm::Value *used);
  State loadLane(const Lanes &lanes, llvm::Value *index);
  void storeLane(const State &state, const Lanes &lanes, llvm::Value *index);
  /// Combines the first `used` lanes of a block.
  State overBlock(const Lanes &lanes, llvm::Value *used);
  /// Combines the lanes of a block that have the same place in groups of
  /// `lanes` lanes. The lane of the first group has the result.
  void overGroups(const Lanes &all, llvm::Value *first, llvm::Value *lanes);
  /// Combines `count` states in memory in the order of a block.
  State overStates(llvm::Value *states, llvm::Value *count);
  /// Combines `count` states of tiles in memory in the order of a list.
  State overList(llvm::Value *states, llvm::Value *count);

private:
  bool isPair() const { return parts.size() == 2; }
  llvm::Value *limit(bool largest);
  State combinePositioned(const State &a, const State &c);
  State combineLogsumexp(const State &a, const State &c);
  void treeOfVectors(const Lanes &lanes, llvm::Value *first, State &result);
  void treeOfLanes(const Lanes &lanes, llvm::Value *first, State &result);
  /// The lanes that a function has as its first parameters.
  Lanes lanesOf(llvm::Function &function);
  llvm::Function *blockFunction();
  llvm::Function *groupsFunction();
  llvm::Function *statesFunction();
  llvm::Function *listFunction();
  /// A function of states in memory and their number. `combined` emits its body
  /// and the state that it returns.
  llvm::Function *functionOfStates(
      const llvm::Twine &named,
      llvm::function_ref<State(llvm::Value *states, llvm::Value *count)>
          combined);
  /// Combines 32 lanes, beginning with lane `first`, as a warp does.
  State overWarp(const Lanes &lanes, llvm::Value *first);
  /// Combines states in memory with lanes: state k with lane k mod `places`.
  void addToLanes(llvm::Value *states, llvm::Value *count, const Lanes &lanes,
                  int64_t places);
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
