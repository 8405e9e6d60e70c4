//===- ForeachSimplify.cpp - simpler bodies, scalar math apart ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guarantees for later passes: no `if`, no operand that is bound twice or
// unused, and no expensive math on device scalars in element bodies.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "dialect/ReduceKinds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/Scalars.h"
#include "llvm/ADT/BitVector.h"

namespace heddle {
#define GEN_PASS_DEF_FOREACHSIMPLIFY
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::foreach;

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// `select(condition, yielded, otherwise)` for every element.
static Value selectMap(OpBuilder &builder, Location loc, Value condition,
                       Value yielded, Value otherwise) {
  Type type = yielded.getType();
  Type bound = computeType(storageType(type));
  SmallVector<Value> inputs = {condition, yielded, otherwise};
  SmallVector<int32_t> indices = {kScalar, defaultIndex(type),
                                  defaultIndex(type)};
  auto map = foreach::MapOp::create(builder, loc, type, inputs, indices);
  Block &body = map.getBody().emplaceBlock();
  SmallVector<Value> arguments = {
      body.addArgument(builder.getI1Type(),
                       namedLoc(builder.getContext(), "c")),
      body.addArgument(bound, loc), body.addArgument(bound, loc)};
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  Value value = arith::SelectOp::create(inner, loc, arguments[0], arguments[1],
                                        arguments[2]);
  foreach
    ::YieldOp::create(inner, loc, value);
  return map.getResult(0);
}

/// Replaces `op` by its body and selects. Operations have no side effects, so
/// the body may run unconditionally.
static void expandIf(IfOp op) {
  OpBuilder builder(op);
  Block &body = op.getBody().front();
  SmallVector<Value> yielded(op.getYield().getValues());
  for (Operation &inner : llvm::make_early_inc_range(body.without_terminator()))
    inner.moveBefore(op);
  for (auto [result, value, otherwise] :
       llvm::zip_equal(op.getResults(), yielded, op.getOtherwise())) {
    Value selected = value == otherwise
                         ? value
                         : selectMap(builder, op.getLoc(), op.getCondition(),
                                     value, otherwise);
    if (StringRef name = nameOf(result); !name.empty() && value != otherwise)
      setName(selected, name);
    result.replaceAllUsesWith(selected);
  }
  op.erase();
}

//===----------------------------------------------------------------------===//
// Bindings
//===----------------------------------------------------------------------===//

/// Replaces arguments to which the same operand is bound in the same way by the
/// first of them; returns the others.
template <typename BoundOp> static llvm::BitVector mergeInputs(BoundOp op) {
  Block &body = op.getBody().front();
  llvm::DenseMap<std::tuple<Value, int32_t, Type>, BlockArgument> first;
  llvm::BitVector merged(body.getNumArguments());
  for (auto [k, argument, operand, index] :
       llvm::enumerate(body.getArguments(), op.getInputs(), op.getIndices())) {
    auto [found, isNew] =
        first.try_emplace({operand, index, argument.getType()}, argument);
    if (isNew)
      continue;
    argument.replaceAllUsesWith(found->second);
    merged.set(k);
  }
  return merged;
}

/// Adds to `erased` the operands that are not used, unless the others do not
/// span the domain.
template <typename BoundOp>
static void addUnusedInputs(BoundOp op, llvm::BitVector &erased) {
  auto indices = op.getIndices();
  auto inputs = op.getInputs();
  // The operands that are lists, and those that have each bit of an index.
  int lists = 0, bits[4] = {};
  auto count = [&](unsigned k, int by) {
    lists += isList(inputs[k].getType()) ? by : 0;
    for (auto [bit, number] : llvm::enumerate(bits))
      number += indices[k] >> bit & 1 ? by : 0;
  };
  for (unsigned k = 0; k < inputs.size(); ++k)
    if (!erased[k])
      count(k, 1);
  for (unsigned k = inputs.size(); k-- > 0;) {
    if (erased[k] || !op.getBody().front().getArgument(k).use_empty())
      continue;
    bool alone = isList(inputs[k].getType()) && lists == 1;
    for (auto [bit, number] : llvm::enumerate(bits))
      alone |= (indices[k] >> bit & 1) && number == 1;
    if (alone)
      continue;
    count(k, -1);
    erased.set(k);
  }
}

/// Binds every operand once, and only if it is used.
template <typename BoundOp> static void simplifyInputs(BoundOp op) {
  llvm::BitVector erased = mergeInputs(op);
  addUnusedInputs(op, erased);
  if (erased.none())
    return;
  SmallVector<int32_t> kept;
  for (auto [k, index] : llvm::enumerate(op.getIndices()))
    if (!erased[k])
      kept.push_back(index);
  op->eraseOperands(erased);
  op.setIndices(kept);
  op.getBody().front().eraseArguments(erased);
}

/// Replaces `op` by a map without its unused results and returns the map; null
/// if there is nothing to drop.
static foreach::MapOp dropUnusedResults(foreach::MapOp op) {
  SmallVector<Value> kept, yielded;
  SmallVector<Type> types;
  for (auto [result, value] :
       llvm::zip_equal(op.getResults(), op.getYield().getValues()))
    if (!result.use_empty()) {
      kept.push_back(result);
      yielded.push_back(value);
      types.push_back(result.getType());
    }
  if (kept.size() == op.getNumResults() || kept.empty())
    return {};
  OpBuilder builder(op);
  auto map = foreach::MapOp::create(builder, op.getLoc(), types, op.getInputs(),
                                    op.getIndices());
  map.getBody().takeBody(op.getBody());
  foreach
    ::YieldOp yield = map.getYield();
  OpBuilder inner(yield);
  foreach
    ::YieldOp::create(inner, yield.getLoc(), yielded);
  yield.erase();
  copyNames(kept, map.getResults());
  for (auto [from, to] : llvm::zip_equal(kept, map.getResults()))
    from.replaceAllUsesWith(to);
  op.erase();
  return map;
}

//===----------------------------------------------------------------------===//
// Math on device scalars
//===----------------------------------------------------------------------===//

/// Moves expensive math on device scalars out of the body of `op`.
template <typename BoundOp> static bool hoistUniform(BoundOp op) {
  Block &body = op.getBody().front();
  llvm::DenseSet<Value> uniform;
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), op.getInputs()))
    if (!isList(operand.getType()))
      uniform.insert(argument);
  llvm::DenseSet<Operation *> movable;
  for (Operation &inner : body.without_terminator())
    if (!isa<ExtentOp, IndexOp>(inner) &&
        llvm::all_of(inner.getOperands(),
                     [&](Value value) { return uniform.contains(value); })) {
      movable.insert(&inner);
      uniform.insert(inner.getResults().begin(), inner.getResults().end());
    }
  Slice slice = expensiveSlice(
      body, [&](Operation *inner) { return movable.contains(inner); });
  if (slice.results.empty())
    return false;

  OpBuilder builder(op);
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  for (Value input : slice.inputs)
    inputs.push_back(op.getInputs()[cast<BlockArgument>(input).getArgNumber()]);
  for (Value result : slice.results)
    types.push_back(scalarOf(result.getType()));
  SmallVector<int32_t> indices(inputs.size(), kScalar);
  auto map =
      foreach::MapOp::create(builder, op.getLoc(), types, inputs, indices);
  Block &uniformBody = map.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : slice.inputs)
    mapping.map(input,
                uniformBody.addArgument(input.getType(), input.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&uniformBody);
  for (Operation *moved : slice.ops)
    inner.clone(*moved, mapping);
  SmallVector<Value> yielded;
  for (Value result : slice.results)
    yielded.push_back(mapping.lookup(result));
  foreach
    ::YieldOp::create(inner, op.getLoc(), yielded);

  setNames(map, llvm::map_to_vector(slice.results, nameOf));
  SmallVector<int32_t> allIndices(op.getIndices());
  for (auto [k, to] : llvm::enumerate(map.getResults())) {
    Value from = slice.results[k];
    BlockArgument argument = body.addArgument(from.getType(), from.getLoc());
    if (StringRef name = nameOf(from); !name.empty())
      setName(argument, name);
    from.replaceUsesWithIf(argument, [&](OpOperand &use) {
      return !slice.ops.contains(use.getOwner());
    });
    op->insertOperands(op->getNumOperands(), to);
    allIndices.push_back(kScalar);
  }
  op.setIndices(allIndices);
  return true;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// Whether `op` reduces the single value of a member of rank 0.
static bool isTrivial(foreach::ReduceOp op) {
  return op.getAxis() == Axis::member && op.getDomainRank() == 0 &&
         !foreach::hasPosition(op.getKind());
}

static void toMap(foreach::ReduceOp op) {
  unsigned shifted = op.getShift() ? 1 : 0;
  OpBuilder builder(op);
  auto map = foreach::MapOp::create(builder, op.getLoc(), op.getResultTypes(),
                                    op.getInputs(), op.getIndices());
  map.getBody().takeBody(op.getBody());
  map.getYield().getValuesMutable().erase(1, shifted);
  op.replaceAllUsesWith(map);
  op.erase();
}

namespace {
struct ForeachSimplify : heddle::impl::ForeachSimplifyBase<ForeachSimplify> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    function.walk<WalkOrder::PostOrder>([&](IfOp op) {
      expandIf(op);
      ++numIfs;
    });
    // Equal operations are found only if each operand is bound once.
    function.walk([](Operation *op) {
      if (auto reduce = dyn_cast<foreach::ReduceOp>(op))
        simplifyInputs(reduce);
      else if (auto map = dyn_cast<foreach::MapOp>(op))
        simplifyInputs(map);
    });
    cleanBodies(function);
    // Users first: operands that they no longer bind become unused.
    SmallVector<Operation *> ops;
    function.walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (isa<foreach::MapOp, foreach::ReduceOp>(op))
        ops.push_back(op);
    });
    bool hoisted = false;
    for (Operation *op : llvm::reverse(ops)) {
      if (op->use_empty()) {
        op->erase();
      } else if (auto reduce = dyn_cast<foreach::ReduceOp>(op)) {
        if (reduce.getAxis() == Axis::i && reduce.getDomainRank() == 1)
          reduce.setAxis(Axis::member);
        hoisted |= hoist(reduce);
        if (isTrivial(reduce))
          toMap(reduce);
      } else if (auto map = cast<foreach::MapOp>(op)) {
        if (foreach::MapOp smaller = dropUnusedResults(map))
          map = smaller;
        removeDead(map.getBody().front());
        if (map.isUniform())
          simplifyInputs(map);
        else
          hoisted |= hoist(map);
      }
    }
    if (hoisted)
      cleanBodies(function);
  }

  template <typename BoundOp> bool hoist(BoundOp op) {
    bool moved = hoistUniform(op);
    if (moved) {
      ++numHoisted;
      removeDead(op.getBody().front());
    }
    simplifyInputs(op);
    return moved;
  }

  static void removeDead(Block &body) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }
};
} // namespace
