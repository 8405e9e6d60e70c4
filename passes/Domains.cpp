//===- Domains.cpp - which lists have the same members and extents --------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes of equal extents, merged in one traversal of the program at every
// binding.
//
//===----------------------------------------------------------------------===//

#include "passes/Domains.h"
#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::rankOf;

namespace heddle::fused {

Domains::Domains(ProgramOp program) {
  Block &body = program.getBody().front();
  for (BlockArgument argument : body.getArguments())
    if (isList(argument.getType()))
      raw(argument);
  visit(body);
  // A donated argument agrees with the result that replaces it.
  auto yield = cast<YieldOp>(body.getTerminator());
  for (auto [argument, value] :
       llvm::zip_equal(foreach::replacedArguments(program), yield.getValues()))
    if (argument >= 0)
      equate(body.getArgument(argument), value);
  findArguments(program);
}

/// The classes do not change any more.
void Domains::findArguments(ProgramOp program) {
  for (BlockArgument argument : program.getBody().getArguments()) {
    if (!isList(argument.getType()))
      continue;
    unsigned number = argument.getArgNumber();
    Shape shape = shapeOf(argument);
    for (auto [d, extent] : llvm::enumerate(shape.extents))
      byExtent.try_emplace(extent, number, static_cast<unsigned>(d));
    byMembers.try_emplace(shape.members, number);
    byShape.try_emplace(shape, number);
  }
}

int Domains::fresh() {
  parents.push_back(parents.size());
  return parents.size() - 1;
}

int Domains::find(int id) const {
  while (parents[id] != id)
    id = parents[id] = parents[parents[id]];
  return id;
}

void Domains::equate(int a, int b) {
  a = find(a), b = find(b);
  // The older class represents both, so the earliest argument does.
  if (a != b)
    parents[std::max(a, b)] = std::min(a, b);
}

Domains::Raw &Domains::raw(Value list) {
  auto [found, isNew] = shapes.try_emplace(list);
  if (isNew) {
    found->second.members = fresh();
    for (int64_t d = 0; d < rankOf(list.getType()); ++d)
      found->second.extents.push_back(fresh());
  }
  return found->second;
}

void Domains::equate(Value a, Value b) {
  if (!isList(a.getType()) || a.getType() != b.getType())
    return;
  Raw first = raw(a), second = raw(b);
  equate(first.members, second.members);
  for (auto [x, y] : llvm::zip(first.extents, second.extents))
    equate(x, y);
}

void Domains::visit(Block &block) {
  for (Operation &op : block) {
    if (auto sweep = dyn_cast<SweepOp>(op))
      visitSweep(sweep);
    else if (auto loop = dyn_cast<LoopOp>(op))
      visitLoop(loop);
  }
}

/// The class of a list's extent in dimension `bit` of the domain, or -1.
static int extentAt(ArrayRef<int> extents, int32_t index, int32_t bit) {
  if (!(index & bit))
    return -1;
  return bit == kJ && (index & kI) ? extents[1] : extents[0];
}

void Domains::visitSweep(SweepOp sweep) {
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    int members = fresh(), i = fresh(), j = fresh();
    for (auto [operand, index] : llvm::zip_equal(sweep.getSegmentInputs(s),
                                                 sweep.getSegmentIndices(s))) {
      if (!isList(operand.getType()))
        continue;
      Raw shape = raw(operand);
      equate(shape.members, members);
      if (int row = extentAt(shape.extents, index, kI); row >= 0)
        equate(row, i);
      if (int column = extentAt(shape.extents, index, kJ); column >= 0)
        equate(column, j);
    }
    if (Value where = sweep.getWhere(); where && isList(where.getType()))
      equate(raw(where).members, members);
    int64_t rank = sweep.getDomainRank(s);
    std::optional<Levels> levels;
    if (rank == 2)
      if (auto inferred = Levels::infer(sweep, s); succeeded(inferred))
        levels = *inferred;
    for (auto [result, value] :
         llvm::zip_equal(sweep.getSegmentResults(s),
                         sweep.getSegmentYield(s).getValues())) {
      if (!isList(result.getType()))
        continue;
      Raw shape = raw(result);
      equate(shape.members, members);
      if (auto record = value.getDefiningOp<RecordOp>()) {
        auto into = cast<BlockArgument>(record.getInto());
        equate(result, sweep.getSegmentInputs(s)[into.getArgNumber()]);
      } else if (shape.extents.size() == 2) {
        equate(shape.extents[0], i);
        equate(shape.extents[1], j);
      } else if (shape.extents.size() == 1) {
        bool isColumn = levels && levels->of(value).level == Level::column;
        equate(shape.extents[0], isColumn ? j : i);
      }
    }
  }
}

void Domains::visitLoop(LoopOp loop) {
  YieldOp yield = loop.getYield();
  for (auto [init, carried] : llvm::zip(loop.getInits(), loop.getCarried()))
    equate(init, carried);
  if (Value active = loop.getActive()) {
    raw(active);
    equate(active, yield.getMore());
  }
  visit(loop.getBody().front());
  for (auto [k, value] : llvm::enumerate(yield.getValues())) {
    equate(value, loop.getResult(k));
    if (k < loop.getInits().size())
      equate(value, loop.getCarried()[k]);
  }
  if (Value active = loop.getActive()) {
    // Each member of the carried lists has a flag.
    int members = raw(active).members;
    equate(raw(loop.getIterations()).members, members);
    for (Value carried : loop.getCarried())
      if (isList(carried.getType()))
        equate(raw(carried).members, members);
  }
}

Shape Domains::shapeOf(Value list) const {
  Shape shape;
  auto found = shapes.find(list);
  if (found == shapes.end())
    return shape;
  shape.members = find(found->second.members);
  for (int extent : found->second.extents)
    shape.extents.push_back(find(extent));
  return shape;
}

Shape Domains::domainOf(SweepOp sweep, unsigned segment) const {
  Shape domain;
  int64_t rank = sweep.getDomainRank(segment);
  domain.extents.assign(rank, -1);
  for (auto [operand, index] : llvm::zip_equal(
           sweep.getSegmentInputs(segment), sweep.getSegmentIndices(segment))) {
    if (!isList(operand.getType()))
      continue;
    Shape shape = shapeOf(operand);
    domain.members = shape.members;
    if (int row = extentAt(shape.extents, index, kI); row >= 0)
      domain.extents[0] = row;
    if (int column = extentAt(shape.extents, index, kJ); column >= 0)
      domain.extents[1] = column;
  }
  return domain;
}

/// The entry of `key`, if there is one.
template <typename Map>
static std::optional<typename Map::mapped_type>
entryOf(const Map &map, const typename Map::key_type &key) {
  auto found = map.find(key);
  if (found == map.end())
    return std::nullopt;
  return found->second;
}

std::optional<std::pair<unsigned, unsigned>>
Domains::sourceOf(int extent) const {
  return entryOf(byExtent, extent);
}

std::optional<unsigned> Domains::membersSource(int members) const {
  return entryOf(byMembers, members);
}

std::optional<unsigned> Domains::argumentOf(const Shape &shape) const {
  return entryOf(byShape, shape);
}

} // namespace heddle::fused
