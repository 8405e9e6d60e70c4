//===- PanelInactive.cpp - columns whose sums may be 0 --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If the sum of an inactive column is 0, it is not recomputed.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"

using namespace mlir;

namespace heddle::cuda {

/// Declares whether `column` is inactive and its sum of exponentials is 0. An
/// element that is NaN or infinite makes the sum nonzero. (A finite element
/// whose product with a scalar overflows does not: a fused multiply-add gives a
/// finite number.) Returns the name, or an empty string if no column is
/// inactive.
FailureOr<std::string> PanelEmitter::declareInactive(fused::ReduceOp column) {
  Value inactive = column.getInactive();
  if (!inactive)
    return std::string();
  if (failed(declareNeeded(inactive)))
    return failure();
  std::string name = scope.fresh(columnSums[column] + "_inactive");
  os << "const bool " << name << " = " << columnSums[column] << "_sum == 0 && "
     << text(inactive) << ";\n";
  return name;
}

} // namespace heddle::cuda
