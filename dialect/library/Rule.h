//===- Rule.h - an update rule as its formula -------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A standard program of an optimizer is a function of a Rule and of options:
//
//   void momentum(Rule &rule, const MomentumOptions &o) {
//     auto p = rule.param(), g = rule.grad(), m = rule.state("buffer");
//     auto lr = rule.hyper("lr", o.lr), mu = rule.hyper("mu", o.mu);
//     m = mu * m + g;
//     p -= lr * m;
//   }
//
// Options are plain C++ values. The builder makes the lists of every family,
// the hyperparameters of every group, donated arguments and the step counter.
// It computes values of hyperparameters, of the list and of tensors in double,
// once, before the elements.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_RULE_H
#define HEDDLE_DIALECT_LIBRARY_RULE_H

#include "dialect/library/Optimizers.h"
#include "dialect/library/RuleTrace.h"

namespace heddle::library {

class Rule;

/// A value of a rule: a number, or a condition such as `x < y`.
class Term {
public:
  Term() = default;
  Term(double number) : number(number) {}
  Term(Trace &trace, Node *node) : trace(&trace), node(node) {}

  /// Gives the value a name in the program. Without one, the name follows from
  /// the assignment that uses the value, or else from its operation.
  Term as(llvm::StringRef name) const;

  Trace *getTrace() const { return trace; }
  /// The node of this value in a trace.
  Node *in(Trace &trace) const;

protected:
  Trace *trace = nullptr;
  Node *node = nullptr;
  double number = 0;
};

/// A term that a rule assigns to. The last value of the parameter, or of a
/// state, replaces it. `Term old = m;` keeps a value.
class Variable : public Term {
public:
  Variable(Trace &trace, Node *node, llvm::StringRef name,
           Node **stored = nullptr)
      : Term(trace, node), name(name.str()), stored(stored) {}
  Variable(const Variable &) = delete;

  Variable &operator=(const Term &value);
  Variable &operator=(const Variable &value) {
    return *this = static_cast<const Term &>(value);
  }
  Variable &operator+=(const Term &value);
  Variable &operator-=(const Term &value);
  Variable &operator*=(const Term &value);
  Variable &operator/=(const Term &value);
  /// Moves the variable towards `end`, as the function `lerp` below.
  Variable &lerp(const Term &end, const Term &weight, double usual);

private:
  const Term &called(const Term &value, llvm::StringRef part) const;

  std::string name;
  Node **stored;
};

/// The lists and hyperparameters of a rule, which it declares in the order of
/// the program's arguments. State, hyperparameters and the step counter that
/// the formula does not use are not in the program.
class Rule {
public:
  explicit Rule(const OptimizerOptions &options) : options(options) {}

  Variable param();
  /// The gradient; with the option `maximize`, its negative.
  Variable grad();
  /// State as large as the parameter, and its value before the first step.
  Variable state(llvm::StringRef name, double initial = 0);
  /// State with one value for each tensor.
  Variable tensorState(llvm::StringRef name, double initial = 0);
  /// The number of steps of the tensor, with this one: 1 in its first step.
  Variable step();
  /// The same. The program counts steps even if the formula does not use them.
  Variable countSteps();
  /// A hyperparameter: an argument with a default. With the option `schedule`,
  /// `lr` follows the step counter.
  Term hyper(llvm::StringRef name, double value);

  /// Adds what the options ask for beside the formula: the average of the
  /// parameters, and gradients that become 0. To be called after the formula.
  void addTail();

  /// A list, and the value that replaces it.
  struct Stored {
    std::string name;
    Node *leaf, *output;
    double initial = 0;
  };
  struct Hyper {
    std::string name;
    Node *leaf;
    double value;
  };
  /// The parameter and the states, in the order of their declaration.
  const std::deque<Stored> &getStored() const { return stored; }
  llvm::ArrayRef<Hyper> getHypers() const { return hypers; }
  const OptimizerOptions &getOptions() const { return options; }
  /// Makes the parameter depend on the step counter if the program has to count
  /// steps and the formula does not use them. Only then a tensor that a step
  /// skips keeps its counter: lists of one map have the same inactive members.
  void connectSteps();
  Trace &getTrace() { return trace; }

private:
  Variable store(llvm::StringRef name, Level level, double initial);

