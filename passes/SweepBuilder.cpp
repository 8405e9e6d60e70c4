//===- SweepBuilder.cpp - assembles sweeps from parts ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies are built in detached regions, which move into the operation when its
// operands and results are known.
//
//===----------------------------------------------------------------------===//

#include "passes/SweepBuilder.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "passes/Scalars.h"

using namespace mlir;
using heddle::foreach::computeType;
using heddle::foreach::isList;
using heddle::foreach::storageType;

namespace heddle::fused {

SweepBuilder::SweepBuilder(MLIRContext *context, Value where)
    : context(context), where(where) {
  epilogue.push_back(new Block);
}

unsigned SweepBuilder::addSegment() {
  Segment &segment = segments.emplace_back();
  segment.region = std::make_unique<Region>();
  segment.region->push_back(new Block);
  return segments.size() - 1;
}

/// A builder for a detached region, which has no context of its own.
static OpBuilder atEnd(MLIRContext *context, Block &block) {
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&block);
  return builder;
}

OpBuilder SweepBuilder::at(unsigned segment) {
  return atEnd(context, segments[segment].region->front());
}

OpBuilder SweepBuilder::atEpilogue() {
  return atEnd(context, epilogue.front());
}

static Location locFor(MLIRContext *context, StringRef name) {
  return name.empty() ? Location(UnknownLoc::get(context))
                      : namedLoc(context, name);
}

/// Called if the operand of `argument` is also bound as `bound`. Both uses then
/// read the operand in its compute type and convert it.
BlockArgument SweepBuilder::share(Block &block, BlockArgument argument,
                                  Type storage, Type bound) {
  Type natural = computeType(storage);
  if (argument.getType() == bound || argument.getType() == natural)
    return argument;
  Type before = argument.getType();
  argument.setType(natural);
  OpBuilder builder(context);
  builder.setInsertionPointToStart(&block);
  Value converted =
      convertThrough(builder, argument.getLoc(), argument, natural, before);
  argument.replaceAllUsesExcept(converted, converted.getDefiningOp());
  for (ResultRef ref : yieldedArguments.lookup(argument))
    resultsOf(ref)[ref.result].value = converted;
  yieldedArguments.erase(argument);
  return argument;
}

Value SweepBuilder::bind(unsigned number, Value operand, int32_t index,
                         Type bound, StringRef name) {
  Segment &segment = segments[number];
  Block &block = segment.region->front();
  auto [found, isNew] =
      segment.positions.try_emplace({operand, index}, segment.inputs.size());
  if (!isNew) {
    Type storage = storageType(operand.getType());
    BlockArgument argument =
        share(block, block.getArgument(found->second), storage, bound);
    OpBuilder builder = at(number);
    return convertThrough(builder, argument.getLoc(), argument,
                          argument.getType(), bound);
  }
  segment.inputs.push_back(operand);
  segment.indices.push_back(index);
  return block.addArgument(bound, locFor(context, name));
}

/// Adds a result to the list of the segment, or epilogue, of `ref`.
unsigned SweepBuilder::addResult(ResultRef ref, Value value, Type type,
                                 StringRef name) {
  auto &results = resultsOf(ref);
  ref.result = results.size();
  results.push_back({value, type, name.str()});
  if (isa<BlockArgument>(value))
    yieldedArguments[value].push_back(ref);
  return ref.result;
}

unsigned SweepBuilder::addResult(unsigned segment, Value value, Type type,
                                 StringRef name) {
  return addResult(ResultRef{static_cast<int>(segment), 0}, value, type, name);
}

Value SweepBuilder::bindEpilogue(Value operand, Type bound, StringRef name) {
  Block &block = epilogue.front();
  auto found = epilogueInputs.find(operand);
  if (found == epilogueInputs.end()) {
    BlockArgument argument = block.addArgument(bound, locFor(context, name));
    epilogueInputs.insert({operand, argument});
    return argument;
  }
  BlockArgument argument =
      share(block, found->second, storageType(operand.getType()), bound);
  OpBuilder builder = atEpilogue();
  return convertThrough(builder, argument.getLoc(), argument,
                        argument.getType(), bound);
}

Value SweepBuilder::listValue(unsigned segment, unsigned result, Type bound,
                              StringRef name) {
  Block &block = epilogue.front();
  auto [found, isNew] = listValues.insert({{segment, result}, {}});
  if (isNew) {
    found->second = block.addArgument(bound, locFor(context, name));
    return found->second;
  }
  Type storage = storageType(segments[segment].results[result].type);
  BlockArgument argument = share(block, found->second, storage, bound);
  OpBuilder builder = atEpilogue();
  return convertThrough(builder, argument.getLoc(), argument,
                        argument.getType(), bound);
}

unsigned SweepBuilder::addEpilogueResult(Value value, Type type,
                                         StringRef name) {
  return addResult(ResultRef{-1, 0}, value, type, name);
}

