//===- HostText.h - emitted text as code of the host ------------*- C++ -*-===//
//
// Compiles the CUDA text of a plan with the host's compiler, exactly as it was
// emitted and with the device headers that come with it, ptx.cuh alone swapped,
// and loads it.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOSTTEXT_H
#define HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOSTTEXT_H

#include "runtime/plan/PanelClass.h"
#include "test/support/cuda_on_cpu/Machine.h"

#include <memory>

namespace heddle::test {

/// How loops in panels are compiled: a class, small so that few threads are
/// without work, and options besides.
struct PanelText {
  runtime::PanelClass shape = smallest();
  std::vector<std::string> options;

  /// Most columns that a member may have.
  int64_t columns() const {
    return int64_t(shape.threads / shape.groups) * shape.itemsPerThread *
           shape.cluster;
  }
  static runtime::PanelClass smallest();
};

class HostText {
public:
  /// Several plans are one text where their names do not meet: a compiler takes
  /// most of its time to start. Loops in panels are compiled for `panels`.
  static llvm::Expected<std::shared_ptr<HostText>>
  compile(llvm::ArrayRef<const runtime::Plan *> plans,
          PanelText panels = PanelText());
  ~HostText();

  /// The entry of this name; null if there is none.
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

/// The names of the entries of a text, in order.
std::vector<std::string> entryNames(llvm::StringRef text);

} // namespace heddle::test

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOSTTEXT_H
