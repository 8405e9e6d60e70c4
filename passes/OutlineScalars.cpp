//===- OutlineScalars.cpp - maps over device scalars move into sweeps -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map that depends on a sweep moves to its epilogue. A map that depends on
// arguments only is cloned into the bodies that use it, unless there are many
// such operations in several bodies.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/IR/Iterators.h"
#include "passes/Outliner.h"
#include "passes/Scalars.h"
#include "passes/SweepBuilder.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::computeType;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

/// Clones the operations of a body that `value` needs, in order, except those
/// that `clones` has.
static Value cloneSlice(OpBuilder &builder, Block &body, Value value,
                        IRMapping &mapping,
                        llvm::DenseMap<Operation *, Operation *> &clones) {
  SmallVector<Value> open = {value};
  SmallVector<Operation *> slice;
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!open.empty()) {
    Operation *op = open.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (Operation *clone = clones.lookup(op)) {
      mapping.map(op->getResults(), clone->getResults());
      continue;
    }
    slice.push_back(op);
    llvm::append_range(open, op->getOperands());
  }
  llvm::sort(slice,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : slice)
    clones[op] = builder.clone(*op, mapping);
  return mapping.lookup(value);
}

/// Binds all operands that the scalar math of `result` reads, as `cloneUniform`
/// does. Binding an operand again may change the type of its argument, so the
/// arguments have their types before they are used.
static void
bindOperands(Value result,
             llvm::function_ref<Value(Value, Type, StringRef)> bind,
             const llvm::DenseMap<Operation *, Operation *> &clones) {
  SmallVector<Value> open = {result};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    auto map = cast<foreach::MapOp>(value.getDefiningOp());
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (clones.contains(map.getYield().getValues()[number].getDefiningOp()) ||
        !seen.insert(map).second)
      continue;
    for (auto [argument, operand] :
         llvm::zip_equal(map.getBody().front().getArguments(), map.getInputs()))
      if (operand.getDefiningOp<foreach::MapOp>())
        open.push_back(operand);
      else
        bind(operand, argument.getType(), nameOf(argument));
  }
}

/// Clones the scalar math of `result`, which maps over device scalars compute,
/// unless `clones` has it already. `bind` returns the values of operands that
/// no such map computes.
Value Outliner::cloneUniform(OpBuilder &builder, Value result, Bind bind,
                             Clones &clones) {
  struct Open {
    OpResult result;
    unsigned next = 0; // the operand that is bound next
    IRMapping mapping;
  };
  bindOperands(result, bind, clones);
  SmallVector<Open, 1> open;
  llvm::DenseMap<Value, Value> done;
  open.push_back({cast<OpResult>(result), 0, {}});
  while (!open.empty()) {
    auto &[value, next, mapping] = open.back();
    auto map = cast<foreach::MapOp>(value.getOwner());
    Block &body = map.getBody().front();
    Value yielded = map.getYield().getValues()[value.getResultNumber()];
    if (Operation *clone = clones.lookup(yielded.getDefiningOp())) {
      auto number = cast<OpResult>(yielded).getResultNumber();
      done[value] = clone->getResult(number);
      open.pop_back();
      continue;
    }
    if (next == body.getNumArguments()) {
      done[value] = cloneSlice(builder, body, yielded, mapping, clones);
      open.pop_back();
      continue;
    }
    Value operand = map.getInputs()[next];
    BlockArgument argument = body.getArgument(next);
    Value bound;
    if (!operand.getDefiningOp<foreach::MapOp>()) {
      bound = bind(operand, argument.getType(), nameOf(argument));
    } else if (Value known = done.lookup(operand)) {
      bound =
          convertThrough(builder, map.getLoc(), known,
                         storageType(operand.getType()), argument.getType());
    } else {
      open.push_back({cast<OpResult>(operand), 0, {}});
      continue;
    }
    mapping.map(argument, bound);
    ++next;
  }
  return done.lookup(result);
}

