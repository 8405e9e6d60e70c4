//===- Body.h - the scalar code of one map or reduction ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A body becomes a flat list of instructions, each of which computes a block of
// elements at a time: operations are looked at once, not once per element.
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
  /// What the body has to know of one of its arguments.
  struct Operand {
    mlir::Type storage;
    /// The same for all elements of a member: what follows from such operands
    /// alone is computed once for each member.
    bool uniform;
  };

  /// Compiles `block`, which ends with a `foreach.yield`, for trip `trip` of
  /// the loop that it stands in.
  /// Perturbed arithmetic takes draw `draw`.
  Body(mlir::Block &block, Arithmetic arithmetic, uint64_t draw,
       llvm::ArrayRef<Operand> operands, int64_t trip);

  /// Room for the elements of operand `k`, of which a uniform one has one.
  double *operand(unsigned k) { return floats(inputs[k]); }

  /// Computes what is the same for all elements of a member, of which a block
  /// will have at most `count`; uniform operands were set.
  void beginMember(int64_t count);

  /// Computes `count` elements; the other operands were set.
  void run(int64_t count);

  /// What the block yields as value `k`, for each element; of integers, too.
  const double *yielded(unsigned k) { return floats(outputs[k]); }

private:
  friend struct Operations;

  struct Instruction;
  using Run = void (*)(const Instruction &, Body &, int64_t count);
  struct Instruction {
    Run run = nullptr;
    unsigned result = 0, a = 0, b = 0, c = 0;
    /// Bits of the integers read, and of those written.
    unsigned from = 64, to = 64;
    unsigned predicate = 0;
    mlir::Type type;
    double number = 0;
    int64_t integer = 0;
  };
  /// Where a value is kept: among the floats or the integers.
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
  int64_t trip;
  llvm::DenseMap<mlir::Value, Place> places;
  std::vector<unsigned> inputs, outputs; // slots of floats
  /// What is computed once for a member, and what for every block of it.
  std::vector<Instruction> once, always;
  std::vector<Place> uniforms;
  unsigned floatCount = 0, integerCount = 0;
  std::vector<double> floatSlots;
  std::vector<int64_t> integerSlots;
};

} // namespace heddle::reference

#endif // HEDDLE_DIALECT_REFERENCE_BODY_H
