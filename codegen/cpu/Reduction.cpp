//===- Reduction.cpp - running states of reductions -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// States are combined in the order of docs/lowering.md. A lane represents a
// thread of a block, so that the threads are the elements of a vector. A lane
// without elements holds the neutral element, which changes no bit.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/Reduction.h"

#include "codegen/device/reduce_constants.h"
#include "codegen/layout/SweepLayout.h"
#include "llvm/IR/Module.h"

using heddle::foreach::Lift;
using heddle::foreach::Neutral;
using heddle::foreach::StateType;
using heddle::fused::ReduceKind;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace heddle::cpu {

Reduction::Reduction(Ir &ir, ReduceKind kind, mlir::Type type, int64_t threads)
    : ir(ir), b(ir.b), kind(kind), type(type), threads(threads) {
  const foreach::ReduceKindInfo &info = foreach::infoOf(kind);
  for (const foreach::StatePart &part : {info.first, info.second})
    if (part.type != StateType::absent) {
      layout.push_back(part);
      // A lane of flags holds bytes; in memory a state of a flag takes a word.
      parts.push_back(part.type == StateType::position ? b.getInt64Ty()
                                                       : ir.memoryTypeOf(type));
    }
}

//===----------------------------------------------------------------------===//
// One state
//===----------------------------------------------------------------------===//

/// The largest or the smallest value of the type; for floats, an infinity.
Value *Reduction::limit(bool largest) {
  if (llvm::isa<mlir::FloatType>(type))
    return llvm::ConstantFP::getInfinity(parts[0], /*Negative=*/!largest);
  unsigned width = parts[0]->getIntegerBitWidth();
  return b.getInt(largest ? llvm::APInt::getSignedMaxValue(width)
                          : llvm::APInt::getSignedMinValue(width));
}

State Reduction::neutral() {
  bool isFloat = llvm::isa<mlir::FloatType>(type);
  auto number = [&](int value) -> Value * {
    return isFloat
               ? llvm::ConstantFP::get(parts[0], value)
               : static_cast<Value *>(llvm::ConstantInt::get(parts[0], value));
  };
  State state;
  for (const foreach::StatePart &part : layout)
    switch (part.neutral) {
    case Neutral::zero:
      state.push_back(number(0));
      break;
    case Neutral::one:
      state.push_back(number(1));
      break;
    case Neutral::highest:
      state.push_back(limit(true));
      break;
    case Neutral::lowest:
      state.push_back(limit(false));
      break;
    case Neutral::none:
      state.push_back(ir.i64(-1));
      break;
    }
  return state;
}

State Reduction::lift(Value *value, Value *position) {
  if (value->getType() != parts[0])
    value = b.CreateZExt(value, parts[0]);
  State state;
  for (const foreach::StatePart &part : layout)
    switch (part.lift) {
    case Lift::value:
      state.push_back(value);
      break;
    case Lift::position:
      state.push_back(position);
      break;
    case Lift::count:
      state.push_back(b.CreateSelect(b.CreateFCmpOEQ(value, neutral()[0]),
                                     llvm::ConstantFP::get(parts[0], 0.0),
                                     llvm::ConstantFP::get(parts[0], 1.0)));
      break;
    }
  return state;
}

State Reduction::combine(const State &a, const State &c) {
  bool isFloat = llvm::isa<mlir::FloatType>(type);
  auto binary = [&](Intrinsic::ID ofFloats, Intrinsic::ID ofIntegers) -> State {
    return {
        b.CreateBinaryIntrinsic(isFloat ? ofFloats : ofIntegers, a[0], c[0])};
  };
  switch (kind) {
  case ReduceKind::add:
  case ReduceKind::mean: // a sum and a quotient, in fused IR
    return {isFloat ? b.CreateFAdd(a[0], c[0]) : b.CreateAdd(a[0], c[0])};
  case ReduceKind::mul:
    return {isFloat ? b.CreateFMul(a[0], c[0]) : b.CreateMul(a[0], c[0])};
  case ReduceKind::any:
    return {b.CreateOr(a[0], c[0])};
  case ReduceKind::all:
    return {b.CreateAnd(a[0], c[0])};
  case ReduceKind::min:
    return binary(Intrinsic::minimum, Intrinsic::smin);
  case ReduceKind::max:
    return binary(Intrinsic::maximum, Intrinsic::smax);
  case ReduceKind::logsumexp:
    return combineLogsumexp(a, c);
  case ReduceKind::argmax:
  case ReduceKind::argmin:
    return combinePositioned(a, c);
  }
  return {};
}

/// Combines two sums of exponentials about their maxima into one about the
/// larger maximum. Only the sum with the smaller maximum needs an exponential
/// as a factor; equal maxima, also infinite ones, need none.
State Reduction::combineLogsumexp(const State &a, const State &c) {
  Value *most = b.CreateBinaryIntrinsic(Intrinsic::maximum, a[0], c[0]);
  Value *least = b.CreateBinaryIntrinsic(Intrinsic::minimum, a[0], c[0]);
  Value *factor =
      b.CreateUnaryIntrinsic(Intrinsic::exp, b.CreateFSub(least, most));
  auto scaled = [&](const State &state) {
    return b.CreateSelect(b.CreateFCmpOEQ(state[0], most), state[1],
                          b.CreateFMul(state[1], factor));
  };
  Value *left = scaled(a), *right = scaled(c);
  return {most, b.CreateFAdd(left, right)};
}

/// The larger (smaller) value, or the earlier position of equal values; NaN is
/// the largest (smallest) value.
State Reduction::combinePositioned(const State &a, const State &c) {
  Value *none = llvm::ConstantInt::get(a[1]->getType(), -1);
  Value *larger, *same;
  bool isMinimum = kind == ReduceKind::argmin;
  if (llvm::isa<mlir::FloatType>(type)) {
    Value *nanA = b.CreateFCmpUNO(a[0], a[0]);
    Value *nanC = b.CreateFCmpUNO(c[0], c[0]);
    Value *oneNan = b.CreateXor(nanA, nanC);
    Value *wins =
        isMinimum ? b.CreateFCmpOLT(a[0], c[0]) : b.CreateFCmpOGT(a[0], c[0]);
    larger = b.CreateOr(b.CreateAnd(nanA, oneNan), wins);
    same = b.CreateOr(b.CreateAnd(nanA, nanC), b.CreateFCmpOEQ(a[0], c[0]));
  } else {
    larger =
        isMinimum ? b.CreateICmpSLT(a[0], c[0]) : b.CreateICmpSGT(a[0], c[0]);
    same = b.CreateICmpEQ(a[0], c[0]);
  }
  Value *takeA =
      b.CreateOr(larger, b.CreateAnd(same, b.CreateICmpSLT(a[1], c[1])));
  takeA = b.CreateOr(takeA, b.CreateICmpEQ(c[1], none));
  takeA = b.CreateAnd(takeA, b.CreateICmpNE(a[1], none));
  return {b.CreateSelect(takeA, a[0], c[0]), b.CreateSelect(takeA, a[1], c[1])};
}

llvm::SmallVector<Value *, 2> Reduction::values(const State &state) {
  if (kind == ReduceKind::logsumexp)
    return {b.CreateFAdd(state[0],
                         b.CreateUnaryIntrinsic(Intrinsic::log, state[1]))};
  if (type.isInteger(1))
    return {b.CreateIsNotNull(state[0])};
  // Columns start from their first value: the sum of negative zeros is +0 there
  // too.
  if (kind == ReduceKind::add && mlir::isa<mlir::FloatType>(type))
    return {b.CreateFAdd(state[0], neutral()[0])};
  return state;
}

//===----------------------------------------------------------------------===//
// States in memory
//===----------------------------------------------------------------------===//

int64_t Reduction::bytes() const { return stateBytes(kind, type); }

Value *Reduction::address(Value *states, Value *index) {
  return b.CreateInBoundsGEP(b.getInt8Ty(), states,
                             b.CreateMul(index, ir.i64(bytes())));
}

static llvm::Align alignOf(llvm::Type *type) {
  return llvm::Align(type->getPrimitiveSizeInBits() / 8);
}

State Reduction::load(Value *address,
                      llvm::function_ref<void(llvm::Instruction *)> tag) {
  State state;
  for (size_t k = 0; k < parts.size(); ++k) {
    Value *at = b.CreateConstInBoundsGEP1_64(
        b.getInt8Ty(), address, static_cast<int64_t>(k) * bytes() / 2);
    auto *loaded = b.CreateAlignedLoad(parts[k], at, alignOf(parts[k]));
    if (tag)
      tag(loaded);
    state.push_back(loaded);
  }
  return state;
}

void Reduction::store(const State &state, Value *address,
                      llvm::function_ref<void(llvm::Instruction *)> tag) {
  for (size_t k = 0; k < parts.size(); ++k) {
    Value *at = b.CreateConstInBoundsGEP1_64(
        b.getInt8Ty(), address, static_cast<int64_t>(k) * bytes() / 2);
    auto *stored = b.CreateAlignedStore(state[k], at, alignOf(parts[k]));
    if (tag)
      tag(stored);
  }
}

//===----------------------------------------------------------------------===//
// Lanes
//===----------------------------------------------------------------------===//

Lanes Reduction::makeLanes(const llvm::Twine &name, int64_t count) {
  Lanes lanes;
  for (llvm::Type *part : parts)
    lanes.push_back(ir.local(part, count ? count : threads, name + ".lanes"));
  return lanes;
}

State Reduction::loadLane(const Lanes &lanes, Value *index) {
  State state;
  for (auto [part, array] : llvm::zip(parts, lanes))
    state.push_back(b.CreateLoad(part, ir.element(part, array, index)));
  return state;
}

void Reduction::storeLane(const State &state, const Lanes &lanes,
                          Value *index) {
  for (auto [part, array, value] : llvm::zip(parts, lanes, state))
    b.CreateStore(value, ir.element(part, array, index));
}

void Reduction::clearLanes(const Lanes &lanes, Value *used) {
  // Lanes are combined in groups of 32.
  Value *end = b.CreateAnd(b.CreateAdd(used, ir.i64(31)), ir.i64(-32));
  ir.loop(end, "clear", [&](Value *t) { storeLane(neutral(), lanes, t); });
}

/// Combines lane t of a vector with lane t ^ offset, for halving offsets. Only
/// the lower half is needed after each step.
void Reduction::treeOfVectors(const Lanes &lanes, Value *first, State &result) {
  auto *vector = llvm::FixedVectorType::get(parts[0], 32);
  State x = {b.CreateAlignedLoad(vector, ir.element(parts[0], lanes[0], first),
                                 alignOf(parts[0]))};
  for (int offset = 16; offset; offset /= 2) {
    llvm::SmallVector<int> low, high;
    for (int t = 0; t < offset; ++t) {
      low.push_back(t);
      high.push_back(t + offset);
    }
    x = combine({b.CreateShuffleVector(x[0], low)},
                {b.CreateShuffleVector(x[0], high)});
  }
  result = {b.CreateExtractElement(x[0], b.getInt64(0))};
}

/// The same in memory, for states whose combination needs many instructions.
void Reduction::treeOfLanes(const Lanes &lanes, Value *first, State &result) {
  for (int offset = 16; offset; offset /= 2)
    ir.loop(ir.i64(offset), "tree", [&](Value *t) {
      Value *low = b.CreateAdd(first, t);
      Value *high = b.CreateAdd(low, ir.i64(offset));
      storeLane(combine(loadLane(lanes, low), loadLane(lanes, high)), lanes,
                low);
    });
  result = loadLane(lanes, first);
}

State Reduction::overWarp(const Lanes &lanes, Value *first) {
  State state;
  if (isPair())
    treeOfLanes(lanes, first, state);
  else
    treeOfVectors(lanes, first, state);
  return state;
}

std::string Reduction::nameOf(const llvm::Twine &function) {
  std::string name;
  llvm::raw_string_ostream(name)
      << "heddle." << function << '.' << stringifyReduceKind(kind) << '.'
      << type << '.' << threads;
  return name;
}

llvm::Type *Reduction::stateType() {
  if (!isPair())
    return parts[0];
  return llvm::StructType::get(b.getContext(), parts);
}

Value *Reduction::pack(const State &state) {
  if (!isPair())
    return state[0];
  Value *packed = llvm::PoisonValue::get(stateType());
  packed = b.CreateInsertValue(packed, state[0], 0);
  return b.CreateInsertValue(packed, state[1], 1);
}

State Reduction::unpack(Value *packed) {
  if (!isPair())
    return {packed};
  return {b.CreateExtractValue(packed, 0), b.CreateExtractValue(packed, 1)};
}

Lanes Reduction::lanesOf(llvm::Function &function) {
  Lanes lanes;
  for (size_t k = 0; k < parts.size(); ++k) {
    lanes.push_back(function.getArg(k));
    function.addParamAttr(k, llvm::Attribute::NoAlias);
  }
  return lanes;
}

llvm::Function *Reduction::blockFunction() {
  std::string name = nameOf("over_block");
  if (llvm::Function *made = ir.module.getFunction(name))
    return made;
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  llvm::SmallVector<llvm::Type *> parameters(parts.size(), b.getPtrTy());
  parameters.push_back(b.getInt64Ty());
  llvm::Function *function = ir.function(name, stateType(), parameters);
  Lanes lanes = lanesOf(*function);
  // Groups are combined in order, beginning with the state of the first.
  Lanes total;
  for (llvm::Type *part : parts)
    total.push_back(ir.local(part, 1, "total"));
  storeLane(neutral(), total, ir.i64(0));
  ir.loop(ir.ceilDiv(function->getArg(parts.size()), 32), "group",
          [&](Value *group) {
            State state = overWarp(lanes, b.CreateMul(group, ir.i64(32)));
            State combined = combine(loadLane(total, ir.i64(0)), state);
            Value *isFirst = b.CreateICmpEQ(group, ir.i64(0));
            for (size_t k = 0; k < parts.size(); ++k)
              state[k] = b.CreateSelect(isFirst, state[k], combined[k]);
            storeLane(state, total, ir.i64(0));
          });
  b.CreateRet(pack(loadLane(total, ir.i64(0))));
  return function;
}

State Reduction::overBlock(const Lanes &lanes, Value *used) {
  llvm::SmallVector<Value *> arguments(lanes.begin(), lanes.end());
  arguments.push_back(used);
  return unpack(b.CreateCall(blockFunction(), arguments));
}

llvm::Function *Reduction::groupsFunction() {
  std::string name = nameOf("over_groups");
  if (llvm::Function *made = ir.module.getFunction(name))
    return made;
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  llvm::SmallVector<llvm::Type *> parameters(parts.size(), b.getPtrTy());
  parameters.append(2, b.getInt64Ty());
  llvm::Function *function = ir.function(name, b.getVoidTy(), parameters);
  // The loops of many reductions in one function would take LLVM a time that
  // grows with the square of their number.
  function->addFnAttr(llvm::Attribute::NoInline);
  Lanes all = lanesOf(*function);
  Value *first = function->getArg(parts.size());
  Value *lanes = function->getArg(parts.size() + 1);
  auto combineInto = [&](Value *into, Value *from) {
    storeLane(combine(loadLane(all, into), loadLane(all, from)), all, into);
  };
  // The offsets 16, 8, ... that are multiples of `lanes`, in each warp.
  Value *bits =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, lanes, b.getTrue());
  Value *width = ir.smaller(lanes, ir.i64(32)); // of the results of a warp
  Value *steps = b.CreateSub(ir.i64(5), ir.smaller(bits, ir.i64(5)));
  ir.loop(ir.i64(threads / 32), "warp", [&](Value *warp) {
    Value *base = b.CreateMul(warp, ir.i64(32));
    ir.loop(steps, "step", [&](Value *step) {
      Value *offset = b.CreateLShr(ir.i64(16), step);
      ir.loop(offset, "tree", [&](Value *t) {
        Value *low = b.CreateAdd(first, b.CreateAdd(base, t));
        combineInto(low, b.CreateAdd(low, offset));
      });
    });
    ir.loop(width, "place", [&](Value *t) {
      Value *own = b.CreateAdd(base, t);
      Value *place = b.CreateAnd(own, b.CreateSub(lanes, ir.i64(1)));
      ir.when(b.CreateICmpNE(own, place), [&] {
        combineInto(b.CreateAdd(first, place), b.CreateAdd(first, own));
      });
    });
  });
  b.CreateRetVoid();
  return function;
}