/// The last operation of `block` on which `map` depends, or null.
Operation *Outliner::latestSource(foreach::MapOp map, Block &block) {
  Operation *latest = nullptr;
  for (Value operand : map.getInputs()) {
    Operation *source = operand.getDefiningOp();
    if (isa_and_nonnull<foreach::MapOp>(source))
      source = latestSources.lookup(source);
    if (source && source->getBlock() == &block &&
        (!latest || latest->isBeforeInBlock(source)))
      latest = source;
  }
  return latest;
}

/// Appends `maps` to the epilogue of `sweep`.
void Outliner::appendToEpilogue(SweepOp sweep, ArrayRef<foreach::MapOp> maps) {
  SweepBuilder parts(context, sweep.getWhere());
  llvm::MapVector<Value, SweepBuilder::ResultRef> refs;
  for (auto [result, ref] :
       llvm::zip_equal(sweep.getResults(), parts.append(sweep)))
    refs.insert({result, ref});
  auto bind = [&](Value operand, Type bound, StringRef name) -> Value {
    auto found = refs.find(operand);
    if (found == refs.end())
      return parts.bindEpilogue(operand, bound, name);
    auto ref = found->second;
    if (ref.segment >= 0)
      return parts.listValue(ref.segment, ref.result, bound, name);
    OpBuilder builder = parts.atEpilogue();
    return convertThrough(builder, operand.getLoc(), parts.yielded(ref),
                          storageType(operand.getType()), bound);
  };
  auto isElsewhere = [&](Value operand) {
    return operand.getDefiningOp<foreach::MapOp>() && !refs.contains(operand);
  };
  Clones clones;
  for (foreach::MapOp map : maps) {
    Block &body = map.getBody().front();
    IRMapping mapping;
    // Twice: binding an operand again may change the type of its argument.
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (auto [argument, operand] :
           llvm::zip_equal(body.getArguments(), map.getInputs())) {
        Value value;
        OpBuilder builder = parts.atEpilogue();
        if (isElsewhere(operand))
          value = convertThrough(builder, map.getLoc(),
                                 cloneUniform(builder, operand, bind, clones),
                                 storageType(operand.getType()),
                                 argument.getType());
        else
          value = bind(operand, argument.getType(), nameOf(argument));
        mapping.map(argument, value);
      }
    }
    OpBuilder builder = parts.atEpilogue();
    cloneBody(builder, body, mapping);
    for (auto [result, value] :
         llvm::zip_equal(map.getResults(), map.getYield().getValues()))
      refs.insert(
          {result,
           {-1, parts.addEpilogueResult(mapping.lookup(value), result.getType(),
                                        nameOf(result))}});
    ++numEpilogueMaps;
  }
  OpBuilder outer(sweep);
  parts.build(outer, sweep.getLoc());
  for (auto [result, ref] : refs)
    result.replaceAllUsesWith(parts.result(ref));
  sweep.erase();
  for (foreach::MapOp map : maps) {
    latestSources.erase(map);
    map.erase();
  }
}

/// The most operations of scalar math that several bodies repeat.
static constexpr size_t kMostRepeated = 64;

/// Whether several bodies would repeat more than kMostRepeated operations for
/// the results of `map`, which depends on no sweep. Must be called for earlier
/// maps first.
bool Outliner::isRepeatedOften(foreach::MapOp map) {
  llvm::SmallPtrSet<Operation *, 8> slice;
  size_t operations = 0;
  auto add = [&](Operation *needed) {
    if (operations <= kMostRepeated && slice.insert(needed).second)
      operations += cast<foreach::MapOp>(needed)
                        .getBody()
                        .front()
                        .getOperations()
                        .size() -
                    1;
  };
  add(map);
  for (Value operand : map.getInputs())
    if (auto source = operand.getDefiningOp<foreach::MapOp>())
      if (auto found = slices.find(source); found != slices.end())
        llvm::for_each(found->second, add);
  if (operations > kMostRepeated && bodies.lookup(map).size() > 1)
    return true;
  slices[map] = llvm::to_vector(slice);
  return false;
}

