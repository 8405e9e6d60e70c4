//===- FusedPlaceBuffers.cpp - which buffer every value lives in ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the end to the beginning: results have places (their argument's, if one
// was donated), what a loop carries has one, and a sweep writes where its
// result is wanted if nobody needs what lies there. What is left are
// temporaries, which share buffers where their lifetimes do not meet.
//
//===----------------------------------------------------------------------===//

#include "dialect/Bindings.h"
#include "dialect/FusedLevels.h"
#include "dialect/Names.h"
#include "passes/Domains.h"
#include "passes/Fusion.h"
#include "passes/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDPLACEBUFFERS
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::kDonateAttr;
using heddle::foreach::rankOf;
using heddle::foreach::scalarOf;

namespace {
/// A buffer that the kernel needs besides its arguments.
struct Buffer {
  Type type;
  Shape shape;
  StringRef role;
  std::string name;
  /// Positions of the operations between which its content matters.
  int begin = 0, end = 0;
  /// The last value that it holds, and the first.
  Value first, last;
  /// Its number in the end: several temporaries may have one.
  int number = -1;
};

class Placer {
public:
  Placer(KernelOp kernel, bool remarks, Pass::Statistic &inPlace,
         Pass::Statistic &temporaries, Pass::Statistic &copies)
      : kernel(kernel), domains(kernel), remarks(remarks), numInPlace(inPlace),
        numTemporaries(temporaries), numCopies(copies) {}
  LogicalResult run();

private:
  // Positions in the order of execution.
  void number(Block &block);
  int beginOf(Operation *op) const { return begins.lookup(op); }
  int endOf(Operation *op) const { return ends.lookup(op); }
  int lastUse(Value value) const;

  // Whether a value may take the place of another.
  bool mayReplace(Value result, Value old, std::string *why = nullptr);
  bool mayOverwrite(OpResult result, OpOperand &use, std::string *why);
  void readFirst(Value result, Value old);

  // Wishes, from the results backwards.
  int place(Value value) const;
  void set(Value value, int buffer);
  int addBuffer(Value value, StringRef role, Type type = {});
  void want(Value value, int buffer, Value old);
  void wantLoop(LoopOp loop, unsigned result, int buffer, Value old);
  void placeKernelResults();
  void placeLoops(Block &block);
  void placeRest(Block &block);
  void extend(int buffer, int begin, int end);

  void shareTemporaries();
  LogicalResult writeAttributes();
  void countCopies(Block &block);

