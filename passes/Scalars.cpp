//===- Scalars.cpp - scalar operations in passes --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the passes that move scalar math between bodies.
//
//===----------------------------------------------------------------------===//

#include "passes/Scalars.h"
#include "dialect/Bindings.h"
#include "dialect/Foreach.h"
#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "dialect/ScalarOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;

namespace heddle {

static Value convertFloat(OpBuilder &builder, Location loc, Value value,
                          Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  // The converted value keeps the name.
  if (StringRef name = nameOf(value); !name.empty())
    loc = namedLoc(loc, name);
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

Value convertThrough(OpBuilder &builder, Location loc, Value value,
                     Type storage, Type bound) {
  if (!isa<FloatType>(storage))
    return value;
  // A storage type that is at least as wide does not change the value.
  if (storage != value.getType() &&
      storage.getIntOrFloatBitWidth() < value.getType().getIntOrFloatBitWidth())
    value = convertFloat(builder, loc, value, storage);
  return convertFloat(builder, loc, value, bound);
}

bool isExpensive(Operation *op) {
  const ScalarOp *scalar = findScalarOp(op);
  return scalar && (scalar->cost == ScalarCost::slow ||
                    (scalar->cost == ScalarCost::slowInDouble &&
                     op->getResult(0).getType().isF64()));
}

Slice expensiveSlice(Block &body,
                     llvm::function_ref<bool(Operation *)> mayMove) {
  llvm::SmallPtrSet<Operation *, 16> inside;
  SmallVector<Operation *> work;
  for (Operation &op : body.without_terminator())
    if (isExpensive(&op) && mayMove(&op)) {
      inside.insert(&op);
      work.push_back(&op);
    }
  llvm::SmallPtrSet<Operation *, 16> needed(inside.begin(), inside.end());
  while (!work.empty())
    for (Value operand : work.pop_back_val()->getOperands())
      if (Operation *op = operand.getDefiningOp();
          op && inside.insert(op).second)
        work.push_back(op);
  // A value that is used outside and depends on expensive operations is a
  // result. All other values are cheap and are recomputed outside.
  auto isConstant = [](Operation *op) {
    return op && op->hasTrait<OpTrait::ConstantLike>();
  };
  llvm::SmallPtrSet<Operation *, 16> follows;
  // Cheap operations whose operands the slice has anyway.
  llvm::SmallPtrSet<Operation *, 16> known;
  llvm::SmallPtrSet<Value, 16> inputs;
  for (Operation *op : inside)
    for (Value operand : op->getOperands())
      if (isa<BlockArgument>(operand))
        inputs.insert(operand);
  auto isAtHand = [&](Value operand) {
    Operation *def = operand.getDefiningOp();
    return inputs.contains(operand) ||
           (def &&
            (isConstant(def) || inside.contains(def) || known.contains(def)));
  };
  for (Operation &op : body.without_terminator()) {
    if (needed.contains(&op)) {
      follows.insert(&op);
      continue;
    }
    bool any = llvm::any_of(op.getOperands(), [&](Value operand) {
      return follows.contains(operand.getDefiningOp());
    });
    if (any && inside.contains(&op)) {
      follows.insert(&op);
      continue;
    }
    if (!llvm::all_of(op.getOperands(), isAtHand) || !mayMove(&op))
      continue;
    if (!any) {
      known.insert(&op);
      continue;
    }
    follows.insert(&op);
    work.push_back(&op);
    while (!work.empty())
      if (Operation *next = work.pop_back_val(); inside.insert(next).second)
        for (Value operand : next->getOperands())
          if (Operation *def = operand.getDefiningOp())
            work.push_back(def);
  }
  Slice slice;
  for (Operation &op : body.without_terminator()) {
    if (!inside.contains(&op))
      continue;
    slice.ops.insert(&op);
    for (Value operand : op.getOperands())
      if (isa<BlockArgument>(operand))
        slice.inputs.insert(operand);
    if (!follows.contains(&op))
      continue;
    for (Value value : op.getResults())
      if (llvm::any_of(value.getUsers(),
                       [&](Operation *user) { return !inside.contains(user); }))
        slice.results.insert(value);
  }
  return slice;
}

void setAxis(Operation *op, foreach::Axis axis) {
  if (auto extent = dyn_cast<foreach::ExtentOp>(op))
    extent.setAxis(axis);
  else
    cast<foreach::IndexOp>(op).setAxis(axis);
}

void cloneBody(OpBuilder &builder, Block &body, IRMapping &mapping) {
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
}

//===----------------------------------------------------------------------===//
// Equal operations
//===----------------------------------------------------------------------===//

/// Whether the value of `op` depends on the iteration of the loop around it.
static bool dependsOnLoop(Operation *op) {
  auto reads = [](Block &body, ArrayRef<int32_t> indices) {
    return !body.getOps<foreach::IterationOp>().empty() ||
           llvm::any_of(indices, dependsOnIteration);
  };
  if (auto map = dyn_cast<foreach::MapOp>(op))
    return reads(map.getBody().front(), map.getIndices());
  if (auto reduce = dyn_cast<foreach::ReduceOp>(op))
    return reads(reduce.getBody().front(), reduce.getIndices());
  auto sweep = dyn_cast<fused::SweepOp>(op);
  return sweep && sweep.usesIteration();
}

/// The number of operations around `op`.
static int64_t depthOf(Operation *op) {
  int64_t depth = 0;
  while ((op = op->getParentOp()))
    ++depth;
  return depth;
}

/// A hash of the regions of each operation within `root`, for operations that
/// have any; equal for regions that differ only in names. A region that is
/// nested in another is hashed once, so values that it takes from outside count
/// only in its own hash, not in the hash of the other. Operations that depend
/// on the iterations of two loops, one in the other, have different hashes.
static SmallVector<std::pair<Operation *, int64_t>>
hashesOfRegions(Operation *root) {
  SmallVector<std::pair<Operation *, int64_t>> hashes;
  llvm::DenseMap<Operation *, llvm::hash_code> nested;
  root->walk<WalkOrder::PostOrder>([&](Operation *op) {
    if (op == root || op->getNumRegions() == 0)
      return;
    llvm::DenseMap<Value, size_t> numbers;
    auto number = [&](auto values) {
      for (Value value : values)
        numbers.try_emplace(value, numbers.size());
    };
    llvm::hash_code hash(0), fromOutside(0);
    auto hashOfOperand = [&](Value value) {
      auto found = numbers.find(value);
      if (found != numbers.end())
        return llvm::hash_value(found->second);
      fromOutside = llvm::hash_combine(fromOutside, hash_value(value));
      return hash_value(value.getType());
    };
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        number(block.getArguments());
        for (Operation &inner : block) {
          auto found = nested.find(&inner);
          hash = llvm::hash_combine(
              hash,
              OperationEquivalence::computeHash(
                  &inner, hashOfOperand, OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::Flags::IgnoreLocations),
              found == nested.end() ? llvm::hash_code(0) : found->second);
          number(inner.getResults());
        }
      }
    if (dependsOnLoop(op))
      hash = llvm::hash_combine(hash, depthOf(op));
    nested.insert({op, hash});
    hashes.emplace_back(
        op, static_cast<size_t>(llvm::hash_combine(hash, fromOutside)));
  });
  return hashes;
}

/// Merges equal operations within `root`. MLIR's hash ignores regions, so all
/// maps over one list would have the same hash. Temporary attributes make their
/// hashes differ.
static void mergeEqual(Operation *root) {
  constexpr StringLiteral mark = "heddle.regions";
  Builder builder(root->getContext());
  for (auto [op, hash] : hashesOfRegions(root))
    op->setDiscardableAttr(mark, builder.getI64IntegerAttr(hash));
  IRRewriter rewriter(root->getContext());
  DominanceInfo dominance(root);
  eliminateCommonSubExpressions(rewriter, dominance, root);
  root->walk([&](Operation *op) { op->removeDiscardableAttr(mark); });
}

/// Replaces every `math.atan2` of two constant zeros by its value, which MLIR
/// folds to NaN. Folds all other operations of `root` first, because they may
/// give such zeros.
static void foldAtan2OfZeros(Operation *root) {
  bool found = false;
  SmallVector<Operation *> others;
  root->walk([&](Operation *op) {
    if (isa<math::Atan2Op>(op))
      found = true;
    else if (op != root)
      others.push_back(op);
  });
  if (!found)
    return;
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
      .setStrictness(GreedyRewriteStrictness::ExistingOps);
  (void)applyOpPatternsGreedily(others, RewritePatternSet(root->getContext()),
                                config);
  // The folds may have erased some of them.
  root->walk([](math::Atan2Op op) {
    FloatAttr y, x;
    if (!matchPattern(op.getLhs(), m_Constant(&y)) ||
        !matchPattern(op.getRhs(), m_Constant(&x)) || !y.getValue().isZero() ||
        !x.getValue().isZero())
      return;
    OpBuilder builder(op);
    double value = std::atan2(y.getValueAsDouble(), x.getValueAsDouble());
    Value constant = arith::ConstantOp::create(
        builder, op.getLoc(), FloatAttr::get(op.getType(), value));
    op.replaceAllUsesWith(constant);
    op.erase();
  });
}

void cleanBodies(Operation *root) {
  MLIRContext *context = root->getContext();
  root->walk([](fused::SweepOp sweep) { fused::spellOutFrom(sweep); });
  foldAtan2OfZeros(root);
  // Only folds, which are exact in IEEE arithmetic. Some patterns of arith are
  // not: they round an integer once instead of twice.
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  (void)applyPatternsGreedily(root, RewritePatternSet(context), config);
  mergeEqual(root);
  root->walk([](fused::SweepOp sweep) { fused::dropImpliedFrom(sweep); });
}

} // namespace heddle
