//===- CpuProgram.h - A program of the cpu target -------------------------===//
//
// The compiler's cpu target implements this interface: machine code for the
// sweeps of a plan, called by CpuGraph over tables of the same layout as on the
// device (docs/plan.md, Source).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PROGRAM_CPUPROGRAM_H
#define HEDDLE_RUNTIME_PROGRAM_CPUPROGRAM_H

#include "runtime/support/Status.h"

namespace heddle::runtime {

class CpuProgram {
public:
  /// In parallel over tiles. `arguments` are the node's: the address of a
  /// heddle::table, of a scalar or of a scratch area.
  using TileFunction = void (*)(const void *tile, int tileIndex,
                                void *const *arguments);
  /// Then, in parallel over members.
  using MemberFunction = void (*)(const void *member, void *const *arguments);
  /// Then once.
  using EpilogueFunction = void (*)(const void *members, int memberCount,
                                    void *const *arguments);

  /// A null function has nothing to do.
  struct Sweep {
    TileFunction tile = nullptr;
    MemberFunction member = nullptr;
    EpilogueFunction epilogue = nullptr;
  };

  virtual ~CpuProgram() = default;

  /// The functions of a sweep; they live as long as this object. BadInput if
  /// there is no such sweep.
  virtual llvm::Expected<Sweep> lookup(llvm::StringRef sweep) = 0;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PROGRAM_CPUPROGRAM_H
