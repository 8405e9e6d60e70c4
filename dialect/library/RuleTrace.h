//===- RuleTrace.h - the graph of a rule's formula --------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule runs once. Its operators record nodes here, without types and places:
// RulePlaces.h decides where a program computes each node, and RuleProgram.h
// builds the program. `python/heddle/_rule/nodes.py` is the same for Python.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_RULETRACE_H
#define HEDDLE_DIALECT_LIBRARY_RULETRACE_H

#include "dialect/Foreach.h"
#include "dialect/library/Expression.h"

#include <deque>
#include <optional>
#include <string>

namespace heddle::library {

/// The things over which a value varies. The level of a value is the highest
/// level of its operands.
enum class Level { constant, hyper, list, member, element };

/// A scalar operation: the function that appends it to a body.
struct ScalarFunction {
  /// A word for its values.
  const char *word;
  Scalar (*unary)(Scalar) = nullptr;
  Scalar (*binary)(Scalar, Scalar) = nullptr;
  Scalar (*ternary)(Scalar, Scalar, Scalar) = nullptr;
  /// Whether its values are flags.
  bool givesFlag = false;
};

/// What a node of kind `reduction` does with its operand.
struct Reduction {
  enum class Of { value, square, one };

  foreach
    ::ReduceKind kind;
  foreach
    ::Axis axis;
  Of of = Of::value;

  bool operator==(const Reduction &other) const {
    return kind == other.kind && axis == other.axis && of == other.of;
  }
};

/// One value of a rule.
struct Node {
  enum class Kind {
    constant,
    list,     ///< the parameter, the gradient, or state of either level
    hyper,    ///< a hyperparameter
    step,     ///< the incremented step counter
    function, ///< a scalar operation
    power,    ///< the first operand to a whole power
    element,  ///< a value of a lower level as an element
    reduction
  };

  Kind kind;
  Level level;
  llvm::SmallVector<Node *, 3> operands;
  bool isFlag = false;
  double number = 0;
  /// The name of a leaf, or the name that the rule gives the value.
  std::string name;
  const ScalarFunction *function = nullptr;
  /// The exponent of a power; with the step counter as the second operand, it
  /// is added to the counter.
  int32_t exponent = 0;
  std::optional<Reduction> reduction;
  /// The value is the step counter plus this number.
  std::optional<int32_t> whole;
  /// The longest chain of reductions that the value needs.
  unsigned stage = 0;
  /// The position in the order of the program's operations.
  unsigned order = 0;

  bool isConstant() const { return kind == Kind::constant; }
  bool isLeaf() const { return operands.empty(); }
};

/// The nodes of one run of a rule; equal nodes are recorded once.
class Trace {
public:
  Node *constant(double number);
  /// A list, a hyperparameter or the step counter.
  Node *leaf(Node::Kind kind, llvm::StringRef name, Level level);
  Node *apply(const ScalarFunction &function, llvm::ArrayRef<Node *> operands);
  /// `base` to a whole power.
  Node *power(Node *base, int32_t exponent);
  /// `base` to the power of the step counter plus a number.
  Node *powerOfSteps(Node *base, int32_t plus);
  Node *element(Node *node);
  Node *reduce(Node *node, Reduction reduction);

  /// Gives a node, and before it the nodes that it needs, the next positions in
  /// the order of operations. C++ does not determine the order in which nodes
  /// of one expression are recorded; this order is that of the rule's
  /// statements.
  void order(Node *node);

private:
  Node *add(Node node);

  std::deque<Node> nodes;
  unsigned last = 0;
};

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_RULETRACE_H
