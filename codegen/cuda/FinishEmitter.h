//===- FinishEmitter.h - what is computed once for the list -----*- C++ -*-===//
//
// Prints the function that completes a sweep's list values.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_CODEGEN_CUDA_FINISHEMITTER_H
#define HEDDLE_CODEGEN_CUDA_FINISHEMITTER_H

#include "codegen/cuda/SweepEmitter.h"

namespace heddle::cuda {

class FinishEmitter {
public:
  FinishEmitter(mlir::raw_indented_ostream &os, fused::SweepOp sweep,
                const SweepLayout &layout, const SweepNames &names)
      : os(os), sweep(sweep), layout(layout), names(names) {}

  mlir::LogicalResult emit();

private:
  Expression expression(mlir::Value value);
  mlir::LogicalResult declareOps(mlir::Block &block);
  void declareReduction(fused::ReduceOp op, unsigned segment,
                        llvm::StringRef area);
  void bindScalar(mlir::Value argument, int slot);
  void storeScalar(int slot, mlir::Value value);

  mlir::raw_indented_ostream &os;
  fused::SweepOp sweep;
  const SweepLayout &layout;
  const SweepNames &names;
  Scope scope;
};

} // namespace heddle::cuda

#endif // HEDDLE_CODEGEN_CUDA_FINISHEMITTER_H
