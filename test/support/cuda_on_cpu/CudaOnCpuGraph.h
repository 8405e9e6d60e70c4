//===- CudaOnCpuGraph.h - a plan's CUDA source on the host ------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds arguments and lays out memory like the other targets of the runtime,
// and runs the nodes of a plan on the emulated GPU. Tests choose the entries.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_CUDAONCPUGRAPH_H
#define HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_CUDAONCPUGRAPH_H

#include "runtime/program/ProgramGraph.h"
#include "test/support/cuda_on_cpu/HostSource.h"

namespace heddle::test {

class CudaOnCpuGraph : public runtime::ProgramGraph {
public:
  static llvm::Expected<std::unique_ptr<CudaOnCpuGraph>>
  create(runtime::Plan plan, std::shared_ptr<HostSource> source);

  llvm::Error replay(void *stream) override;
  llvm::Error synchronize(void *) override { return llvm::Error::success(); }

  /// Runs the entries whose names end in `suffix` (`_evict_first`, `_panels`).
  /// A node without such an entry runs the last variant of its plan, a loop its
  /// graph form.
  void chooseEntries(llvm::StringRef suffix) { chosen = suffix.str(); }
  /// The seed of the order of threads and blocks; 0: the order of their
  /// indices.
  void setSeed(uint64_t value) { seed = value; }

  /// The names of the entries that ran.
  std::vector<std::string> ran;
  uint64_t switches = 0, slotSwitches = 0;

private:
  explicit CudaOnCpuGraph(std::shared_ptr<runtime::Executable> executable,
                          std::shared_ptr<HostSource> source)
      : ProgramGraph(std::move(executable)), source(std::move(source)) {}

  llvm::Error update(runtime::Layout &next, void *stream) override;
  llvm::Error move(const runtime::Rebinding &rebinding,
                   llvm::ArrayRef<runtime::MovedMember> moved,
                   void *stream) override;
  runtime::AddressSpace &addressSpace() override;
  llvm::Error scalarChanged(int buffer, const runtime::ScalarBytes &bytes,
                            void *stream) override;
  llvm::Error read(void *to, const void *from, size_t bytes,
                   void *stream) override;

  llvm::Error run(const runtime::PlanGraph &graph);
  const runtime::PlanVariant *choose(const runtime::PlanNode &node) const;
  llvm::Expected<GridLaunch>
  launchOf(const runtime::PlanNode &node, const runtime::PlanVariant &variant,
           llvm::ArrayRef<runtime::PlanArgument> arguments);
  /// Whether the members of the loop fit the size class that the panel source
  /// was compiled for.
  bool fitsPanels(const runtime::PlanNode &node) const;
  llvm::Error runLaunches(std::vector<GridLaunch> &launches);
  llvm::Error runLoop(const runtime::PlanNode &node);
  bool arePaddingsIntact();
  llvm::Error checkAtRest();

  struct Table {
    std::vector<char> members, tiles;
    std::vector<unsigned> tickets;
    runtime::DeviceTable table = {};
    /// For a launch with distances: tile descriptors with other addresses, and
    /// how far these are from the operands.
    std::vector<char> movedTiles;
    runtime::DeviceTable movedTable = {};
    std::vector<int64_t> distances;
  };
  /// Moves the addresses of a table for a launch that takes distances.
  void moveAway(Table &table, const runtime::PlanTable &planned,
                const runtime::PlanVariant &variant);
  /// Memory with margins that must not be written.
  struct Area {
    void resize(size_t size, char fill);
    bool isIntact() const;
    char *begin() { return at; }
    std::vector<char> memory;
    char *at = nullptr;
    size_t bytes = 0;
  };

  std::shared_ptr<HostSource> source;
  std::string chosen = "_tiles";
  uint64_t seed = 0;
  Area slotMemory, arena;
  std::vector<Area> scratch;
  std::vector<Table> tables;
};

} // namespace heddle::test

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_CUDAONCPUGRAPH_H