SmallVector<SweepBuilder::ResultRef> SweepBuilder::append(SweepOp sweep,
                                                          Bound bound) {
  SmallVector<ResultRef> refs;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    unsigned number = addSegment();
    Block &body = sweep.getSegmentBlock(s);
    IRMapping mapping;
    // Twice: binding an operand again may change the type of its argument.
    for (int repeat = 0; repeat < 2; ++repeat)
      for (auto [argument, operand, index] :
           llvm::zip_equal(body.getArguments(), sweep.getSegmentInputs(s),
                           sweep.getSegmentIndices(s)))
        mapping.map(argument, bind(number, operand, index, argument.getType(),
                                   nameOf(argument)));
    OpBuilder builder = at(number);
    cloneBody(builder, body, mapping);
    for (auto [value, result] : llvm::zip_equal(
             sweep.getSegmentYield(s).getValues(), sweep.getSegmentResults(s)))
      refs.push_back({static_cast<int>(number),
                      addResult(number, mapping.lookup(value), result.getType(),
                                nameOf(result))});
  }
  appendEpilogue(sweep, refs, bound);
  return refs;
}

void SweepBuilder::appendEpilogue(SweepOp sweep,
                                  SmallVectorImpl<ResultRef> &refs,
                                  Bound bound) {
  if (!sweep.hasEpilogue())
    return;
  IRMapping mapping;
  auto arguments = sweep.getEpilogue().getArguments();
  SmallVector<unsigned> lists = sweep.getListResults();
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (auto [k, position] : llvm::enumerate(lists))
      mapping.map(arguments[k],
                  listValue(refs[position].segment, refs[position].result,
                            arguments[k].getType(), nameOf(arguments[k])));
    for (auto [argument, operand] : llvm::zip_equal(
             arguments.drop_front(lists.size()), sweep.getEpilogueInputs())) {
      Value value = bound ? bound(operand, argument.getType()) : Value();
      mapping.map(argument, value ? value
                                  : bindEpilogue(operand, argument.getType(),
                                                 nameOf(argument)));
    }
  }
  OpBuilder builder = atEpilogue();
  cloneBody(builder, sweep.getEpilogue().front(), mapping);
  for (auto [value, result] : llvm::zip_equal(
           sweep.getEpilogueYield().getValues(), sweep.getEpilogueResults()))
    refs.push_back({-1, addEpilogueResult(mapping.lookup(value),
                                          result.getType(), nameOf(result))});
}

Value SweepBuilder::yielded(ResultRef ref) const {
  return ref.segment < 0 ? epilogueResults[ref.result].value
                         : segments[ref.segment].results[ref.result].value;
}

void SweepBuilder::drop(ResultRef ref) {
  if (ref.segment < 0)
    epilogueResults[ref.result].dropped = true;
  else
    segments[ref.segment].results[ref.result].dropped = true;
}

/// Removes unused operations, in reverse order.
static void removeDead(Block &block,
                       const llvm::SmallPtrSetImpl<Value> &yielded) {
  auto isYielded = [&](Value value) { return yielded.contains(value); };
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.use_empty() && llvm::none_of(op.getResults(), isYielded))
      op.erase();
  }
}

llvm::BitVector unusedInputs(ValueRange inputs, ArrayRef<int32_t> indices,
                             llvm::function_ref<bool(unsigned)> isUsed) {
  int64_t rank = domainRank(indices);
  // The operands that are lists, and those that give each dimension.
  int lists = 0, rows = 0, columns = 0;
  auto count = [&](unsigned k, int by) {
    lists += isList(inputs[k].getType()) ? by : 0;
    rows += indices[k] & kI ? by : 0;
    columns += indices[k] & kJ ? by : 0;
  };
  unsigned size = inputs.size();
  for (unsigned k = 0; k < size; ++k)
    count(k, 1);
  llvm::BitVector unused(size);
  for (unsigned k = size; k-- > 0;) {
    if (isUsed(k))
      continue;
    count(k, -1);
    bool spansDomain =
        lists == 0 || (rank > 0 && rows == 0) || (rank == 2 && columns == 0);
    if (spansDomain)
      count(k, 1);
    else
      unused.set(k);
  }
  return unused;
}

void SweepBuilder::dropUnusedInputs(Segment &segment) {
  Block &block = segment.region->front();
  llvm::SmallPtrSet<Value, 16> yielded;
  for (const Result &result : segment.results)
    if (!result.dropped)
      yielded.insert(result.value);
  llvm::BitVector unused =
      unusedInputs(segment.inputs, segment.indices, [&](unsigned k) {
        BlockArgument argument = block.getArgument(k);
        return !argument.use_empty() || yielded.contains(argument);
      });
  SmallVector<Value> inputs;
  SmallVector<int32_t> indices;
  for (unsigned k = 0; k < unused.size(); ++k)
    if (!unused[k]) {
      inputs.push_back(segment.inputs[k]);
      indices.push_back(segment.indices[k]);
    }
  segment.inputs = std::move(inputs);
  segment.indices = std::move(indices);
  block.eraseArguments(unused);
}

