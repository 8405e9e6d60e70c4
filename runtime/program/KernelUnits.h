//===- KernelUnits.h - The compiled kernels of a program --------*- C++ -*-===//
//
// The source of a plan is compiled in units (plan/Source.h), on parallel
// threads. Most units are compiled with the program. Two kinds are deferred
// until bound extents need them: panel kernels, which are compiled for a size
// class, and the other forms of panel loops, which only extents without a size
// class need.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PROGRAM_KERNELUNITS_H
#define HEDDLE_RUNTIME_PROGRAM_KERNELUNITS_H

#include "runtime/driver/CudaHandles.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/plan/PanelClass.h"
#include "runtime/plan/Plan.h"

#include <optional>

namespace heddle::runtime {

/// Any number of threads may use one object at once.
class KernelUnits {
public:
  KernelUnits(std::shared_ptr<const Plan> plan, std::string arch);

  /// Compiles the units that are not deferred, and the built-in kernels that
  /// the plan needs. If several fail, the error is the first one in plan order.
  llvm::Error compile();
  /// Compiles the units of all variants of `node` and its body that are not yet
  /// compiled.
  llvm::Error compileVariants(const PlanNode &node);

  /// Whether the source has no kernels.
  bool empty() const { return units.empty(); }
  /// NVRTC's log of the units of compile(), in plan order.
  std::string log() const;

  /// Loads the compiled units into a context.
  llvm::Error load(const ContextPtr &context);
  /// The function of an entry. Compiles and loads its unit if necessary.
  llvm::Expected<CUfunction> function(const ContextPtr &context,
                                      llvm::StringRef entry);
  /// The function of a panel kernel for a size class. Compiles and loads it if
  /// necessary.
  llvm::Expected<CUfunction> panelFunction(const ContextPtr &context,
                                           llvm::StringRef entry,
                                           const PanelClass &panels);

private:
  struct Unit {
    KernelSource source;
    std::vector<std::string> entries;
    bool deferred = false;
    std::optional<PanelClass> panels;
    std::optional<CompiledImage> compiled;
    std::vector<std::pair<ContextPtr, std::shared_ptr<Module>>> modules;
  };

  /// Compiles the units of `needed` that are not yet compiled, and `files` of
  /// the built-in kernels.
  llvm::Error compileAll(llvm::ArrayRef<Unit *> needed,
                         llvm::ArrayRef<llvm::StringRef> files);
  llvm::Expected<std::shared_ptr<Module>> moduleOf(Unit &unit,
                                                   const ContextPtr &context);

  std::shared_ptr<const Plan> plan;
  std::string arch;
  /// Held during compilations, so that two threads do not compile the same
  /// unit.
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Unit>> units;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PROGRAM_KERNELUNITS_H
