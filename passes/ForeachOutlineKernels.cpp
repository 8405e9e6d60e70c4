//===- ForeachOutlineKernels.cpp - programs become kernels ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In steps: every operation becomes a sweep or a loop of its own, loops come to
// carry all that they return, values that buffers must hold get an operation
// that writes them, and at last maps over device scalars find the bodies that
// compute them.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Domains.h"
#include "passes/Passes.h"
#include "passes/Scalars.h"
#include "passes/SweepBuilder.h"
#include "passes/Traffic.h"

namespace heddle {
#define GEN_PASS_DEF_FOREACHOUTLINEKERNELS
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::Axis;
using heddle::foreach::computeType;
using heddle::foreach::isList;
using heddle::foreach::kDonateAttr;
using heddle::foreach::ListType;
using heddle::foreach::rankOf;
using heddle::foreach::scalarOf;
using heddle::foreach::storageType;

namespace {
class Outliner {
public:
  Outliner(func::FuncOp function, Pass::Statistic &sweeps,
           Pass::Statistic &finished)
      : function(function), context(function.getContext()), numSweeps(sweeps),
        numFinished(finished) {}
  LogicalResult run();

private:
  // Every operation a sweep or a loop.
  LogicalResult lowerBlock(Block &from, Block &to);
  LogicalResult lowerWhile(foreach::WhileOp op, OpBuilder &builder);
  void lowerMap(foreach::MapOp op, OpBuilder &builder);
  LogicalResult lowerReduce(foreach::ReduceOp op, OpBuilder &builder);
  void lowerRecord(foreach::RecordOp op, OpBuilder &builder);
  void mapResults(Operation *from, ValueRange to);

  // What loops carry.
  LogicalResult carryAll(Block &block);
  FailureOr<LoopOp> carryAll(LoopOp loop);
  FailureOr<Value> initial(OpBuilder &builder, LoopOp loop, const Shape &shape,
                           Type type, TypedAttr number, StringRef name);

  // What buffers must hold.
  void ownYields(Block &block);
  Value copyOf(Value value, OpBuilder &builder);

  // Maps over device scalars.
  LogicalResult placeUniform(Block &block);
  Operation *latestSource(foreach::MapOp map, Block &block);
  void finishWith(SweepOp sweep, foreach::MapOp map);
  LogicalResult bindUniform(Block &block);
  SweepOp inlineUniform(SweepOp sweep);
  FailureOr<Value> materialize(Value value, Operation *before);
  FailureOr<SweepOp> emptySweep(Operation *before);
  using Bind =
      llvm::function_ref<Value(Value operand, Type bound, StringRef name)>;
  Value cloneUniform(OpBuilder &builder, Value result, Bind bind);

  Value activeAround(Block *block);

