//===- Interpreter.cpp - the reference interpreter ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the operations of a function in order, each over whole lists.
//
//===----------------------------------------------------------------------===//

#include "dialect/reference/Interpreter.h"
#include "dialect/Bindings.h"
#include "dialect/Foreach.h"
#include "dialect/Names.h"
#include "dialect/reference/Body.h"
#include "dialect/reference/BoundOperands.h"
#include "dialect/reference/Families.h"
#include "dialect/reference/RangeReduction.h"
#include "dialect/reference/Reduction.h"
#include "dialect/reference/Rounding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/support/Text.h"
#include "llvm/Support/SaveAndRestore.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

using namespace mlir;
using heddle::foreach::Axis;
using heddle::foreach::isList;
using heddle::foreach::rankOf;
using heddle::foreach::storageType;

namespace heddle::reference {

namespace {

using Flags = std::vector<bool>;

/// The reduction of one run (a row, a column or a vector), or of a member or
/// list, with its range or its perturbation if the arithmetic has one.
class RunReduction {
public:
  RunReduction(foreach::ReduceOp op, const InterpretOptions &options)
      : op(op), options(options), exact(op.getKind(), op.getReduced().getType(),
                                        !isExact(options.arithmetic)),
        ranges(op.getKind(), op.getReduced().getType()) {}

  void clear() {
    exact.clear();
    ranges.clear();
    magnitude = 0;
  }
  void add(Body &body, int64_t count) {
    exact.add(body.yielded(0), count);
    if (body.hasRanges())
      ranges.add(body.yieldedLow(0), body.yieldedHigh(0), count);
    if (options.arithmetic == Arithmetic::perturbed)
      for (int64_t k = 0; k < count; ++k)
        magnitude += std::fabs(body.yielded(0)[k]);
  }
  void skip(int64_t count) {
    exact.skip(count);
    ranges.skip(count);
  }

  /// Stores the value, and its position if there is a second result, as element
  /// `at` of `member`. `columns` and `members` are those of the domain.
  void store(Values &results, size_t member, int64_t at, int64_t columns,
             size_t members);

private:
  double value();
  /// The largest number of operations through which a value passes, in the
  /// order of any schedule (docs/lowering.md, The order of reductions).
  int64_t depth(int64_t columns, size_t members) const {
    int64_t longest = 64 + ranges.count() / 4096 + columns / 16 +
                      static_cast<int64_t>(members) / 256;
    return std::clamp<int64_t>(ranges.count() - 1, 0, longest);
  }

  foreach
    ::ReduceOp op;
  const InterpretOptions &options;
  Reduction exact;
  RangeReduction ranges;
  double magnitude = 0;
};

class Interpreter {
public:
  Interpreter(func::FuncOp function, const InterpretOptions &options)
      : function(function), options(options), families(function) {}

  FailureOr<std::vector<Value>> run(std::vector<Value> arguments);

private:
  LogicalResult checkArgument(unsigned number, Value &value);
  void markInactive(unsigned number, const Value &value);

  LogicalResult evaluate(Block &block);
  LogicalResult evaluate(Operation &op);
  LogicalResult evaluate(foreach::MapOp op);
  LogicalResult evaluate(foreach::ReduceOp op);
  LogicalResult evaluate(foreach::WhileOp op);
  LogicalResult evaluate(foreach::RecordOp op);
  LogicalResult evaluate(foreach::IfOp op);
  LogicalResult evaluate(arith::ConstantOp op);
  void reduceRuns(foreach::ReduceOp op, BoundOperands &operands, Body &body,
                  RunReduction &reduction, size_t member, size_t members,
                  const Domain &domain, Values &results);
  void allocate(Tensor &tensor, int64_t size);
  void freeUnused(Operation &op);

  Values valuesOf(ValueRange values) {
    Values found;
    for (mlir::Value value : values)
      found.push_back(environment.lookup(value));
    return found;
  }
  void define(mlir::Value value, std::shared_ptr<Value> data) {
    environment[value] = std::move(data);
  }
  bool isInactive(mlir::Value list, size_t member) {
    auto flags = inactive.find(families.of(list));
    return flags != inactive.end() && member < flags->second.size() &&
           flags->second[member];
  }
  /// Whether an operation with these operands skips a member.
  bool isSkipped(ValueRange operands, size_t member) {
    for (mlir::Value operand : operands)
      if (isList(operand.getType()))
        return isInactive(operand, member);
    return false;
  }