  KernelOp kernel;
  Domains domains;
  bool remarks;
  Pass::Statistic &numInPlace, &numTemporaries, &numCopies;
  int position = 0;
  llvm::DenseMap<Operation *, int> begins, ends;
  /// Places before temporaries share: arguments, then `buffers`.
  llvm::DenseMap<Value, int> places;
  SmallVector<Buffer> buffers;
  llvm::DenseMap<Operation *, int> tripBuffers, flagBuffers;
  SmallVector<int> resultPlaces;
  unsigned numArguments = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

void Placer::number(Block &block) {
  for (Operation &op : block) {
    begins[&op] = position++;
    if (auto loop = dyn_cast<LoopOp>(op))
      number(loop.getBody().front());
    ends[&op] = position++;
  }
}

/// The position of the last operation that reads `value`; a loop reads all that
/// is used in it until it ends.
int Placer::lastUse(Value value) const {
  Block *block = value.getParentBlock();
  int last = value.getDefiningOp() ? endOf(value.getDefiningOp()) : -1;
  for (Operation *user : value.getUsers())
    if (Operation *op = block->findAncestorOpInBlock(*user))
      last = std::max(last, endOf(op));
  return last;
}

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

/// Whether `result` of a sweep may overwrite what the same sweep reads by
/// `use`: every element that is written depends on no other element of it.
bool Placer::mayOverwrite(OpResult result, OpOperand &use, std::string *why) {
  auto sweep = cast<SweepOp>(result.getOwner());
  auto no = [&](StringRef reason) {
    if (why)
      *why = reason.str();
    return false;
  };
  unsigned number = use.getOperandNumber();
  // Blocks that share a row may be late when the member, or the list, ends.
  bool shared = sweep.getSchedule() && sweep.getSchedule()->getColumns();
  auto isReadLate = [&](unsigned segment, unsigned operand) {
    Value bound = sweep.getSegmentBlock(segment).getArgument(operand);
    return shared && behind(elementResults(sweep, segment)).contains(bound);
  };
  constexpr StringRef late = "blocks that share its rows may read it late";
  // Device scalars are written when all blocks are done; `finish` reads its
  // operands before it writes.
  if (!isList(result.getType())) {
    unsigned first = 0;
    for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
      unsigned count = sweep.getInputCounts()[s];
      if (number >= first && number < first + count &&
          isReadLate(s, number - first))
        return no(late);
      first += count;
    }
    return true;
  }
  if (number >= sweep.getInputs().size()) {
    // `where` is read by all blocks of a member before the last writes.
    return sweep.getNumSegments() == 1 ||
           no("the flags are read by other segments too");
  }
  unsigned segment = 0, firstInput = 0, firstResult = 0;
  auto inputCounts = sweep.getInputCounts();
  auto resultCounts = sweep.getResultCounts();
  while (number >= firstInput + inputCounts[segment]) {
    firstInput += inputCounts[segment];
    firstResult += resultCounts[segment++];
  }
  unsigned position = result.getResultNumber();
  if (position < firstResult || position >= firstResult + resultCounts[segment])
    return no("another segment reads it");
  int32_t index = sweep.getIndices()[number];
  // An entry takes the place of the one before it, and of nothing else.
  auto record = sweep.getRecord(position);
  Value bound = sweep.getSegmentBlock(segment).getArgument(number - firstInput);
  if (record || isEntryIndex(index))
    return (record && record.getInto() == bound) ||
           no("it is read by another index");
  int64_t rank = sweep.getDomainRank(segment);
  int64_t resultRank = rankOf(result.getType());
  if (resultRank == 0) // Written when the member is complete.
    return !isReadLate(segment, number - firstInput) || no(late);
  if (resultRank == rank) {
    // What is only mapped is read once, by the thread that writes it.
    if (rank == 2 && needsRows(sweep) && !shared)
      return no("its rows are read more than once");
    return index == (rank == 2 ? kIJ : kI) || no("it is read by another index");
  }
  auto levels = Levels::infer(sweep, segment);
  Value value =
      sweep.getSegmentYield(segment).getValues()[position - firstResult];
  int32_t own = levels->of(value).level == Level::column ? kJ : kI;
  return index == own || no("it is read by another index");
}

/// Whether `result` may be written over `old`, which is not needed later than
/// by the operation that makes `result`.
bool Placer::mayReplace(Value result, Value old, std::string *why) {
  if (!old)
    return true;
  Operation *op = result.getDefiningOp();
  if (!op || op->getBlock() != old.getParentBlock())
    return false;
  for (OpOperand &use : old.getUses()) {
    Operation *user =
        old.getParentBlock()->findAncestorOpInBlock(*use.getOwner());
    if (user == op) {
      if (auto loop = dyn_cast<LoopOp>(op)) {
        // As the initial value of what replaces it, it starts the loop.
        bool starts =
            use.getOwner() == op &&
            use.getOperandNumber() == cast<OpResult>(result).getResultNumber();
        if (!starts) {
          if (why)
            *why = "the loop reads it again";
          return false;
        }
      } else if (!mayOverwrite(cast<OpResult>(result), use, why)) {
        return false;
      }
    } else if (!user || endOf(user) > beginOf(op)) {
      if (why)
        *why = "it is read again later";
      return false;
    }
  }
  return true;
}

/// Moves sweeps that read `old` and could do so before `result` is made there.
void Placer::readFirst(Value result, Value old) {
  Operation *op = result.getDefiningOp();
  if (!op || !old || op->getBlock() != old.getParentBlock())
    return;
  SmallVector<Operation *> readers;
  for (Operation *user : old.getUsers())
    if (isa<SweepOp>(user) && user->getBlock() == op->getBlock() &&
        op->isBeforeInBlock(user))
      readers.push_back(user);
  for (Operation *reader : readers) {
    bool free = llvm::all_of(reader->getOperands(), [&](Value operand) {
      Operation *source = operand.getDefiningOp();
      return !source || source->getBlock() != op->getBlock() ||
             source->isBeforeInBlock(op);
    });
    if (free)
      reader->moveBefore(op);
  }
}

//===----------------------------------------------------------------------===//
// Wishes
//===----------------------------------------------------------------------===//

int Placer::place(Value value) const {
  auto found = places.find(value);
  return found == places.end() ? -1 : found->second;
}

void Placer::set(Value value, int buffer) { places[value] = buffer; }

int Placer::addBuffer(Value value, StringRef role, Type type) {
  Buffer &buffer = buffers.emplace_back();
  buffer.type = type ? type : value.getType();
  if (isList(buffer.type))
    buffer.shape = domains.shapeOf(value);
  buffer.role = role;
  buffer.name = nameOf(value).str();
  buffer.first = buffer.last = value;
  buffer.begin = value.getDefiningOp()
                     ? beginOf(value.getDefiningOp())
                     : beginOf(value.getParentBlock()->getParentOp());
  buffer.end = lastUse(value);
  return numArguments + buffers.size() - 1;
}

void Placer::extend(int buffer, int begin, int end) {
  if (buffer < static_cast<int>(numArguments))
    return;
  Buffer &of = buffers[buffer - numArguments];
  of.begin = std::min(of.begin, begin);
  of.end = std::max(of.end, end);
}

/// Puts `value` into `buffer`, which holds `old` (null: nothing) before, or
/// where that is not legal, into a buffer from which it will be copied.
void Placer::want(Value value, int buffer, Value old) {
  if (places.contains(value))
    return;
  if (auto loop = value.getDefiningOp<LoopOp>())
    return wantLoop(loop, cast<OpResult>(value).getResultNumber(), buffer, old);
  std::string why;
  if (mayReplace(value, old, &why)) {
    set(value, buffer);
    if (old)
      ++numInPlace;
    return;
  }
  if (remarks)
    mlir::emitRemark(value.getDefiningOp()->getLoc())
        << quoted(value) << " is copied to the place of " << quoted(old)
        << " at the end: " << why;
  set(value, addBuffer(value, "temporary"));
}

void Placer::wantLoop(LoopOp loop, unsigned result, int buffer, Value old) {
  Value value = loop.getResult(result);
  if (result + 1 == loop.getNumResults()) {
    // The number of trips; its buffer is written before the loop begins.
    if (!mayReplace(value, old)) {
      buffer = addBuffer(value, "temporary");
    }
    set(value, buffer);
    return;
  }
  Value init = loop.getInits()[result];
  // What the place holds must not be needed once the loop runs; the initial
  // value is copied there, or made there, before.
  if (!mayReplace(value, old)) {
    if (remarks)
      mlir::emitRemark(loop.getLoc())
          << quoted(value) << " is copied to the place of " << quoted(old)
          << " at the end: it is read again later";
    buffer = addBuffer(value, "temporary");
    old = {};
  } else if (old) {
    ++numInPlace;
  }
  set(value, buffer);
  BlockArgument carried = loop.getCarried()[result];
  set(carried, buffer);
  extend(buffer, beginOf(loop), std::max(endOf(loop), lastUse(value)));
  // An initial value that nothing else needs when the loop runs is made there.
  if (init.getDefiningOp() && init.getParentBlock() == loop->getBlock() &&
      !places.contains(init)) {
    bool free = llvm::all_of(init.getUses(), [&](OpOperand &use) {
      Operation *user =
          loop->getBlock()->findAncestorOpInBlock(*use.getOwner());
      return user == loop.getOperation()
                 ? use.getOwner() == user && use.getOperandNumber() == result
                 : user && endOf(user) < beginOf(loop);
    });
    if (free && mayReplace(init, old)) {
      set(init, buffer);
      if (auto inner = init.getDefiningOp<LoopOp>()) {
        places.erase(init);
        wantLoop(inner, cast<OpResult>(init).getResultNumber(), buffer, old);
      }
      extend(buffer, beginOf(init.getDefiningOp()), endOf(loop));
    }
  }
}

void Placer::placeKernelResults() {
  Block &body = kernel.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  SmallVector<BlockArgument> replaced(yield.getValues().size());
  for (BlockArgument argument : body.getArguments())
    if (auto result = kernel.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), kDonateAttr))
      replaced[result.getInt()] = argument;
  resultPlaces.assign(yield.getValues().size(), -1);
  // Donated places first: another result of the same value shares them.
  for (bool donated : {true, false})
    for (auto [k, value] : llvm::enumerate(yield.getValues())) {
      if (static_cast<bool>(replaced[k]) != donated)
        continue;
      if (donated) {
        resultPlaces[k] = replaced[k].getArgNumber();
        if (value != replaced[k])
          want(value, resultPlaces[k], replaced[k]);
      } else if (int known = place(value); known >= 0) {
        // A temporary that is copied to an argument's place is there in the
        // end.
        resultPlaces[k] = known;
        for (auto [other, same] : llvm::enumerate(yield.getValues()))
          if (same == value && replaced[other])
            resultPlaces[k] = replaced[other].getArgNumber();
      } else {
        resultPlaces[k] = addBuffer(value, "result");
        want(value, resultPlaces[k], {});
      }
    }
}

