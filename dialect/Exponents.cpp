//===- Exponents.cpp - arguments of exponentials as sums of terms ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits recursively through additions and multiplications.
//
//===----------------------------------------------------------------------===//

#include "dialect/Exponents.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

namespace heddle::fused {

/// The value of a constant, or nothing if `value` is not constant.
static std::optional<double> constantOf(Value value) {
  APFloat number(0.0);
  if (!matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  bool exact;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &exact);
  return number.convertToDouble();
}

/// `term` with `value` in place of its value, multiplied or divided by `by`.
static Term scaled(Term term, Value value, Value by, bool reciprocal) {
  term.value = value;
  if (auto number = constantOf(by))
    term.scale = reciprocal ? term.scale / *number : term.scale * *number;
  else
    term.factors.push_back({by, reciprocal});
  return term;
}

namespace {
/// Collects the terms of an exponent without recursion.
class TermCollector {
public:
  TermCollector(const Levels &levels, Exponent &exponent)
      : levels(levels), exponent(exponent) {}

  /// Fails if there are too many terms. A short chain of sums, each of a value
  /// with itself, has exponentially many.
  LogicalResult run(Value value) {
    constexpr int kMostSteps = 1024;
    open.push_back({value, {}, 1.0});
    for (int steps = 0; !open.empty(); ++steps) {
      if (steps == kMostSteps)
        return failure();
      visit(open.pop_back_val());
    }
    return success();
  }

private:
  bool isScalar(Value value) const {
    return levels.of(value).level <= Level::member;
  }

  void push(Term term, Value value, double sign) {
    term.value = value;
    term.scale *= sign;
    open.push_back(std::move(term));
  }

  void visit(Term term) {
    Level level = levels.of(term.value).level;
    if (level != Level::element) {
      (level == Level::column ? exponent.column : exponent.row)
          .push_back(std::move(term));
      return;
    }
    Operation *op = term.value.getDefiningOp();
    if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op)) {
      // The first operand is visited first.
      push(term, op->getOperand(1), isa<arith::SubFOp>(op) ? -1 : 1);
      push(term, op->getOperand(0), 1);
    } else if (isa_and_nonnull<arith::NegFOp>(op)) {
      push(term, op->getOperand(0), -1);
    } else if (isa_and_nonnull<arith::MulFOp>(op) &&
               (isScalar(op->getOperand(0)) || isScalar(op->getOperand(1)))) {
      bool first = isScalar(op->getOperand(0));
      open.push_back(scaled(term, op->getOperand(first), op->getOperand(!first),
                            /*reciprocal=*/false));
    } else if (isa_and_nonnull<arith::DivFOp>(op) &&
               isScalar(op->getOperand(1))) {
      open.push_back(scaled(term, op->getOperand(0), op->getOperand(1),
                            /*reciprocal=*/true));
    } else {
      exponent.element.push_back(std::move(term));
    }
  }

  const Levels &levels;
  Exponent &exponent;
  SmallVector<Term> open;
};
} // namespace

FailureOr<Exponent> decompose(Value x, const Levels &levels) {
  if (!isa<FloatType>(x.getType()) || levels.isAfter(x))
    return failure();
  Exponent exponent;
  if (failed(TermCollector(levels, exponent).run(x)))
    return failure();
  return exponent;
}

bool dependsOn(Value x, Value result) {
  SmallVector<Value> worklist = {x};
  llvm::DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (value == result)
      return true;
    Operation *op = value.getDefiningOp();
    if (op && !isa<ReduceOp>(op) && seen.insert(value).second)
      llvm::append_range(worklist, op->getOperands());
  }
  return false;
}

/// The value of `condition` for every finite `result`, if it compares `result`
/// with an infinity.
static std::optional<bool> whereFinite(Value condition, Value result) {
  auto compare = condition.getDefiningOp<arith::CmpFOp>();
  if (!compare || compare.getLhs() != result)
    return std::nullopt;
  auto other = constantOf(compare.getRhs());
  if (!other || !std::isinf(*other))
    return std::nullopt;
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OEQ:
  case arith::CmpFPredicate::UEQ:
    return false;
  case arith::CmpFPredicate::ONE:
  case arith::CmpFPredicate::UNE:
    return true;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::ULT:
    return *other > 0;
  default:
    return std::nullopt;
  }
}

/// Whether `condition` has the same value for every finite `result`.
static bool isSameWhereFinite(Value condition, Value result) {
  SmallVector<Value> open = {condition};
  llvm::DenseSet<Value> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (!seen.insert(value).second || !dependsOn(value, result) ||
        whereFinite(value, result))
      continue;
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op))
      return false;
    llvm::append_range(open, op->getOperands());
  }
  return true;
}

static bool isNegativeInfinity(Value value) {
  auto number = constantOf(value);
  return number && *number == -INFINITY;
}

namespace {
/// The slopes of values with respect to `result`; each is computed once.
class Slopes {
public:
  explicit Slopes(Value result) : result(result) {}
  std::optional<double> of(Value x) {
    auto known = slopes.find(x);
    if (known != slopes.end())
      return known->second;
    std::optional<double> slope = find(x);
    slopes[x] = slope;
    return slope;
  }

private:
  std::optional<double> find(Value x);

  Value result;
  llvm::DenseMap<Value, std::optional<double>> slopes;
};
} // namespace

std::optional<double> Slopes::find(Value x) {
  if (x == result)
    return 1;
  if (!dependsOn(x, result))
    return 0;
  Operation *op = x.getDefiningOp();
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    auto a = of(op->getOperand(0)), b = of(op->getOperand(1));
    if (!a || !b)
      return std::nullopt;
    return isa<arith::AddFOp>(op) ? *a + *b : *a - *b;
  }
  if (isa<arith::NegFOp>(op)) {
    auto a = of(op->getOperand(0));
    return a ? std::optional(-*a) : std::nullopt;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (auto taken = whereFinite(select.getCondition(), result))
      return of(*taken ? select.getTrueValue() : select.getFalseValue());
    if (!isSameWhereFinite(select.getCondition(), result))
      return std::nullopt;
    // -inf equals s * result + (-inf) for every finite result and any s.
    if (isNegativeInfinity(select.getTrueValue()))
      return of(select.getFalseValue());
    auto a = of(select.getTrueValue()), b = of(select.getFalseValue());
    return isNegativeInfinity(select.getFalseValue()) || a == b ? a
                                                                : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> slopeIn(Value x, Value result) {
  Slopes slopes(result);
  // The values that x is computed from come first, so that a long chain of
  // operations does not recurse.
  if (Operation *op = x.getDefiningOp())
    for (Operation &before :
         llvm::make_range(op->getBlock()->begin(), op->getIterator()))
      if (before.getNumResults() == 1)
        slopes.of(before.getResult(0));
  return slopes.of(x);
}

static bool isSame(const Term &a, const Term &b) {
  return a.value == b.value && a.scale == b.scale &&
         a.factors.size() == b.factors.size() &&
         std::is_permutation(a.factors.begin(), a.factors.end(),
                             b.factors.begin());
}

bool sameElementTerms(const Exponent &a, const Exponent &b) {
  return a.element.size() == b.element.size() &&
         std::is_permutation(a.element.begin(), a.element.end(),
                             b.element.begin(), isSame);
}

} // namespace heddle::fused
