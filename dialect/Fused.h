//===- Fused.h - the fused dialect ------------------------------*- C++ -*-===//
//
// Kernels made of ordered sweeps and loops. See FusedOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_FUSED_H
#define HEDDLE_DIALECT_FUSED_H

#include "dialect/Foreach.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "dialect/FusedDialect.h.inc"
#include "dialect/FusedEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialect/FusedAttributes.h.inc"

namespace heddle::fused {
using foreach::ReduceKind;
using foreach::ReduceKindAttr;
} // namespace heddle::fused

#define GET_OP_CLASSES
#include "dialect/FusedOps.h.inc"

namespace heddle::fused {

/// One segment of a sweep that is being built: operands bound to the arguments
/// of a body, and the types of what it yields.
struct SegmentSpec {
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<int32_t> indices;
  llvm::SmallVector<mlir::Type> resultTypes;
};

/// Makes a sweep whose segments (and `finish`, if `finishTypes` is not empty)
/// have empty regions; the caller fills them.
SweepOp createSweep(mlir::OpBuilder &builder, mlir::Location loc,
                    llvm::ArrayRef<SegmentSpec> segments,
                    mlir::ValueRange finishInputs = {},
                    mlir::TypeRange finishTypes = {}, bool reversed = false,
                    mlir::Value where = {});

/// Whether `argument` is bound to a vector that is recorded in: the entry of
/// the trip is written, and not read.
bool isRecordedIn(mlir::Value argument);

/// Whether `use` only says how a reduction may be computed: its `about` or
/// `sharing`.
bool isHint(mlir::OpOperand &use);

/// Whether all that follows from `value` is hints: a target that ignores them
/// need not compute it.
bool isOnlyHinted(mlir::Value value);

} // namespace heddle::fused

#endif // HEDDLE_DIALECT_FUSED_H
