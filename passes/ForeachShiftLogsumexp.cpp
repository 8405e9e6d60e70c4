//===- ForeachShiftLogsumexp.cpp - shifts from carried values -------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the operations from the next carried value back to the result of the
// reduction, and applies the inverse of each operation to the shift. The shift
// is an estimate, so identities need not be exact or hold for infinities.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/Fusion.h"
#include "passes/Passes.h"
#include "passes/Scalars.h"

namespace heddle {
#define GEN_PASS_DEF_FOREACHSHIFTLOGSUMEXP
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::foreach;

//===----------------------------------------------------------------------===//
// Values through maps
//===----------------------------------------------------------------------===//

namespace {
/// A scalar in the body of a map.
struct Inside {
  foreach
    ::MapOp map;
  Value scalar;
};
} // namespace

/// The scalar that a map yields as an element of `list`.
static std::optional<Inside> insideOf(Value list) {
  auto map = list.getDefiningOp<foreach::MapOp>();
  if (!map)
    return std::nullopt;
  unsigned k = cast<OpResult>(list).getResultNumber();
  return Inside{map, map.getYield().getValues()[k]};
}

/// The operand of a map that is bound to `argument`.
static Value boundTo(foreach::MapOp map, BlockArgument argument) {
  return map.getInputs()[argument.getArgNumber()];
}

/// Whether `list` depends on `from` through maps only.
static bool follows(Value list, Value from);

static bool follows(Inside at, Value from) {
  if (auto argument = dyn_cast<BlockArgument>(at.scalar))
    return follows(boundTo(at.map, argument), from);
  return llvm::any_of(
      at.scalar.getDefiningOp()->getOperands(),
      [&](Value operand) { return follows({at.map, operand}, from); });
}

static bool follows(Value list, Value from) {
  if (list == from)
    return true;
  auto inside = insideOf(list);
  return inside && follows(*inside, from);
}

/// Whether `scalar` is a product or quotient of `argument` and other values.
static bool isScaled(Value scalar, BlockArgument argument) {
  if (scalar == argument)
    return true;
  Operation *op = scalar.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
    return false;
  return isScaled(op->getOperand(0), argument) ||
         (isa<arith::MulFOp>(op) && isScaled(op->getOperand(1), argument));
}

/// The value that an iteration uses for `carried`: the scaled value if the
/// iteration only scales `carried`, otherwise `carried` itself.
static Value entering(Value carried) {
  while (carried.hasOneUse()) {
    OpOperand &use = *carried.getUses().begin();
    auto map = dyn_cast<foreach::MapOp>(use.getOwner());
    if (!map)
      break;
    BlockArgument argument = map.getBody().getArgument(use.getOperandNumber());
    Value scaled;
    for (auto [result, scalar] :
         llvm::zip_equal(map.getResults(), map.getYield().getValues()))
      if (result.getType() == carried.getType() && isScaled(scalar, argument))
        scaled = result;
    if (!scaled)
      break;
    carried = scaled;
  }
  return carried;
}

//===----------------------------------------------------------------------===//
// The shift
//===----------------------------------------------------------------------===//

namespace {
/// Computes the shift of a reduction, in its region.
class Inversion {
public:
  /// `into` is a copy of the reduction that computes `result`.
  Inversion(foreach::ReduceOp into, Value result)
      : into(into), result(result), builder(into.getYield()),
        loc(UnknownLoc::get(into.getContext())) {}

  /// The value of `result` for which `next`, a function of it, is `target`.
  /// Null if no such value can be computed; `why` is then the reason.
  Value run(Value next, Value target);
  std::string why;

private:
  Value invert(Operation *op, unsigned through, foreach::MapOp map,
               Value target);
  Value scalarOf(Inside at);
  Value elementOf(Value list, int32_t index, Type bound, StringRef name);
  Value bind(Value list, int32_t index, Type bound, StringRef name);
  bool isAvailable(Value list);

  Value zero(Type type) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, 0.0));
  }
  static bool isZero(Value value) {
    return matchPattern(value, m_AnyZeroFloat());
  }
  Value add(Value a, Value b);
  Value subtract(Value a, Value b);

  foreach
    ::ReduceOp into;
  Value result;
  OpBuilder builder;
  Location loc;
  llvm::DenseMap<Value, Value> scalars;
};
} // namespace

