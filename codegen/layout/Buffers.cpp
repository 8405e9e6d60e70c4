//===- Buffers.cpp - the buffers of a program's values --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffer numbers: arguments first, then the attribute `buffers` of the program.
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/Buffers.h"
#include "dialect/IntegerValue.h"
#include "dialect/Names.h"

using namespace mlir;
using heddle::foreach::isList;

namespace heddle {

static std::optional<double> doubleValueOf(Attribute attribute) {
  if (auto value = dyn_cast_or_null<FloatAttr>(attribute))
    return value.getValueAsDouble();
  if (auto value = dyn_cast_or_null<IntegerAttr>(attribute))
    return foreach::numberOf(value);
  return std::nullopt;
}

static Buffer bufferOfArgument(fused::ProgramOp program,
                               BlockArgument argument) {
  Buffer buffer;
  unsigned number = argument.getArgNumber();
  buffer.name = nameOf(argument);
  if (buffer.name.empty())
    buffer.name = "arg" + std::to_string(number);
  buffer.type = argument.getType();
  buffer.role = BufferRole::argument;
  buffer.donated =
      static_cast<bool>(program.getArgAttr(number, foreach::kDonateAttr));
  buffer.defaultValue =
      doubleValueOf(program.getArgAttr(number, foreach::kDefaultAttr));
  buffer.positive =
      static_cast<bool>(program.getArgAttr(number, foreach::kPositiveAttr));
  return buffer;
}

static Buffer bufferFrom(fused::BufferAttr attr) {
  Buffer buffer;
  buffer.name = attr.getName();
  buffer.type = attr.getType();
  buffer.role = attr.getRole();
  for (auto [number, dimension] : attr.getExtents())
    buffer.extents.emplace_back(number, dimension);
  buffer.members = attr.getMembers();
  return buffer;
}

LogicalResult Buffers::read(Block &block) {
  for (Operation &op : block.without_terminator()) {
    auto loop = dyn_cast<fused::LoopOp>(op);
    auto results = loop ? loop.getResultBuffers()
                        : cast<fused::SweepOp>(op).getResultBuffers();
    if (!results)
      return op.emitOpError("has no 'result_buffers'; run "
                            "fused-assign-buffers");
    for (auto [result, number] : llvm::zip_equal(op.getResults(), *results))
      numbers[result] = number;
    if (!loop)
      continue;
    for (auto [argument, result] :
         llvm::zip(loop.getCarried(), loop.getResults()))
      numbers[argument] = numbers[result];
    if (Value active = loop.getActive())
      numbers[active] = *loop.getConditionBuffer();
    if (failed(read(loop.getBody().front())))
      return failure();
  }
  return success();
}

FailureOr<Buffers> Buffers::read(fused::ProgramOp program) {
  Buffers result;
  for (BlockArgument argument : program.getBody().getArguments()) {
    result.numbers[argument] = result.buffers.size();
    result.buffers.push_back(bufferOfArgument(program, argument));
  }
  if (auto array = program.getBuffersAttr())
    for (auto attr : array.getAsRange<fused::BufferAttr>())
      result.buffers.push_back(bufferFrom(attr));
  if (failed(result.read(program.getBody().front())))
    return failure();
  return result;
}

int Buffers::of(Value value) const {
  auto it = numbers.find(value);
  return it == numbers.end() ? -1 : it->second;
}

} // namespace heddle