/// For each map over device scalars, finds two sweeps whose bodies need it, if
/// there are two.
void Outliner::findBodies() {
  program.walk<WalkOrder::PostOrder, ReverseIterator>([&](foreach::MapOp map) {
    SmallVector<Operation *, 2> &found = bodies[map];
    auto add = [&](Operation *sweep) {
      if (found.size() < 2 && !llvm::is_contained(found, sweep))
        found.push_back(sweep);
    };
    for (Operation *user : map->getUsers()) {
      if (isa<SweepOp>(user))
        add(user);
      else if (auto more = bodies.find(user); more != bodies.end())
        llvm::for_each(SmallVector<Operation *, 2>(more->second), add);
      if (found.size() == 2)
        break;
    }
  });
}

/// Whether another loop needs the iteration count of the loop around `map`
/// through its results. A clone of `map` in the other loop would count the
/// iterations of that one.
static bool countsForOtherLoop(foreach::MapOp map) {
  if (map.getBody().front().getOps<foreach::IterationOp>().empty())
    return false;
  llvm::SetVector<Operation *> needing;
  needing.insert(map);
  for (size_t next = 0; next < needing.size(); ++next)
    for (Operation *user : needing[next]->getUsers()) {
      if (user->getBlock() != map->getBlock())
        return true;
      if (isa<foreach::MapOp>(user))
        needing.insert(user);
    }
  return false;
}

/// Moves maps that depend on a sweep of the same block to the sweep's epilogue.
/// Maps that several bodies would repeat too often, or that must not be cloned
/// into another loop, get a sweep of their own.
LogicalResult Outliner::moveToEpilogues(Block &block) {
  llvm::DenseMap<Operation *, SmallVector<foreach::MapOp, 1>> maps;
  auto append = [&] {
    if (maps.empty())
      return;
    // An epilogue may read results of an earlier one.
    for (SweepOp sweep : llvm::to_vector(block.getOps<SweepOp>()))
      if (auto found = maps.find(sweep); found != maps.end())
        appendToEpilogue(sweep, found->second);
    maps.clear();
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<LoopOp>(op)) {
      // The bodies of the loop read the results instead of clones of the maps.
      append();
      if (failed(moveToEpilogues(loop.getBody().front())))
        return failure();
    } else if (auto map = dyn_cast<foreach::MapOp>(op)) {
      if (map.use_empty()) {
        map.erase();
        continue;
      }
      Operation *latest = latestSource(map, block);
      if (!isa_and_nonnull<SweepOp>(latest) &&
          (countsForOtherLoop(map) || (!latest && isRepeatedOften(map)))) {
        auto sweep = emptySweep(map);
        if (failed(sweep))
          return failure();
        latest = *sweep;
      }
      latestSources[map] = latest;
      if (isa_and_nonnull<SweepOp>(latest))
        maps[latest].push_back(map);
    }
  }
  append();
  return success();
}

/// Creates a sweep without results before `before`, over the argument of lowest
/// rank. The epilogue of the sweep can compute device scalars.
FailureOr<SweepOp> Outliner::emptySweep(Operation *before) {
  Value source;
  for (BlockArgument argument : program.getBody().getArguments())
    if (isList(argument.getType()) &&
        (!source || rankOf(argument.getType()) < rankOf(source.getType())))
      source = argument;
  if (!source)
    return before->emitError()
           << "expected at least one list among the arguments of program '"
           << program.getName()
           << "', because a launch over a list computes its numbers; found "
              "none";
  OpBuilder builder(before);
  SweepBuilder parts(context, activeAround(before->getBlock()));
  unsigned segment = parts.addSegment();
  parts.bind(segment, source, defaultIndex(source.getType()),
             computeType(storageType(source.getType())), nameOf(source));
  ++numSweeps;
  return parts.build(builder, before->getLoc());
}

