//===- BoundLists.cpp - the lists of any program --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundLists.h"
#include "../RunData.h"
#include "../Support.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

static constexpr int64_t kPattern = 1 << 20; // elements, repeated in a list

static size_t alignedBytes(const Extents &extents, DType dtype) {
  return (elementCount(extents) * dtypeSize(dtype) + 15) & ~size_t(15);
}

/// Repeats a pattern of `contents` in `bytes` bytes at `to`.
static Error fill(Device &device, char *to, size_t bytes, DType dtype,
                  uint64_t list, const cli::Contents &contents) {
  std::vector<double> values(kPattern);
  std::vector<char> stored(kPattern * dtypeSize(dtype));
  cli::makeElements(contents, 0, {list}, 0, kPattern, values.data());
  cli::storeElements(dtype, values.data(), kPattern, stored.data());
  for (size_t done = 0; done < bytes; done = std::max(2 * done, stored.size()))
    if (Error error = done == 0 ? device.upload(to, stored.data(),
                                                std::min(bytes, stored.size()))
                                : device.copy(to + done, to,
                                              std::min(done, bytes - done)))
      return error;
  return Error::success();
}

Expected<BoundLists> BoundLists::create(Device &device, Generated &generated,
                                        ArrayRef<Extents> shapes,
                                        const InitialValues &initial) {
  const Plan &plan = generated.getPlan();
  PlanShapes bound = PlanShapes::bind(plan, shapes);
  BoundLists lists;
  bool parametersSeen = false;
  for (auto [number, buffer] : enumerate(plan.buffers)) {
    if (buffer.role != BufferRole::Argument || buffer.kind != BufferKind::List)
      continue;
    size_t bytes = 0;
    std::vector<size_t> offsets;
    for (const Extents &extents : bound.of(number)) {
      offsets.push_back(bytes);
      bytes += alignedBytes(extents, buffer.dtype);
    }
    auto memory = device.allocate(bytes);
    if (!memory)
      return memory.takeError();
    char *base = memory->address();
    lists.memory.push_back(std::move(*memory));
    auto given = initial.find(buffer.name);
    bool isRandom = buffer.rank > 0 && buffer.dtype <= DType::BF16 &&
                    given == initial.end();
    bool isState = buffer.donated && parametersSeen && initial.empty();
    parametersSeen |= buffer.donated && buffer.rank > 0;
    cli::Contents contents;
    if (given != initial.end())
      contents.value = given->second;
    else if (isRandom && !isState)
      contents = {cli::Contents::normal, buffer.donated ? 0.02 : 1.0};
    if (Error error =
            contents.isRandom() || contents.value != 0
                ? fill(device, base, bytes, buffer.dtype, number, contents)
                : device.clear(base, bytes))
      return std::move(error);
    std::vector<heddle::Tensor> members;
    for (auto [extents, offset] : zip_equal(bound.of(number), offsets))
      members.push_back({base + offset, {extents.begin(), extents.end()}});
    if (Error error = cli::toError(generated.getGraph().bindList(
            buffer.name, static_cast<heddle_dtype>(buffer.dtype), members)))
      return std::move(error);
  }
  return lists;
}

int64_t BoundLists::bytesToMove(const Plan &plan, const PlanShapes &shapes) {
  int64_t bytes = 0;
  auto add = [&](int number) {
    const PlanBuffer &buffer = plan.buffers[number];
    if (buffer.kind == BufferKind::List)
      bytes += shapes.elementsOf(number) * dtypeSize(buffer.dtype);
  };
  for (auto [number, buffer] : enumerate(plan.buffers))
    if (buffer.role == BufferRole::Argument)
      add(number);
  for (const PlanResult &result : plan.results)
    add(result.buffer);
  return bytes;
}

double BoundLists::bytesOfLists(const Plan &plan, const PlanShapes &shapes) {
  double bytes = 0;
  for (auto [number, buffer] : enumerate(plan.buffers))
    if (buffer.kind == BufferKind::List)
      for (const Extents &extents : shapes.of(number))
        bytes += static_cast<double>(alignedBytes(extents, buffer.dtype));
  return bytes;
}

} // namespace heddle::bench
