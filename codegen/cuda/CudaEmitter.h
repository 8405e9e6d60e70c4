//===- CudaEmitter.h - CUDA C++ source of a program -------------*- C++ -*-===//
//
// A pure function of the placed, scheduled and named IR.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_CUDAEMITTER_H
#define HEDDLE_CODEGEN_CUDA_CUDAEMITTER_H

#include "codegen/SweepLayout.h"

namespace heddle::cuda {

/// The source of all entries of `kernel`; a located error if an operation has
/// no CUDA equivalent.
mlir::FailureOr<std::string> emitKernel(fused::KernelOp kernel,
                                        const Buffers &buffers);

/// The source of the loops of `kernel` that have a form in panels, for one
/// class of widths (device/panel.cuh); empty if there are none.
mlir::FailureOr<std::string> emitPanels(fused::KernelOp kernel,
                                        const Buffers &buffers);

/// The device header called `name` ("access.cuh"), or an empty string.
llvm::StringRef deviceHeader(llvm::StringRef name);
/// The names of all device headers.
llvm::ArrayRef<llvm::StringRef> deviceHeaderNames();

/// One way to launch a sweep; the plan says when which is taken.
struct Entry {
  llvm::StringRef suffix;
  bool byValue; // scalar arguments come with the launch, or by their address
  bool passing; // what is replaced leaves the cache first
};
/// The entries of a sweep, in the order in which a plan tries them. In a loop
/// there is one, which reads its scalars: a launch there has no parameters of
/// its own from step to step.
llvm::SmallVector<Entry> entriesOf(const SweepLayout &layout, bool inLoop);

/// Whether a loop has a form that runs in one cooperative launch.
bool runsInOneLaunch(fused::LoopOp loop, const Buffers &buffers);

/// Threads of a block of that launch.
inline constexpr int kLoopThreads = 256;

/// Blocks that must fit an SM, so that enough loads are in flight: the register
/// bound that `__launch_bounds__` states for a sweep.
int minimumBlocks(fused::SweepOp sweep, const SweepLayout &layout);

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_CUDAEMITTER_H
