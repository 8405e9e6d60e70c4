//===- KernelUnits.h - The compiled kernels of a program --------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The source of a plan is compiled in units (plan/Source.h), on parallel
// threads. Most units are compiled with the program. Three kinds are deferred
// until they are needed:
//   - panel kernels, which are compiled for a size class
//   - the other forms of panel loops, which only extents without a size class
//     need
//   - kernels that read by-value scalars by address, which only captures by the
//     caller and scalars of the caller need
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_PROGRAM_KERNELUNITS_H
#define HEDDLE_RUNTIME_PROGRAM_KERNELUNITS_H

#include "runtime/binding/Tables.h"
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

  /// Whether the plan has a panel loop that can run on the architecture, so
  /// that a binding compiles a size class.
  bool needsSizeClass() const;
  /// Compiles the units that are not deferred, and the built-in kernels that
  /// the plan needs. If several fail, the error is the first one in plan order.
  llvm::Error compile();
  /// Compiles everything that a binding needs and that is not yet compiled, in
  /// one batch: the units of compile(), the panel source for each of `classes`,
  /// all variants of `nodes` and their bodies, and `entries`. panelFunction()
  /// reports a class that fails.
  llvm::Error compileFor(llvm::ArrayRef<PanelClass> classes,
                         llvm::ArrayRef<const PlanNode *> nodes,
                         std::vector<std::string> entries = {});
  /// Compiles the units of entries that are not yet compiled, in one batch.
  llvm::Error compileEntries(llvm::ArrayRef<std::string> entries);
  /// Whether the entry is in a unit that is not yet compiled.
  bool awaitsCompilation(llvm::StringRef entry) const;

  /// Whether the source has no kernels.
  bool empty() const { return units.empty(); }
  /// NVRTC's log of the units of compile(), in plan order.
  std::string log() const;

  /// Loads the compiled units into a context.
  llvm::Error load(const ContextPtr &context);
  /// The function of an entry, for launches with this number of arguments of
  /// at most `bytes` bytes. Compiles and loads its unit if necessary.
  llvm::Expected<CUfunction> function(const ContextPtr &context,
                                      llvm::StringRef entry, size_t arguments,
                                      size_t bytes = sizeof(DeviceTable));
  /// The function of a panel kernel for a size class. Compiles and loads it if
  /// necessary.
  llvm::Expected<CUfunction> panelFunction(const ContextPtr &context,
                                           llvm::StringRef entry,
                                           size_t arguments,
                                           const PanelClass &panels);

private:
  struct Unit {
    KernelSource source;
    std::vector<std::string> entries;
    bool deferred = false;
    std::optional<PanelClass> panels;
    std::optional<CompiledImage> compiled;
    /// The error of a panel kernel that did not compile.
    std::optional<std::pair<StatusCode, std::string>> failure;
    std::vector<std::pair<ContextPtr, std::shared_ptr<Module>>> modules;
  };

  /// The units that are not deferred.
  std::vector<Unit *> firstUnits() const;
  /// The deferred units with one of the entries.
  std::vector<Unit *> deferredUnits(llvm::ArrayRef<std::string> entries) const;
  /// The unit of a size class, which is added if there is none.
  Unit *unitOf(const PanelClass &panels);
  /// The files of the built-in kernels that the plan needs.
  std::vector<llvm::StringRef> builtinFiles() const;
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
