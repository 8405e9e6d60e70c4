//===- Lists.cpp - parameters, gradients and state on the device ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lists repeat a pattern of a few megabytes. Times do not depend on the
// values as long as these are normal floating-point numbers.
//
//===----------------------------------------------------------------------===//

#include "Lists.h"
#include "../RunData.h"

#include <algorithm>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

static constexpr int64_t kPattern = 1 << 20; // floats for each of two lists

Expected<std::unique_ptr<Lists>> Lists::create(Device &device,
                                               const cli::Model &model) {
  std::unique_ptr<Lists> lists(new Lists(model));
  for (const Extents &shape : model.shapes) {
    int64_t count = elementCount(shape);
    lists->counts.push_back(count);
    lists->offsets.push_back(lists->total);
    lists->total += (4 * count + 15) & ~size_t(15);
  }
  for (DeviceMemory &memory : lists->memory) {
    auto allocated = device.allocate(lists->total);
    if (!allocated)
      return allocated.takeError();
    memory = std::move(*allocated);
  }
  auto steps = device.allocate(4 * lists->size());
  if (!steps)
    return steps.takeError();
  lists->steps = std::move(*steps);

  auto pattern = device.allocate(2 * 4 * kPattern);
  if (!pattern)
    return pattern.takeError();
  lists->pattern = std::move(*pattern);
  std::vector<double> values(kPattern);
  std::vector<char> stored(2 * 4 * kPattern);
  for (int list : {0, 1}) {
    cli::makeElements({cli::Contents::normal, list == 0 ? 0.02 : 1e-3}, 0, list,
                      0, kPattern, values.data());
    cli::storeElements(DType::F32, values.data(), kPattern,
                       stored.data() + list * 4 * kPattern);
  }
  if (Error error =
          device.upload(lists->pattern.address(), stored.data(), stored.size()))
    return std::move(error);
  if (Error error = lists->reset(device))
    return std::move(error);
  return lists;
}

Error Lists::reset(Device &device) {
  constexpr size_t piece = 4 * kPattern;
  for (Kind kind : {param, grad, otherGrad})
    for (size_t done = 0; done < total; done += piece)
      if (Error error =
              device.copy(memory[kind].address() + done,
                          pattern.address() + (kind == param ? 0 : piece),
                          std::min(piece, total - done)))
        return error;
  for (Kind kind : {first, second})
    if (Error error = device.clear(memory[kind].address(), total))
      return error;
  return device.clear(steps.address(), 4 * size());
}

} // namespace heddle::bench