/// Gives every loop of `block` places for what it carries, and asks its body to
/// leave the values there.
void Placer::placeLoops(Block &block) {
  for (auto loop : block.getOps<LoopOp>()) {
    for (unsigned k = 0; k < loop.getInits().size(); ++k)
      if (!places.contains(loop.getResult(k)))
        wantLoop(loop, k, addBuffer(loop.getResult(k), "temporary"), {});
    // Targets count in a device scalar, whatever the result's type is.
    Value trips = loop.getTrips();
    auto i32 = scalarOf(IntegerType::get(loop.getContext(), 32));
    if (!places.contains(trips))
      set(trips, addBuffer(trips, "temporary", i32));
    extend(place(trips), beginOf(loop), endOf(loop));
    YieldOp yield = loop.getYield();
    for (auto [k, value] :
         llvm::enumerate(yield.getValues().take_front(loop.getInits().size())))
      if (value != loop.getCarried()[k]) {
        want(value, place(loop.getResult(k)), loop.getCarried()[k]);
        // Members that have stopped keep what was copied for them last.
        if (place(value) != place(loop.getResult(k)))
          extend(place(value), beginOf(loop), endOf(loop));
      }
    Value more = yield.getMore();
    Value active = loop.getActive();
    int flags = addBuffer(active ? active : more, "temporary");
    extend(flags, beginOf(loop), endOf(loop));
    if (active)
      set(active, flags);
    want(more, flags, active);
    if (place(more) != flags)
      extend(place(more), beginOf(loop), endOf(loop));
    flagBuffers[loop] = flags;
    placeLoops(loop.getBody().front());
  }
}