void Reduction::overGroups(const Lanes &all, Value *first, Value *lanes) {
  llvm::SmallVector<Value *> arguments(all.begin(), all.end());
  arguments.append({first, lanes});
  b.CreateCall(groupsFunction(), arguments);
}

llvm::Function *Reduction::functionOfStates(
    const llvm::Twine &named,
    llvm::function_ref<State(Value *states, Value *count)> combined) {
  std::string name = nameOf(named);
  if (llvm::Function *made = ir.module.getFunction(name))
    return made;
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  llvm::Function *function =
      ir.function(name, stateType(), {b.getPtrTy(), b.getInt64Ty()});
  b.CreateRet(pack(combined(function->getArg(0), function->getArg(1))));
  return function;
}

llvm::Function *Reduction::statesFunction() {
  return functionOfStates("over_states", [&](Value *states, Value *count) {
    // Most members have one tile.
    ir.when(b.CreateICmpEQ(count, ir.i64(1)),
            [&] { b.CreateRet(pack(combine(neutral(), load(states)))); });
    Lanes lanes = makeLanes("state");
    Value *used = ir.smaller(count, ir.i64(threads));
    clearLanes(lanes, used);
    addToLanes(states, count, lanes, threads);
    return overBlock(lanes, used);
  });
}

void Reduction::addToLanes(Value *states, Value *count, const Lanes &lanes,
                           int64_t places) {
  ir.loop(ir.ceilDiv(count, places), "round", [&](Value *round) {
    Value *base = b.CreateMul(round, ir.i64(places));
    Value *left = ir.smaller(b.CreateSub(count, base), ir.i64(places));
    ir.loop(left, "lane", [&](Value *t) {
      State state = load(address(states, b.CreateAdd(base, t)));
      storeLane(combine(loadLane(lanes, t), state), lanes, t);
    });
  });
}

llvm::Function *Reduction::listFunction() {
  return functionOfStates("over_list", [&](Value *states, Value *count) {
    Lanes lanes = makeLanes("state", list_threads);
    Lanes warps = makeLanes("warp", 32);
    Value *used = ir.smaller(count, ir.i64(list_threads));
    clearLanes(lanes, used);
    clearLanes(warps, ir.i64(32));
    addToLanes(states, count, lanes, list_threads);
    ir.loop(ir.ceilDiv(used, 32), "warp", [&](Value *warp) {
      storeLane(overWarp(lanes, b.CreateMul(warp, ir.i64(32))), warps, warp);
    });
    return overWarp(warps, ir.i64(0));
  });
}

State Reduction::overList(Value *states, Value *count) {
  return unpack(b.CreateCall(listFunction(), {states, count}));
}

State Reduction::overStates(Value *states, Value *count) {
  return unpack(b.CreateCall(statesFunction(), {states, count}));
}

} // namespace heddle::cpu
