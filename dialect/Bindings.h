//===- Bindings.h - operands bound to the scalars of a region ---*- C++ -*-===//
//
// Syntax and rules shared by every operation that binds lists and scalars to
// the arguments of a region: `(%p = %param[i] as f32, %g = %grad as f32 : T)`.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_BINDINGS_H
#define HEDDLE_DIALECT_BINDINGS_H

#include "dialect/Foreach.h"

namespace heddle {

/// How an operand is addressed: in the domain, where bit 0 is `i` and bit 1 is
/// `j`, or by a trip, which names no dimension of the domain: that of the loop
/// around, the one after it, or the first.
enum Index : int32_t {
  kScalar = 0,
  kI = 1,
  kJ = 2,
  kIJ = 3,
  kTrip = 4,
  kNext = 8,
  kFirst = 12
};

/// Whether an operand of this index is an entry of a vector.
inline bool isEntryIndex(int32_t index) {
  return index == kTrip || index == kNext || index == kFirst;
}

/// Whether an operand of this index differs from trip to trip.
inline bool movesWithTrips(int32_t index) {
  return index == kTrip || index == kNext;
}

/// Whether an operand of this index is one value for the whole member.
inline bool isMemberIndex(int32_t index) { return index < kI || index > kIJ; }

/// The index that an operand has when none is written: what its rank implies.
int32_t defaultIndex(mlir::Type type);

/// Rank of the domain that the indices span.
int64_t domainRank(llvm::ArrayRef<int32_t> indices);

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

/// Parses `T` or `(T, U)` after an arrow; prints the same.
mlir::ParseResult parseResults(mlir::OpAsmParser &parser,
                               llvm::SmallVectorImpl<mlir::Type> &types);
void printResults(mlir::OpAsmPrinter &printer, mlir::TypeRange types);

/// Checks that elements of type `storage` can be bound to `argument`.
mlir::LogicalResult verifyBound(mlir::Operation *op, unsigned number,
                                mlir::Type storage, mlir::Value argument);

/// Checks operands against the arguments they are bound to.
mlir::LogicalResult verifyBindings(mlir::Operation *op,
                                   mlir::ValueRange operands,
                                   llvm::ArrayRef<int32_t> indices,
                                   mlir::Block &body);

/// Checks that `region` is one block with the operation called `yield` at its
/// end: regions are looked into before the verifier comes to their operations.
mlir::LogicalResult verifyEnd(mlir::Operation *op, mlir::Region &region,
                              llvm::StringRef yield);

/// Checks that a body computes with scalar operations alone; operations for
/// which `extra` holds are allowed besides.
mlir::LogicalResult
verifyBody(mlir::Operation *op, mlir::Block &body,
           llvm::function_ref<bool(mlir::Operation *)> extra = nullptr);

/// Whether a value of `type` may be stored in an element of `storage`: floats
/// round or widen, integers must agree.
bool isStorable(mlir::Type type, mlir::Type storage);

/// Whether `op` is one of the scalar operations of arith, math and foreach that
/// every target implements.
bool isScalarOp(mlir::Operation *op);

/// Checks that `op`, which asks for the number of the trip, stands in a loop.
mlir::LogicalResult verifyInLoop(mlir::Operation *op);

/// Checks that `record`, the result that has an entry of the carried vector
/// `into` anew, is carried on in its place, and that nobody else sees either:
/// entries are written where they are.
mlir::LogicalResult verifyRecord(mlir::Operation *op, mlir::Value into,
                                 mlir::Value record);

/// `%name : T`, with its name for the location.
mlir::ParseResult parseTypedArgument(mlir::OpAsmParser &parser,
                                     mlir::OpAsmParser::Argument &argument);

/// Parses and prints what `foreach.while` and `fused.loop` share.
mlir::ParseResult parseLoop(mlir::OpAsmParser &parser,
                            mlir::OperationState &state);
void printLoop(mlir::OpAsmPrinter &printer, mlir::Operation *op,
               mlir::ValueRange inits, mlir::Value limit,
               llvm::ArrayRef<llvm::StringRef> elidedAttrs = {});
mlir::LogicalResult verifyLoop(mlir::Operation *op, mlir::ValueRange inits,
                               mlir::ValueRange yielded, mlir::Value more);

} // namespace heddle

#endif // HEDDLE_DIALECT_BINDINGS_H
