//===- Buffers.cpp - the buffers that the values of a kernel live in ------===//
//
// Arguments first, then the kernel's `fused.buffers`.
//
//===----------------------------------------------------------------------===//

#include "codegen/Buffers.h"
#include "dialect/Names.h"

using namespace mlir;
using heddle::foreach::isList;

namespace heddle {

static std::optional<double> numberIn(Attribute attribute) {
  if (auto value = dyn_cast_or_null<FloatAttr>(attribute))
    return value.getValueAsDouble();
  if (auto value = dyn_cast_or_null<IntegerAttr>(attribute))
    return static_cast<double>(value.getInt());
  return std::nullopt;
}

static Buffer bufferOfArgument(fused::KernelOp kernel, BlockArgument argument) {
  Buffer buffer;
  unsigned number = argument.getArgNumber();
  buffer.name = nameOf(argument);
  if (buffer.name.empty())
    buffer.name = "arg" + std::to_string(number);
  buffer.type = argument.getType();
  buffer.role = BufferRole::argument;
  buffer.donated =
      static_cast<bool>(kernel.getArgAttr(number, foreach::kDonateAttr));
  buffer.defaultValue =
      numberIn(kernel.getArgAttr(number, foreach::kDefaultAttr));
  return buffer;
}

static Buffer bufferFromAttribute(DictionaryAttr dict) {
  Buffer buffer;
  buffer.name = dict.getAs<StringAttr>("name").getValue();
  buffer.type = dict.getAs<TypeAttr>("type").getValue();
  buffer.role = dict.getAs<StringAttr>("role").getValue() == "result"
                    ? BufferRole::result
                    : BufferRole::temporary;
  if (auto extents = dict.getAs<ArrayAttr>("extents"))
    for (Attribute extent : extents) {
      auto pair = cast<ArrayAttr>(extent);
      buffer.extents.emplace_back(cast<IntegerAttr>(pair[0]).getInt(),
                                  cast<IntegerAttr>(pair[1]).getInt());
    }
  if (auto members = dict.getAs<IntegerAttr>("members"))
    buffer.members = members.getInt();
  return buffer;
}

LogicalResult Buffers::place(Block &block) {
  for (Operation &op : block.without_terminator()) {
    auto numbers = op.getAttrOfType<DenseI64ArrayAttr>(kPlacesAttr);
    if (!numbers || numbers.size() != static_cast<int64_t>(op.getNumResults()))
      return op.emitOpError("has no '")
             << kPlacesAttr << "' for its results; run fused-place-buffers";
    for (auto [result, number] :
         llvm::zip(op.getResults(), numbers.asArrayRef())) {
      if (number >= static_cast<int64_t>(buffers.size()))
        return op.emitOpError("places a result in buffer ")
               << number << " of " << buffers.size();
      places[result] = number;
    }
    auto loop = dyn_cast<fused::LoopOp>(op);
    if (!loop)
      continue;
    for (auto [argument, result] :
         llvm::zip(loop.getCarried(), loop.getResults()))
      places[argument] = places[result];
    if (Value active = loop.getActive()) {
      auto more = op.getAttrOfType<IntegerAttr>(kMoreAttr);
      if (!more)
        return op.emitOpError("has no '")
               << kMoreAttr << "' for its flags; run fused-place-buffers";
      places[active] = more.getInt();
    }
    if (failed(place(loop.getBody().front())))
      return failure();
  }
  return success();
}

FailureOr<Buffers> Buffers::read(fused::KernelOp kernel) {
  Buffers result;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    result.places[argument] = result.buffers.size();
    result.buffers.push_back(bufferOfArgument(kernel, argument));
  }
  if (auto array = kernel->getAttrOfType<ArrayAttr>(kBuffersAttr))
    for (Attribute attribute : array)
      result.buffers.push_back(
          bufferFromAttribute(cast<DictionaryAttr>(attribute)));
  if (failed(result.place(kernel.getBody().front())))
    return failure();
  return result;
}

int Buffers::of(Value value) const {
  auto it = places.find(value);
  return it == places.end() ? -1 : it->second;
}

} // namespace heddle