Value Inversion::add(Value a, Value b) {
  if (isZero(a))
    return b;
  return isZero(b) ? a : arith::AddFOp::create(builder, loc, a, b).getResult();
}

Value Inversion::subtract(Value a, Value b) {
  if (a == b)
    return zero(a.getType());
  if (isZero(b))
    return a;
  return isZero(a) ? arith::NegFOp::create(builder, loc, b).getResult()
                   : arith::SubFOp::create(builder, loc, a, b).getResult();
}

/// Whether `list` is computed before the reduction.
bool Inversion::isAvailable(Value list) {
  Operation *op = list.getDefiningOp();
  return !op || op->getBlock() != into->getBlock() || op->isBeforeInBlock(into);
}

/// Binds `list` to the reduction and returns the argument. `index` is an index
/// in the domain of the result.
Value Inversion::bind(Value list, int32_t index, Type bound, StringRef name) {
  if (index == kI)
    index = into.getAxis() == Axis::j ? kI : kJ;
  Block &body = into.getBody().front();
  SmallVector<int32_t> indices(into.getIndices());
  for (auto [k, input] : llvm::enumerate(into.getInputs()))
    if (input == list && indices[k] == index &&
        body.getArgument(k).getType() == bound)
      return body.getArgument(k);
  indices.push_back(index);
  into->insertOperands(into->getNumOperands(), list);
  into.setIndices(indices);
  return body.addArgument(
      bound, name.empty() ? loc : namedLoc(into.getContext(), name));
}

/// An element of `list`; if the reduction cannot bind `list`, the element is
/// computed in the region.
Value Inversion::elementOf(Value list, int32_t index, Type bound,
                           StringRef name) {
  if (isAvailable(list))
    return bind(list, index, bound, name);
  auto inside = insideOf(list);
  if (!inside) {
    why = "the shift depends on " + fused::quoted(list) +
          ", which is computed after the reduction";
    return {};
  }
  Value scalar = scalarOf(*inside);
  return scalar ? convertThrough(builder, loc, scalar,
                                 storageType(list.getType()), bound)
                : scalar;
}

/// A scalar of a map, computed in the region of the reduction.
Value Inversion::scalarOf(Inside at) {
  auto found = scalars.find(at.scalar);
  if (found != scalars.end())
    return found->second;
  Value value;
  if (auto argument = dyn_cast<BlockArgument>(at.scalar)) {
    value = elementOf(boundTo(at.map, argument),
                      at.map.getIndices()[argument.getArgNumber()],
                      argument.getType(), nameOf(argument));
  } else {
    Operation *op = at.scalar.getDefiningOp();
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      Value here = scalarOf({at.map, operand});
      if (!here)
        return {};
      mapping.map(operand, here);
    }
    value = builder.clone(*op, mapping)
                ->getResult(cast<OpResult>(at.scalar).getResultNumber());
  }
  scalars[at.scalar] = value;
  return value;
}

/// The value of operand `through` of `op` for which the result is `target`.
Value Inversion::invert(Operation *op, unsigned through, foreach::MapOp map,
                        Value target) {
  auto operand = [&](unsigned k) { return scalarOf({map, op->getOperand(k)}); };
  if (isa<arith::NegFOp>(op))
    return subtract(zero(target.getType()), target);
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    Type type = op->getOperand(0).getType();
    return convertThrough(builder, loc, target, type, type);
  }
  // If the other value is selected, any shift is as good.
  if (isa<arith::SelectOp>(op))
    return target;
  if (!isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp>(op)) {
    why = llvm::formatv("'{0}' cannot be inverted", op->getName());
    return {};
  }
  if (isZero(target) &&
      (isa<arith::MulFOp>(op) || (isa<arith::DivFOp>(op) && through == 0)))
    return target;
  Value other = operand(1 - through);
  if (!other)
    return {};
  if (isa<arith::AddFOp>(op))
    return subtract(target, other);
  if (isa<arith::SubFOp>(op))
    return through == 0 ? add(target, other) : subtract(other, target);
  if (isa<arith::MulFOp>(op))
    return arith::DivFOp::create(builder, loc, target, other);
  return through == 0
             ? arith::MulFOp::create(builder, loc, target, other).getResult()
             : arith::DivFOp::create(builder, loc, other, target).getResult();
}

