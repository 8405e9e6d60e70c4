//===- HostText.h - emitted source as host code -----------------*- C++ -*-===//
//
// Compiles the CUDA source of a plan with the host compiler and loads it. The
// source and its device headers are unchanged, except that ptx.cuh is replaced.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOSTTEXT_H
#define HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOSTTEXT_H

#include "runtime/plan/PanelClass.h"
#include "test/support/cuda_on_cpu/Machine.h"

#include <memory>

namespace heddle::test {

/// How the panel schedule is compiled: a class, small so that few threads are
/// idle, and further options.
struct PanelText {
  runtime::PanelClass shape = smallest();
  std::vector<std::string> options;

  /// The most columns that a member may have.
  int64_t columns() const {
    return int64_t(shape.threads / shape.groups) * shape.itemsPerThread *
           shape.cluster;
  }
  static runtime::PanelClass smallest();
};

class HostText {
public:
  /// Compiles several plans, whose names must differ, as one file: the compiler
  /// spends most of its time on headers. Panel loops are compiled for `panels`.
  static llvm::Expected<std::shared_ptr<HostText>>
  compile(llvm::ArrayRef<const runtime::Plan *> plans,
          PanelText panels = PanelText());
  ~HostText();

  /// The entry of this name, or null.
  const heddle_entry *find(llvm::StringRef name) const;
  llvm::ArrayRef<heddle_entry> entries() const { return {all, count}; }
  heddle_machine **hook() const { return machine; }
  const PanelText &panels() const { return panelText; }

private:
  HostText() = default;

  void *library = nullptr;
  const heddle_entry *all = nullptr;
  size_t count = 0;
  heddle_machine **machine = nullptr;
  PanelText panelText;
};

/// The names of the entries of a source, in order.
std::vector<std::string> entryNames(llvm::StringRef text);

} // namespace heddle::test

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOSTTEXT_H