  func::FuncOp function;
  MLIRContext *context;
  Pass::Statistic &numSweeps, &numFinished;
  KernelOp kernel;
  IRMapping values;
};
} // namespace

/// The flags that the sweeps of `block` run under: those of the loop that it
/// is the body of, if every member has its own.
Value Outliner::activeAround(Block *block) {
  auto loop = dyn_cast<LoopOp>(block->getParentOp());
  return loop ? loop.getActive() : Value();
}

//===----------------------------------------------------------------------===//
// Every operation a sweep or a loop
//===----------------------------------------------------------------------===//

void Outliner::mapResults(Operation *from, ValueRange to) {
  copyNames(from->getResults(), to);
  values.map(from->getResults(), to);
}

void Outliner::lowerMap(foreach::MapOp op, OpBuilder &builder) {
  SweepBuilder parts(context, activeAround(builder.getBlock()));
  unsigned segment = parts.addSegment();
  Block &body = op.getBody().front();
  IRMapping mapping;
  for (int pass = 0; pass < 2; ++pass)
    for (auto [argument, operand, index] :
         llvm::zip_equal(body.getArguments(), op.getInputs(), op.getIndices()))
      mapping.map(argument, parts.bind(segment, values.lookup(operand), index,
                                       argument.getType(), nameOf(argument)));
  OpBuilder inner = parts.at(segment);
  cloneBody(inner, body, mapping);
  for (auto [result, value] :
       llvm::zip_equal(op.getResults(), op.getYield().getValues()))
    parts.addResult(segment, mapping.lookup(value), result.getType(),
                    nameOf(result));
  mapResults(op, parts.build(builder, op.getLoc()).getResults());
  ++numSweeps;
}

/// What a reduction of a domain of rank `rank` along `axis` leaves.
static Level levelLeft(Axis axis, int64_t rank) {
  switch (axis) {
  case Axis::j:
    return Level::row;
  case Axis::i:
    return rank == 2 ? Level::column : Level::member;
  case Axis::member:
    return Level::member;
  case Axis::list:
    return Level::list;
  }
  llvm_unreachable("an axis");
}

LogicalResult Outliner::lowerReduce(foreach::ReduceOp op, OpBuilder &builder) {
  Value active = activeAround(builder.getBlock());
  if (active && op.getAxis() == Axis::list)
    return op.emitOpError("reduces the whole list in a loop with a flag for "
                          "every member, whose members stop one by one");
  int64_t rank = op.getDomainRank();
  Level level = levelLeft(op.getAxis(), rank);
  Level domain = rank == 0 ? Level::member : Level::element;
  SweepBuilder parts(context, active);
  unsigned segment = parts.addSegment();
  Block &body = op.getBody().front();
  IRMapping mapping;
  llvm::DenseMap<Value, Level> levels;
  for (int pass = 0; pass < 2; ++pass)
    for (auto [argument, operand, index] :
         llvm::zip_equal(body.getArguments(), op.getInputs(), op.getIndices()))
      mapping.map(argument, parts.bind(segment, values.lookup(operand), index,
                                       argument.getType(), nameOf(argument)));
  for (auto [argument, operand, index] :
       llvm::zip_equal(body.getArguments(), op.getInputs(), op.getIndices()))
    levels[argument] = !isList(operand.getType())  ? Level::list
                       : isMemberIndex(index)      ? Level::member
                       : rank == 1 || index == kIJ ? Level::element
                       : index == kI               ? Level::row
                                                   : Level::column;
  OpBuilder inner = parts.at(segment);
  for (Operation &scalar : body.without_terminator()) {
    Level joined = Level::list;
    for (Value operand : scalar.getOperands())
      joined = join(joined, levels.lookup(operand));
    for (Value result : scalar.getResults())
      levels[result] = joined;
    inner.clone(scalar, mapping);
  }
  Value reduced = op.getReduced();
  Value value = mapping.lookup(reduced);
  Value about = op.getGuess() ? mapping.lookup(op.getGuess()) : Value();
  // Every element of the domain counts, whatever the value follows from.
  LevelAttr from;
  if (levels.lookup(reduced) != domain)
    from = LevelAttr::get(context, domain);
  SmallVector<Type> types = {value.getType()};
  if (op.getNumResults() == 2)
    types.push_back(inner.getI64Type());
  auto reduce = fused::ReduceOp::create(inner, op.getLoc(), types, op.getKind(),
                                        level, value, about,
                                        /*sharing=*/Value(), from);
  copyNames(op.getResults(), reduce.getResults());
  for (auto [result, inside] :
       llvm::zip_equal(op.getResults(), reduce.getResults()))
    parts.addResult(segment, inside, result.getType(), nameOf(result));
  mapResults(op, parts.build(builder, op.getLoc()).getResults());
  ++numSweeps;
  return success();
}

/// A sweep over the members, whose vectors it writes one entry of.
void Outliner::lowerRecord(foreach::RecordOp op, OpBuilder &builder) {
  SweepBuilder parts(context, activeAround(builder.getBlock()));
  unsigned segment = parts.addSegment();
  auto bind = [&](Value operand, int32_t index) {
    return parts.bind(segment, values.lookup(operand), index,
                      computeType(storageType(operand.getType())),
                      nameOf(operand));
  };
  Value value = bind(op.getValue(), kScalar);
  Value into = bind(op.getInto(), kTrip);
  OpBuilder inner = parts.at(segment);
  Value recorded =
      fused::RecordOp::create(inner, op.getLoc(), value.getType(), value, into);
  parts.addResult(segment, recorded, op.getType(), nameOf(op.getResult()));
  mapResults(op, parts.build(builder, op.getLoc()).getResults());
  ++numSweeps;
}

LogicalResult Outliner::lowerWhile(foreach::WhileOp op, OpBuilder &builder) {
  if (activeAround(builder.getBlock()))
    return op.emitOpError("stands in a loop with a flag for every member; such "
                          "a loop is made of maps and reductions alone");
  auto lookup = [&](Value value) { return values.lookup(value); };
  SmallVector<Value> inits = llvm::map_to_vector(op.getInits(), lookup);
  auto loop = LoopOp::create(builder, op.getLoc(), op.getResultTypes(), inits,
                             lookup(op.getLimit()));
  Block &body = loop.getBody().emplaceBlock();
  for (BlockArgument argument : op.getBody().getArguments())
    values.map(argument,
               body.addArgument(argument.getType(), argument.getLoc()));
  Type flag = op.getYield().getMore().getType();
  if (isList(flag))
    body.addArgument(flag, namedLoc(context, "active"));
  if (failed(lowerBlock(op.getBody().front(), body)))
    return failure();
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  foreach
    ::YieldOp yield = op.getYield();
  fused::YieldOp::create(inner, yield.getLoc(),
                         llvm::map_to_vector(yield.getValues(), lookup),
                         lookup(yield.getMore()));
  mapResults(op, loop.getResults());
  return success();
}

LogicalResult Outliner::lowerBlock(Block &from, Block &to) {
  OpBuilder builder = OpBuilder::atBlockEnd(&to);
  for (Operation &op : from.without_terminator()) {
    if (auto map = dyn_cast<foreach::MapOp>(op)) {
      // Maps over device scalars keep their form until all sweeps exist.
      if (map.isUniform())
        builder.clone(op, values);
      else
        lowerMap(map, builder);
    } else if (auto reduce = dyn_cast<foreach::ReduceOp>(op)) {
      if (failed(lowerReduce(reduce, builder)))
        return failure();
    } else if (auto record = dyn_cast<foreach::RecordOp>(op)) {
      lowerRecord(record, builder);
    } else if (auto loop = dyn_cast<foreach::WhileOp>(op)) {
      if (failed(lowerWhile(loop, builder)))
        return failure();
    } else {
      return op.emitOpError("cannot become part of a kernel; expected map, "
                            "reduce, record and while (foreach-simplify "
                            "expands if)");
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What loops carry
//===----------------------------------------------------------------------===//

/// A map over device scalars that yields a constant.
static Value constantScalar(OpBuilder &builder, Location loc, Type type,
                            TypedAttr number) {
  auto map = foreach::MapOp::create(builder, loc, type, ValueRange(),
                                    ArrayRef<int32_t>());
  OpBuilder inner = OpBuilder::atBlockEnd(&map.getBody().emplaceBlock());
  Value value = arith::ConstantOp::create(inner, loc, number);
  foreach
    ::YieldOp::create(inner, loc, value);
  return map.getResult(0);
}

/// A value of `type` that is `number` everywhere, made before `loop`.
FailureOr<Value> Outliner::initial(OpBuilder &builder, LoopOp loop,
                                   const Shape &shape, Type type,
                                   TypedAttr number, StringRef name) {
  if (!isList(type)) {
    Value scalar = constantScalar(builder, loop.getLoc(), type, number);
    if (!name.empty())
      setName(scalar, name);
    return scalar;
  }
  // The smallest argument of the kernel that spans the domain.
  Domains domains(kernel);
  Value source;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    if (!isList(argument.getType()))
      continue;
    Shape of = domains.shapeOf(argument);
    bool spans =
        shape.extents.empty() ? of.members == shape.members : of == shape;
    if (spans &&
        (!source || rankOf(argument.getType()) < rankOf(source.getType())))
      source = argument;
  }
  if (!source)
    return loop.emitOpError("returns a value of type ")
           << type << " whose members and extents no argument of the kernel "
           << "has";
  SweepBuilder parts(context, activeAround(builder.getBlock()));
  unsigned segment = parts.addSegment();
  parts.bind(segment, source, defaultIndex(source.getType()),
             computeType(storageType(source.getType())), nameOf(source));
  OpBuilder inner = parts.at(segment);
  Value value = arith::ConstantOp::create(inner, loop.getLoc(), number);
  parts.addResult(segment, value, type, name);
  ++numSweeps;
  return parts.build(builder, loop.getLoc()).getResult(0);
}

/// +inf, or 0 for integers: what a value of no trip is.
static TypedAttr ofNoTrip(Type storage) {
  Type type = computeType(storage);
  if (auto real = dyn_cast<FloatType>(type))
    return FloatAttr::get(type, APFloat::getInf(real.getFloatSemantics()));
  return IntegerAttr::get(type, 0);
}

/// Values beyond the carried ones become carried, and so does the number of
/// trips of every member: then buffers hold what a loop returns at any time,
/// and no target needs another rule for it.
FailureOr<LoopOp> Outliner::carryAll(LoopOp loop) {
  fused::YieldOp yield = loop.getYield();
  unsigned carried = loop.getInits().size();
  unsigned yielded = yield.getValues().size();
  Value active = loop.getActive();
  bool counts = active && !loop.getTrips().use_empty();
  if (carried == yielded && !counts)
    return loop;

  OpBuilder builder(loop);
  Domains domains(kernel);
  SmallVector<Value> inits(loop.getInits());
  SmallVector<Type> types;
  for (Value value : yield.getValues())
    types.push_back(value.getType());
  for (unsigned k = carried; k < yielded; ++k) {
    Type type = types[k];
    auto init = initial(builder, loop, domains.shapeOf(loop.getResult(k)), type,
                        ofNoTrip(storageType(type)), nameOf(loop.getResult(k)));
    if (failed(init))
      return failure();
    inits.push_back(*init);
  }
  Type count = ListType::get(0, builder.getI32Type());
  if (counts) {
    auto init = initial(builder, loop, domains.shapeOf(loop.getTrips()), count,
                        builder.getI32IntegerAttr(0), "trips");
    if (failed(init))
      return failure();
    inits.push_back(*init);
    types.push_back(count);
  }
  types.push_back(loop.getTrips().getType());
  auto larger =
      LoopOp::create(builder, loop.getLoc(), types, inits, loop.getLimit());
  larger.getBody().takeBody(loop.getBody());
  Block &body = larger.getBody().front();
  for (unsigned k = carried; k < inits.size(); ++k)
    body.insertArgument(k, inits[k].getType(), inits[k].getLoc());
  for (unsigned k = 0; k < yielded; ++k) {
    loop.getResult(k).replaceAllUsesWith(larger.getResult(k));
    if (StringRef name = nameOf(loop.getResult(k)); !name.empty()) {
      setName(larger.getResult(k), name);
      if (k >= carried)
        setName(body.getArgument(k), name);
    }
  }
  if (counts) {
    // Every trip that a member takes part in counts.
    yield = larger.getYield();
    OpBuilder inner(yield);
    BlockArgument trips = body.getArgument(yielded);
    setName(trips, "trips");
    SweepBuilder parts(context, larger.getActive());
    unsigned segment = parts.addSegment();
    Value before =
        parts.bind(segment, trips, kScalar, inner.getI32Type(), "trips");
    OpBuilder at = parts.at(segment);
    Value one =
        arith::ConstantOp::create(at, loop.getLoc(), at.getI32IntegerAttr(1));
    Value after = arith::AddIOp::create(at, loop.getLoc(), before, one);
    parts.addResult(segment, after, count, "trips");
    yield.getValuesMutable().append(
        parts.build(inner, loop.getLoc()).getResult(0));
    ++numSweeps;
    loop.getTrips().replaceAllUsesWith(larger.getResult(yielded));
    setName(larger.getResult(yielded), "trips");
  } else {
    loop.getTrips().replaceAllUsesWith(larger.getTrips());
    if (StringRef name = nameOf(loop.getTrips()); !name.empty())
      setName(larger.getTrips(), name);
  }
  loop.erase();
  return larger;
}

LogicalResult Outliner::carryAll(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto loop = dyn_cast<LoopOp>(op)) {
      auto larger = carryAll(loop);
      if (failed(larger) || failed(carryAll(larger->getBody().front())))
        return failure();
    }
  return success();
}

//===----------------------------------------------------------------------===//
// What buffers must hold
//===----------------------------------------------------------------------===//

/// An operation that writes what `value` is to a buffer of its own.
Value Outliner::copyOf(Value value, OpBuilder &builder) {
  Type type = value.getType();
  Type bound = computeType(storageType(type));
  Value copy;
  if (isList(type)) {
    SweepBuilder parts(context, activeAround(builder.getBlock()));
    unsigned segment = parts.addSegment();
    Value element =
        parts.bind(segment, value, defaultIndex(type), bound, nameOf(value));
    parts.addResult(segment, element, type, nameOf(value));
    copy = parts.build(builder, value.getLoc()).getResult(0);
    ++numSweeps;
  } else {
    auto map = foreach::MapOp::create(builder, value.getLoc(), type, value,
                                      ArrayRef<int32_t>{kScalar});
    Block &body = map.getBody().emplaceBlock();
    body.addArgument(bound, value.getLoc());
    OpBuilder inner = OpBuilder::atBlockEnd(&body);
    foreach
      ::YieldOp::create(inner, value.getLoc(), body.getArgument(0));
    copy = map.getResult(0);
  }
  if (StringRef name = nameOf(value); !name.empty())
    setName(copy, name);
  return copy;
}

/// A buffer is written by the operation whose result it holds. What a loop
/// carries on and what a kernel returns in another's place therefore is a
/// result, and of one operand of the yield alone.
void Outliner::ownYields(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto loop = dyn_cast<LoopOp>(op))
      ownYields(loop.getBody().front());
  auto yield = cast<fused::YieldOp>(block.getTerminator());
  OpBuilder builder(yield);
  auto loop = dyn_cast<LoopOp>(block.getParentOp());
  llvm::SmallDenseSet<Value> taken;
  for (OpOperand &operand : yield->getOpOperands()) {
    Value value = operand.get();
    unsigned k = operand.getOperandNumber();
    bool owned;
    if (loop) {
      bool unchanged =
          k < loop.getInits().size() && value == loop.getCarried()[k];
      bool inside = value.getDefiningOp() && value.getParentBlock() == &block;
      owned = unchanged || (inside && taken.insert(value).second);
      // Device scalars that follow from others are written in this body,
      // wherever their map stands.
      if (auto map = value.getDefiningOp<foreach::MapOp>();
          map && !inside && taken.insert(value).second)
        owned = true;
    } else {
      // Results that replace no argument may share a buffer.
      bool donated = false;
      for (BlockArgument argument : block.getArguments())
        if (auto result = kernel.getArgAttrOfType<IntegerAttr>(
                argument.getArgNumber(), kDonateAttr)) {
          donated |= result.getInt() == k && value != argument;
          if (value == argument && result.getInt() != k)
            donated = true;
        }
      owned = !donated || (value.getDefiningOp() && taken.insert(value).second);
    }
    if (!owned)
      operand.set(copyOf(value, builder));
  }
}

//===----------------------------------------------------------------------===//
// Maps over device scalars
//===----------------------------------------------------------------------===//

/// Clones what computes `result`, of a map over device scalars, and all such
/// maps behind it; `bind` gives the values of other operands.
Value Outliner::cloneUniform(OpBuilder &builder, Value result, Bind bind) {
  auto map = result.getDefiningOp<foreach::MapOp>();
  Block &body = map.getBody().front();
  IRMapping mapping;
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), map.getInputs())) {
    Value value;
    if (operand.getDefiningOp<foreach::MapOp>())
      value = convertThrough(
          builder, map.getLoc(), cloneUniform(builder, operand, bind),
          storageType(operand.getType()), argument.getType());
    else
      value = bind(operand, argument.getType(), nameOf(argument));
    mapping.map(argument, value);
  }
  cloneBody(builder, body, mapping);
  return mapping.lookup(
      map.getYield().getValues()[cast<OpResult>(result).getResultNumber()]);
}