/// Moves the epilogue into `sweep`: it takes the list values first, in the
/// order of the results, then the scalars that are bound to it.
void SweepBuilder::fillEpilogue(SweepOp sweep, Location loc,
                                ArrayRef<BlockArgument> scalars) {
  SmallVector<Value> yielded;
  for (Result &result : epilogueResults)
    if (!result.dropped)
      yielded.push_back(result.value);
  Block &old = epilogue.front();
  OpBuilder inner = atEpilogue();
  YieldOp::create(inner, loc, yielded);
  Block *block = new Block;
  sweep.getEpilogue().push_back(block);
  for (auto [s, segment] : llvm::enumerate(segments))
    for (auto [r, result] : llvm::enumerate(segment.results)) {
      if (result.dropped || isList(result.type))
        continue;
      BlockArgument argument = listValues.lookup({s, r});
      BlockArgument taken = block->addArgument(
          argument ? argument.getType() : computeType(storageType(result.type)),
          argument ? argument.getLoc() : locFor(context, result.name));
      if (argument)
        argument.replaceAllUsesWith(taken);
    }
  for (BlockArgument scalar : scalars)
    scalar.replaceAllUsesWith(
        block->addArgument(scalar.getType(), scalar.getLoc()));
  block->getOperations().splice(block->end(), old.getOperations());
}

SweepOp SweepBuilder::build(OpBuilder &builder, Location loc) {
  bool hasEpilogue =
      llvm::any_of(epilogueResults, [](Result &r) { return !r.dropped; });
  llvm::SmallPtrSet<Value, 16> values;
  for (Result &result : epilogueResults)
    if (!result.dropped)
      values.insert(result.value);
  removeDead(epilogue.front(), values);
  // The caller may drop a list value that the epilogue still needs.
  auto isEpilogueUsed = [&](BlockArgument argument) {
    return !argument.use_empty() || values.contains(argument);
  };
  for (auto &[key, argument] : listValues)
    if (isEpilogueUsed(argument))
      segments[key.first].results[key.second].dropped = false;

  SmallVector<SegmentSpec> specs;
  SmallVector<StringRef> names;
  int position = 0;
  for (Segment &segment : segments) {
    SegmentSpec &spec = specs.emplace_back();
    llvm::SmallPtrSet<Value, 16> kept;
    for (Result &result : segment.results) {
      if (result.dropped)
        continue;
      result.position = position++;
      spec.resultTypes.push_back(result.type);
      names.push_back(result.name);
      kept.insert(result.value);
    }
    removeDead(segment.region->front(), kept);
    dropUnusedInputs(segment);
    spec.inputs = segment.inputs;
    spec.indices = segment.indices;
  }
  SmallVector<Type> epilogueTypes;
  for (Result &result : epilogueResults)
    if (!result.dropped) {
      result.position = position++;
      epilogueTypes.push_back(result.type);
      names.push_back(result.name);
    }
  SmallVector<Value> scalars;
  SmallVector<BlockArgument> scalarArguments;
  if (hasEpilogue)
    for (auto &[operand, argument] : epilogueInputs)
      if (isEpilogueUsed(argument)) {
        scalars.push_back(operand);
        scalarArguments.push_back(argument);
      }

  SweepOp sweep = createSweep(builder, loc, specs, scalars, epilogueTypes,
                              /*reversed=*/false, where);
  for (auto [s, segment] : llvm::enumerate(segments)) {
    sweep.getSegments()[s].takeBody(*segment.region);
    SmallVector<Value> kept;
    for (Result &result : segment.results)
      if (!result.dropped)
        kept.push_back(result.value);
    OpBuilder inner = OpBuilder::atBlockEnd(&sweep.getSegments()[s].front());
    YieldOp::create(inner, loc, kept);
  }
  if (hasEpilogue)
    fillEpilogue(sweep, loc, scalarArguments);
  setNames(sweep, names);
  built = sweep;
  return sweep;
}

Value SweepBuilder::result(ResultRef ref) const {
  const Result &result = ref.segment < 0
                             ? epilogueResults[ref.result]
                             : segments[ref.segment].results[ref.result];
  return result.dropped ? Value() : Value(built->getOpResult(result.position));
}

SweepOp dropUnused(SweepOp sweep) {
  SweepBuilder parts(sweep.getContext(), sweep.getWhere());
  auto refs = parts.append(sweep);
  for (auto [result, ref] : llvm::zip_equal(sweep.getResults(), refs))
    if (result.use_empty())
      parts.drop(ref);
  OpBuilder builder(sweep);
  SweepOp rebuilt = parts.build(builder, sweep.getLoc());
  for (auto [result, ref] : llvm::zip_equal(sweep.getResults(), refs))
    if (Value value = parts.result(ref))
      result.replaceAllUsesWith(value);
  sweep.erase();
  return rebuilt;
}

} // namespace heddle::fused
