//===- FinishEmitter.cpp - what is computed once for the whole list -------===//
//
// The block that finishes last combines the members' states in order; its first
// thread computes what follows from them.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/FinishEmitter.h"
#include "dialect/Names.h"
#include "dialect/ReduceKinds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::foreach::isList;

namespace heddle::cuda {

Expression FinishEmitter::expression(Value value) {
  if (scope.knows(value))
    return {scope[value], Expression::primary};
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<foreach::TripOp>(op))
    return {"*" + names.scalars[*layout.trip], Expression::primary};
  auto printed =
      op ? printScalar(op, [&](Value operand) { return expression(operand); })
         : std::nullopt;
  return printed.value_or(Expression{"0", Expression::primary});
}

void FinishEmitter::declareReduction(fused::ReduceOp op, unsigned segment,
                                     StringRef area) {
  std::string kind = kindOf(op);
  StringRef type = computedType(op.getValue().getType());
  std::string state = scope.fresh("state");
  os << "const auto " << state << " = heddle::";
  if (layout.segments.size() == 1)
    os << "over_states<" << kind << ", " << layout.threads << ">(" << area
       << ", table.member_count);\n";
  else
    os << "over_members<" << kind << ", " << layout.threads << ">(" << area
       << ", static_cast<const " << names.sweep
       << "_member_row *>(table.members), table.member_count, " << segment
       << ");\n";
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

void FinishEmitter::storeScalar(int slot, Value value) {
  const ScalarSlot &to = layout.scalars[slot];
  std::string text = expression(value).text;
  os << "*" << names.scalars[slot] << " = ";
  if (value.getType() == to.storage)
    os << text << ";\n";
  else
    os << "heddle::convert<" << storedType(to.storage) << ">(" << text
       << ");\n";
}

LogicalResult FinishEmitter::declareOps(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (isa<arith::ConstantOp, foreach::TripOp>(op))
      continue;
    auto printed =
        printScalar(&op, [&](Value operand) { return expression(operand); });
    if (!printed)
      return op.emitOpError("has no CUDA text");
    Value result = op.getResult(0);
    os << "const " << computedType(result.getType()) << ' '
       << scope.declare(result) << " = " << printed->text << ";\n";
  }
  return success();
}

void FinishEmitter::bindScalar(Value argument, int slot) {
  const ScalarSlot &from = layout.scalars[slot];
  StringRef type = computedType(argument.getType());
  std::string name = scope.declare(argument, "scalar");
  os << "const " << type << ' ' << name << " = ";
  if (from.storage == argument.getType())
    os << "*" << names.scalars[slot] << ";\n";
  else
    os << "heddle::convert<" << type << ">(*" << names.scalars[slot] << ");\n";
}

LogicalResult FinishEmitter::emit() {
  for (const auto &list : {names.scalars, names.scratch})
    for (const std::string &name : list)
      scope.fresh(name);
  os << names.templateHead << "__device__ __forceinline__ void " << names.sweep
     << "_finish(" << names.parameters << ") {\n";
  os.indent();
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
        declareReduction(
            reduce, s,
            names.scratch[layout.scratchOf(&op, ScratchPer::member)]);
    // A list value that no reduction computed follows from scalars alone.
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
    // `finish` goes on with what was stored, rounded as it was.
    for (auto [argument, value, position] :
         llvm::zip(block.getArguments(), listValues, sweep.getListResults())) {
      std::string text = expression(value).text;
      Type storage = foreach::storageType(sweep.getResult(position).getType());
      if (value.getType() != storage)
        text = ("heddle::convert<" + storedType(storage) + ">(" + text + ")")
                   .str();
      if (argument.getType() != storage)
        text = ("heddle::convert<" + computedType(argument.getType()) + ">(" +
                text + ")")
                   .str();
      scope.bind(argument, text);
    }
    for (auto [argument, slot] :
         llvm::zip(block.getArguments().drop_front(listValues.size()),
                   layout.epilogueInputs))
      bindScalar(argument, slot);
    if (failed(declareOps(block)))
      return failure();
    for (auto [slot, value] : llvm::zip(layout.epilogueResults,
                                        sweep.getEpilogueYield().getValues()))
      if (slot != SegmentLayout::kNowhere)
        stored.emplace_back(slot, value);
  }
  // Everything was read and computed: a result may replace what it came from.
  for (auto [slot, value] : stored)
    storeScalar(slot, value);
  os.unindent() << "}\n\n";
  return success();
}

} // namespace heddle::cuda