/// The last operation of `block` that `map` needs, or null.
Operation *Outliner::latestSource(foreach::MapOp map, Block &block) {
  Operation *latest = nullptr;
  for (Value operand : map.getInputs()) {
    Operation *source = operand.getDefiningOp();
    if (auto inner = dyn_cast_or_null<foreach::MapOp>(source))
      source = latestSource(inner, block);
    if (source && source->getBlock() == &block &&
        (!latest || latest->isBeforeInBlock(source)))
      latest = source;
  }
  return latest;
}

/// Appends `map` to `finish` of `sweep`.
void Outliner::finishWith(SweepOp sweep, foreach::MapOp map) {
  SweepBuilder parts(context, sweep.getWhere());
  auto places = parts.append(sweep);
  auto bind = [&](Value operand, Type bound, StringRef name) -> Value {
    if (operand.getDefiningOp() != sweep.getOperation())
      return parts.bindFinish(operand, bound, name);
    auto place = places[cast<OpResult>(operand).getResultNumber()];
    if (place.segment >= 0)
      return parts.listValue(place.segment, place.result, bound, name);
    OpBuilder builder = parts.atFinish();
    return convertThrough(builder, map.getLoc(), parts.yielded(place),
                          storageType(operand.getType()), bound);
  };
  // One clone for all results, made the first time.
  Block &body = map.getBody().front();
  IRMapping mapping;
  for (int pass = 0; pass < 2; ++pass)
    for (auto [argument, operand] :
         llvm::zip_equal(body.getArguments(), map.getInputs())) {
      Value value;
      OpBuilder builder = parts.atFinish();
      if (operand.getDefiningOp<foreach::MapOp>())
        value = convertThrough(
            builder, map.getLoc(), cloneUniform(builder, operand, bind),
            storageType(operand.getType()), argument.getType());
      else
        value = bind(operand, argument.getType(), nameOf(argument));
      mapping.map(argument, value);
    }
  OpBuilder builder = parts.atFinish();
  cloneBody(builder, body, mapping);
  SmallVector<SweepBuilder::Place> added;
  for (auto [result, value] :
       llvm::zip_equal(map.getResults(), map.getYield().getValues()))
    added.push_back(
        {-1, parts.addFinishResult(mapping.lookup(value), result.getType(),
                                   nameOf(result))});
  OpBuilder outer(sweep);
  parts.build(outer, sweep.getLoc());
  for (auto [result, place] : llvm::zip_equal(sweep.getResults(), places))
    result.replaceAllUsesWith(parts.result(place));
  for (auto [result, place] : llvm::zip_equal(map.getResults(), added))
    result.replaceAllUsesWith(parts.result(place));
  sweep.erase();
  map.erase();
  ++numFinished;
}

