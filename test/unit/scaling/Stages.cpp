//===- Stages.cpp - the work of each stage of a compilation ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Stages.h"

#include "codegen/compiler/Explain.h"
#include "codegen/compiler/ProgramCompiler.h"
#include "codegen/cpu/CpuTarget.h"
#include "codegen/cuda/CudaEmitter.h"
#include "codegen/plan/PlanExtraction.h"
#include "dialect/ProgramText.h"
#include "dialect/WorkCounter.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/JSON.h"

#include <ctime>

using namespace heddle::runtime;

namespace heddle::test {

namespace {
/// The work since its construction.
class Meter {
public:
  Stage read(llvm::StringRef name) const {
    return {name.str(), countedWork() - work,
            double(std::clock() - begin) / CLOCKS_PER_SEC};
  }

private:
  uint64_t work = countedWork();
  std::clock_t begin = std::clock();
};

class PassMeter : public mlir::PassInstrumentation {
public:
  explicit PassMeter(std::vector<Stage> &stages) : stages(stages) {}

  void runBeforePass(mlir::Pass *, mlir::Operation *) override {
    meter = Meter();
  }
  void runAfterPass(mlir::Pass *pass, mlir::Operation *) override {
    // The adaptor that runs passes on nested operations has no argument name.
    if (!pass->getArgument().empty())
      stages.push_back(meter.read(pass->getArgument()));
  }

private:
  std::vector<Stage> &stages;
  Meter meter;
};
} // namespace

llvm::Expected<std::vector<Stage>> compileInStages(llvm::StringRef program,
                                                   bool all) {
  std::vector<Stage> stages;
  llvm::Error error = llvm::Error::success();
  /// Runs a stage unless an earlier one failed.
  auto measure = [&](llvm::StringRef name, auto &&run) {
    if (error)
      return;
    Meter meter;
    error = run();
    stages.push_back(meter.read(name));
  };

  PipelineOptions options;
  options.remarks = true;
  Compilation compilation(options);
  auto checked = [&](bool succeeded, llvm::StringRef name) {
    return succeeded ? llvm::Error::success()
                     : compilation.failure((name + " failed").str());
  };
  std::string text;
  llvm::raw_string_ostream os(text);
  auto print = [&] {
    printProgram(compilation.getModule(), os);
    return llvm::Error::success();
  };
  measure("read", [&] { return compilation.read(program); });
  measure("print foreach", print);
  if (!error)
    error = compilation.lower(std::make_unique<PassMeter>(stages));
  measure("print fused", print);
  Plan plan;
  measure("plan", [&] {
    auto extracted =
        extractPlan(compilation.getProgram(), compilation.getBuffers());
    if (succeeded(extracted))
      plan = std::move(*extracted);
    return checked(succeeded(extracted), "plan");
  });
  measure("kernels", [&] {
    auto source =
        cuda::emitKernels(compilation.getProgram(), compilation.getBuffers());
    if (succeeded(source))
      plan.source = std::move(*source);
    return checked(succeeded(source), "kernels");
  });
  measure("panels", [&] {
    auto source =
        cuda::emitPanels(compilation.getProgram(), compilation.getBuffers());
    if (succeeded(source))
      plan.panelSource = std::move(*source);
    return checked(succeeded(source), "panels");
  });
  measure("explain", [&] {
    return explainProgram(compilation, "", /*json=*/false, "sm_90").takeError();
  });
  measure("cpu",
          [&] { return printCpuIr(compilation.getProgram()).takeError(); });
  if (all) {
    std::string json;
    measure("plan to JSON", [&] {
      json = llvm::formatv("{0:2}", planToJSON(plan)).str();
      return llvm::Error::success();
    });
    measure("plan from JSON", [&] { return parsePlan(json).takeError(); });
    measure("machine code", [&] {
      return compileForCpu(compilation.getProgram()).takeError();
    });
  }
  if (error)
    return std::move(error);
  return stages;
}

} // namespace heddle::test
