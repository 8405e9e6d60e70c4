//===- Exponents.cpp - arguments of exponentials as sums of terms ---------===//
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

static void collect(Term term, const Levels &levels, Exponent &exponent) {
  Level level = levels.of(term.value).level;
  if (level != Level::element) {
    (level == Level::column ? exponent.column : exponent.row)
        .push_back(std::move(term));
    return;
  }
  auto add = [&](Value value, double sign) {
    Term part = term;
    part.value = value;
    part.scale *= sign;
    collect(std::move(part), levels, exponent);
  };
  auto isScalar = [&](Value value) {
    return levels.of(value).level <= Level::member;
  };
  Operation *op = term.value.getDefiningOp();
  if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op)) {
    add(op->getOperand(0), 1);
    add(op->getOperand(1), isa<arith::SubFOp>(op) ? -1 : 1);
  } else if (isa_and_nonnull<arith::NegFOp>(op)) {
    add(op->getOperand(0), -1);
  } else if (isa_and_nonnull<arith::MulFOp>(op) &&
             llvm::any_of(op->getOperands(), isScalar)) {
    bool first = isScalar(op->getOperand(0));
    collect(scaled(term, op->getOperand(first), op->getOperand(!first),
                   /*reciprocal=*/false),
            levels, exponent);
  } else if (isa_and_nonnull<arith::DivFOp>(op) &&
             isScalar(op->getOperand(1))) {
    collect(scaled(term, op->getOperand(0), op->getOperand(1),
                   /*reciprocal=*/true),
            levels, exponent);
  } else {
    exponent.element.push_back(std::move(term));
  }
}

FailureOr<Exponent> decompose(Value x, const Levels &levels) {
  if (!isa<FloatType>(x.getType()) || levels.isAfter(x))
    return failure();
  Exponent exponent;
  collect({x, {}, 1.0}, levels, exponent);
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
  if (!dependsOn(condition, result) || whereFinite(condition, result))
    return true;
  Operation *op = condition.getDefiningOp();
  return isa_and_nonnull<arith::AndIOp, arith::OrIOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isSameWhereFinite(operand, result);
         });
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
  return Slopes(result).of(x);
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
