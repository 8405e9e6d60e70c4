//===- CudaEmitter.h - CUDA C++ text of a kernel ----------------*- C++ -*-===//
//
// A pure function of the placed, scheduled and named IR.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_CUDAEMITTER_H
#define HEDDLE_CODEGEN_CUDA_CUDAEMITTER_H

#include "codegen/KernelSignature.h"
#include "runtime/plan/Source.h"

namespace heddle::cuda {

/// The source of all entries of `kernel`, in sections that say which entries
/// need them; a located error where an operation has no text.
mlir::FailureOr<runtime::Source> emitKernel(fused::ProgramOp kernel,
                                            const Buffers &buffers);

/// The text of the loops of `kernel` that have a form in panels, for one class
/// of widths (device/panel.cuh); empty where there are none.
mlir::FailureOr<std::string> emitPanels(fused::ProgramOp kernel,
                                        const Buffers &buffers);

/// The device header called `name` ("access.cuh"), or an empty string.
llvm::StringRef deviceHeader(llvm::StringRef name);
/// The names of all device headers.
llvm::ArrayRef<llvm::StringRef> deviceHeaderNames();

/// What the name of an entry point adds to the name of its sweep.
llvm::StringRef entrySuffix(fused::SweepOp sweep, fused::VariantAttr variant);

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_CUDAEMITTER_H
