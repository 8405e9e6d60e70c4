//===- FusedDecisions.cpp - buffers, names and launches of the IR ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax and rules of the attributes in which passes store their decisions
// about programs, sweeps and loops.
//
//===----------------------------------------------------------------------===//

#include "dialect/Fused.h"
#include "dialect/FusedLevels.h"
#include "mlir/IR/Builders.h"
#include "runtime/support/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;
using heddle::foreach::isList;
using heddle::foreach::rankOf;

//===----------------------------------------------------------------------===//
// Syntax
//===----------------------------------------------------------------------===//

ArrayRef<StringRef> fused::decisionAttrs() {
  static const StringRef names[] = {"name",           "launch",
                                    "cooperative",    "panels",
                                    "result_buffers", "condition_buffer"};
  return names;
}

/// Parses `[0, 2, -1]`.
static ParseResult parseNumbers(OpAsmParser &parser, Attribute &attr) {
  SmallVector<int64_t> numbers;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseInteger(numbers.emplace_back());
      }))
    return failure();
  attr = parser.getBuilder().getDenseI64ArrayAttr(numbers);
  return success();
}

template <typename T>
static ParseResult parseTyped(OpAsmParser &parser, Attribute &attr) {
  T typed;
  if (parser.parseCustomAttributeWithFallback(typed))
    return failure();
  attr = typed;
  return success();
}

ParseResult fused::parseDecisions(OpAsmParser &parser, OperationState &state) {
  bool isSweep = state.name.getStringRef() == SweepOp::getOperationName();
  Attribute attr;
  auto parse = [&](StringRef name, auto value) -> ParseResult {
    if (failed(parser.parseOptionalKeyword(name)))
      return success();
    if (value(attr))
      return failure();
    state.addAttribute(name, attr);
    return success();
  };
  auto parseName = [&](Attribute &attr) -> ParseResult {
    StringAttr name;
    if (parser.parseAttribute(name))
      return failure();
    attr = name;
    return success();
  };
  auto parseBuffers = [&](Attribute &attr) {
    return parseNumbers(parser, attr);
  };
  auto parseFlag = [&](Attribute &attr) -> ParseResult {
    attr = parser.getBuilder().getUnitAttr();
    return success();
  };
  auto parseBuffer = [&](Attribute &attr) -> ParseResult {
    int64_t number;
    if (parser.parseInteger(number))
      return failure();
    attr = parser.getBuilder().getI64IntegerAttr(number);
    return success();
  };
  if (parse("name", parseName))
    return failure();
  if (isSweep)
    return failure(parse("launch",
                         [&](Attribute &attr) {
                           return parseTyped<LaunchAttr>(parser, attr);
                         }) ||
                   parse("result_buffers", parseBuffers));
  return failure(parse("cooperative",
                       [&](Attribute &attr) {
                         return parseTyped<CooperativeAttr>(parser, attr);
                       }) ||
                 parse("panels", parseFlag) ||
                 parse("result_buffers", parseBuffers) ||
                 parse("condition_buffer", parseBuffer));
}

void fused::printDecisions(OpAsmPrinter &printer, Operation *op) {
  auto sweep = dyn_cast<SweepOp>(op);
  auto loop = dyn_cast<LoopOp>(op);
  if (auto name = sweep ? sweep.getNameAttr() : loop.getNameAttr())
    printer << " name " << name;
  if (sweep && sweep.getLaunchAttr()) {
    printer << " launch ";
    printer.printStrippedAttrOrType(sweep.getLaunchAttr());
  }
  if (loop && loop.getCooperativeAttr()) {
    printer << " cooperative ";
    printer.printStrippedAttrOrType(loop.getCooperativeAttr());
  }
  if (loop && loop.getPanels())
    printer << " panels";
  if (auto buffers =
          sweep ? sweep.getResultBuffers() : loop.getResultBuffers()) {
    printer << " result_buffers [";
    llvm::interleaveComma(*buffers, printer);
    printer << ']';
  }
  if (loop)
    if (auto condition = loop.getConditionBuffer())
      printer << " condition_buffer " << *condition;
}

