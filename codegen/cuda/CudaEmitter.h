//===- CudaEmitter.h - CUDA C++ source of a program -------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The source depends only on the IR, after buffer assignment, scheduling and
// naming.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_CUDAEMITTER_H
#define HEDDLE_CODEGEN_CUDA_CUDAEMITTER_H

#include "codegen/layout/KernelSignature.h"
#include "runtime/plan/Source.h"

namespace heddle::cuda {

/// The source of all entries of `program`, in sections, each with the entries
/// that need it; a located error if an operation has no CUDA equivalent.
mlir::FailureOr<runtime::Source> emitKernels(fused::ProgramOp program,
                                             const Buffers &buffers);

/// The source of the panel loops of `program`, which is compiled for each size
/// class (device/panel_class.cuh); empty if there are none.
mlir::FailureOr<std::string> emitPanels(fused::ProgramOp program,
                                        const Buffers &buffers);

/// The device header called `name` ("access.cuh"), or an empty string.
llvm::StringRef deviceHeader(llvm::StringRef name);
/// The names of all device headers.
llvm::ArrayRef<llvm::StringRef> deviceHeaderNames();

/// The suffix of an entry, after the name of its sweep.
std::string entrySuffix(fused::SweepOp sweep, fused::VariantAttr variant);

/// Whether the sweep has an entry for held rows alone.
bool hasHeldEntry(fused::SweepOp sweep);
/// Whether the sweep has an entry that processes elements as vectors.
bool hasVectorEntry(fused::SweepOp sweep);
/// Whether the sweep has an entry in which the blocks of a row are a cluster.
bool hasClusterEntry(fused::SweepOp sweep);
/// Whether the sweep has an entry for parts of wide rows alone, whose states
/// blocks exchange through memory.
bool hasPartEntry(fused::SweepOp sweep);
/// Whether the sweep has an entry that takes distances as a parameter: how far
/// lists have moved since their addresses were written into descriptors.
bool takesDistances(fused::SweepOp sweep);

/// An entry that ends the members and the list of a sweep, in a launch of its
/// own.
struct EndsEntry {
  std::string name;
  bool byValue;
};
/// These entries, one for each way to pass scalars; none if the blocks of tiles
/// end the members.
llvm::SmallVector<EndsEntry, 2> endsEntries(fused::SweepOp sweep);
/// Whether a launch of one block ends the list, because members have no end of
/// their own.
bool endsListAlone(fused::SweepOp sweep, const SweepLayout &layout);
/// The threads of the blocks that end members or the list.
int64_t threadsOfEnds(fused::SweepOp sweep, const SweepLayout &layout);
/// The name of the entry that runs a loop in one launch.
std::string oneLaunchEntry(fused::LoopOp loop);

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_CUDAEMITTER_H
