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

namespace {
struct Entry {
  StringRef name;
  /// Whether `fuse=false` omits the pass.
  bool fuses;
  void (*add)(OpPassManager &, const PipelineOptions &);
};

template <typename Options>
Options withRemarks(const PipelineOptions &options) {
  Options result;
  result.remarks = options.remarks;
  return result;
}

const Entry pipeline[] = {
    {"foreach-simplify", false,
     [](OpPassManager &manager, const PipelineOptions &) {
       manager.addNestedPass<func::FuncOp>(createForeachSimplify());
     }},
    {"foreach-shift-logsumexp", true,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<func::FuncOp>(createForeachShiftLogsumexp(
           withRemarks<ForeachShiftLogsumexpOptions>(options)));
     }},
    {"foreach-outline-sweeps", false,
     [](OpPassManager &manager, const PipelineOptions &) {
       manager.addPass(createForeachOutlineSweeps());
     }},
    {"fused-fuse-vertical", true,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::ProgramOp>(createFusedFuseVertical(
           withRemarks<FusedFuseVerticalOptions>(options)));
     }},
    {"fused-share-exponentials", true,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::ProgramOp>(createFusedShareExponentials(
           withRemarks<FusedShareExponentialsOptions>(options)));
     }},
    {"fused-fuse-horizontal", true,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::ProgramOp>(createFusedFuseHorizontal(
           withRemarks<FusedFuseHorizontalOptions>(options)));
     }},
    {"fused-schedule", false,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::ProgramOp>(
           createFusedSchedule(withRemarks<FusedScheduleOptions>(options)));
     }},
    {"fused-mark-inactive-columns", true,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::ProgramOp>(createFusedMarkInactiveColumns(
           withRemarks<FusedMarkInactiveColumnsOptions>(options)));
     }},
    {"fused-assign-buffers", false,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::ProgramOp>(createFusedAssignBuffers(
           withRemarks<FusedAssignBuffersOptions>(options)));
     }},
    {"fused-prepare-cuda", false,
     [](OpPassManager &manager, const PipelineOptions &) {
       manager.addNestedPass<fused::ProgramOp>(createFusedPrepareCuda());
     }},
    {"fused-configure-launches", false,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::ProgramOp>(createFusedConfigureLaunches(
           withRemarks<FusedConfigureLaunchesOptions>(options)));
     }},
};

struct CommandLineOptions : PassPipelineOptions<CommandLineOptions> {
  Option<bool> fuse{*this, "fuse", llvm::cl::init(true),
                    llvm::cl::desc("Fuse sweeps; otherwise each map and "
                                   "reduction becomes a sweep of its own")};
  Option<bool> remarks{*this, "remarks", llvm::cl::init(false),
                       llvm::cl::desc("Emit remarks on the decisions of the "
                                      "passes, with reasons")};
};
} // namespace

ArrayRef<StringRef> pipelinePasses() {
  static const SmallVector<StringRef> names = [] {
    SmallVector<StringRef> result;
    for (const Entry &entry : pipeline)
      result.push_back(entry.name);
    return result;
  }();
  return names;
}

void buildPipeline(OpPassManager &manager, const PipelineOptions &options) {
  for (const Entry &entry : pipeline)
    if (options.fuse || !entry.fuses)
      entry.add(manager, options);
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
        buildPipeline(manager, options);
      });
}

} // namespace heddle
