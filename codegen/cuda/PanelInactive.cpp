//===- PanelInactive.cpp - columns whose sums may be 0
//------------------------===//
//
// Of an inactive column, a sum of exponentials that is 0 is not computed again.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/PanelEmitter.h"

using namespace mlir;

namespace heddle::cuda {

/// Declares whether `column` is inactive and its sum of exponentials is 0:
/// elements that are NaN or infinite make a sum that is not 0. (A finite
/// element whose product with a scalar overflows does not: here it is
/// multiplied and added in one operation, to a finite number.) Returns the
/// name, or an empty string if no column is inactive.
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