/// Maps that follow from a sweep of the same block become part of its `finish`.
LogicalResult Outliner::placeUniform(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<LoopOp>(op)) {
      if (failed(placeUniform(loop.getBody().front())))
        return failure();
    } else if (auto map = dyn_cast<foreach::MapOp>(op)) {
      if (map.use_empty())
        map.erase();
      else if (auto sweep = dyn_cast_or_null<SweepOp>(latestSource(map, block)))
        finishWith(sweep, map);
    }
  }
  return success();
}

/// A sweep that computes nothing, before `before`, for its `finish` to compute
/// device scalars: over the list with the fewest elements that there is.
FailureOr<SweepOp> Outliner::emptySweep(Operation *before) {
  Value source;
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (isList(argument.getType()) &&
        (!source || rankOf(argument.getType()) < rankOf(source.getType())))
      source = argument;
  if (!source)
    return before->emitError()
           << "kernel '" << kernel.getName()
           << "' computes device scalars alone; expected at least one list "
              "among its arguments, whose sweep can write them";
  OpBuilder builder(before);
  SweepBuilder parts(context, activeAround(before->getBlock()));
  unsigned segment = parts.addSegment();
  parts.bind(segment, source, defaultIndex(source.getType()),
             computeType(storageType(source.getType())), nameOf(source));
  ++numSweeps;
  return parts.build(builder, before->getLoc());
}

