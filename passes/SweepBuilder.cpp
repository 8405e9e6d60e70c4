//===- SweepBuilder.cpp - assembles sweeps from parts ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bodies grow in detached regions and move into the operation at the end, when
// its operands and results are known.
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
  finish.push_back(new Block);
}

unsigned SweepBuilder::addSegment() {
  Segment &segment = segments.emplace_back();
  segment.region = std::make_unique<Region>();
  segment.region->push_back(new Block);
  return segments.size() - 1;
}

/// A region that is not in an operation yet does not know its context.
static OpBuilder atEnd(MLIRContext *context, Block &block) {
  OpBuilder builder(context);
  builder.setInsertionPointToEnd(&block);
  return builder;
}

OpBuilder SweepBuilder::at(unsigned segment) {
  return atEnd(context, segments[segment].region->front());
}

OpBuilder SweepBuilder::atFinish() { return atEnd(context, finish.front()); }

static Location locFor(MLIRContext *context, StringRef name) {
  return name.empty() ? Location(UnknownLoc::get(context))
                      : namedLoc(context, name);
}

/// `argument` stands for an operand that is now also wanted as `bound`: both
/// uses read it in the type it is computed in, and convert from there.
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
  llvm::for_each(finishResults, update);
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

Value SweepBuilder::bindFinish(Value operand, Type bound, StringRef name) {
  Block &block = finish.front();
  auto found = finishInputs.find(operand);
  if (found == finishInputs.end()) {
    BlockArgument argument = block.addArgument(bound, locFor(context, name));
    finishInputs.insert({operand, argument});
    return argument;
  }
  BlockArgument argument =
      share(block, found->second, storageType(operand.getType()), bound);
  OpBuilder builder = atFinish();
  return convertThrough(builder, argument.getLoc(), argument,
                        argument.getType(), bound);
}

Value SweepBuilder::listValue(unsigned segment, unsigned result, Type bound,
                              StringRef name) {
  Block &block = finish.front();
  auto [found, isNew] = listValues.insert({{segment, result}, {}});
  if (isNew) {
    found->second = block.addArgument(bound, locFor(context, name));
    return found->second;
  }
  Type storage = storageType(segments[segment].results[result].type);
  BlockArgument argument = share(block, found->second, storage, bound);
  OpBuilder builder = atFinish();
  return convertThrough(builder, argument.getLoc(), argument,
                        argument.getType(), bound);
}

unsigned SweepBuilder::addFinishResult(Value value, Type type, StringRef name) {
  finishResults.push_back({value, type, name.str()});
  return finishResults.size() - 1;
}

SmallVector<SweepBuilder::Place> SweepBuilder::append(SweepOp sweep) {
  SmallVector<Place> places;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    unsigned number = addSegment();
    Block &body = sweep.getSegmentBlock(s);
    IRMapping mapping;
    // Twice: binding an operand again may change the type of its argument.
    for (int pass = 0; pass < 2; ++pass)
      for (auto [argument, operand, index] :
           llvm::zip_equal(body.getArguments(), sweep.getSegmentInputs(s),
                           sweep.getSegmentIndices(s)))
        mapping.map(argument, bind(number, operand, index, argument.getType(),
                                   nameOf(argument)));
    OpBuilder builder = at(number);
    cloneBody(builder, body, mapping);
    for (auto [value, result] : llvm::zip_equal(
             sweep.getSegmentYield(s).getValues(), sweep.getSegmentResults(s)))
      places.push_back({static_cast<int>(number),
                        addResult(number, mapping.lookup(value),
                                  result.getType(), nameOf(result))});
  }
  appendFinish(sweep, places);
  return places;
}

void SweepBuilder::appendFinish(SweepOp sweep, SmallVectorImpl<Place> &places,
                                llvm::function_ref<Value(Value, Type)> bound) {
  if (!sweep.hasFinish())
    return;
  IRMapping mapping;
  auto arguments = sweep.getFinish().getArguments();
  SmallVector<unsigned> lists = sweep.getListResults();
  for (int pass = 0; pass < 2; ++pass) {
    for (auto [k, position] : llvm::enumerate(lists))
      mapping.map(arguments[k],
                  listValue(places[position].segment, places[position].result,
                            arguments[k].getType(), nameOf(arguments[k])));
    for (auto [argument, operand] : llvm::zip_equal(
             arguments.drop_front(lists.size()), sweep.getFinishInputs())) {
      Value value = bound ? bound(operand, argument.getType()) : Value();
      mapping.map(argument, value ? value
                                  : bindFinish(operand, argument.getType(),
                                               nameOf(argument)));
    }
  }
  OpBuilder builder = atFinish();
  cloneBody(builder, sweep.getFinish().front(), mapping);
  for (auto [value, result] : llvm::zip_equal(
           sweep.getFinishYield().getValues(), sweep.getFinishResults()))
    places.push_back({-1, addFinishResult(mapping.lookup(value),
                                          result.getType(), nameOf(result))});
}