Value Inversion::run(Value next, Value target) {
  int32_t index = defaultIndex(target.getType());
  auto targetAs = [&](Type type) {
    return elementOf(target, index, type, nameOf(target));
  };
  if (next == result)
    return targetAs(into.getReduced().getType());
  Inside at = *insideOf(next);
  Value shift = targetAs(at.scalar.getType());
  while (shift) {
    if (auto argument = dyn_cast<BlockArgument>(at.scalar)) {
      Value list = boundTo(at.map, argument);
      if (at.map.getIndices()[argument.getArgNumber()] !=
          defaultIndex(result.getType())) {
        why = "an element of " + fused::quoted(next) +
              " depends on a different element of it";
        return {};
      }
      Type type = list == result ? into.getReduced().getType()
                                 : insideOf(list)->scalar.getType();
      shift = convertThrough(builder, loc, shift, type, type);
      if (list == result)
        return shift;
      at = *insideOf(list);
      continue;
    }
    Operation *op = at.scalar.getDefiningOp();
    SmallVector<unsigned, 2> through;
    for (OpOperand &operand : op->getOpOperands()) {
      // Only the selected values are inverted, not the condition.
      bool condition = isa<arith::SelectOp>(op) && !operand.getOperandNumber();
      if (!condition && follows({at.map, operand.get()}, result))
        through.push_back(operand.getOperandNumber());
    }
    if (through.size() != 1) {
      why = fused::quoted(next) +
            (through.empty() ? " depends on it through a condition only"
                             : " depends on it in more than one way");
      return {};
    }
    shift = invert(op, through[0], at.map, shift);
    at.scalar = op->getOperand(through[0]);
  }
  return shift;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct ForeachShiftLogsumexp
    : heddle::impl::ForeachShiftLogsumexpBase<ForeachShiftLogsumexp> {
  using ForeachShiftLogsumexpBase::ForeachShiftLogsumexpBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    changed = false;
    function.walk([&](WhileOp loop) { shiftAll(loop); });
    // Statistics count only if LLVM was built so; they decide nothing.
    if (changed)
      cleanBodies(function);
  }

  void shiftAll(WhileOp loop);
  void shift(foreach::ReduceOp op, WhileOp loop, ArrayRef<Value> targets);

  bool changed = false;
};
} // namespace

void ForeachShiftLogsumexp::shift(foreach::ReduceOp op, WhileOp loop,
                                  ArrayRef<Value> targets) {
  std::string why = "no carried value depends on it";
  for (auto [carried, target, next] :
       llvm::zip(loop.getBody().getArguments(), targets,
                 loop.getYield().getValues())) {
    Value result = op.getResult(0);
    if (rankOf(next.getType()) != rankOf(result.getType()) ||
        !follows(next, result))
      continue;
    OpBuilder builder(op);
    auto shifted = cast<foreach::ReduceOp>(builder.clone(*op));
    Inversion inversion(shifted, result);
    Value shift = inversion.run(next, target);
    if (!shift) {
      shifted.erase();
      why = inversion.why;
      continue;
    }
    shifted.getYield().getValuesMutable().append(shift);
    op.replaceAllUsesWith(shifted);
    op.erase();
    ++numShifted;
    changed = true;
    if (remarks)
      mlir::emitRemark(shifted.getLoc())
          << fused::quoted(shifted.getResult(0))
          << " is shifted by an estimate from the carried value "
          << fused::quoted(carried) << ": no running maximum";
    return;
  }
  ++numLeft;
  if (remarks)
    mlir::emitRemark(op.getLoc())
        << fused::quoted(op.getResult(0)) << " is not shifted: " << why;
}

void ForeachShiftLogsumexp::shiftAll(WhileOp loop) {
  Block &body = loop.getBody().front();
  SmallVector<Value> targets;
  for (BlockArgument carried : body.getArguments())
    targets.push_back(entering(carried));
  for (auto op : llvm::make_early_inc_range(body.getOps<foreach::ReduceOp>()))
    if (op.getKind() == ReduceKind::logsumexp && !op.getShift())
      shift(op, loop, targets);
}
