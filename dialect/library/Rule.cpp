//===- Rule.cpp - an update rule as its formula ---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operator records a node. Assignments and names determine the order of
// operations.
//
//===----------------------------------------------------------------------===//

#include "dialect/library/Rule.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;

namespace heddle::library {

//===----------------------------------------------------------------------===//
// Terms and variables
//===----------------------------------------------------------------------===//

Node *Term::in(Trace &other) const {
  assert((!trace || trace == &other) && "a term of another rule");
  return node ? node : other.constant(number);
}

Term Term::as(StringRef name) const {
  if (!node->isLeaf()) {
    trace->order(node);
    node->name = name.str();
  }
  return *this;
}

Variable &Variable::operator=(const Term &value) {
  node = value.in(*trace);
  trace->order(node);
  if (stored)
    *stored = node;
  return *this;
}
/// The value, whose name is this variable's name with `part` if it has none.
const Term &Variable::called(const Term &value, StringRef part) const {
  if (Node *node = value.in(*trace); node->name.empty() && !node->isLeaf())
    value.as((name + part).str());
  return value;
}

Variable &Variable::operator+=(const Term &value) {
  return *this = *this + called(value, "_change");
}
Variable &Variable::operator-=(const Term &value) {
  return *this = *this - called(value, "_change");
}
Variable &Variable::operator*=(const Term &value) {
  return *this = *this * called(value, "_factor");
}
Variable &Variable::operator/=(const Term &value) {
  return *this = *this / called(value, "_divisor");
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

Variable Rule::store(StringRef name, Level level, double initial) {
  Node *leaf = trace.leaf(Node::Kind::list, name, level);
  Stored &made = stored.emplace_back(Stored{name.str(), leaf, leaf, initial});
  return {trace, leaf, name, &made.output};
}

Variable Rule::param() { return store("param", Level::element, 0); }

Variable Rule::grad() {
  Term grad(trace, trace.leaf(Node::Kind::list, "grad", Level::element));
  if (options.maximize)
    grad = (-grad).as("ascent");
  return {trace, grad.in(trace), "grad"};
}

Variable Rule::state(StringRef name, double initial) {
  return store(name, Level::element, initial);
}

Variable Rule::tensorState(StringRef name, double initial) {
  return store(name, Level::member, initial);
}

Variable Rule::step() {
  return {trace, trace.leaf(Node::Kind::step, "step", Level::member), "step"};
}

Variable Rule::countSteps() {
  counts = true;
  return step();
}

void Rule::connectSteps() {
  Term t = step();
  llvm::SetVector<Node *> needed;
  for (const Stored &list : stored)
    needed.insert(list.output);
  for (size_t k = 0; k < needed.size(); ++k)
    needed.insert(needed[k]->operands.begin(), needed[k]->operands.end());
  if (!counts || needed.contains(t.in(trace)))
    return;
  for (Stored &list : stored)
    if (list.name == "param")
      list.output = where((t > 0).as("counted"), Term(trace, list.output),
                          Term(trace, list.leaf))
                        .in(trace);
}

Term Rule::hyper(StringRef name, double value) {
  Node *leaf = trace.leaf(Node::Kind::hyper, name, Level::hyper);
  hypers.push_back({name.str(), leaf, value});
  Term hyper(trace, leaf);
  if (name != "lr" || !options.schedule.isGiven())
    return hyper;
  Term factor = options.schedule.factor(step());
  return factor.getTrace() ? (hyper * factor).as("scheduled_lr") : hyper;
}

/// The average is the parameter after the first step, as that of torch's
/// AveragedModel, and its formula is that of torch's lerp.
void Rule::addTail() {
  if (options.ema != 0) {
    Term p;
    for (const Stored &list : stored)
      if (list.name == "param")
        p = Term(trace, list.output);
    auto average = state("ema");
    Term old = average, t = step();
    Term mixed = options.ema > 0.5 ? old + (1 - options.ema) * (p - old)
                                   : p - options.ema * (p - old);
    average = where((t == 1).as("is_first"), p, mixed.as("mixed"));
  }
  if (options.zeroGrad)
    stored.push_back({"grad",
                      trace.leaf(Node::Kind::list, "grad", Level::element),
                      trace.constant(0)});
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The trace of a term that is no plain number.
static Trace &traceOf(ArrayRef<const Term *> terms) {
  for (const Term *term : terms)
    if (term->getTrace())
      return *term->getTrace();
  llvm_unreachable("an operation of plain numbers: compute it in C++");
}

static Term apply(const ScalarFunction &function,
                  ArrayRef<const Term *> operands) {
  Trace &trace = traceOf(operands);
  SmallVector<Node *> nodes;
  for (const Term *operand : operands)
    nodes.push_back(operand->in(trace));
  return {trace, trace.apply(function, nodes)};
}

static constexpr ScalarFunction unary(const char *word, Scalar (*build)(Scalar),
                                      bool givesFlag = false) {
  return {word, build, nullptr, nullptr, givesFlag};
}
static constexpr ScalarFunction binary(const char *word,
                                       Scalar (*build)(Scalar, Scalar),
                                       bool givesFlag = false) {
  return {word, nullptr, build, nullptr, givesFlag};
}

#define HEDDLE_UNARY(NAME, WORD, BUILD, ...)                                   \
  Term NAME(const Term &a) {                                                   \
    static constexpr ScalarFunction function =                                 \
        unary(WORD, BUILD __VA_OPT__(, ) __VA_ARGS__);                         \
    return apply(function, {&a});                                              \
  }
#define HEDDLE_BINARY(NAME, WORD, BUILD, ...)                                  \
  Term NAME(const Term &a, const Term &b) {                                    \
    static constexpr ScalarFunction function =                                 \
        binary(WORD, BUILD __VA_OPT__(, ) __VA_ARGS__);                        \
    return apply(function, {&a, &b});                                          \
  }

HEDDLE_BINARY(operator*, "product", operator*)
HEDDLE_BINARY(operator/, "quotient", operator/)
HEDDLE_UNARY(operator-, "negative", operator-)

HEDDLE_BINARY(operator<, "is_less", less, true)
HEDDLE_BINARY(operator<=, "is_at_most", atMost, true)
HEDDLE_BINARY(operator==, "is_equal", equal, true)
HEDDLE_BINARY(operator!=, "is_unequal", unequal, true)
HEDDLE_UNARY(isNaN, "is_nan", isNaN, true)
HEDDLE_UNARY(isFinite, "is_finite", isFinite, true)
HEDDLE_BINARY(operator&, "both", operator&, true)
HEDDLE_BINARY(operator|, "either", operator|, true)
HEDDLE_UNARY(operator!, "opposite", operator!, true)

HEDDLE_UNARY(sqrt, "root", sqrt)
HEDDLE_UNARY(rsqrt, "rsqrt", rsqrt)
HEDDLE_UNARY(exp, "exp", exp)
HEDDLE_UNARY(expm1, "expm1", expm1)
HEDDLE_UNARY(log, "log", log)
HEDDLE_UNARY(log1p, "log1p", log1p)
HEDDLE_UNARY(tanh, "tanh", tanh)
HEDDLE_UNARY(abs, "magnitude", abs)
HEDDLE_UNARY(sign, "sign", sign)
HEDDLE_UNARY(floor, "floor", floor)
HEDDLE_UNARY(ceil, "ceil", ceil)
HEDDLE_UNARY(single, "single", single)
HEDDLE_BINARY(maximum, "largest", maximum)
HEDDLE_BINARY(minimum, "smallest", minimum)
HEDDLE_BINARY(copysign, "signed", copysign)

#undef HEDDLE_UNARY
#undef HEDDLE_BINARY

static bool isWhole(double number) {
  return number == std::floor(number) && std::abs(number) < 1 << 20;
}

/// The step counter plus or minus a whole number is whole, too.
static Term addTerms(const ScalarFunction &function, const Term &a,
                     const Term &b, int32_t signOfB) {
  Term result = apply(function, {&a, &b});
  Trace &trace = *result.getTrace();
  Node *left = a.in(trace), *right = b.in(trace);
  if (left->isConstant() && signOfB > 0)
    std::swap(left, right);
  if (left->whole && right->isConstant() && isWhole(right->number))
    result.in(trace)->whole =
        *left->whole + signOfB * static_cast<int32_t>(right->number);
  return result;
}

Term operator+(const Term &a, const Term &b) {
  static constexpr ScalarFunction function = binary("sum", operator+);
  return addTerms(function, a, b, 1);
}
Term operator-(const Term &a, const Term &b) {
  static constexpr ScalarFunction function = binary("difference", operator-);
  return addTerms(function, a, b, -1);
}

Term operator>(const Term &a, const Term &b) { return b < a; }
Term operator>=(const Term &a, const Term &b) { return b <= a; }

Term where(const Term &condition, const Term &yes, const Term &no) {
  static constexpr ScalarFunction function = {"chosen", nullptr, nullptr,
                                              select};
  return apply(function, {&condition, &yes, &no});
}

Term lerp(const Term &start, const Term &end, const Term &weight,
          double usual) {
  if (usual < 0.5)
    return start + weight * (end - start);
  Term isNear = (weight < 0.5).as("is_near");
  Term way = where(isNear, weight, weight - 1).as("way");
  return where(isNear, start, end) + way * (end - start);
}

Variable &Variable::lerp(const Term &end, const Term &weight, double usual) {
  if (usual < 0.5)
    return *this += weight * (end - *this);
  return *this = library::lerp(*this, end, weight, usual);
}

Term pow(const Term &base, const Term &exponent) {
  static constexpr ScalarFunction function = binary("power", pow);
  Trace &trace = traceOf({&base, &exponent});
  Node *node = exponent.in(trace);
  if (node->whole)
    return {trace, trace.powerOfSteps(base.in(trace), *node->whole)};
  if (!node->isConstant())
    return apply(function, {&base, &exponent});
  if (node->number == 0.5)
    return sqrt(base);
  if (node->number == 2)
    return base * base;
  if (node->number == 3)
    return base * base * base;
  if (isWhole(node->number))
    return {trace,
            trace.power(base.in(trace), static_cast<int32_t>(node->number))};
  return apply(function, {&base, &exponent});
}

Term element(const Term &a) {
  Trace &trace = traceOf({&a});
  return {trace, trace.element(a.in(trace))};
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static Term reduce(const Term &a, Over over, foreach::ReduceKind kind,
                   Reduction::Of of = Reduction::Of::value) {
  Trace &trace = traceOf({&a});
  foreach
    ::Axis axis =
        over == Over::list ? foreach::Axis::list : foreach::Axis::member;
  return {trace, trace.reduce(a.in(trace), {kind, axis, of})};
}

Term sum(const Term &a, Over over) {
  return reduce(a, over, foreach::ReduceKind::add);
}
Term mean(const Term &a, Over over) {
  return sum(a, over) /
         reduce(a, over, foreach::ReduceKind::add, Reduction::Of::one);
}
Term norm(const Term &a, Over over) {
  return sqrt(reduce(a, over, foreach::ReduceKind::add, Reduction::Of::square));
}
Term amax(const Term &a, Over over) {
  return reduce(a, over, foreach::ReduceKind::max);
}
Term amin(const Term &a, Over over) {
  return reduce(a, over, foreach::ReduceKind::min);
}
Term any(const Term &a, Over over) {
  return reduce(a, over, foreach::ReduceKind::any);
}
Term all(const Term &a, Over over) {
  return reduce(a, over, foreach::ReduceKind::all);
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

/// A product with 0 keeps NaN, as the authors' code does.
Term cautious(const Term &update, const Term &gradient) {
  Term agrees = (update * gradient > 0).as("agrees");
  Term share = maximum(mean(where(agrees, 1, 0)), 1e-3);
  return (update * where(agrees, 1 / share, 0)).as("cautious");
}

} // namespace heddle::library
