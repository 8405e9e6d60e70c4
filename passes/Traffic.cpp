//===- Traffic.cpp - bytes that sweeps and kernels move -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operand is counted for the elements of its own domain: a row's scalar
// in a sweep over a matrix counts once a row.
//
//===----------------------------------------------------------------------===//

#include "passes/Traffic.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using heddle::foreach::isList;
using heddle::foreach::storageType;

namespace heddle::fused {

static int64_t bytesOf(Type list) {
  return (storageType(list).getIntOrFloatBitWidth() + 7) / 8;
}

static Traffic &entry(TrafficList &list, const Shape &shape, bool perTrip) {
  for (Traffic &traffic : list)
    if (traffic.shape == shape && traffic.perTrip == perTrip)
      return traffic;
  Traffic &traffic = list.emplace_back();
  traffic.shape = shape;
  traffic.perTrip = perTrip;
  return traffic;
}

TrafficList trafficOf(SweepOp sweep, const Domains &domains) {
  TrafficList list;
  bool perTrip = sweep->getParentOfType<LoopOp>() != nullptr;
  llvm::SmallPtrSet<Value, 16> seen;
  // Of a vector that is addressed by a trip, one entry moves.
  auto shapeOf = [&](Value value, bool byTrip) {
    Shape shape = domains.shapeOf(value);
    if (byTrip)
      shape.extents.clear();
    return shape;
  };
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
    for (auto [operand, index, argument] :
         llvm::zip_equal(sweep.getSegmentInputs(s), sweep.getSegmentIndices(s),
                         sweep.getSegmentBlock(s).getArguments()))
      if (isList(operand.getType()) && !argument.use_empty() &&
          !isRecordedIn(argument) && seen.insert(operand).second)
        entry(list, shapeOf(operand, isEntryIndex(index)), perTrip).read +=
            bytesOf(operand.getType());
  if (Value where = sweep.getWhere(); where && isList(where.getType()))
    if (seen.insert(where).second)
      entry(list, domains.shapeOf(where), perTrip).read += 1;
  for (Value result : sweep.getResults())
    if (isList(result.getType()) && !result.use_empty())
      entry(list,
            shapeOf(result, static_cast<bool>(sweep.getRecord(
                                cast<OpResult>(result).getResultNumber()))),
            perTrip)
          .written += bytesOf(result.getType());
  for (Traffic &traffic : list)
    if (auto argument = domains.argumentOf(traffic.shape))
      traffic.argument = *argument;
  return list;
}

void addTraffic(TrafficList &to, const TrafficList &from, int sign) {
  for (const Traffic &traffic : from) {
    Traffic &sum = entry(to, traffic.shape, traffic.perTrip);
    sum.argument = traffic.argument;
    sum.read += sign * traffic.read;
    sum.written += sign * traffic.written;
  }
}

TrafficList trafficOf(KernelOp kernel, const Domains &domains) {
  TrafficList list;
  kernel.walk<WalkOrder::PreOrder>(
      [&](SweepOp sweep) { addTraffic(list, trafficOf(sweep, domains)); });
  return list;
}

TrafficList trafficOf(KernelOp kernel) {
  return trafficOf(kernel, Domains(kernel));
}

int64_t weigh(const TrafficList &list) {
  static constexpr int64_t weights[] = {1, 1 << 10, 1 << 20};
  int64_t sum = 0;
  for (const Traffic &traffic : list)
    sum += traffic.bytes() * weights[traffic.rank()];
  return sum;
}

std::string describe(const TrafficList &list, KernelOp kernel) {
  SmallVector<const Traffic *> sorted;
  for (const Traffic &traffic : list)
    if (traffic.bytes() != 0)
      sorted.push_back(&traffic);
  // The largest domains first; entries are in the order of their array.
  llvm::sort(sorted, [](const Traffic *a, const Traffic *b) {
    return std::pair(b->rank(), a) < std::pair(a->rank(), b);
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(sorted, os, [&](const Traffic *traffic) {
    os << traffic->bytes() << " B per "
       << (traffic->rank() ? "element" : "member");
    if (traffic->argument >= 0)
      if (StringRef name =
              nameOf(kernel.getBody().getArgument(traffic->argument));
          !name.empty())
        os << " of '" << name << "'";
    if (traffic->perTrip)
      os << " and trip";
  });
  return sorted.empty() ? "no bytes" : text;
}

ArrayAttr trafficAttr(MLIRContext *context, const TrafficList &list) {
  Builder builder(context);
  SmallVector<Attribute> entries;
  for (const Traffic &traffic : list) {
    NamedAttrList fields;
    fields.append("argument", builder.getI64IntegerAttr(traffic.argument));
    fields.append("rank", builder.getI64IntegerAttr(traffic.rank()));
    fields.append("read", builder.getI64IntegerAttr(traffic.read));
    fields.append("written", builder.getI64IntegerAttr(traffic.written));
    if (traffic.perTrip)
      fields.append("per_trip", builder.getUnitAttr());
    entries.push_back(builder.getDictionaryAttr(fields));
  }
  return builder.getArrayAttr(entries);
}

TrafficList trafficBefore(KernelOp kernel) {
  TrafficList list;
  auto attr = kernel->getAttrOfType<ArrayAttr>(kTrafficBefore);
  if (!attr)
    return list;
  for (auto fields : attr.getAsRange<DictionaryAttr>()) {
    Traffic &traffic = list.emplace_back();
    auto number = [&](StringRef name) {
      auto value = fields.getAs<IntegerAttr>(name);
      return value ? value.getInt() : 0;
    };
    traffic.argument = number("argument");
    traffic.shape.extents.assign(number("rank"), -1);
    traffic.read = number("read");
    traffic.written = number("written");
    traffic.perTrip = fields.contains("per_trip");
  }
  return list;
}

} // namespace heddle::fused
