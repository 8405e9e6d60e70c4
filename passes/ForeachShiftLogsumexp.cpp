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

/// The values that depend on `from` through maps only: lists, and scalars in
/// the bodies of maps.
static llvm::SetVector<Value> dependentsOf(Value from) {
  llvm::SetVector<Value> dependents;
  dependents.insert(from);
  for (size_t next = 0; next < dependents.size(); ++next)
    for (OpOperand &use : dependents[next].getUses()) {
      Operation *user = use.getOwner();
      unsigned number = use.getOperandNumber();
      if (auto map = dyn_cast<foreach::MapOp>(user))
        dependents.insert(map.getBody().getArgument(number));
      else if (!isa<foreach::MapOp>(user->getParentOp()))
        continue;
      else if (isa<foreach::YieldOp>(user))
        dependents.insert(user->getParentOp()->getResult(number));
      else
        dependents.insert(user->result_begin(), user->result_end());
    }
  return dependents;
}

/// The last result of `map` of the type of an operand whose elements are
/// products or quotients of the operand's elements and other values; or null.
static Value scaledIn(foreach::MapOp map, unsigned operand) {
  llvm::SetVector<Value> scaled;
  Value last;
  scaled.insert(map.getBody().getArgument(operand));
  for (size_t next = 0; next < scaled.size(); ++next)
    for (OpOperand &use : scaled[next].getUses()) {
      Operation *user = use.getOwner();
      unsigned number = use.getOperandNumber();
      if (isa<arith::MulFOp>(user) ||
          (isa<arith::DivFOp>(user) && number == 0)) {
        scaled.insert(user->getResult(0));
      } else if (isa<foreach::YieldOp>(user)) {
        OpResult result = map->getResult(number);
        if (result.getType() == map.getInputs()[operand].getType() &&
            (!last ||
             cast<OpResult>(last).getResultNumber() < result.getResultNumber()))
          last = result;
      }
    }
  return last;
}

/// The value that an iteration uses for `carried`: the scaled value if the
/// iteration only scales `carried`, otherwise `carried` itself.
static Value entering(Value carried) {
  while (carried.hasOneUse()) {
    OpOperand &use = *carried.getUses().begin();
    auto map = dyn_cast<foreach::MapOp>(use.getOwner());
    if (!map)
      break;
    Value scaled = scaledIn(map, use.getOperandNumber());
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
  /// `into` is a copy of the reduction that computes `result`; `dependents` are
  /// those of `result`.
  Inversion(foreach::ReduceOp into, Value result,
            const llvm::SetVector<Value> &dependents)
      : into(into), result(result), dependents(dependents),
        builder(into.getYield()), loc(UnknownLoc::get(into.getContext())),
        indices(into.getIndices()) {
    for (auto [input, index, argument] : llvm::zip_equal(
             into.getInputs(), indices, into.getBody().getArguments()))
      bound.try_emplace({input, index, argument.getType()}, argument);
  }

  /// The value of `result` for which `next`, a function of it, is `target`.
  /// Null if no such value can be computed; `why` is then the reason.
  Value run(Value next, Value target);
  /// Adds the shift to the reduction.
  void apply(Value shift);
  std::string why;

private:
  Value invert(Operation *op, unsigned through, foreach::MapOp map,
               Value target);
  Value scalarOf(Inside at);
  Value elementOf(Value list, int32_t index, Type bound, StringRef name);
  Value bind(Value list, int32_t index, Type type, StringRef name);
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
  const llvm::SetVector<Value> &dependents;
  OpBuilder builder;
  Location loc;
  SmallVector<int32_t> indices; // of the reduction's operands
  llvm::DenseMap<std::tuple<Value, int32_t, Type>, Value> bound;
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
Value Inversion::bind(Value list, int32_t index, Type type, StringRef name) {
  if (index == kI)
    index = into.getAxis() == Axis::j ? kI : kJ;
  Value &argument = bound[{list, index, type}];
  if (!argument) {
    indices.push_back(index);
    into->insertOperands(into->getNumOperands(), list);
    argument = into.getBody().front().addArgument(
        type, name.empty() ? loc : namedLoc(into.getContext(), name));
  }
  return argument;
}

void Inversion::apply(Value shift) {
  into.setIndices(indices);
  into.getYield().getValuesMutable().append(shift);
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
    if (isa<foreach::ExtentOp, foreach::IndexOp>(op))
      return {}; // of another domain
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
      if (!condition && dependents.contains(operand.get()))
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

  bool changed = false;
};

/// The reductions of a loop whose results determine carried values.
class LoopShifts {
public:
  explicit LoopShifts(WhileOp loop) : loop(loop) {
    for (auto [k, carried] : llvm::enumerate(loop.getBody().getArguments())) {
      targets.push_back(entering(carried));
      carriedAs[loop.getYield().getValues()[k]].push_back(k);
    }
  }

  /// Replaces `op` by a reduction with a shift. Null, with the reason, if no
  /// carried value gives one.
  foreach
    ::ReduceOp shift(foreach::ReduceOp op, std::string &why);
  /// The carried value from which the last shift was computed.
  Value source;

private:
  WhileOp loop;
  SmallVector<Value> targets;
  /// The numbers of the carried values that a value becomes in the next
  /// iteration.
  llvm::DenseMap<Value, SmallVector<unsigned, 1>> carriedAs;
};
} // namespace

foreach
  ::ReduceOp LoopShifts::shift(foreach::ReduceOp op, std::string &why) {
    why = "no carried value depends on it";
    Value result = op.getResult(0);
    llvm::SetVector<Value> dependents = dependentsOf(result);
    SmallVector<unsigned> numbers;
    for (Value next : dependents)
      if (auto found = carriedAs.find(next); found != carriedAs.end())
        llvm::append_range(numbers, found->second);
    llvm::sort(numbers);
    for (unsigned number : numbers) {
      Value next = loop.getYield().getValues()[number];
      if (rankOf(next.getType()) != rankOf(result.getType()))
        continue;
      OpBuilder builder(op);
      auto shifted = cast<foreach::ReduceOp>(builder.clone(*op));
      Inversion inversion(shifted, result, dependents);
      Value shift = inversion.run(next, targets[number]);
      if (!shift) {
        shifted.erase();
        why = inversion.why;
        continue;
      }
      inversion.apply(shift);
      source = loop.getBody().getArgument(number);
      auto carried = carriedAs.find(result);
      if (carried != carriedAs.end()) {
        auto moved = std::move(carried->second);
        carriedAs.erase(carried);
        carriedAs[shifted.getResult(0)] = std::move(moved);
      }
      op.replaceAllUsesWith(shifted);
      op.erase();
      return shifted;
    }
    return {};
  }

void ForeachShiftLogsumexp::shiftAll(WhileOp loop) {
  LoopShifts shifts(loop);
  auto reduces = loop.getBody().front().getOps<foreach::ReduceOp>();
  for (auto op : llvm::make_early_inc_range(reduces)) {
    if (op.getKind() != ReduceKind::logsumexp || op.getShift())
      continue;
    std::string why;
    if (auto shifted = shifts.shift(op, why)) {
      ++numShifted;
      changed = true;
      if (remarks)
        mlir::emitRemark(shifted.getLoc())
            << fused::quoted(shifted.getResult(0))
            << " is shifted by an estimate from the carried value "
            << fused::quoted(shifts.source) << ": no running maximum";
      continue;
    }
    ++numLeft;
    if (remarks)
      mlir::emitRemark(op.getLoc())
          << fused::quoted(op.getResult(0)) << " is not shifted: " << why;
  }
}
