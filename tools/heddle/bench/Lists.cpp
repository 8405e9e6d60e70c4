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

static constexpr int64_t kPattern = 1 << 20; // elements of each of two lists

double Lists::bytes(const cli::Model &model, ElementTypes types, int states) {
  return static_cast<double>(model.elements()) *
         (3 * dtypeSize(types.param) + states * dtypeSize(types.state));
}

Expected<std::unique_ptr<Lists>>
Lists::create(Device &device, const cli::Model &model, ElementTypes types,
              InitialGradients gradients, int states) {
  assert(first + states <= kinds && "more lists of state than there is room");
  std::unique_ptr<Lists> lists(new Lists(model, types, gradients, states));
  for (const Extents &shape : model.shapes) {
    int64_t count = elementCount(shape);
    lists->counts.push_back(count);
    for (Kind kind : {param, first}) {
      size_t &total = lists->total[isState(kind)];
      lists->offsets[isState(kind)].push_back(total);
      total += (dtypeSize(lists->dtype(kind)) * count + 15) & ~size_t(15);
    }
  }
  for (int kind = 0; kind < first + states; ++kind) {
    auto allocated = device.allocate(lists->bytes(Kind(kind)));
    if (!allocated)
      return allocated.takeError();
    lists->memory[kind] = std::move(*allocated);
  }
  auto tensorStates = device.allocate(4 * kTensorStates * lists->size());
  if (!tensorStates)
    return tensorStates.takeError();
  lists->tensorStates = std::move(*tensorStates);

  size_t piece = kPattern * dtypeSize(types.param);
  auto pattern = device.allocate(2 * piece);
  if (!pattern)
    return pattern.takeError();
  lists->pattern = std::move(*pattern);
  // Small gradients would vanish in the second moments of f16, which has no
  // numbers between 0 and 6e-8. Trainings in f16 scale the loss for this
  // reason.
  double deviation = types.param == DType::F16 ? 1 : 1e-3;
  std::vector<double> values(kPattern);
  std::vector<char> stored(2 * piece);
  for (int list : {0, 1}) {
    cli::makeElements({cli::Contents::normal, list == 0 ? 0.02 : deviation}, 0,
                      {static_cast<uint64_t>(list)}, 0, kPattern,
                      values.data());
    cli::storeElements(types.param, values.data(), kPattern,
                       stored.data() + list * piece);
  }
  if (Error error =
          device.upload(lists->pattern.address(), stored.data(), stored.size()))
    return std::move(error);
  if (Error error = lists->reset(device))
    return std::move(error);
  return lists;
}

Error Lists::reset(Device &device) {
  size_t piece = kPattern * dtypeSize(types.param);
  auto repeat = [&](Kind kind, const char *from) -> Error {
    for (size_t done = 0; done < bytes(kind); done += piece)
      if (Error error = device.copy(memory[kind].address() + done, from,
                                    std::min(piece, bytes(kind) - done)))
        return error;
    return Error::success();
  };
  if (Error error = repeat(param, pattern.address()))
    return error;
  for (Kind kind : {grad, otherGrad})
    if (Error error = gradients == InitialGradients::zero
                          ? device.clear(memory[kind].address(), bytes(kind))
                          : repeat(kind, pattern.address() + piece))
      return error;
  for (int kind = first; kind < first + states; ++kind)
    if (Error error = device.clear(memory[kind].address(), bytes(Kind(kind))))
      return error;
  return device.clear(tensorStates.address(), 4 * kTensorStates * size());
}

} // namespace heddle::bench
