//===- EpilogueEmitter.cpp - values of the whole list ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block combines the states of tiles or members in the order of
// docs/lowering.md; its first thread computes the epilogue from them.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/EpilogueEmitter.h"
#include "codegen/cuda/Inlining.h"
#include "dialect/Names.h"
#include "dialect/ReduceKinds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using heddle::foreach::isList;

namespace heddle::cuda {

Expression EpilogueEmitter::expression(Value value) {
  if (scope.contains(value))
    return {scope[value], Expression::primary};
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<foreach::IterationOp>(op))
    return {"*" + names.scalars[*layout.iteration], Expression::primary};
  auto printed =
      op ? printScalar(op, [&](Value operand) { return expression(operand); })
         : std::nullopt;
  return printed.value_or(Expression{"0", Expression::primary});
}

std::string EpilogueEmitter::overTiles(fused::ReduceOp op, unsigned segment) {
  std::string call =
      llvm::formatv("heddle::over_list<{0}, {1}>({2}, ", kindOf(op), threads,
                    names.scratch[layout.scratchOf(op, ScratchPer::tile)])
          .str();
  if (layout.segments.size() == 1)
    return call + "params.table.tile_count)";
  std::string tiles = scope.fresh("tiles");
  os << llvm::formatv(
      "const heddle::tile_range {0} = heddle::tiles_of_segment<{1}>("
      "static_cast<const {2} *>(params.table.members), "
      "params.table.member_count, params.table.tile_count, {3});\n",
      tiles, threads, names.memberType(layout), segment);
  return call + tiles + ")";
}

std::string EpilogueEmitter::overMembers(fused::ReduceOp op, unsigned segment) {
  std::string area = names.scratch[layout.scratchOf(op, ScratchPer::member)];
  if (layout.segments.size() == 1)
    return llvm::formatv(
               "heddle::over_states<{0}, {1}>({2}, params.table.member_count)",
               kindOf(op), threads, area)
        .str();
  return llvm::formatv("heddle::over_members<{0}, {1}>({2}, "
                       "static_cast<const {3} *>(params.table.members), "
                       "params.table.member_count, {4})",
                       kindOf(op), threads, area, names.memberType(layout),
                       segment)
      .str();
}

void EpilogueEmitter::declareReduction(fused::ReduceOp op, unsigned segment) {
  std::string kind = kindOf(op);
  StringRef type = computedType(op.getValue().getType());
  bool ofTiles = layout.scratchOf(op, ScratchPer::tile) >= 0;
  std::string call =
      ofTiles ? overTiles(op, segment) : overMembers(op, segment);
  std::string state = scope.fresh("state");
  os << "const auto " << state << " = " << call << ";\n";
  if (foreach::hasPosition(op.getKind())) {
    os << "const " << type << ' ' << scope.declare(op.getResult(0)) << " = "
       << state << ".value;\n"
       << "const long long " << scope.declare(op.getResult(1), "position")
       << " = " << state << ".position;\n";
    return;
  }
  os << "const " << type << ' ' << scope.declare(op.getResult(0)) << " = "
     << kind << "::value(" << state << ");\n";
}

void EpilogueEmitter::storeScalar(int slot, Value value) {
  const ScalarSlot &to = layout.scalars[slot];
  os << "*" << names.scalars[slot] << " = "
     << converted(expression(value).text, value.getType(), to.storage) << ";\n";
}

LogicalResult EpilogueEmitter::declareOps(Block &block) {
  inlined = inlinedOps(block);
  for (Operation &op : block.without_terminator()) {
    if (isa<arith::ConstantOp, foreach::IterationOp>(op))
      continue;
    auto printed =
        printScalar(&op, [&](Value operand) { return expression(operand); });
    if (!printed)
      return op.emitOpError("has no CUDA equivalent");
    if (inlined.contains(&op))
      continue;
    Value result = op.getResult(0);
    os << "const " << computedType(result.getType()) << ' '
       << scope.declare(result) << " = " << printed->text << ";\n";
  }
  return success();
}

void EpilogueEmitter::bindScalar(Value argument, int slot) {
  const ScalarSlot &from = layout.scalars[slot];
  os << "const " << computedType(argument.getType()) << ' '
     << scope.declare(argument, "scalar") << " = "
     << converted("*" + names.scalars[slot], from.storage, argument.getType())
     << ";\n";
}

LogicalResult EpilogueEmitter::emit() {
  names.functions->begin();
  // Scalars first: their loads and those of the states do not wait for each
  // other.
  if (sweep.hasEpilogue()) {
    Block &block = sweep.getEpilogue().front();
    for (auto [argument, slot] :
         llvm::zip(block.getArguments().take_back(layout.epilogueInputs.size()),
                   layout.epilogueInputs))
      bindScalar(argument, slot);
  }
  SmallVector<Value> listValues;
  SmallVector<std::pair<int, Value>> stored;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    Block &body = sweep.getSegmentBlock(s);
    for (auto [result, slot, value] :
         llvm::zip(sweep.getSegmentResults(s), layout.segments[s].results,
                   sweep.getSegmentYield(s).getValues())) {
      if (isList(result.getType()))
        continue;
      listValues.push_back(value);
      if (slot != SegmentLayout::kNowhere)
        stored.emplace_back(-1 - slot, value);
    }
    for (Operation &op : body)
      if (auto reduce = dyn_cast<fused::ReduceOp>(op);
          reduce && reduce.getLevel() == fused::Level::list)
        declareReduction(reduce, s);
    // A list value without a reduction depends only on scalars.
    for (auto [argument, slot] :
         llvm::zip(body.getArguments(), layout.segments[s].inputs))
      if (slot < 0 && !argument.use_empty() &&
          llvm::any_of(
              listValues,
              [&](Value value) {
                return value.getParentBlock() == &body &&
                       !value.getDefiningOp<fused::ReduceOp>();
              }))
        bindScalar(argument, -1 - slot);
  }
  os << "if (threadIdx.x != 0)\n  return;\n";
  if (sweep.hasEpilogue()) {
    Block &block = sweep.getEpilogue().front();
    // The epilogue uses the stored values, rounded to the storage type.
    for (auto [argument, value, position] :
         llvm::zip(block.getArguments(), listValues, sweep.getListResults())) {
      Type storage = foreach::storageType(sweep.getResult(position).getType());
      std::string text =
          converted(converted(expression(value).text, value.getType(), storage),
                    storage, argument.getType());
      scope.bind(argument, text);
    }
    if (failed(declareOps(block)))
      return failure();
    for (auto [slot, value] : llvm::zip(layout.epilogueResults,
                                        sweep.getEpilogueYield().getValues()))
      if (slot != SegmentLayout::kNowhere)
        stored.emplace_back(slot, value);
  }
  // All values are computed before any is stored, because a result may replace
  // an operand.
  for (auto [slot, value] : stored)
    storeScalar(slot, value);
  names.functions->end(
      layout.membersHaveEnds || !sweep.getLaunchAttr().endsInOwnLaunch()
          ? "Runs once for the list, in the last block of the sweep."
          : "Runs once for the list, when its tiles are complete.",
      "void", names.sweep + "_epilogue",
      {{"const " + names.paramsType() + " &", "params"}});
  return success();
}

} // namespace heddle::cuda