/// Makes a device scalar that follows from others a result of some `finish`
/// before `before`, in the same block.
FailureOr<Value> Outliner::materialize(Value value, Operation *before) {
  auto map = value.getDefiningOp<foreach::MapOp>();
  Block *block = before->getBlock();
  Operation *after = latestSource(map, *block);
  SweepOp home;
  for (Operation *op = before->getPrevNode(); op && op != after;
       op = op->getPrevNode())
    if (auto sweep = dyn_cast<SweepOp>(op)) {
      home = sweep;
      break;
    }
  if (!home) {
    auto made = emptySweep(before);
    if (failed(made))
      return failure();
    home = *made;
  }
  // The map stays for those who compute the value themselves.
  OpBuilder builder(home);
  IRMapping mapping;
  auto copy = cast<foreach::MapOp>(builder.clone(*map, mapping));
  Value clone = copy.getResult(cast<OpResult>(value).getResultNumber());
  Value marker = clone;
  // finishWith replaces the clone's results; an operand keeps track of ours.
  OpOperand *use = nullptr;
  for (OpOperand &operand : before->getOpOperands())
    if (operand.get() == value) {
      operand.set(marker);
      use = &operand;
    }
  finishWith(home, copy);
  return use->get();
}

/// Computes device scalars that follow from arguments in the bodies that use
/// them.
SweepOp Outliner::inlineUniform(SweepOp sweep) {
  auto isUniform = [](Value value) {
    return value.getDefiningOp<foreach::MapOp>() != nullptr;
  };
  if (llvm::none_of(sweep->getOperands(), isUniform))
    return sweep;
  SweepBuilder parts(context, sweep.getWhere());
  SmallVector<SweepBuilder::Place> places;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    parts.addSegment();
    Block &body = sweep.getSegmentBlock(s);
    auto bind = [&](Value operand, Type bound, StringRef name) {
      return parts.bind(s, operand, kScalar, bound, name);
    };
    IRMapping mapping;
    // The first pass settles the types of what is bound, in a body that is
    // thrown away as dead.
    for (int pass = 0; pass < 2; ++pass)
      for (auto [argument, operand, index] :
           llvm::zip_equal(body.getArguments(), sweep.getSegmentInputs(s),
                           sweep.getSegmentIndices(s))) {
        OpBuilder builder = parts.at(s);
        Value value = isUniform(operand)
                          ? convertThrough(builder, operand.getLoc(),
                                           cloneUniform(builder, operand, bind),
                                           storageType(operand.getType()),
                                           argument.getType())
                          : parts.bind(s, operand, index, argument.getType(),
                                       nameOf(argument));
        mapping.map(argument, value);
      }
    OpBuilder builder = parts.at(s);
    cloneBody(builder, body, mapping);
    for (auto [value, result] : llvm::zip_equal(
             sweep.getSegmentYield(s).getValues(), sweep.getSegmentResults(s)))
      places.push_back({static_cast<int>(s),
                        parts.addResult(s, mapping.lookup(value),
                                        result.getType(), nameOf(result))});
  }
  parts.appendFinish(sweep, places, [&](Value operand, Type bound) -> Value {
    if (!isUniform(operand))
      return {};
    OpBuilder builder = parts.atFinish();
    auto bind = [&](Value input, Type type, StringRef name) {
      return parts.bindFinish(input, type, name);
    };
    return convertThrough(builder, operand.getLoc(),
                          cloneUniform(builder, operand, bind),
                          storageType(operand.getType()), bound);
  });
  OpBuilder outer(sweep);
  SweepOp inlined = parts.build(outer, sweep.getLoc());
  for (auto [result, place] : llvm::zip_equal(sweep.getResults(), places))
    result.replaceAllUsesWith(parts.result(place));
  sweep.erase();
  return inlined;
}