  func::FuncOp function;
  const InterpretOptions &options;
  Families families;
  llvm::DenseMap<const void *, Flags> inactive;
  llvm::DenseMap<mlir::Value, std::shared_ptr<Value>> environment;
  int64_t iteration = 0; // the iteration of the innermost loop
};

} // namespace

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void Interpreter::allocate(Tensor &tensor, int64_t size) {
  tensor.data.resize(size);
  if (options.arithmetic != Arithmetic::bounded)
    return;
  tensor.low.resize(size);
  tensor.high.resize(size);
}

/// Removes the ranges of a member if all its elements are exact.
static void forgetExactRanges(Tensor &tensor) {
  for (size_t k = 0; k < tensor.low.size(); ++k) {
    Range range{tensor.low[k], tensor.high[k]};
    if (!range.isExact() || !range.contains(tensor.data[k]))
      return;
  }
  tensor.low = tensor.high = {};
}

/// Gives the elements of `tensor` the range of all values.
static void forgetValues(Type storage, Tensor &tensor) {
  Range range = everyValue(storage);
  tensor.low.assign(tensor.data.size(), range.low);
  tensor.high.assign(tensor.data.size(), range.high);
}

static Range rangeOf(const Tensor &tensor, size_t k) {
  return {tensor.lows()[k], tensor.highs()[k]};
}

/// Stores element 0 of `from` as element `at` of `to`.
static void storeElement(Type storage, const Tensor &from, Tensor &to,
                         int64_t at) {
  if (from.hasRanges() && !to.hasRanges())
    to.low = to.high = to.data;
  Range range = rangeOf(from, 0);
  to.data[at] = roundTo(storage, from.data.front());
  if (!to.hasRanges())
    return;
  to.low[at] = roundTo(storage, range.low);
  to.high[at] = roundTo(storage, range.high);
}

/// `value`, whose elements may also be those of `other`.
static Value hullOf(const Value &value, const Value &other) {
  Value result = value;
  for (auto [tensor, alternative] : llvm::zip(result.members, other.members)) {
    Tensor both = tensor;
    both.low.resize(tensor.data.size());
    both.high.resize(tensor.data.size());
    for (size_t k = 0; k < tensor.data.size(); ++k) {
      Range range = hull(rangeOf(tensor, k), rangeOf(alternative, k));
      both.low[k] = range.low;
      both.high[k] = range.high;
    }
    forgetExactRanges(both);
    tensor = std::move(both);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Map
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::evaluate(foreach::MapOp op) {
  BoundOperands operands(op, op.getIndices(), valuesOf(op.getInputs()),
                         iteration);
  auto members = operands.countMembers();
  if (failed(members))
    return failure();
  Body body(op.getBody().front(), options, operands.describe(), iteration);
  size_t count = members->value_or(1);
  Values results;
  for (mlir::Value result : op.getResults()) {
    results.push_back(std::make_shared<Value>());
    results.back()->members.resize(count);
    define(result, results.back());
  }
  for (size_t member = 0; member < count; ++member) {
    bool skipped = isSkipped(op.getInputs(), member);
    Domain domain;
    if (!skipped) {
      auto found = operands.domainOf(member);
      if (failed(found))
        return failure();
      domain = *found;
    }
    for (auto &result : results) {
      Tensor &tensor = result->members[member];
      tensor.extents = operands.extentsOf(member, domain);
      int64_t size = 1;
      for (int64_t extent : tensor.extents)
        size *= extent;
      allocate(tensor, size);
    }
    if (skipped)
      continue;
    operands.setUniform(body, member);
    body.beginMember(domain.size());
    // A vector is one run of elements, a matrix one run for each row.
    bool matrix = operands.getRank() == 2;
    int64_t runs = matrix ? domain.rows : 1;
    int64_t length = matrix ? domain.columns : domain.rows;
    for (int64_t run = 0; run < runs; ++run)
      for (int64_t first = 0; first < length; first += kBlock) {
        int64_t n = std::min(kBlock, length - first);
        operands.setElements(body, member, domain, /*down=*/!matrix, run, first,
                             n);
        body.run(n);
        for (auto [k, result] : llvm::enumerate(results)) {
          Tensor &tensor = result->members[member];
          Type storage = storageType(op.getResult(k).getType());
          auto put = [&](const double *from, std::vector<double> &plane) {
            double *to = &plane[run * length + first];
            std::copy_n(from, n, to);
            roundAll(storage, to, n);
          };
          put(body.yielded(k), tensor.data);
          if (!body.hasRanges())
            continue;
          put(body.yieldedLow(k), tensor.low);
          put(body.yieldedHigh(k), tensor.high);
        }
      }
    for (auto &result : results)
      forgetExactRanges(result->members[member]);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Reduce
//===----------------------------------------------------------------------===//

/// The value. In perturbed arithmetic, it is off by `amplitude` units in the
/// last place of the value; of a sum, of the sum of the magnitudes.
double RunReduction::value() {
  double value = exact.value();
  Type type = op.getReduced().getType();
  if (options.arithmetic != Arithmetic::perturbed || !isa<FloatType>(type))
    return value;
  double scale = 0;
  if (op.getKind() == foreach::ReduceKind::add)
    scale = magnitude;
  else if (op.getKind() == foreach::ReduceKind::logsumexp)
    scale = 1 + std::fabs(value);
  else if (op.getKind() == foreach::ReduceKind::mul)
    scale = std::fabs(value);
  if (!std::isfinite(value) || !std::isfinite(scale))
    return value;
  double error = 2 * unitRoundoff(type) * options.amplitude * scale;
  return value + error * signOf(value, options.seed);
}

void RunReduction::store(Values &results, size_t member, int64_t at,
                         int64_t columns, size_t members) {
  double reduced[] = {value(), static_cast<double>(exact.position())};
  for (auto [k, result] : llvm::enumerate(results)) {
    Type storage = storageType(op.getResult(k).getType());
    Tensor &tensor = result->members[member];
    tensor.data[at] = roundTo(storage, reduced[k]);
    if (!tensor.hasRanges())
      continue;
    Range range = k == 0 ? ranges.value(reduced[0], depth(columns, members))
                         : ranges.position();
    tensor.low[at] = roundTo(storage, range.low);
    tensor.high[at] = roundTo(storage, range.high);
  }
}

/// Reduces one member. Along i, or over a vector, runs are columns. The result
/// has one element for each run. Along the list, the reduction continues in the
/// next member.
void Interpreter::reduceRuns(foreach::ReduceOp op, BoundOperands &operands,
                             Body &body, RunReduction &reduction, size_t member,
                             size_t members, const Domain &domain,
                             Values &results) {
  bool matrix = operands.getRank() == 2;
  bool down = !matrix || op.getAxis() == Axis::i;
  int64_t runs = matrix ? (down ? domain.columns : domain.rows) : 1;
  int64_t length = down ? domain.rows : domain.columns;
  bool whole = op.getAxis() == Axis::member || op.getAxis() == Axis::list;
  if (op.getAxis() != Axis::list)
    reduction.clear();
  operands.setUniform(body, member);
  body.beginMember(length);
  for (int64_t run = 0; run < runs; ++run) {
    if (!whole)
      reduction.clear();
    for (int64_t first = 0; first < length; first += kBlock) {
      int64_t n = std::min(kBlock, length - first);
      operands.setElements(body, member, domain, down, run, first, n);
      body.run(n);
      reduction.add(body, n);
    }
    if (!whole)
      reduction.store(results, member, run, domain.columns, members);
  }
  if (op.getAxis() == Axis::member)
    reduction.store(results, member, 0, domain.columns, members);
}

LogicalResult Interpreter::evaluate(foreach::ReduceOp op) {
  BoundOperands operands(op, op.getIndices(), valuesOf(op.getInputs()),
                         iteration);
  auto members = operands.countMembers();
  if (failed(members))
    return failure();
  Body body(op.getBody().front(), options, operands.describe(), iteration);
  RunReduction reduction(op, options);
  int64_t columns = 0;
  size_t count = members->value_or(1);
  Values results;
  for (mlir::Value result : op.getResults()) {
    results.push_back(std::make_shared<Value>());
    results.back()->members.resize(op.getAxis() == Axis::list ? 1 : count);
    define(result, results.back());
  }
  for (size_t member = 0; member < count; ++member) {
    bool skipped = isSkipped(op.getInputs(), member);
    Domain domain;
    if (!skipped) {
      auto found = operands.domainOf(member);
      if (failed(found))
        return failure();
      domain = *found;
    }
    if (op.getAxis() != Axis::list)
      for (auto &result : results) {
        Tensor &tensor = result->members[member];
        int64_t size = 1;
        if (operands.getRank() == 2 && op.getAxis() != Axis::member) {
          size = op.getAxis() == Axis::i ? domain.columns : domain.rows;
          tensor.extents = {size};
        }
        allocate(tensor, size);
      }
    columns = std::max(columns, domain.columns);
    if (!skipped)
      reduceRuns(op, operands, body, reduction, member, count, domain, results);
    else if (op.getAxis() == Axis::list)
      reduction.skip(1); // positions count members
  }
  if (op.getAxis() == Axis::list) {
    for (auto &result : results)
      allocate(result->members.front(), 1);
    reduction.store(results, 0, 0, columns, count);
  }
  for (auto &result : results)
    llvm::for_each(result->members, forgetExactRanges);
  return success();
}

//===----------------------------------------------------------------------===//
// While and if
//===----------------------------------------------------------------------===//

/// Fills a further value of a loop in which no iteration ran.
static void fillUnknown(Type type, Value &value) {
  for (Tensor &tensor : value.members) {
    std::fill(tensor.data.begin(), tensor.data.end(),
              ofNoIteration(storageType(type)));
    tensor.low = tensor.high = {};
  }
}

/// Gives the elements of undecided members the range of all values: faithful
/// evaluations may stop these members in different iterations.
static void forgetUndecided(Type type, const Flags &undecided, bool perMember,
                            std::shared_ptr<Value> &value) {
  if (!llvm::is_contained(undecided, true))
    return;
  value = std::make_shared<Value>(*value);
  for (auto [member, tensor] : llvm::enumerate(value->members))
    if (!perMember || !isList(type) || undecided[member])
      forgetValues(storageType(type), tensor);
}

LogicalResult Interpreter::evaluate(foreach::WhileOp op) {
  Block &body = op.getBody().front();
  auto yield = op.getYield();
  size_t carried = op.getInits().size();
  const Tensor &bound = environment.lookup(op.getLimit())->members.front();
  auto limit = static_cast<int64_t>(bound.data.front());
  bool perMember = isList(yield.getMore().getType());
  const void *family = perMember ? families.of(yield.getMore()) : nullptr;
  Flags absent = perMember ? inactive.lookup(family) : Flags();

  Values current = valuesOf(op.getInits());
  Value iterations = Value::scalar(0);
  auto runBody = [&]() -> LogicalResult {
    for (size_t k = 0; k < carried; ++k)
      define(body.getArgument(k), current[k]);
    return evaluate(body);
  };

  // The body is evaluated once even if no iteration runs, to find the extents
  // of the further values.
  bool ran = limit > 0;
  Flags stopped = absent, undecided;
  llvm::SaveAndRestore outer(iteration, int64_t(0));
  for (; iteration == 0 || iteration < limit; ++iteration) {
    if (failed(runBody()))
      return failure();
    Values next = valuesOf(yield.getValues());
    auto more = environment.lookup(yield.getMore());
    if (iteration == 0) {
      iterations.members.assign(more->members.size(), Tensor{{}, {0}});
      stopped.resize(more->members.size());
      undecided.assign(more->members.size(), bound.hasRanges());
    }
    if (!ran) {
      for (size_t k = carried; k < next.size(); ++k) {
        auto unknown = std::make_shared<Value>(*next[k]);
        fillUnknown(yield.getValues()[k].getType(), *unknown);
        current.push_back(unknown);
      }
      break;
    }
    // Members that stopped before this iteration keep their values.
    if (perMember && iteration > 0)
      for (auto [k, value] : llvm::enumerate(next)) {
        if (!isList(yield.getValues()[k].getType()))
          continue;
        auto kept = std::make_shared<Value>(*value);
        if (kept->members.size() != stopped.size())
          return op.emitOpError("has ")
                 << counted(stopped.size(), "flag") << " for the "
                 << counted(kept->members.size(), "member") << " of value #"
                 << k;
        for (size_t member = 0; member < kept->members.size(); ++member)
          if (stopped[member])
            kept->members[member] = current[k]->members[member];
        next[k] = kept;
      }
    current = next;
    bool any = false;
    for (size_t member = 0; member < more->members.size(); ++member) {
      if (stopped[member])
        continue;
      iterations.members[member].data.front() += 1;
      stopped[member] = more->members[member].data.front() == 0;
      undecided[member] =
          undecided[member] || !rangeOf(more->members[member], 0).isExact();
      any |= !stopped[member];
    }
    if (perMember)
      inactive[family] = stopped;
    if (!any)
      break;
  }
  if (perMember)
    inactive[family] = absent;
  current.push_back(std::make_shared<Value>(iterations));
  for (auto [result, value] : llvm::zip(op.getResults(), current)) {
    forgetUndecided(result.getType(), undecided, perMember, value);
    define(result, value);
  }
  return success();
}

LogicalResult Interpreter::evaluate(foreach::RecordOp op) {
  const Value &value = *environment.lookup(op.getValue());
  auto recorded = std::make_shared<Value>(*environment.lookup(op.getInto()));
  bool each = isList(op.getValue().getType());
  size_t count = recorded->members.size();
  if (each && value.members.size() != count)
    return op.emitOpError("records ")
           << counted(value.members.size(), "value") << " in the vectors of "
           << counted(count, "member");
  for (auto [member, tensor] : llvm::enumerate(recorded->members))
    if (iteration < tensor.size() && !isInactive(op.getInto(), member))
      storeElement(storageType(op.getInto().getType()),
                   value.members[each ? member : 0], tensor, iteration);
  define(op.getResult(), std::move(recorded));
  return success();
}

LogicalResult Interpreter::evaluate(foreach::IfOp op) {
  auto flag = environment.lookup(op.getCondition());
  bool holds = flag->members.front().data.front() != 0;
  bool isDecided = rangeOf(flag->members.front(), 0).isExact();
  Values values, otherwise = valuesOf(op.getOtherwise());
  if (holds || !isDecided) {
    if (failed(evaluate(op.getBody().front())))
      return failure();
    values = valuesOf(op.getYield().getValues());
  }
  for (auto [k, result] : llvm::enumerate(op.getResults())) {
    std::shared_ptr<Value> value = holds ? values[k] : otherwise[k];
    if (!isDecided)
      value = std::make_shared<Value>(
          hullOf(*value, holds ? *otherwise[k] : *values[k]));
    define(result, value);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LogicalResult Interpreter::evaluate(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements || elements.getType().getRank() != 0)
    return op.emitOpError("is not a constant that the interpreter supports");
  double number = isa<FloatType>(elements.getElementType())
                      ? elements.getSplatValue<FloatAttr>().getValueAsDouble()
                      : static_cast<double>(wrap(
                            elements.getSplatValue<APInt>().getSExtValue(),
                            elements.getElementType().getIntOrFloatBitWidth()));
  define(op.getResult(), std::make_shared<Value>(Value::scalar(number)));
  return success();
}

LogicalResult Interpreter::evaluate(Operation &op) {
  if (auto map = dyn_cast<foreach::MapOp>(op))
    return evaluate(map);
  if (auto reduce = dyn_cast<foreach::ReduceOp>(op))
    return evaluate(reduce);
  if (auto loop = dyn_cast<foreach::WhileOp>(op))
    return evaluate(loop);
  if (auto record = dyn_cast<foreach::RecordOp>(op))
    return evaluate(record);
  if (auto branch = dyn_cast<foreach::IfOp>(op))
    return evaluate(branch);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return evaluate(constant);
  return op.emitOpError("is not an operation that the interpreter supports");
}

LogicalResult Interpreter::evaluate(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (failed(evaluate(op)))
      return failure();
    freeUnused(op);
  }
  return success();
}

/// Frees the operands of `op` without a later use, because lists are large.
void Interpreter::freeUnused(Operation &op) {
  Block *block = op.getBlock();
  for (mlir::Value operand : op.getOperands()) {
    bool last = operand.getParentBlock() == block &&
                llvm::all_of(operand.getUsers(), [&](Operation *user) {
                  Operation *there = block->findAncestorOpInBlock(*user);
                  return there == &op || there->isBeforeInBlock(&op);
                });
    if (last)
      environment.erase(operand);
  }
}

LogicalResult Interpreter::checkArgument(unsigned number, Value &value) {
  BlockArgument argument = function.getArgument(number);
  Type type = argument.getType();
  auto error = [&]() {
    InFlightDiagnostic diagnostic = function.emitOpError("argument #");
    diagnostic << number;
    if (StringRef name = nameOf(argument); !name.empty())
      diagnostic << " '" << name << "'";
    diagnostic << ' ';
    return diagnostic;
  };
  if (!isList(type) && value.members.size() != 1)
    return error() << "is a device scalar, one member; found "
                   << value.members.size();
  const Flags none;
  const Flags &missing =
      number < options.inactive.size() ? options.inactive[number] : none;
  for (auto [k, tensor] : llvm::enumerate(value.members)) {
    if (k < missing.size() && missing[k])
      continue;
    int64_t size = 1;
    for (int64_t extent : tensor.extents)
      size *= extent;
    if (size != tensor.size())
      return error() << "has " << counted(tensor.size(), "element")
                     << " in member " << k << "; its extents give " << size;
    if (rankOf(type) == 0 && size != 1)
      return error() << "has " << counted(size, "element") << " in member " << k
                     << "; expected 1";
    for (auto *plane : {&tensor.data, &tensor.low, &tensor.high})
      roundAll(storageType(type), plane->data(),
               static_cast<int64_t>(plane->size()));
  }
  return success();
}

void Interpreter::markInactive(unsigned number, const Value &value) {
  BlockArgument argument = function.getArgument(number);
  if (number >= options.inactive.size() || !isList(argument.getType()))
    return;
  Flags &flags = inactive[families.of(argument)];
  const Flags &missing = options.inactive[number];
  flags.resize(std::max(flags.size(), value.members.size()));
  for (size_t k = 0; k < std::min(missing.size(), flags.size()); ++k)
    flags[k] = flags[k] || missing[k];
}

FailureOr<std::vector<Value>> Interpreter::run(std::vector<Value> arguments) {
  if (arguments.size() != function.getNumArguments())
    return function.emitOpError("has ")
           << counted(function.getNumArguments(), "argument")
           << "; found values for " << arguments.size();
  auto end = dyn_cast_or_null<func::ReturnOp>(
      function.isExternal() ? nullptr
                            : function.getBody().front().getTerminator());
  if (!end || !function.getBody().hasOneBlock())
    return function.emitOpError("is not a program: expected one block that "
                                "returns");
  // Inactive members of donated arguments keep their elements.
  llvm::DenseMap<unsigned, std::shared_ptr<Value>> replaced;
  for (auto [k, value] : llvm::enumerate(arguments)) {
    if (failed(checkArgument(k, value)))
      return failure();
    markInactive(k, value);
    auto data = std::make_shared<Value>(std::move(value));
    define(function.getArgument(k), data);
    auto result =
        function.getArgAttrOfType<IntegerAttr>(k, foreach::kDonateAttr);
    if (result && inactive.count(families.of(function.getArgument(k))))
      replaced[result.getInt()] = data;
  }
  if (failed(evaluate(function.getBody().front())))
    return failure();

  std::vector<Value> results;
  for (auto [k, operand] : llvm::enumerate(end.getOperands())) {
    auto data = environment.lookup(operand);
    // The data moves if only this reference and the environment's exist.
    bool last =
        data.use_count() == 2 && llvm::count(end.getOperands(), operand) == 1;
    Value result = last ? std::move(*data) : *data;
    if (auto kept = replaced.lookup(k))
      for (size_t member = 0; member < result.members.size(); ++member)
        if (isInactive(operand, member))
          result.members[member] = kept->members[member];
    results.push_back(std::move(result));
  }
  return results;
}

FailureOr<std::vector<Value>> interpret(func::FuncOp function,
                                        std::vector<Value> arguments,
                                        const InterpretOptions &options) {
  return Interpreter(function, options).run(std::move(arguments));
}

} // namespace heddle::reference