/// Parses `T, extents = [[0, 0], [2, 1]], members = 0`: pairs of a buffer and
/// one of its dimensions, and a buffer. Both are optional.
static ParseResult
parseTypeAndShape(AsmParser &parser, Type &type,
                  SmallVector<std::pair<int64_t, int64_t>> &extents,
                  int64_t &members) {
  members = -1;
  if (parser.parseType(type))
    return failure();
  auto parseExtent = [&] {
    auto &[buffer, dimension] = extents.emplace_back();
    return failure(parser.parseLSquare() || parser.parseInteger(buffer) ||
                   parser.parseComma() || parser.parseInteger(dimension) ||
                   parser.parseRSquare());
  };
  bool hasMembers = false;
  while (!hasMembers && succeeded(parser.parseOptionalComma())) {
    if (extents.empty() && succeeded(parser.parseOptionalKeyword("extents"))) {
      if (parser.parseEqual() || parser.parseCommaSeparatedList(
                                     AsmParser::Delimiter::Square, parseExtent))
        return failure();
      continue;
    }
    hasMembers = true;
    if (parser.parseKeyword("members") || parser.parseEqual() ||
        parser.parseInteger(members))
      return failure();
  }
  return success();
}

static void printTypeAndShape(AsmPrinter &printer, Type type,
                              ArrayRef<std::pair<int64_t, int64_t>> extents,
                              int64_t members) {
  printer << type;
  if (!extents.empty()) {
    printer << ", extents = [";
    llvm::interleaveComma(extents, printer, [&](auto extent) {
      printer << '[' << extent.first << ", " << extent.second << ']';
    });
    printer << ']';
  }
  if (members >= 0)
    printer << ", members = " << members;
}

#define GET_ATTRDEF_CLASSES
#include "dialect/FusedAttributes.cpp.inc"

void FusedDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/FusedAttributes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

using EmitError = llvm::function_ref<InFlightDiagnostic()>;

LogicalResult BufferAttr::verify(EmitError error, StringRef name,
                                 BufferRole role, Type type,
                                 ArrayRef<std::pair<int64_t, int64_t>> extents,
                                 int64_t members) {
  if (name.empty())
    return error() << "expected a buffer with a name, found \"\"";
  if (role == BufferRole::argument)
    return error() << "expected the role 'result' or 'temporary' for buffer '"
                   << name << "', found 'argument'";
  auto scalar = dyn_cast<RankedTensorType>(type);
  if (!isList(type) && !(scalar && scalar.getRank() == 0))
    return error() << "expected the type of a list or of a device scalar for "
                      "buffer '"
                   << name << "', found " << type;
  int64_t rank = isList(type) ? rankOf(type) : 0;
  if (!extents.empty() && static_cast<int64_t>(extents.size()) != rank)
    return error() << "expected " << counted(rank, "extent") << " for buffer '"
                   << name << "' of type " << type << ", found "
                   << extents.size();
  if (members < -1 || (members >= 0 && !isList(type)))
    return error() << "expected 'members' of a list only, found " << members
                   << " for buffer '" << name << "' of type " << type;
  return success();
}

LogicalResult TrafficAttr::verify(EmitError error, int64_t argument,
                                  int64_t rank, int64_t read, int64_t written,
                                  bool) {
  if (argument < -1)
    return error() << "expected the number of an argument, or -1, found "
                   << argument;
  if (rank < 0 || rank > 2)
    return error() << "expected a rank of 0, 1 or 2, found " << rank;
  // The bound keeps sums of such numbers within 64 bits.
  constexpr int64_t most = int64_t(1) << 32;
  if (read < 0 || written < 0 || read > most || written > most)
    return error() << "expected 0 to 2^32 bytes per element, found " << read
                   << " read and " << written << " written";
  return success();
}

/// The number of threads that can reside on a multiprocessor.
static constexpr int64_t kMostThreads = 2048;

