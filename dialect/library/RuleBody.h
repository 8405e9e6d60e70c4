//===- RuleBody.h - the body of one map of a rule ---------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Appends the operations of nodes to the body of a map or reduction.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_RULEBODY_H
#define HEDDLE_DIALECT_LIBRARY_RULEBODY_H

#include "dialect/Names.h"
#include "dialect/library/ProgramBuilder.h"
#include "dialect/library/RuleTrace.h"

namespace heddle::library {

/// The name of a node's value in a program.
std::string wordOf(const Node *node);

class RuleBody {
public:
  /// Numbers are computed in `type`.
  RuleBody(ProgramBuilder &program, mlir::Type type)
      : body(program), type(type), f32(program.f32()) {}

  Body &getBody() { return body; }

  /// Binds one operand outside of the formula.
  Scalar read(mlir::Value operand, llvm::StringRef name, mlir::Type bound) {
    return body.read(operand, names.unique(name), bound);
  }
  /// Binds the values of nodes: lists, then values of members, then scalars.
  void read(llvm::ArrayRef<std::pair<Node *, mlir::Value>> values);
  /// Binds the step counter before this step; returns the one with this step,
  /// in f32. `step` is its node.
  Scalar increment(Node *step, mlir::Value before);
  /// Appends the operations of nodes, whose operands are read or come earlier.
  void compute(llvm::ArrayRef<Node *> nodes);
  /// The value of a node that is read or computed, or of a constant.
  Scalar value(Node *node);
  /// What the random numbers of a body depend on; empty before the first one.
  struct Draws {
    Scalar seed, block, steps, position;
  };
  Draws &getDraws() { return draws; }
  /// Gives a node another value.
  void replace(Node *node, Scalar value) { values[node] = value; }
  Scalar constant(double number, mlir::Type type, llvm::StringRef word);
  /// Gives a value of this body a name; a number makes it unique.
  Scalar name(Scalar value, llvm::StringRef name) {
    return value.as(names.unique(name));
  }

private:
  Scalar integerPower(Node *node);
  Scalar stepsPlus(int32_t number);

  Body body;
  UniqueNames names{/*first=*/1};
  mlir::Type type, f32;
  llvm::DenseMap<Node *, Scalar> values;
  std::vector<std::tuple<double, mlir::Type, Scalar>> constants;
  Scalar counter; // in f32
  Draws draws;
  llvm::DenseMap<int32_t, Scalar> whole;
};

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_RULEBODY_H
