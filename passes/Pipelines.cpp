//===- Pipelines.cpp - the passes in order --------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only list of the passes that run.
//
//===----------------------------------------------------------------------===//

#include "passes/Pipelines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Passes.h"

using namespace mlir;

namespace heddle {

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

template <typename Options>
static Options withRemarks(const PipelineOptions &options) {
  Options result;
  result.remarks = options.remarks;
  return result;
}

namespace {
struct CommandLineOptions : PassPipelineOptions<CommandLineOptions> {
  Option<bool> fuse{*this, "fuse", llvm::cl::init(true),
                    llvm::cl::desc("Fuse sweeps; otherwise each map and "
                                   "reduction becomes a sweep of its own")};
  Option<bool> remarks{*this, "remarks", llvm::cl::init(false),
                       llvm::cl::desc("Emit remarks on the decisions of the "
                                      "passes, with reasons")};
};
} // namespace

void buildPipeline(OpPassManager &manager, const PipelineOptions &options) {
  auto onFunctions = [&](std::unique_ptr<Pass> pass) {
    manager.addNestedPass<func::FuncOp>(std::move(pass));
  };
  auto onPrograms = [&](std::unique_ptr<Pass> pass) {
    manager.addNestedPass<fused::ProgramOp>(std::move(pass));
  };
  onFunctions(createForeachSimplify());
  if (options.fuse)
    onFunctions(createForeachShiftLogsumexp(
        withRemarks<ForeachShiftLogsumexpOptions>(options)));
  manager.addPass(createForeachOutlineSweeps());
  if (options.fuse) {
    onPrograms(createFusedFuseVertical(
        withRemarks<FusedFuseVerticalOptions>(options)));
    onPrograms(createFusedRematerialize(
        withRemarks<FusedRematerializeOptions>(options)));
    onPrograms(createFusedShareExponentials(
        withRemarks<FusedShareExponentialsOptions>(options)));
    onPrograms(createFusedFuseHorizontal(
        withRemarks<FusedFuseHorizontalOptions>(options)));
    onPrograms(
        createFusedFlagMembers(withRemarks<FusedFlagMembersOptions>(options)));
  }
  onPrograms(createFusedSchedule(withRemarks<FusedScheduleOptions>(options)));
  if (options.fuse)
    onPrograms(createFusedMarkInactiveColumns(
        withRemarks<FusedMarkInactiveColumnsOptions>(options)));
  onPrograms(createFusedAssignBuffers(
      withRemarks<FusedAssignBuffersOptions>(options)));
  onPrograms(createFusedPrepareCuda());
  onPrograms(createFusedConfigureLaunches(
      withRemarks<FusedConfigureLaunchesOptions>(options)));
}

void registerPasses() {
  registerHeddlePasses();
  PassPipelineRegistration<CommandLineOptions>(
      "heddle-pipeline",
      "Compile a program of foreach IR to fused IR with schedules, buffers, "
      "names and launches",
      [](OpPassManager &manager, const CommandLineOptions &parsed) {
        PipelineOptions options;
        options.fuse = parsed.fuse;
        options.remarks = parsed.remarks;
        // Elsewhere, the reader of programs expands shorthands.
        manager.addPass(createForeachExpandShorthands());
        buildPipeline(manager, options);
      });
}

} // namespace heddle