Value SweepBuilder::yielded(Place place) const {
  return place.segment < 0
             ? finishResults[place.result].value
             : segments[place.segment].results[place.result].value;
}

Type SweepBuilder::resultType(Place place) const {
  return place.segment < 0 ? finishResults[place.result].type
                           : segments[place.segment].results[place.result].type;
}

void SweepBuilder::drop(Place place) {
  if (place.segment < 0)
    finishResults[place.result].dropped = true;
  else
    segments[place.segment].results[place.result].dropped = true;
}

/// Removes operations that nothing uses, last first.
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
    // A domain that is named by this operand alone needs it.
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
  bool hasFinish =
      llvm::any_of(finishResults, [](Result &r) { return !r.dropped; });
  SmallVector<Value> values;
  for (Result &result : finishResults)
    if (!result.dropped)
      values.push_back(result.value);
  removeDead(finish.front(), values);
  // A list value that nobody needs was dropped by the caller; those that
  // `finish` uses are needed.
  auto isFinishUsed = [&](BlockArgument argument) {
    return !argument.use_empty() || llvm::is_contained(values, argument);
  };
  for (auto &[place, argument] : listValues)
    if (isFinishUsed(argument))
      segments[place.first].results[place.second].dropped = false;

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
  SmallVector<Type> finishTypes;
  for (Result &result : finishResults)
    if (!result.dropped) {
      result.position = position++;
      finishTypes.push_back(result.type);
      names.push_back(result.name);
    }
  SmallVector<Value> scalars;
  if (hasFinish)
    for (auto &[operand, argument] : finishInputs)
      if (isFinishUsed(argument))
        scalars.push_back(operand);

  SweepOp sweep = createSweep(builder, loc, specs, scalars, finishTypes,
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
  if (hasFinish) {
    // The arguments in the order of the list values, then of the scalars.
    Block *block = new Block;
    sweep.getFinish().push_back(block);
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
    for (auto &[operand, argument] : finishInputs)
      if (isFinishUsed(argument))
        replaced.push_back({argument, block->addArgument(argument.getType(),
                                                         argument.getLoc())});
    block->getOperations().splice(block->end(), finish.front().getOperations());
    for (auto [from, to] : replaced)
      from.replaceAllUsesWith(to);
    for (Value &value : values)
      for (auto [from, to] : replaced)
        if (value == from)
          value = to;
    OpBuilder inner = OpBuilder::atBlockEnd(block);
    YieldOp::create(inner, loc, values);
  }
  // One name a result, in one location; without any name the location stays.
  if (llvm::any_of(names,
                   [](const std::string &name) { return !name.empty(); }))
    for (auto [result, name] : llvm::zip_equal(sweep.getResults(), names))
      if (!name.empty())
        setName(result, name);
  built = sweep;
  return sweep;
}

Value SweepBuilder::result(Place place) const {
  const Result &result = place.segment < 0
                             ? finishResults[place.result]
                             : segments[place.segment].results[place.result];
  return result.dropped ? Value() : Value(built->getOpResult(result.position));
}

SweepOp dropUnused(SweepOp sweep) {
  SweepBuilder parts(sweep.getContext(), sweep.getWhere());
  auto places = parts.append(sweep);
  for (auto [result, place] : llvm::zip_equal(sweep.getResults(), places))
    if (result.use_empty())
      parts.drop(place);
  OpBuilder builder(sweep);
  SweepOp rebuilt = parts.build(builder, sweep.getLoc());
  for (auto [result, place] : llvm::zip_equal(sweep.getResults(), places))
    if (Value value = parts.result(place))
      result.replaceAllUsesWith(value);
  sweep.erase();
  return rebuilt;
}

} // namespace heddle::fused
