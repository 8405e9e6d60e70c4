//===- HostSource.h - emitted source as host code ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles the CUDA source of a plan with the host compiler and loads it. The
// source and its device headers are unchanged, except that ptx.cuh is replaced.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOSTSOURCE_H
#define HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOSTSOURCE_H

#include "runtime/plan/PanelClass.h"
#include "test/support/cuda_on_cpu/Machine.h"

#include <memory>

namespace heddle::test {

/// The size class that panel loops are compiled for, small so that few threads
/// are without work, and further options.
struct PanelOptions {
  runtime::PanelClass shape = smallest();
  std::vector<std::string> options;

  /// The most columns of a member.
  int64_t columns() const {
    return int64_t(shape.threads / shape.groups) * shape.itemsPerThread *
           shape.cluster;
  }
  static runtime::PanelClass smallest();
};

class HostSource {
public:
  /// Compiles several plans, whose names must differ, as one file, because
  /// headers take most of the compilation time. Panel loops are compiled for
  /// `panels`.
  static llvm::Expected<std::shared_ptr<HostSource>>
  compile(llvm::ArrayRef<const runtime::Plan *> plans,
          PanelOptions panels = PanelOptions());
  ~HostSource();

  /// The entry called `name`, or null.
  const heddle_entry *find(llvm::StringRef name) const;
  llvm::ArrayRef<heddle_entry> entries() const { return {all, count}; }
  heddle_machine **hook() const { return machine; }
  const PanelOptions &panels() const { return panelOptions; }

private:
  HostSource() = default;

  void *library = nullptr;
  const heddle_entry *all = nullptr;
  size_t count = 0;
  heddle_machine **machine = nullptr;
  PanelOptions panelOptions;
};

/// The names of the entries of a source, in order.
std::vector<std::string> entryNames(llvm::StringRef text);

} // namespace heddle::test

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOSTSOURCE_H
