//===- CpuProgram.h - A program of the cpu target -------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine code for the sweeps of a plan. codegen/cpu implements this interface.
// CpuGraph calls the functions over tables of the same layout as on the device
// (docs/plan.md, "The cpu target").
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PROGRAM_CPUPROGRAM_H
#define HEDDLE_RUNTIME_PROGRAM_CPUPROGRAM_H

#include "runtime/support/Status.h"

namespace heddle::runtime {

class CpuProgram {
public:
  /// Called first, in parallel over tiles. `arguments` are the node's:
  /// addresses of tables (heddle::table), scalars and scratch areas.
  using TileFunction = void (*)(const void *tile, int tileIndex,
                                void *const *arguments);
  /// Called second, in parallel over members.
  using MemberFunction = void (*)(const void *member, void *const *arguments);
  /// Called last, once.
  using EpilogueFunction = void (*)(const void *members, int memberCount,
                                    void *const *arguments);

  /// A function is null if the sweep does nothing at that point.
  struct Sweep {
    TileFunction tile = nullptr;
    MemberFunction member = nullptr;
    EpilogueFunction epilogue = nullptr;
  };

  /// May throw: LLVM allocates memory when it removes code.
  virtual ~CpuProgram() noexcept(false) = default;

  /// Deletes a program. If there is no memory for that, the rest of it stays.
  struct Deleter {
    void operator()(CpuProgram *program) const noexcept;
  };

  /// The functions of a sweep, which live as long as this object. BadInput if
  /// there is no such sweep.
  virtual llvm::Expected<Sweep> lookup(llvm::StringRef sweep) = 0;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PROGRAM_CPUPROGRAM_H
