//===- KernelUnits.h - The compiled kernels of a program --------*- C++ -*-===//
//
// A plan's source compiles in units (plan/Source.h), on parallel threads. Most
// units compile when the program does. Two kinds wait until they are wanted:
// loops in panels, which compile for a class of widths, and the other forms of
// such a loop, which only widths without a class need.
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

/// Safe to use from several threads.
class KernelUnits {
public:
  KernelUnits(std::shared_ptr<const Plan> plan, std::string arch);

  /// Whether compileFor() compiles some units in any case: those of a panel
  /// loop that can run on the architecture.
  bool needsSizeClass() const;
  /// Compiles the units that every binding needs, and the built-in kernels of
  /// the plan. If several fail, returns the first error in plan order.
  llvm::Error compile();
  /// Compiles all that a binding needs and that is not compiled, in one batch:
  /// the units of compile(), the panel source for each of `classes`, and the
  /// other forms of `loops`. panelFunction() reports a class that fails.
  llvm::Error compileFor(llvm::ArrayRef<PanelClass> classes,
                         llvm::ArrayRef<const PlanNode *> loops);

  /// Whether the plan's source holds kernels.
  bool empty() const { return units.empty(); }
  /// NVRTC's log of the units of compile(), in the order of the plan.
  std::string log() const;

  /// Loads the compiled units into a context.
  llvm::Error load(const ContextPtr &context);
  /// The function of an entry, compiled and loaded if it was not yet.
  llvm::Expected<CUfunction> function(const ContextPtr &context,
                                      llvm::StringRef entry);
  /// The function of a loop in panels for one class of widths.
  llvm::Expected<CUfunction> panelFunction(const ContextPtr &context,
                                           llvm::StringRef entry,
                                           const PanelClass &panels);

private:
  struct Unit {
    SourceText source;
    std::vector<std::string> entries;
    bool waits = false;
    std::optional<PanelClass> panels;
    std::optional<CompiledImage> compiled;
    /// Why a panel unit did not compile.
    std::optional<std::pair<StatusCode, std::string>> failure;
    std::vector<std::pair<ContextPtr, std::shared_ptr<Module>>> modules;
  };

  /// The units that every binding needs.
  std::vector<Unit *> firstUnits() const;
  /// The unit of a size class, which may not be compiled yet.
  Unit *unitOf(const PanelClass &panels);
  /// Compiles those of `wanted` that are not compiled, and `files` of the
  /// built-in kernels.
  llvm::Error compileAll(llvm::ArrayRef<Unit *> wanted,
                         llvm::ArrayRef<llvm::StringRef> files);
  /// The files of the built-in kernels that the plan needs.
  std::vector<llvm::StringRef> builtinFiles() const;
  llvm::Expected<std::shared_ptr<Module>> moduleOf(Unit &unit,
                                                   const ContextPtr &context);

  std::shared_ptr<const Plan> plan;
  std::string arch;
  /// Held while units compile: a second thread that wants one waits for it.
  mutable std::mutex mutex;
  std::vector<std::unique_ptr<Unit>> units;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_PROGRAM_KERNELUNITS_H