LogicalResult VariantAttr::verify(EmitError error, ScalarPassing,
                                  int64_t blocks, int64_t percent,
                                  int64_t columns, int64_t mostlyOver,
                                  int64_t parts, bool cluster,
                                  int64_t minElements, int64_t multiplesOf) {
  if (blocks < 1 || blocks > 32)
    return error() << "expected 1 to 32 blocks on a multiprocessor, found "
                   << blocks;
  if (percent < 0 || percent > 1000)
    return error() << "expected 'evict_first_l2_percent' from 1 to 1000, found "
                   << percent;
  if (columns < 0)
    return error() << "expected 'max_columns' of at least 1, found " << columns;
  if (percent && columns)
    return error() << "expected 'evict_first_l2_percent' or 'max_columns', "
                      "found both";
  if (mostlyOver < 0 || (columns && mostlyOver >= columns))
    return error() << "expected 'mostly_over' from 1 to less than "
                      "'max_columns', "
                   << columns << ", found " << mostlyOver;
  if (mostlyOver && (percent || parts))
    return error() << "expected 'mostly_over' without "
                      "'evict_first_l2_percent' and 'max_parts', found both";
  if (parts < 0 || parts == 1)
    return error() << "expected 'max_parts' of at least 2, found " << parts;
  if (parts && (percent || columns))
    return error() << "expected 'max_parts' without "
                      "'evict_first_l2_percent' and 'max_columns', found both";
  if (cluster && !parts)
    return error() << "expected 'max_parts' with 'cluster', found none";
  if (minElements < 0)
    return error() << "expected 'min_elements' of at least 1, found "
                   << minElements;
  if (minElements && (percent || columns || mostlyOver || parts))
    return error()
           << "expected 'min_elements' without another condition, found "
              "both";
  if (multiplesOf && multiplesOf != 2 && multiplesOf != 4 && multiplesOf != 8 &&
      multiplesOf != 16)
    return error() << "expected 'mostly_multiples_of' of 2, 4, 8 or 16, found "
                   << multiplesOf;
  if (multiplesOf && (percent || columns || mostlyOver || parts || minElements))
    return error() << "expected 'mostly_multiples_of' without another "
                      "condition, found both";
  return success();
}

LogicalResult LaunchAttr::verify(EmitError error,
                                 ArrayRef<VariantAttr> variants,
                                 ArrayRef<Arrival> arrivals,
                                 ArrayRef<Wait> waits) {
  if (variants.empty())
    return error() << "expected at least one variant, found none";
  for (auto [k, variant] : llvm::enumerate(variants))
    if (llvm::any_of(variants.take_front(k), [&](VariantAttr other) {
          return other.getScalars() == variant.getScalars() &&
                 other.isEvictFirst() == variant.isEvictFirst() &&
                 other.getMaxColumns() == variant.getMaxColumns() &&
                 other.isForParts() == variant.isForParts() &&
                 other.isForClusters() == variant.isForClusters() &&
                 other.isForLongParts() == variant.isForLongParts() &&
                 other.takesDistances() == variant.takesDistances() &&
                 other.isForVectors() == variant.isForVectors();
        }))
      return error() << "expected variants that differ in 'scalars', "
                        "'evict_first_l2_percent', 'max_columns', 'max_parts', "
                        "'cluster', 'min_elements' or 'mostly_multiples_of', "
                        "found another "
                     << variant;
  if (!waits.empty() && waits.size() != arrivals.size())
    return error() << "expected as many waits as arrivals, " << arrivals.size()
                   << ", or none, found " << waits.size();
  return success();
}

