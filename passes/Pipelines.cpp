//===- Pipelines.cpp - the passes in order --------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One visible list: a pass that is not in it does not run.
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
  /// Whether the unfused form goes without it.
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
    {"foreach-outline-kernels", false,
     [](OpPassManager &manager, const PipelineOptions &) {
       manager.addPass(createForeachOutlineKernels());
     }},
    {"fused-fuse-vertical", true,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::KernelOp>(createFusedFuseVertical(
           withRemarks<FusedFuseVerticalOptions>(options)));
     }},
    {"fused-merge-reductions", true,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::KernelOp>(createFusedMergeReductions(
           withRemarks<FusedMergeReductionsOptions>(options)));
     }},
    {"fused-fuse-horizontal", true,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::KernelOp>(createFusedFuseHorizontal(
           withRemarks<FusedFuseHorizontalOptions>(options)));
     }},
    {"fused-schedule", false,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::KernelOp>(
           createFusedSchedule(withRemarks<FusedScheduleOptions>(options)));
     }},
    {"fused-place-buffers", false,
     [](OpPassManager &manager, const PipelineOptions &options) {
       manager.addNestedPass<fused::KernelOp>(createFusedPlaceBuffers(
           withRemarks<FusedPlaceBuffersOptions>(options)));
     }},
    {"fused-prepare-cuda", false,
     [](OpPassManager &manager, const PipelineOptions &) {
       manager.addNestedPass<fused::KernelOp>(createFusedPrepareCuda());
     }},
};

struct TextOptions : PassPipelineOptions<TextOptions> {
  Option<bool> fuse{*this, "fuse", llvm::cl::init(true),
                    llvm::cl::desc("Fuse sweeps (off: one for every map and "
                                   "reduction of the program)")};
  Option<bool> remarks{*this, "remarks", llvm::cl::init(false),
                       llvm::cl::desc("Say what was done and why")};
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
  PassPipelineRegistration<TextOptions>(
      "heddle-pipeline",
      "From a program to scheduled, placed and named fused IR",
      [](OpPassManager &manager, const TextOptions &text) {
        PipelineOptions options;
        options.fuse = text.fuse;
        options.remarks = text.remarks;
        buildPipeline(manager, options);
      });
}

} // namespace heddle