LogicalResult Outliner::bindUniform(Block &block) {
  // First what buffers must hold, for that adds to the sweeps.
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<LoopOp>(op))
      if (failed(bindUniform(loop.getBody().front())))
        return failure();
    if (isa<LoopOp, fused::YieldOp>(op))
      for (OpOperand &operand : op.getOpOperands())
        if (operand.get().getDefiningOp<foreach::MapOp>()) {
          auto value = materialize(operand.get(), &op);
          if (failed(value))
            return failure();
        }
  }
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto sweep = dyn_cast<SweepOp>(op))
      inlineUniform(sweep);
  return success();
}

//===----------------------------------------------------------------------===//
// Whole functions
//===----------------------------------------------------------------------===//

LogicalResult Outliner::run() {
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return function.emitOpError("cannot become a kernel; expected a body of "
                                "one block");
  OpBuilder builder(function);
  kernel =
      KernelOp::create(builder, function.getLoc(), function.getSymName(),
                       function.getFunctionType(), function.getArgAttrsAttr(),
                       function.getResAttrsAttr());
  Block &from = function.getBody().front();
  Block &body = kernel.getBody().emplaceBlock();
  for (BlockArgument argument : from.getArguments())
    values.map(argument,
               body.addArgument(argument.getType(), argument.getLoc()));
  if (failed(lowerBlock(from, body)))
    return failure();
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  Operation *end = from.getTerminator();
  fused::YieldOp::create(
      inner, end->getLoc(),
      llvm::map_to_vector(end->getOperands(),
                          [&](Value value) { return values.lookup(value); }));
  if (failed(carryAll(body)))
    return failure();
  ownYields(body);
  if (failed(placeUniform(body)) || failed(bindUniform(body)))
    return failure();
  SmallVector<foreach::MapOp> maps;
  kernel.walk([&](foreach::MapOp map) { maps.push_back(map); });
  for (foreach::MapOp map : llvm::reverse(maps))
    map.erase();
  if (llvm::none_of(body.without_terminator(),
                    [](Operation &) { return true; }))
    return function.emitOpError(
        "computes nothing; expected at least one map or reduce over a list");
  kernel->setAttr(kTrafficBefore, trafficAttr(context, trafficOf(kernel)));
  function.erase();
  return success();
}

namespace {
struct ForeachOutlineKernels
    : heddle::impl::ForeachOutlineKernelsBase<ForeachOutlineKernels> {
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(Outliner(function, numSweeps, numFinished).run()))
        return signalPassFailure();
    for (auto kernel : getOperation().getOps<KernelOp>())
      cleanBodies(kernel);
  }
};
} // namespace
