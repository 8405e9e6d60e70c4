//===- CpuGraph.h - A plan run on the host --------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the sweeps of a plan over host buffers: tiles in parallel, then members
// in parallel, then the epilogue once. Loops run on the host. HEDDLE_THREADS
// limits the number of threads (default: one per core).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_CPU_CPUGRAPH_H
#define HEDDLE_RUNTIME_CPU_CPUGRAPH_H

#include "runtime/program/ProgramGraph.h"

namespace heddle::runtime {

class CpuGraph : public ProgramGraph {
public:
  /// Creates a graph of an executable. BadInput if it was not compiled for the
  /// cpu target, or lacks a sweep that the plan names.
  static llvm::Expected<std::unique_ptr<CpuGraph>>
  create(std::shared_ptr<Executable> executable);
  ~CpuGraph() override;

  /// Runs one step to completion. Here and below, `stream` is ignored.
  llvm::Error replay(void *stream) override;
  llvm::Error synchronize(void *) override { return llvm::Error::success(); }

private:
  struct Node;
  struct HostTable;

  explicit CpuGraph(std::shared_ptr<Executable> executable);

  llvm::Error update(Layout &next, void *stream) override;
  llvm::Error move(const Rebinding &rebinding,
                   llvm::ArrayRef<MovedMember> moved, void *stream) override;
  AddressSpace &addressSpace() override;
  llvm::Error scalarChanged(int buffer, const ScalarBytes &bytes,
                            void *stream) override;
  llvm::Error read(void *to, const void *from, size_t bytes,
                   void *stream) override;

  llvm::Error buildNodes(const PlanGraph &graph, std::vector<Node> &out);
  void run(const std::vector<Node> &nodes);
  void runKernel(const Node &node);
  void fill(const Node &node);
  void runWhile(const Node &node);

  /// Frees memory of allocate(), which has the alignment of device memory.
  struct AlignedFree {
    void operator()(char *memory) const;
  };
  using AlignedMemory = std::unique_ptr<char, AlignedFree>;
  static llvm::Expected<AlignedMemory> allocate(size_t bytes,
                                                llvm::StringRef what);

  const unsigned threads; ///< most threads that run a sweep
  AlignedMemory slotMemory, arena, scratchMemory;
  std::vector<char *> scratch;
  std::vector<HostTable> tables;
  std::vector<Node> nodes;
};

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_CPU_CPUGRAPH_H
