//===- Body.h - the scalar code of one map or reduction ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A body becomes a flat list of instructions. An instruction computes a block
// of elements, so that an operation is not decoded for every element. With
// ranges, every slot has three planes: the exact values and the ends.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_BODY_H
#define HEDDLE_DIALECT_REFERENCE_BODY_H

#include "dialect/Foreach.h"
#include "dialect/reference/Interpreter.h"
#include "dialect/reference/Ranges.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::reference {

/// The number of elements that are computed together.
inline constexpr int64_t kBlock = 1024;

class Body {
public:
  /// The properties of an argument on which the body depends.
  struct Operand {
    mlir::Type storage;
    /// Whether all elements of a member have the same value. Values that depend
    /// only on uniform operands are computed once for each member.
    bool uniform;
  };

  /// Compiles `block`, which ends with a `foreach.yield`, for iteration
  /// `iteration` of the enclosing loop.
  Body(mlir::Block &block, const InterpretOptions &options,
       llvm::ArrayRef<Operand> operands, int64_t iteration);

  /// The elements of operand `k`; a uniform operand has one element.
  double *operand(unsigned k) { return floats(inputs[k]); }
  double *operandLow(unsigned k) { return lows(inputs[k]); }
  double *operandHigh(unsigned k) { return highs(inputs[k]); }

  /// Sets the extents of a member: its rows, its columns and its elements. Must
  /// be called before beginMember().
  void setExtents(int64_t rows, int64_t columns);
  /// Sets the positions of the elements of a block: the first row and column,
  /// and whether the block goes down a column.
  void setPositions(int64_t row, int64_t column, bool down, int64_t count);

  /// Computes the uniform values of a member, for blocks of at most `count`
  /// elements. Requires that uniform operands are set.
  void beginMember(int64_t count);

  /// Computes `count` elements. Requires that the other operands are set.
  void run(int64_t count);

  /// The elements of yielded value `k`, integers as doubles.
  const double *yielded(unsigned k) { return floats(outputs[k]); }
  const double *yieldedLow(unsigned k) { return lows(outputs[k]); }
  const double *yieldedHigh(unsigned k) { return highs(outputs[k]); }
  /// Whether elements have ranges; otherwise only the first plane exists.
  bool hasRanges() const { return options.arithmetic == Arithmetic::bounded; }

private:
  friend struct Operations;
  friend struct RangeOperations;

  struct Instruction;
  using Run = void (*)(const Instruction &, Body &, int64_t count);
  struct Instruction {
    Run run = nullptr;
    /// Computes ranges, after `run`.
    Run range = nullptr;
    unsigned result = 0, a = 0, b = 0, c = 0, d = 0;
    unsigned operands = 0;
    unsigned readsFloat = 0; ///< bit k: operand k is a float
    /// The widths of the integers read and written.
    unsigned from = 64, to = 64;
    unsigned predicate = 0;
    mlir::Type type;
    double number = 0;
    int64_t integer = 0;
    double accuracy = 0; ///< in units in the last place
  };
  /// The position of a value among the floats or the integers.
  struct Slot {
    unsigned index;
    bool isFloat, uniform;
  };

  Slot define(mlir::Type type, bool uniform);
  void emit(const Instruction &instruction, bool uniform);
  void execute(const Instruction &instruction, int64_t count);
  void roundToSingle(Slot slot);
  void perturb(Slot slot, mlir::Type type);
  void narrow(Slot slot, mlir::Type type);
  void compile(mlir::Operation &op);

  static Run rangeOf(mlir::Operation *op);
  /// The functions for the ranges of values without operands, of loaded and
  /// stored integers, and of converted operands.
  static Run rangeOfExact(bool isFloat);
  static Run rangeOfLoad();
  static Run rangeOfStore();
  static Run rangeOfConversion();

  double *floats(unsigned index) { return &floatSlots[index * kBlock]; }
  double *lows(unsigned index) { return &floatLows[index * kBlock]; }
  double *highs(unsigned index) { return &floatHighs[index * kBlock]; }
  int64_t *integers(unsigned index) { return &integerSlots[index * kBlock]; }
  int64_t *integerLows(unsigned index) { return &lowIntegers[index * kBlock]; }
  int64_t *integerHighs(unsigned index) {
    return &highIntegers[index * kBlock];
  }

  const InterpretOptions &options;
  int64_t iteration;
  llvm::DenseMap<mlir::Value, Slot> slots;
  std::vector<unsigned> inputs, outputs; // slots of floats
  /// Instructions that run once for a member, and once for each of its blocks.
  std::vector<Instruction> perMember, perBlock;
  std::vector<Slot> uniforms;
  /// The slots of extents and positions, with their axes.
  std::vector<std::pair<unsigned, foreach::Axis>> extents, positions;
  int64_t columns = 1; // of the member
  unsigned floatCount = 0, integerCount = 0;
  std::vector<double> floatSlots, floatLows, floatHighs;
  std::vector<int64_t> integerSlots, lowIntegers, highIntegers;
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_BODY_H
