//===- ProgramEmitter.h - prints a program ----------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a program's source, each in a file of its own.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_PROGRAMEMITTER_H
#define HEDDLE_CODEGEN_CUDA_PROGRAMEMITTER_H

#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/DeviceFunctions.h"
#include "codegen/cuda/SweepEmitter.h"

namespace heddle::cuda {

class ProgramEmitter {
public:
  ProgramEmitter(fused::ProgramOp program, const Buffers &buffers)
      : os(stream), functions(text, os), program(program), buffers(buffers) {}
  mlir::LogicalResult emit();
  mlir::LogicalResult emitPanels();
  runtime::Source takeSource();

private:
  /// Ends the current section and begins one that `entries` need (all entries
  /// if empty).
  void beginSection(std::vector<std::string> entries);
  mlir::LogicalResult emitSweep(fused::SweepOp sweep);
  mlir::LogicalResult emitEpilogue(fused::SweepOp sweep,
                                   const SweepLayout &layout,
                                   const SweepNames &names);

  // SourceBanner.cpp
  void emitBanner();
  void emitIncludes();

  // SweepTypes.cpp
  SweepNames nameSweep(fused::SweepOp sweep, const SweepLayout &layout);
  void emitTileTypes(const SweepLayout &layout, const SweepNames &names);
  void emitParams(const SweepNames &names);
  mlir::LogicalResult emitPrecomputed(const SweepLayout &layout,
                                      const SweepNames &names);

  // SweepEntries.cpp
  void emitDispatch(const SweepLayout &layout, const SweepNames &names,
                    llvm::StringRef part);
  void emitBlockFunction(fused::SweepOp sweep, const SweepLayout &layout,
                         const SweepNames &names, bool takesDistances);
  void emitEntry(fused::SweepOp sweep, const SweepLayout &layout,
                 const SweepNames &names, fused::VariantAttr variant);
  void emitMemberFunction(const SweepLayout &layout, const SweepNames &names,
                          bool hasNext);
  void emitListFunction(const SweepNames &names, bool hasNext);
  void emitEndsEntry(fused::SweepOp sweep, const SweepLayout &layout,
                     const SweepNames &names, const EndsEntry &entry);
  /// Prints an entry, whose head ends with `bounds`. It has distances of so
  /// many operands; 0: none.
  void emitEntry(const SweepNames &names, llvm::StringRef bounds,
                 llvm::StringRef entry, bool byValue, size_t distances,
                 llvm::StringRef call);

  // OneLaunchLoop.cpp
  mlir::LogicalResult emitLoop(fused::LoopOp loop);

  std::string text; ///< of the current section
  llvm::raw_string_ostream stream{text};
  mlir::raw_indented_ostream os;
  DeviceFunctions functions;
  std::vector<std::string> entriesOfSection;
  runtime::Source source;
  fused::ProgramOp program;
  const Buffers &buffers;
  llvm::SmallVector<fused::SweepOp> sweeps;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_PROGRAMEMITTER_H
