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
  auto update = [&](Result &result) {
    if (result.value == argument)
      result.value = converted;
  };
  for (Segment &segment : segments)
    llvm::for_each(segment.results, update);
  llvm::for_each(epilogueResults, update);
  return argument;
}

Value SweepBuilder::bind(unsigned number, Value operand, int32_t index,
                         Type bound, StringRef name) {
  Segment &segment = segments[number];
  Block &block = segment.region->front();
  for (auto [k, input] : llvm::enumerate(segment.inputs)) {
    if (input != operand || segment.indices[k] != index)
      continue;
    Type storage = storageType(operand.getType());
    BlockArgument argument = share(block, block.getArgument(k), storage, bound);
    OpBuilder builder = at(number);
    return convertThrough(builder, argument.getLoc(), argument,
                          argument.getType(), bound);
  }
  segment.inputs.push_back(operand);
  segment.indices.push_back(index);
  return block.addArgument(bound, locFor(context, name));
}

unsigned SweepBuilder::addResult(unsigned segment, Value value, Type type,
                                 StringRef name) {
  auto &results = segments[segment].results;
  results.push_back({value, type, name.str()});
  return results.size() - 1;
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
  epilogueResults.push_back({value, type, name.str()});
  return epilogueResults.size() - 1;
}

SmallVector<SweepBuilder::ResultRef> SweepBuilder::append(SweepOp sweep) {
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
  appendEpilogue(sweep, refs);
  return refs;
}

void SweepBuilder::appendEpilogue(
    SweepOp sweep, SmallVectorImpl<ResultRef> &refs,
    llvm::function_ref<Value(Value, Type)> bound) {
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

Type SweepBuilder::resultType(ResultRef ref) const {
  return ref.segment < 0 ? epilogueResults[ref.result].type
                         : segments[ref.segment].results[ref.result].type;
}

void SweepBuilder::drop(ResultRef ref) {
  if (ref.segment < 0)
    epilogueResults[ref.result].dropped = true;
  else
    segments[ref.segment].results[ref.result].dropped = true;
}

/// Removes unused operations, in reverse order.
static void removeDead(Block &block, ArrayRef<Value> yielded) {
  llvm::SmallPtrSet<Operation *, 16> kept;
  for (Value value : yielded)
    if (Operation *op = value.getDefiningOp())
      kept.insert(op);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && !kept.contains(&op))
      op.erase();
}

void SweepBuilder::dropUnusedInputs(Segment &segment) {
  Block &block = segment.region->front();
  auto isNeeded = [&](unsigned k) {
    Value argument = block.getArgument(k);
    return !argument.use_empty() ||
           llvm::any_of(segment.results, [&](const Result &result) {
             return !result.dropped && result.value == argument;
           });
  };
  int64_t rank = domainRank(segment.indices);
  for (unsigned k = segment.inputs.size(); k-- > 0;) {
    if (isNeeded(k))
      continue;
    SmallVector<int32_t> rest;
    bool anyList = false;
    for (auto [other, input] : llvm::enumerate(segment.inputs))
      if (other != k) {
        rest.push_back(segment.indices[other]);
        anyList |= isList(input.getType());
      }
    // The operand stays if it alone spans the domain.
    if (!anyList || domainRank(rest) != rank)
      continue;
    if (rank == 2) {
      int32_t named = 0;
      for (int32_t index : rest)
        named |= index;
      if (named != kIJ)
        continue;
    }
    segment.inputs.erase(segment.inputs.begin() + k);
    segment.indices.erase(segment.indices.begin() + k);
    block.eraseArgument(k);
  }
}

SweepOp SweepBuilder::build(OpBuilder &builder, Location loc) {
  bool hasEpilogue =
      llvm::any_of(epilogueResults, [](Result &r) { return !r.dropped; });
  SmallVector<Value> values;
  for (Result &result : epilogueResults)
    if (!result.dropped)
      values.push_back(result.value);
  removeDead(epilogue.front(), values);
  // The caller may drop a list value that the epilogue still needs.
  auto isEpilogueUsed = [&](BlockArgument argument) {
    return !argument.use_empty() || llvm::is_contained(values, argument);
  };
  for (auto &[key, argument] : listValues)
    if (isEpilogueUsed(argument))
      segments[key.first].results[key.second].dropped = false;

  SmallVector<SegmentSpec> specs;
  SmallVector<std::string> names;
  int position = 0;
  for (Segment &segment : segments) {
    SegmentSpec &spec = specs.emplace_back();
    SmallVector<Value> kept;
    for (Result &result : segment.results) {
      if (result.dropped)
        continue;
      result.position = position++;
      spec.resultTypes.push_back(result.type);
      names.push_back(result.name);
      kept.push_back(result.value);
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
  if (hasEpilogue)
    for (auto &[operand, argument] : epilogueInputs)
      if (isEpilogueUsed(argument))
        scalars.push_back(operand);

  SweepOp sweep = createSweep(builder, loc, specs, scalars, epilogueTypes,
                              /*reversed=*/false, where);
  for (auto [s, segment] : llvm::enumerate(segments)) {
    sweep.getSegments()[s].takeBody(*segment.region);
    SmallVector<Value> kept;
    for (Result &result : segment.results)
      if (!result.dropped)
        kept.push_back(result.value);
    OpBuilder inner = OpBuilder::atBlockEnd(&sweep.getSegmentBlock(s));
    YieldOp::create(inner, loc, kept);
  }
  if (hasEpilogue) {
    // The arguments for list values come first, then those for scalars.
    Block *block = new Block;
    sweep.getEpilogue().push_back(block);
    SmallVector<std::pair<BlockArgument, BlockArgument>> replaced;
    for (auto [s, segment] : llvm::enumerate(segments))
      for (auto [r, result] : llvm::enumerate(segment.results)) {
        if (result.dropped || isList(result.type))
          continue;
        auto found = listValues.find({s, r});
        BlockArgument argument = block->addArgument(
            found == listValues.end() ? computeType(storageType(result.type))
                                      : found->second.getType(),
            locFor(context, result.name));
        if (found != listValues.end()) {
          argument.setLoc(found->second.getLoc());
          replaced.push_back({found->second, argument});
        }
      }
    for (auto &[operand, argument] : epilogueInputs)
      if (isEpilogueUsed(argument))
        replaced.push_back({argument, block->addArgument(argument.getType(),
                                                         argument.getLoc())});
    block->getOperations().splice(block->end(),
                                  epilogue.front().getOperations());
    for (auto [from, to] : replaced)
      from.replaceAllUsesWith(to);
    for (Value &value : values)
      for (auto [from, to] : replaced)
        if (value == from)
          value = to;
    OpBuilder inner = OpBuilder::atBlockEnd(block);
    YieldOp::create(inner, loc, values);
  }
  // The location has one name per result; it stays if no result has a name.
  if (llvm::any_of(names,
                   [](const std::string &name) { return !name.empty(); }))
    for (auto [result, name] : llvm::zip_equal(sweep.getResults(), names))
      if (!name.empty())
        setName(result, name);
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
