//===- KernelSignature.h - the arguments of a kernel, in order --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only description of the arguments of a launch, of a sweep or of a whole
// loop. The CUDA source, the plan and the cpu target use it (docs/plan.md).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_KERNELSIGNATURE_H
#define HEDDLE_CODEGEN_LAYOUT_KERNELSIGNATURE_H

#include "codegen/layout/PanelLayout.h"

namespace heddle {

enum class KernelArgumentKind {
  table,        // the table of a sweep
  scalar,       // a device scalar: SweepLayout::scalars
  scratch,      // a scratch area: SweepLayout::scratch
  panelScratch, // a scratch area of a panel loop: PanelLayout::scratch
  iterations,   // the number of completed iterations
  limit,        // the largest number of iterations
  condition,    // the flag by which the loop continues
  barrier,      // the words by which the blocks of a launch synchronize
};

struct KernelArgument {
  KernelArgumentKind kind;
  /// The sweep of the argument: its position in the body of the loop, 0 for the
  /// launch of one sweep.
  int sweep = 0;
  /// The number of the scalar or scratch area in its layout.
  int slot = -1;
  /// The buffer of a device scalar.
  int buffer = -1;
  /// Whether the argument is a by-value scalar.
  bool byValue = false;
  /// The size of a barrier.
  int64_t bytes = 0;
};

struct KernelSignature {
  /// The launch of one sweep: its table, scalars and scratch areas.
  static KernelSignature of(const SweepLayout &sweep);
  /// The cooperative launch of a loop: the arguments of its sweeps, without the
  /// iteration, which is in a register; then the iterations, the limit, the
  /// condition (flags of members are in the tables) and the barrier.
  static KernelSignature ofCooperative(fused::LoopOp loop,
                                       llvm::ArrayRef<SweepLayout> sweeps,
                                       const Buffers &buffers);
  /// The launch of a panel loop: the table and scalars of its sweep, without
  /// the iteration; then the limit, the scratch areas and the barrier.
  static KernelSignature ofPanels(const SweepLayout &sweep,
                                  const PanelLayout &panels);

  /// The position of the first argument of `kind` with `slot`; -1 if there is
  /// none.
  int positionOf(KernelArgumentKind kind, int slot = -1) const;

  llvm::SmallVector<KernelArgument> arguments;

private:
  KernelArgument &add(KernelArgument argument);
  void addScalars(const SweepLayout &sweep, int number, bool withIteration);
  void addScratch(const SweepLayout &sweep, int number);

  /// The first argument of each kind and slot.
  llvm::DenseMap<std::pair<int, int>, int> positions;
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_KERNELSIGNATURE_H