/// Computes device scalars that depend on others in epilogues, if a loop or the
/// end of `block` needs them in buffers.
LogicalResult Outliner::materialize(Block &block) {
  llvm::MapVector<Operation *, SmallVector<foreach::MapOp, 1>> copies;
  Operation *sweep = nullptr; // the last one
  for (Operation &op : block) {
    if (isa<SweepOp>(op))
      sweep = &op;
    if (!isa<LoopOp, fused::YieldOp>(op))
      continue;
    llvm::SmallDenseMap<Value, Value> done;
    for (OpOperand &operand : op.getOpOperands()) {
      Value value = operand.get();
      auto map = value.getDefiningOp<foreach::MapOp>();
      if (!map)
        continue;
      Value &copy = done[value];
      if (!copy) {
        Operation *after = latestSources.lookup(map);
        if (after && after->getBlock() != &block)
          after = nullptr;
        if (!sweep || (after && sweep->isBeforeInBlock(after))) {
          auto created = emptySweep(&op);
          if (failed(created))
            return failure();
          sweep = *created;
        }
        // The original map stays for bodies that compute the value themselves.
        auto clone = cast<foreach::MapOp>(map->clone());
        copies[sweep].push_back(clone);
        copy = clone.getResult(cast<OpResult>(value).getResultNumber());
      }
      operand.set(copy);
    }
  }
  for (auto &[target, maps] : copies)
    appendToEpilogue(cast<SweepOp>(target), maps);
  return success();
}

/// Clones maps over device scalars into the bodies that use them.
SweepOp Outliner::inlineUniform(SweepOp sweep) {
  auto isUniform = [](Value value) {
    return value.getDefiningOp<foreach::MapOp>() != nullptr;
  };
  if (llvm::none_of(sweep->getOperands(), isUniform))
    return sweep;
  SweepBuilder parts(context, sweep.getWhere());
  SmallVector<SweepBuilder::ResultRef> refs;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    parts.addSegment();
    Block &body = sweep.getSegmentBlock(s);
    auto bind = [&](Value operand, Type bound, StringRef name) {
      return parts.bind(s, operand, kScalar, bound, name);
    };
    IRMapping mapping;
    // Twice: binding an operand again may change the type of its argument. The
    // operations of the first repetition are dead.
    for (int repeat = 0; repeat < 2; ++repeat) {
      Clones clones;
      for (auto [argument, operand, index] :
           llvm::zip_equal(body.getArguments(), sweep.getSegmentInputs(s),
                           sweep.getSegmentIndices(s))) {
        OpBuilder builder = parts.at(s);
        Value value =
            isUniform(operand)
                ? convertThrough(builder, operand.getLoc(),
                                 cloneUniform(builder, operand, bind, clones),
                                 storageType(operand.getType()),
                                 argument.getType())
                : parts.bind(s, operand, index, argument.getType(),
                             nameOf(argument));
        mapping.map(argument, value);
      }
    }
    OpBuilder builder = parts.at(s);
    cloneBody(builder, body, mapping);
    for (auto [value, result] : llvm::zip_equal(
             sweep.getSegmentYield(s).getValues(), sweep.getSegmentResults(s)))
      refs.push_back({static_cast<int>(s),
                      parts.addResult(s, mapping.lookup(value),
                                      result.getType(), nameOf(result))});
  }
  parts.appendEpilogue(sweep, refs, [&](Value operand, Type bound) -> Value {
    if (!isUniform(operand))
      return {};
    OpBuilder builder = parts.atEpilogue();
    auto bind = [&](Value input, Type type, StringRef name) {
      return parts.bindEpilogue(input, type, name);
    };
    Clones clones;
    return convertThrough(builder, operand.getLoc(),
                          cloneUniform(builder, operand, bind, clones),
                          storageType(operand.getType()), bound);
  });
  OpBuilder outer(sweep);
  SweepOp inlined = parts.build(outer, sweep.getLoc());
  for (auto [result, ref] : llvm::zip_equal(sweep.getResults(), refs))
    result.replaceAllUsesWith(parts.result(ref));
  sweep.erase();
  return inlined;
}

LogicalResult Outliner::bindUniform(Block &block) {
  // Values that need a buffer come first, because they may add sweeps.
  for (auto loop : block.getOps<LoopOp>())
    if (failed(bindUniform(loop.getBody().front())))
      return failure();
  if (failed(materialize(block)))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto sweep = dyn_cast<SweepOp>(op))
      inlineUniform(sweep);
  return success();
}
