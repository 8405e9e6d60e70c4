//===- CudaOnCpuGraph.h - a plan's CUDA source on the host ------*- C++ -*-===//
//
// Binds arguments and lays out memory like the other targets of the runtime,
// and runs the nodes of a plan on the emulated GPU. Tests choose the entries.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_CUDAONCPUGRAPH_H
#define HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_CUDAONCPUGRAPH_H

#include "runtime/program/ProgramGraph.h"
#include "test/support/cuda_on_cpu/HostText.h"

namespace heddle::test {

class CudaOnCpuGraph : public runtime::ProgramGraph {
public:
  static llvm::Expected<std::unique_ptr<CudaOnCpuGraph>>
  create(runtime::Plan plan, std::shared_ptr<HostText> text);

  llvm::Error replay(void *stream) override;
  llvm::Error synchronize(void *) override { return llvm::Error::success(); }

  /// Ends the names of the entries to take (`_evict_first`, `_panels`); a
  /// node without such an entry takes the variant that its plan names last, a
  /// loop its graph form.
  void chooseEntries(llvm::StringRef suffix) { chosen = suffix.str(); }
  /// The order of threads and blocks follows from it. 0: as they come.
  void setSeed(uint64_t value) { seed = value; }

  /// Names of the entries that were run.
  std::vector<std::string> ran;
  uint64_t switches = 0, handOvers = 0;

private:
  explicit CudaOnCpuGraph(std::shared_ptr<runtime::Executable> executable,
                          std::shared_ptr<HostText> text)
      : ProgramGraph(std::move(executable)), text(std::move(text)) {}

  llvm::Error update(runtime::Layout &next, void *stream) override;
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
  /// Whether the loop's members fit the one class that the text was compiled
  /// for.
  bool fitsPanels(const runtime::PlanNode &node) const;
  llvm::Error runLaunches(std::vector<GridLaunch> &launches);
  llvm::Error runLoop(const runtime::PlanNode &node);
  llvm::Error checkAtRest();

  struct Table {
    std::vector<char> members, tiles;
    std::vector<unsigned> tickets;
    runtime::DeviceTable table = {};
  };
  /// Memory with a margin that nobody may write.
  struct Area {
    void resize(size_t size, char fill);
    bool isIntact() const;
    char *begin() { return at; }
    std::vector<char> memory;
    char *at = nullptr;
    size_t bytes = 0;
  };

  std::shared_ptr<HostText> text;
  std::string chosen = "_tiles";
  uint64_t seed = 0;
  Area slotMemory, arena;
  std::vector<Area> scratch;
  std::vector<Table> tables;
};

} // namespace heddle::test

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_CUDAONCPUGRAPH_H
