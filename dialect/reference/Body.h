//===- Body.h - the scalar code of one map or reduction ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A body becomes a flat list of instructions, each of which computes a block of
// elements, so that operations are decoded once and not for every element.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_REFERENCE_BODY_H
#define HEDDLE_DIALECT_REFERENCE_BODY_H

#include "dialect/reference/Interpreter.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::reference {

/// Elements that are computed together.
inline constexpr int64_t kBlock = 1024;

class Body {
public:
  /// The properties of an argument that the body depends on.
  struct Operand {
    mlir::Type storage;
    /// The same for all elements of a member: values that depend only on such
    /// operands are computed once for each member.
    bool uniform;
  };

  /// Compiles `block`, which ends with a `foreach.yield`, for iteration
  /// `iteration` of the enclosing loop. `draw` is the seed of perturbed
  /// arithmetic.
  Body(mlir::Block &block, Arithmetic arithmetic, uint64_t draw,
       llvm::ArrayRef<Operand> operands, int64_t iteration);

  /// Storage for the elements of operand `k`; a uniform operand has one.
  double *operand(unsigned k) { return floats(inputs[k]); }

  /// Computes the values that all elements of a member share, for blocks of at
  /// most `count` elements. Requires that uniform operands are set.
  void beginMember(int64_t count);

  /// Computes `count` elements. Requires that the other operands are set.
  void run(int64_t count);

  /// The elements of yielded value `k`, integers as doubles.
  const double *yielded(unsigned k) { return floats(outputs[k]); }

private:
  friend struct Operations;

  struct Instruction;
  using Run = void (*)(const Instruction &, Body &, int64_t count);
  struct Instruction {
    Run run = nullptr;
    unsigned result = 0, a = 0, b = 0, c = 0;
    /// Widths of the integers that are read and written.
    unsigned from = 64, to = 64;
    unsigned predicate = 0;
    mlir::Type type;
    double number = 0;
    int64_t integer = 0;
  };
  /// The storage of a value: among the floats or the integers.
  struct Place {
    unsigned slot;
    bool isFloat, uniform;
  };

  Place define(mlir::Type type, bool uniform);
  void emit(const Instruction &instruction, bool uniform);
  void roundToSingle(Place place);
  void perturb(Place place, mlir::Type type);
  void compile(mlir::Operation &op);

  double *floats(unsigned slot) { return &floatSlots[slot * kBlock]; }
  int64_t *integers(unsigned slot) { return &integerSlots[slot * kBlock]; }

  Arithmetic arithmetic;
  uint64_t draw;
  int64_t iteration;
  llvm::DenseMap<mlir::Value, Place> places;
  std::vector<unsigned> inputs, outputs; // slots of floats
  /// Instructions that run once for a member, and for every block of it.
  std::vector<Instruction> once, always;
  std::vector<Place> uniforms;
  unsigned floatCount = 0, integerCount = 0;
  std::vector<double> floatSlots;
  std::vector<int64_t> integerSlots;
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_BODY_H
