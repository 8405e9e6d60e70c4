//===- Fused.h - the fused dialect ------------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs made of ordered sweeps and loops. See FusedOps.td.
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

/// One segment of a sweep to create: the operands bound to the arguments of its
/// body, their indices, and the types of its results.
struct SegmentSpec {
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<int32_t> indices;
  llvm::SmallVector<mlir::Type> resultTypes;
};

/// Creates a sweep whose regions are empty; the caller fills the segments, and
/// the epilogue if `epilogueTypes` is not empty.
SweepOp createSweep(mlir::OpBuilder &builder, mlir::Location loc,
                    llvm::ArrayRef<SegmentSpec> segments,
                    mlir::ValueRange epilogueInputs = {},
                    mlir::TypeRange epilogueTypes = {}, bool reversed = false,
                    mlir::Value where = {});

/// Whether `argument` is bound to a vector in which a fused.record stores: the
/// entry of the iteration is written and not read.
bool isRecordedIn(mlir::Value argument);

/// Whether `use` is a hint of a reduction: its `shift`, `sharing` or
/// `inactive`.
bool isHint(mlir::OpOperand &use);

/// The values in `body` on which only hints depend: a target that ignores them
/// need not compute them.
llvm::DenseSet<mlir::Value> onlyHinted(mlir::Block &body);

/// Parses and prints the attributes that passes set on sweeps and loops, such
/// as `name` and `result_buffers`, each after its keyword.
mlir::ParseResult parseDecisions(mlir::OpAsmParser &parser,
                                 mlir::OperationState &state);
void printDecisions(mlir::OpAsmPrinter &printer, mlir::Operation *op);
/// The attributes that `printDecisions` prints.
llvm::ArrayRef<llvm::StringRef> decisionAttrs();

/// Checks the buffers of a program and of all sweeps and loops in it.
mlir::LogicalResult verifyBuffers(ProgramOp program);
/// Checks the arguments that `traffic` names.
mlir::LogicalResult verifyTraffic(ProgramOp program);
/// Checks the `launch` of a sweep.
mlir::LogicalResult verifyLaunch(SweepOp sweep);
/// Checks the forms of a loop: `cooperative` and `panels`.
mlir::LogicalResult verifyForms(LoopOp loop);

} // namespace heddle::fused

#endif // HEDDLE_DIALECT_FUSED_H
