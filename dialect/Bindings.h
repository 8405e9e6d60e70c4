//===- Bindings.h - operands bound to the scalars of a region ---*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and rules shared by every operation that binds lists and scalars to
// the arguments of a region: `(%p = %param[i] as f32, %g = %grad as f32 : T)`.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_BINDINGS_H
#define HEDDLE_DIALECT_BINDINGS_H

#include "dialect/Foreach.h"

namespace heddle {

/// The index of an operand: dimensions of the domain, where bit 0 is `i` and
/// bit 1 is `j`, or the current, the next or the first iteration of the
/// enclosing loop.
enum Index : int32_t {
  kScalar = 0,
  kI = 1,
  kJ = 2,
  kIJ = 3,
  kIteration = 4,
  kNext = 8,
  kFirst = 12
};

/// Whether an operand of this index is an entry of a vector.
inline bool isEntryIndex(int32_t index) {
  return index == kIteration || index == kNext || index == kFirst;
}

/// Whether the entry at this index changes from iteration to iteration.
inline bool dependsOnIteration(int32_t index) {
  return index == kIteration || index == kNext;
}

/// Whether an operand of this index has one value for the whole member.
inline bool isMemberIndex(int32_t index) { return index < kI || index > kIJ; }

/// The index that the rank of an operand implies if no index is written.
int32_t defaultIndex(mlir::Type type);

/// The rank of the domain that the indices span.
int64_t domainRank(llvm::ArrayRef<int32_t> indices);

/// The rank of the domain of the map, reduction or segment of a sweep around
/// `op`; nothing if `op` is elsewhere.
std::optional<int64_t> rankOfBody(mlir::Operation *op);

struct Bindings {
  llvm::SmallVector<mlir::OpAsmParser::Argument> arguments;
  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
  llvm::SmallVector<mlir::Type> types;
  llvm::SmallVector<int32_t> indices;
};

/// Parses `(%a = %x[i, j] as f32, %b = %y : T, %c = %z : U)`.
mlir::ParseResult parseBindings(mlir::OpAsmParser &parser, Bindings &bindings);
void printBindings(mlir::OpAsmPrinter &printer, mlir::ValueRange operands,
                   llvm::ArrayRef<int32_t> indices,
                   mlir::Block::BlockArgListType arguments);

/// Parses and prints `-> T` or `-> (T, U)`, or nothing for no results.
mlir::ParseResult parseResults(mlir::OpAsmParser &parser,
                               llvm::SmallVectorImpl<mlir::Type> &types);
/// Parses the types of an operation that has results.
mlir::ParseResult parseSomeResults(mlir::OpAsmParser &parser,
                                   llvm::SmallVectorImpl<mlir::Type> &types);
void printResults(mlir::OpAsmPrinter &printer, mlir::TypeRange types);

/// Checks that elements of type `storage` can be bound to `argument`.
mlir::LogicalResult verifyBound(mlir::Operation *op, unsigned number,
                                mlir::Type storage, mlir::Value argument);

/// Checks operands against the arguments to which they are bound.
mlir::LogicalResult verifyBindings(mlir::Operation *op,
                                   mlir::ValueRange operands,
                                   llvm::ArrayRef<int32_t> indices,
                                   mlir::Block &body);

/// Checks that `region` is one block that ends with an operation named `yield`.
/// A verifier reads the region before the operations in it are verified.
mlir::LogicalResult verifyEnd(mlir::Operation *op, mlir::Region &region,
                              llvm::StringRef yield);

/// Checks that a body contains only scalar operations and operations for which
/// `extra` returns true.
mlir::LogicalResult
verifyBody(mlir::Operation *op, mlir::Block &body,
           llvm::function_ref<bool(mlir::Operation *)> extra = nullptr);

/// Whether a value of `type` may be stored in an element of `storage`: floats
/// round or widen, integers must agree.
bool isStorable(mlir::Type type, mlir::Type storage);

/// Checks that `op`, which depends on the iteration, is in a loop.
mlir::LogicalResult verifyInLoop(mlir::Operation *op);

/// Checks that the loop carries `record`, the vector `into` with one new entry,
/// in place of `into`, and that neither has another use, because entries are
/// written in place.
mlir::LogicalResult verifyRecord(mlir::Operation *op, mlir::Value into,
                                 mlir::Value record);

/// Parses `%name : T`; the location of the argument holds the name.
mlir::ParseResult parseTypedArgument(mlir::OpAsmParser &parser,
                                     mlir::OpAsmParser::Argument &argument);

/// The syntax and the rules that `foreach.while` and `fused.loop` share.
mlir::ParseResult parseLoop(mlir::OpAsmParser &parser,
                            mlir::OperationState &state);
void printLoop(mlir::OpAsmPrinter &printer, mlir::Operation *op,
               mlir::ValueRange inits, mlir::Value limit,
               llvm::ArrayRef<llvm::StringRef> elidedAttrs = {});
/// With `hasActive`, the region of a loop with a flag for each member may have
/// one more argument than carried values.
mlir::LogicalResult verifyLoop(mlir::Operation *op, mlir::ValueRange inits,
                               mlir::ValueRange yielded, mlir::Value more,
                               bool hasActive);

} // namespace heddle

#endif // HEDDLE_DIALECT_BINDINGS_H
