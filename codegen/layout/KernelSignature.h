//===- KernelSignature.h - the arguments of a kernel, in order --*- C++ -*-===//
//
// The one description of the arguments with which a sweep, or a whole loop, is
// launched. The CUDA source, the plan and the cpu target read it
// (docs/plan.md).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_LAYOUT_KERNELSIGNATURE_H
#define HEDDLE_CODEGEN_LAYOUT_KERNELSIGNATURE_H

#include "codegen/layout/PanelLayout.h"

namespace heddle {

enum class KernelArgumentKind {
  table,        // of the members and tiles of a sweep
  scalar,       // a device scalar: SweepLayout::scalars
  scratch,      // a scratch area: SweepLayout::scratch
  panelScratch, // a scratch area of a loop in panels: PanelLayout::scratch
  iterations,   // the number of iterations that a loop has run
  limit,        // the number of iterations at most
  condition,    // the flag that tells whether another iteration follows
  barrier,      // the words on which the blocks of a launch synchronize
};

struct KernelArgument {
  KernelArgumentKind kind;
  /// The sweep of the launch to which it belongs: of one launch for a whole
  /// loop, the position in the loop's body.
  int sweep = 0;
  /// The scalar, or the scratch area, of the sweep or panel.
  int slot = -1;
  /// The buffer of a device scalar.
  int buffer = -1;
  /// Whether it is a scalar that may be passed by value.
  bool byValue = false;
  /// The size of the words of a barrier.
  int64_t bytes = 0;
};

struct KernelSignature {
  /// The launch of one sweep: its table, scalars and scratch areas.
  static KernelSignature of(const SweepLayout &sweep);
  /// The cooperative launch of a loop: the arguments of its sweeps, without the
  /// number of the iteration, which is in a register; then the iterations,
  /// their limit, the flag (the flags of members are in the tables) and the
  /// barrier.
  static KernelSignature ofCooperative(fused::LoopOp loop,
                                       llvm::ArrayRef<SweepLayout> sweeps,
                                       const Buffers &buffers);
  /// The launch of a loop in panels: the table and scalars of its sweep,
  /// without the number of the iteration; then the limit, the scratch areas of
  /// the panels and the barrier.
  static KernelSignature ofPanels(const SweepLayout &sweep,
                                  const PanelLayout &panels);

  /// The position of the argument of `kind` that has slot `slot`.
  int positionOf(KernelArgumentKind kind, int slot = -1) const;

  llvm::SmallVector<KernelArgument> arguments;

private:
  void addScalars(const SweepLayout &sweep, int number, bool withIteration);
  void addScratch(const SweepLayout &sweep, int number);
};

} // namespace heddle

#endif // HEDDLE_CODEGEN_LAYOUT_KERNELSIGNATURE_H