void Placer::placeRest(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<LoopOp>(op))
      placeRest(loop.getBody().front());
    if (!isa<SweepOp>(op))
      continue;
    for (Value result : op.getResults())
      if (!places.contains(result) && !result.use_empty())
        set(result, addBuffer(result, "temporary"));
  }
}

//===----------------------------------------------------------------------===//
// Temporaries
//===----------------------------------------------------------------------===//

void Placer::shareTemporaries() {
  SmallVector<Buffer *> order;
  int next = numArguments;
  for (Buffer &buffer : buffers) {
    if (buffer.role == "result")
      buffer.number = next++;
    else
      order.push_back(&buffer);
  }
  llvm::sort(order, [](Buffer *a, Buffer *b) {
    return std::pair(a->begin, a) < std::pair(b->begin, b);
  });
  /// The temporary that had the number last.
  SmallVector<Buffer *> holders;
  for (Buffer *buffer : order) {
    for (Buffer *&holder : holders) {
      if (holder->type != buffer->type || !(holder->shape == buffer->shape))
        continue;
      Operation *maker = buffer->first.getDefiningOp();
      bool touches =
          isa_and_nonnull<SweepOp>(maker) && holder->first == holder->last &&
          holder->end == endOf(maker) && buffer->begin == beginOf(maker) &&
          mayReplace(buffer->first, holder->last);
      if (holder->end >= buffer->begin && !touches)
        continue;
      if (touches)
        ++numInPlace;
      buffer->number = holder->number;
      holder = buffer;
      break;
    }
    if (buffer->number < 0) {
      buffer->number = next++;
      holders.push_back(buffer);
      ++numTemporaries;
    }
  }
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult Placer::writeAttributes() {
  MLIRContext *context = kernel.getContext();
  Builder builder(context);
  auto final = [&](int buffer) -> int64_t {
    return buffer < static_cast<int>(numArguments)
               ? buffer
               : buffers[buffer - numArguments].number;
  };
  llvm::StringSet<> taken;
  for (BlockArgument argument : kernel.getBody().getArguments())
    taken.insert(nameOf(argument));
  SmallVector<Attribute> entries;
  SmallVector<Buffer *> byNumber;
  for (Buffer &buffer : buffers) {
    size_t number = buffer.number - numArguments;
    if (byNumber.size() <= number)
      byNumber.resize(number + 1);
    if (!byNumber[number])
      byNumber[number] = &buffer;
  }
  for (Buffer *buffer : byNumber) {
    NamedAttrList fields;
    std::string base = buffer->name.empty() ? buffer->role.str() : buffer->name;
    std::string name = base;
    for (unsigned k = 2; !taken.insert(name).second; ++k)
      name = base + "_" + std::to_string(k);
    fields.append("name", builder.getStringAttr(name));
    fields.append("type", TypeAttr::get(buffer->type));
    fields.append("role", builder.getStringAttr(buffer->role));
    SmallVector<Attribute> extents;
    auto unknown = [&](StringRef what) {
      return emitError(buffer->first.getLoc())
             << "cannot tell the " << what << " of '" << name << "' of type "
             << buffer->type << ": no argument of kernel '" << kernel.getName()
             << "' has them";
    };
    for (int extent : buffer->shape.extents) {
      auto source = domains.sourceOf(extent);
      if (!source)
        return unknown("extents");
      extents.push_back(
          builder.getI64ArrayAttr({static_cast<int64_t>(source->first),
                                   static_cast<int64_t>(source->second)}));
    }
    fields.append("extents", builder.getArrayAttr(extents));
    if (isList(buffer->type)) {
      auto members = domains.membersSource(buffer->shape.members);
      if (!members)
        return unknown("members");
      fields.append("members", builder.getI64IntegerAttr(*members));
    }
    entries.push_back(builder.getDictionaryAttr(fields));
  }
  kernel->setAttr("fused.buffers", builder.getArrayAttr(entries));
  SmallVector<int64_t> results;
  for (int buffer : resultPlaces)
    results.push_back(final(buffer));
  kernel->setAttr("fused.places", builder.getDenseI64ArrayAttr(results));
  kernel.walk([&](Operation *op) {
    if (!isa<SweepOp, LoopOp>(op))
      return;
    SmallVector<int64_t> numbers;
    for (Value result : op->getResults()) {
      int buffer = place(result);
      numbers.push_back(buffer < 0 ? -1 : final(buffer));
    }
    op->setAttr("fused.places", builder.getDenseI64ArrayAttr(numbers));
    if (auto loop = dyn_cast<LoopOp>(op))
      op->setAttr("fused.more",
                  builder.getI64IntegerAttr(final(flagBuffers.lookup(loop))));
  });
  return success();
}

void Placer::countCopies(Block &block) {
  auto yield = cast<YieldOp>(block.getTerminator());
  for (auto loop : block.getOps<LoopOp>()) {
    for (auto [init, carried] : llvm::zip(loop.getInits(), loop.getCarried()))
      numCopies += place(init) != place(carried);
    countCopies(loop.getBody().front());
  }
  if (auto loop = dyn_cast<LoopOp>(block.getParentOp())) {
    for (auto [value, carried] :
         llvm::zip(yield.getValues(), loop.getCarried()))
      numCopies += place(value) != place(carried);
    numCopies += place(yield.getMore()) != flagBuffers.lookup(loop);
  } else {
    for (auto [value, result] : llvm::zip(yield.getValues(), resultPlaces))
      numCopies += place(value) != result;
  }
}

LogicalResult Placer::run() {
  Block &body = kernel.getBody().front();
  numArguments = body.getNumArguments();
  for (BlockArgument argument : body.getArguments())
    set(argument, argument.getArgNumber());
  auto yield = cast<YieldOp>(body.getTerminator());
  for (BlockArgument argument : body.getArguments())
    if (auto result = kernel.getArgAttrOfType<IntegerAttr>(
            argument.getArgNumber(), kDonateAttr))
      readFirst(yield.getValues()[result.getInt()], argument);
  kernel.walk([&](LoopOp loop) {
    for (auto [value, carried] :
         llvm::zip(loop.getYield().getValues(), loop.getCarried()))
      if (value != carried)
        readFirst(value, carried);
  });
  begins[kernel] = position++;
  number(body);
  ends[kernel] = position++;
  placeKernelResults();
  placeLoops(body);
  placeRest(body);
  shareTemporaries();
  countCopies(body);
  return writeAttributes();
}

namespace {
struct FusedPlaceBuffers
    : heddle::impl::FusedPlaceBuffersBase<FusedPlaceBuffers> {
  using FusedPlaceBuffersBase::FusedPlaceBuffersBase;

  void runOnOperation() override {
    if (failed(Placer(getOperation(), remarks, numInPlace, numTemporaries,
                      numCopies)
                   .run()))
      signalPassFailure();
  }
};
} // namespace