LogicalResult CooperativeAttr::verify(EmitError error, int64_t threads,
                                      int64_t blocks, int64_t tiles) {
  if (threads < 32 || threads > 1024 || threads % 32)
    return error() << "expected a multiple of 32 threads, at most 1024, found "
                   << threads;
  if (blocks < 1 || blocks > kMostThreads / threads)
    return error() << "expected at least one block and at most " << kMostThreads
                   << " threads on a multiprocessor, found "
                   << counted(blocks, "block") << " of " << threads
                   << " threads";
  if (tiles < 0 || tiles > INT32_MAX)
    return error() << "expected 0 to " << INT32_MAX << " tiles, found "
                   << tiles;
  return success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Whether the end of a member uses results of its elements, so that the blocks
/// of segment `segment` must arrive late. `list` says that the list has an end.
static bool needsLateArrival(SweepOp sweep, unsigned segment, bool list) {
  if (sweep.getScheduleAttr().getKind() != ScheduleKind::stream || list)
    return true;
  return llvm::any_of(
      sweep.getSegmentBlock(segment).getOps<fused::ReduceOp>(),
      [](fused::ReduceOp reduce) { return reduce.getLevel() != Level::row; });
}

bool fused::mayEndInOwnLaunch(SweepOp sweep) {
  auto schedule = sweep.getScheduleAttr();
  if (!schedule || sweep.getWhere() ||
      isa_and_nonnull<LoopOp>(sweep->getParentOp()))
    return false;
  if (schedule.getKind() == ScheduleKind::stream)
    return true;
  auto segments = llvm::seq(sweep.getNumSegments());
  return !schedule.getColumns() && llvm::none_of(segments, [&](unsigned s) {
    return reducesOverColumns(sweep, s);
  }) && llvm::any_of(segments, [&](unsigned s) {
    return reducesElementsOverMembers(sweep, s);
  });
}

/// If a launch of its own ends the members, no block takes their tickets.
static LogicalResult verifyOwnLaunch(SweepOp sweep) {
  LaunchAttr launch = sweep.getLaunchAttr();
  if (!launch.endsInOwnLaunch())
    return success();
  if (!mayEndInOwnLaunch(sweep))
    return sweep.emitOpError(
               "expected no 'where', no loop around it, and the schedule "
               "'stream' or elements of rows that are reduced over members "
               "and not over columns, for arrival 'own_launch', found ")
           << launch;
  for (auto [s, arrival] : llvm::enumerate(launch.getArrivals()))
    if (arrival == Arrival::early || arrival == Arrival::late)
      return sweep.emitOpError("expected arrival 'own_launch' or 'none' for "
                               "segment #")
             << s << ", because another segment has 'own_launch', found '"
             << stringifyArrival(arrival) << "'";
  return success();
}

LogicalResult fused::verifyLaunch(SweepOp sweep) {
  LaunchAttr launch = sweep.getLaunchAttr();
  if (!launch)
    return success();
  auto schedule = sweep.getScheduleAttr();
  if (!schedule)
    return sweep.emitOpError("expected a schedule together with 'launch'");
  if (launch.getArrivals().size() != sweep.getNumSegments())
    return sweep.emitOpError("expected a launch for ")
           << counted(sweep.getNumSegments(), "segment") << ", found one with "
           << counted(launch.getArrivals().size(), "arrival");
  for (VariantAttr variant : launch.getVariants())
    if (variant.getBlocks() * schedule.getThreads() > kMostThreads)
      return sweep.emitOpError("expected at most ")
             << kMostThreads << " threads on a multiprocessor, found "
             << counted(variant.getBlocks(), "block") << " of "
             << schedule.getThreads();
  bool list = sweep.hasEpilogue() || !sweep.getListResults().empty();
  for (auto [s, arrival] : llvm::enumerate(launch.getArrivals()))
    if (arrival == Arrival::early && needsLateArrival(sweep, s, list))
      return sweep.emitOpError("expected arrival 'late' for segment #")
             << s << ", because the end of a member uses the results of its "
             << "elements, found 'early'";
  if (failed(verifyOwnLaunch(sweep)))
    return failure();
  if (isa_and_nonnull<LoopOp>(sweep->getParentOp())) {
    // The parameters of a kernel in a loop cannot change between steps.
    if (launch.getVariants().size() != 1 ||
        launch.getVariants()[0].getScalars() != ScalarPassing::address)
      return sweep.emitOpError("expected one variant with scalars by address "
                               "in a loop, found ")
             << launch;
    if (launch.isDependent())
      return sweep.emitOpError("expected no 'wait' in a loop, found ")
             << launch;
  }
  if (launch.isDependent() && !isa_and_nonnull<SweepOp>(sweep->getPrevNode()))
    return sweep.emitOpError("expected a sweep right before a sweep with "
                             "'wait', found none");
  return success();
}

LogicalResult fused::verifyForms(LoopOp loop) {
  Block &body = loop.getBody().front();
  if (loop.getPanels()) {
    auto sweep = dyn_cast<SweepOp>(body.front());
    if (!sweep || !llvm::hasSingleElement(body.without_terminator()) ||
        !sweep.getScheduleAttr() ||
        sweep.getScheduleAttr().getKind() != ScheduleKind::panel)
      return loop.emitOpError("expected a body of one sweep with the schedule "
                              "'panel' for 'panels'");
  }
  if (!loop.getCooperativeAttr())
    return success();
  for (Operation &op : body.without_terminator())
    if (!isa<SweepOp>(op))
      return loop.emitOpError("expected a body of sweeps only for "
                              "'cooperative', found a '")
             << op.getName() << "'";
  int64_t threads = loop.getCooperativeAttr().getThreads();
  for (auto sweep : body.getOps<SweepOp>())
    if (auto schedule = sweep.getScheduleAttr();
        schedule && schedule.getThreads() != threads)
      return loop.emitOpError("expected sweeps of ")
             << threads << " threads for 'cooperative', found one of "
             << schedule.getThreads();
  Value active = loop.getActive();
  if (active && llvm::none_of(body.getOps<SweepOp>(), [&](SweepOp sweep) {
        return sweep.getWhere() == active;
      }))
    return loop.emitOpError("expected a sweep 'where' the flags of members are "
                            "set for 'cooperative'");
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers and names
//===----------------------------------------------------------------------===//

namespace {
/// Checks buffer numbers. Buffers are numbered from 0: the arguments of the
/// program, then `buffers`.
class BufferVerifier {
public:
  explicit BufferVerifier(ProgramOp program) : program(program) {
    llvm::append_range(types, program.getArgumentTypes());
    if (auto buffers = program.getBuffersAttr())
      for (auto buffer : buffers.getAsRange<BufferAttr>())
        types.push_back(buffer.getType());
  }

  LogicalResult verifyShapes();
  /// Checks that `numbers` are buffers for `values`. With `mayBeUnused`, -1
  /// stands for a value that is never read.
  LogicalResult verifyResults(Operation *op, ArrayRef<int64_t> numbers,
                              TypeRange values, bool mayBeUnused);
  LogicalResult verifyOwnBuffers(ArrayRef<int64_t> numbers);
  LogicalResult verifySweep(SweepOp sweep);
  LogicalResult verifyLoop(LoopOp loop);
  LogicalResult verifyName(Operation *op, StringAttr name);

private:
  bool isBuffer(int64_t number) const {
    return number >= 0 && number < static_cast<int64_t>(types.size());
  }

  ProgramOp program;
  SmallVector<Type> types;
  llvm::StringMap<Operation *> names;
};
} // namespace

LogicalResult BufferVerifier::verifyShapes() {
  auto buffers = program.getBuffersAttr();
  if (!buffers)
    return success();
  for (auto buffer : buffers.getAsRange<BufferAttr>()) {
    for (auto [other, dimension] : buffer.getExtents())
      if (!isBuffer(other) || !isList(types[other]) || dimension < 0 ||
          dimension >= rankOf(types[other]))
        return program.emitOpError("expected extents that are dimensions of "
                                   "lists among its ")
               << counted(types.size(), "buffer") << ", found dimension "
               << dimension << " of buffer " << other << " in " << buffer;
    if (int64_t other = buffer.getMembers();
        other >= 0 && (!isBuffer(other) || !isList(types[other])))
      return program.emitOpError("expected 'members' of a list among its ")
             << counted(types.size(), "buffer") << ", found " << other << " in "
             << buffer;
  }
  return success();
}

LogicalResult BufferVerifier::verifyResults(Operation *op,
                                            ArrayRef<int64_t> numbers,
                                            TypeRange values,
                                            bool mayBeUnused) {
  if (numbers.size() != values.size())
    return op->emitOpError("expected 'result_buffers' of ")
           << counted(values.size(), "result") << ", found " << numbers.size();
  for (auto [k, number, type] : llvm::enumerate(numbers, values)) {
    if (number == -1 && mayBeUnused)
      continue;
    if (!isBuffer(number))
      return op->emitOpError("expected one of ")
             << counted(types.size(), "buffer")
             << (mayBeUnused ? ", or -1," : "") << " for result #" << k
             << ", found " << number;
    if (types[number] != type)
      return op->emitOpError("expected a buffer of type ")
             << type << " for result #" << k << ", found buffer " << number
             << " of type " << types[number];
  }
  return success();
}

/// Checks that each result of the program is in the argument that it replaces,
/// or in a buffer of its own that has the role of a result.
LogicalResult BufferVerifier::verifyOwnBuffers(ArrayRef<int64_t> numbers) {
  int64_t arguments = program.getArgumentTypes().size();
  llvm::SmallDenseSet<int64_t> used;
  for (auto [k, number, argument] :
       llvm::enumerate(numbers, foreach::replacedArguments(program))) {
    if (argument >= 0 && number != argument)
      return program.emitOpError("expected buffer ")
             << argument << ", the argument that it replaces, for result #" << k
             << ", found " << number;
    if (argument >= 0)
      continue;
    if (number < arguments ||
        cast<BufferAttr>(program.getBuffersAttr()[number - arguments])
                .getRole() != BufferRole::result)
      return program.emitOpError("expected a buffer of the role 'result' for "
                                 "result #")
             << k << ", found buffer " << number;
    if (!used.insert(number).second)
      return program.emitOpError("expected a buffer of its own for result #")
             << k << ", found buffer " << number << " of another result";
  }
  return success();
}

LogicalResult BufferVerifier::verifySweep(SweepOp sweep) {
  if (failed(verifyName(sweep, sweep.getNameAttr())))
    return failure();
  auto numbers = sweep.getResultBuffers();
  if (!numbers)
    return success();
  if (failed(verifyResults(sweep, *numbers, sweep.getResultTypes(),
                           /*mayBeUnused=*/true)))
    return failure();
  llvm::DenseSet<int64_t> taken;
  for (int64_t number : *numbers)
    if (number >= 0 && !taken.insert(number).second)
      return sweep.emitOpError("expected a buffer of its own for each result, "
                               "found buffer ")
             << number << " twice";
  return success();
}

LogicalResult BufferVerifier::verifyLoop(LoopOp loop) {
  if (failed(verifyName(loop, loop.getNameAttr())))
    return failure();
  auto numbers = loop.getResultBuffers();
  if (numbers.has_value() != loop.getConditionBuffer().has_value())
    return loop.emitOpError("expected both 'result_buffers' and "
                            "'condition_buffer' or neither");
  if (!numbers)
    return success();
  // A device scalar counts iterations, even if the result is a list.
  SmallVector<Type> results(loop.getResultTypes());
  results.back() =
      RankedTensorType::get({}, IntegerType::get(loop.getContext(), 32));
  if (failed(verifyResults(loop, *numbers, results, /*mayBeUnused=*/false)))
    return failure();
  int64_t condition = *loop.getConditionBuffer();
  Type flag = loop.getYield().getMore().getType();
  if (!isBuffer(condition) || types[condition] != flag)
    return loop.emitOpError("expected a 'condition_buffer' of type ")
           << flag << " among its " << counted(types.size(), "buffer")
           << ", found " << condition;
  return success();
}

LogicalResult BufferVerifier::verifyName(Operation *op, StringAttr name) {
  if (!name)
    return success();
  StringRef text = name.getValue();
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (text.empty() || llvm::isDigit(text.front()) ||
      !llvm::all_of(text, isWord))
    return op->emitOpError("expected a name that is a C identifier, found ")
           << name;
  if (!names.try_emplace(text, op).second)
    return op->emitOpError("expected a name of its own, found the name of "
                           "another sweep or loop, ")
           << name;
  return success();
}

LogicalResult fused::verifyTraffic(ProgramOp program) {
  ArrayAttr traffic = program.getTrafficAttr();
  if (!traffic)
    return success();
  ArrayRef<Type> arguments = program.getArgumentTypes();
  for (auto entry : traffic.getAsRange<TrafficAttr>()) {
    int64_t argument = entry.getArgument();
    if (argument >= static_cast<int64_t>(arguments.size()) ||
        (argument >= 0 && !isList(arguments[argument])))
      return program.emitOpError("expected a list argument or -1 in 'traffic', "
                                 "found argument ")
             << argument;
  }
  return success();
}

LogicalResult fused::verifyBuffers(ProgramOp program) {
  BufferVerifier verifier(program);
  if (failed(verifier.verifyShapes()))
    return failure();
  if (auto numbers = program.getResultBuffers())
    if (failed(verifier.verifyResults(program, *numbers,
                                      program.getResultTypes(),
                                      /*mayBeUnused=*/false)) ||
        failed(verifier.verifyOwnBuffers(*numbers)))
      return failure();
  auto result = program.walk<WalkOrder::PreOrder>([&](Operation *op) {
    LogicalResult checked = success();
    if (auto sweep = dyn_cast<SweepOp>(op))
      checked = verifier.verifySweep(sweep);
    else if (auto loop = dyn_cast<LoopOp>(op))
      checked = verifier.verifyLoop(loop);
    return failed(checked) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