  const OptimizerOptions &options;
  bool counts = false;
  Trace trace;
  std::deque<Stored> stored;
  std::vector<Hyper> hypers;
};

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

Term operator+(const Term &a, const Term &b);
Term operator-(const Term &a, const Term &b);
Term operator*(const Term &a, const Term &b);
Term operator/(const Term &a, const Term &b);
Term operator-(const Term &a);

/// Conditions; all but `!=` are false if an operand is NaN.
Term operator<(const Term &a, const Term &b);
Term operator<=(const Term &a, const Term &b);
Term operator>(const Term &a, const Term &b);
Term operator>=(const Term &a, const Term &b);
Term operator==(const Term &a, const Term &b);
Term operator!=(const Term &a, const Term &b);
Term isNaN(const Term &a);
Term isFinite(const Term &a);
Term operator&(const Term &a, const Term &b);
Term operator|(const Term &a, const Term &b);
Term operator!(const Term &a);

/// `yes` where the condition holds, elsewhere `no`. Both are computed.
Term where(const Term &condition, const Term &yes, const Term &no);

/// torch's `lerp`: the point between `start` and `end` at `weight` of the way,
/// computed from the nearer of both: from a much larger `start`, a weight of 1
/// would lose `end`. `usual` is the weight that the options give. If it is less
/// than 0.5, the program always computes from `start`.
Term lerp(const Term &start, const Term &end, const Term &weight, double usual);

Term sqrt(const Term &a);
Term rsqrt(const Term &a);
Term exp(const Term &a);
Term expm1(const Term &a);
Term log(const Term &a);
Term log1p(const Term &a);
Term tanh(const Term &a);
Term abs(const Term &a);
Term sign(const Term &a);
Term floor(const Term &a);
Term ceil(const Term &a);
Term maximum(const Term &a, const Term &b);
Term minimum(const Term &a, const Term &b);
Term copysign(const Term &a, const Term &b);
/// `pow(beta, t)` and `pow(beta, t + 1)` of the step counter `t`, and powers
/// with other whole numbers are taken by repeated squaring.
Term pow(const Term &base, const Term &exponent);

/// The value rounded to f32, in which state of tensors is stored: for a formula
/// that uses such a state after the step has replaced it.
Term single(const Term &a);

/// A value of a lower level as an element: values computed from it are computed
/// for each element, in the type of elements. So a learning rate that changes
/// in every step makes no precomputed scalar stale.
Term element(const Term &a);

/// The range of a reduction: the elements of each tensor, or all tensors of all
/// families.
enum class Over { tensor, list };

/// Reductions, computed in double. `mean` of no elements is NaN.
Term sum(const Term &a, Over over = Over::tensor);
Term mean(const Term &a, Over over = Over::tensor);
/// The Euclidean norm.
Term norm(const Term &a, Over over = Over::tensor);
/// The largest and smallest value; NaN if a value is NaN.
Term amax(const Term &a, Over over = Over::tensor);
Term amin(const Term &a, Over over = Over::tensor);
/// Whether a condition holds for some element, or for all.
Term any(const Term &a, Over over = Over::tensor);
Term all(const Term &a, Over over = Over::tensor);

/// The cautious form of an update: it is 0 where it opposes the gradient, and
/// the rest of the tensor makes up for it. Liang et al., "Cautious Optimizers:
/// Improving Training with One Line of Code", 2024; the formula is that of the
/// authors' repository.
Term cautious(const Term &update, const Term &gradient);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_RULE_H
