//===- Traffic.cpp - bytes that sweeps and programs move ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each operand counts once per element of its own domain: in a sweep over a
// matrix, a row value counts once per row.
//
//===----------------------------------------------------------------------===//

#include "passes/Traffic.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::storageType;

namespace heddle::fused {

static int64_t bytesOf(Type list) {
  return (storageType(list).getIntOrFloatBitWidth() + 7) / 8;
}

static Traffic &entry(TrafficList &list, const Shape &shape,
                      bool perIteration) {
  for (Traffic &traffic : list)
    if (traffic.shape == shape && traffic.perIteration == perIteration)
      return traffic;
  Traffic &traffic = list.emplace_back();
  traffic.shape = shape;
  traffic.perIteration = perIteration;
  return traffic;
}

void Traffic::findArguments(const Domains &domains) {
  sides.clear();
  if (auto found = domains.argumentOf(shape)) {
    argument = *found;
    return;
  }
  for (int extent : shape.extents)
    if (auto side = domains.sourceOf(extent))
      sides.push_back(*side);
}

namespace {
/// A sum of traffic over many domains.
class TrafficSum {
public:
  Traffic &at(const Shape &shape, bool perIteration) {
    auto [found, isNew] =
        numbers.try_emplace({shape, perIteration}, list.size());
    if (isNew) {
      Traffic &traffic = list.emplace_back();
      traffic.shape = shape;
      traffic.perIteration = perIteration;
    }
    return list[found->second];
  }
  void add(SweepOp sweep, const Domains &domains);
  void add(const CopiedValue &copy, const Domains &domains);
  /// The sum, with the arguments that have the shapes.
  TrafficList take(const Domains &domains);

private:
  TrafficList list;
  std::map<std::pair<Shape, bool>, size_t> numbers;
};
} // namespace

void TrafficSum::add(SweepOp sweep, const Domains &domains) {
  bool perIteration = sweep->getParentOfType<LoopOp>() != nullptr;
  llvm::SmallPtrSet<Value, 16> seen;
  // Only one entry moves of a vector that is bound at an iteration index.
  auto shapeOf = [&](Value value, bool byIteration) {
    Shape shape = domains.shapeOf(value);
    if (byIteration)
      shape.extents.clear();
    return shape;
  };
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
    for (auto [operand, index, argument] :
         llvm::zip_equal(sweep.getSegmentInputs(s), sweep.getSegmentIndices(s),
                         sweep.getSegmentBlock(s).getArguments()))
      if (isList(operand.getType()) && !argument.use_empty() &&
          !isRecordedIn(argument) && seen.insert(operand).second)
        at(shapeOf(operand, isEntryIndex(index)), perIteration).read +=
            bytesOf(operand.getType());
  if (Value where = sweep.getWhere(); where && isList(where.getType()))
    if (seen.insert(where).second)
      at(domains.shapeOf(where), perIteration).read += 1;
  for (Value result : sweep.getResults())
    if (isList(result.getType()) && !result.use_empty())
      at(shapeOf(result, static_cast<bool>(sweep.getRecord(
                             cast<OpResult>(result).getResultNumber()))),
         perIteration)
          .written += bytesOf(result.getType());
}

void TrafficSum::add(const CopiedValue &copy, const Domains &domains) {
  Type type = copy.value.getType();
  if (!isList(type))
    return;
  Traffic &traffic = at(domains.shapeOf(copy.value), copy.perIteration);
  traffic.read += bytesOf(type);
  traffic.written += bytesOf(type);
}

TrafficList TrafficSum::take(const Domains &domains) {
  for (Traffic &traffic : list)
    traffic.findArguments(domains);
  return std::move(list);
}

TrafficList trafficOf(SweepOp sweep, const Domains &domains) {
  TrafficSum sum;
  sum.add(sweep, domains);
  return sum.take(domains);
}

TrafficList trafficOf(ArrayRef<CopiedValue> copies, const Domains &domains) {
  TrafficSum sum;
  for (const CopiedValue &copy : copies)
    sum.add(copy, domains);
  return sum.take(domains);
}

void addTraffic(TrafficList &to, const TrafficList &from, int sign) {
  for (const Traffic &traffic : from) {
    Traffic &sum = entry(to, traffic.shape, traffic.perIteration);
    sum.argument = traffic.argument;
    sum.sides = traffic.sides;
    sum.read += sign * traffic.read;
    sum.written += sign * traffic.written;
  }
}

TrafficList trafficOf(ProgramOp program, const Domains &domains) {
  TrafficSum sum;
  program.walk<WalkOrder::PreOrder>(
      [&](SweepOp sweep) { sum.add(sweep, domains); });
  return sum.take(domains);
}

int64_t weigh(const TrafficList &list) {
  static constexpr int64_t weights[] = {1, 1 << 10, 1 << 20};
  int64_t sum = 0;
  for (const Traffic &traffic : list)
    sum += traffic.bytes() * weights[traffic.rank()];
  return sum;
}

/// `element of 'a'`, `row of 'a'`: what the bytes are counted per.
static std::string unitOf(const Traffic &traffic, ProgramOp program) {
  auto argumentAt = [&](int number) {
    return program.getBody().getArgument(number);
  };
  StringRef one = traffic.rank() ? "element" : "member";
  auto of = [&](StringRef what, int number) {
    StringRef name = nameOf(argumentAt(number));
    return name.empty() ? what.str() : (what + " of '" + name + "'").str();
  };
  if (traffic.argument >= 0)
    return of(one, traffic.argument);
  bool isNamed = llvm::all_of(traffic.sides, [&](const auto &side) {
    return !nameOf(argumentAt(side.first)).empty();
  });
  if (traffic.sides.size() < traffic.shape.extents.size() || !isNamed ||
      traffic.sides.empty())
    return one.str();
  return llvm::join(
      llvm::map_range(traffic.sides,
                      [&](const auto &side) {
                        auto [number, dimension] = side;
                        bool isVector =
                            foreach::rankOf(argumentAt(number).getType()) == 1;
                        return of(isVector         ? "element"
                                  : dimension == 0 ? "row"
                                                   : "column",
                                  number);
                      }),
      " and ");
}

std::string describe(const TrafficList &list, ProgramOp program) {
  SmallVector<const Traffic *> sorted;
  for (const Traffic &traffic : list)
    if (traffic.bytes() != 0)
      sorted.push_back(&traffic);
  // The largest rank first; otherwise in the order of `list`.
  llvm::sort(sorted, [](const Traffic *a, const Traffic *b) {
    return std::pair(b->rank(), a) < std::pair(a->rank(), b);
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(sorted, os, [&](const Traffic *traffic) {
    os << traffic->bytes() << " B per " << unitOf(*traffic, program);
    if (traffic->perIteration)
      os << " and iteration";
  });
  return sorted.empty() ? "no bytes" : text;
}

ArrayAttr trafficAttr(MLIRContext *context, const TrafficList &list) {
  SmallVector<Attribute> entries;
  for (const Traffic &traffic : list)
    entries.push_back(TrafficAttr::get(context, traffic.argument,
                                       traffic.rank(), traffic.read,
                                       traffic.written, traffic.perIteration));
  return ArrayAttr::get(context, entries);
}

TrafficList trafficBefore(ProgramOp program) {
  TrafficList list;
  if (auto attr = program.getTrafficAttr())
    for (auto entry : attr.getAsRange<TrafficAttr>()) {
      Traffic &traffic = list.emplace_back();
      traffic.argument = entry.getArgument();
      traffic.shape.extents.assign(entry.getRank(), -1);
      traffic.read = entry.getRead();
      traffic.written = entry.getWritten();
      traffic.perIteration = entry.getPerIteration();
    }
  return list;
}

} // namespace heddle::fused
