//===- Gradients.cpp - steps with new gradients ---------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arrays that the C interface takes are made once, so that only the
// library is measured.
//
//===----------------------------------------------------------------------===//

#include "Gradients.h"
#include "../Support.h"

using namespace llvm;

namespace heddle::bench {

namespace {
/// The two sets of gradients of the lists.
class Gradients {
public:
  Gradients(Generated &generated, const Lists &lists) : generated(generated) {
    dtype = static_cast<heddle_dtype>(lists.dtype(Lists::grad));
    for (size_t member = 0; member < lists.size(); ++member) {
      const Extents &shape = lists.getModel().shapes[member];
      ranks.push_back(static_cast<int>(shape.size()));
      extents.insert(extents.end(), shape.begin(), shape.end());
      pointers[0].push_back(lists.at(Lists::grad, member));
      pointers[1].push_back(lists.at(Lists::otherGrad, member));
    }
    for (const heddle_buffer_info &argument : generated.arguments())
      if (argument.is_list && argument.rank > 0 && !argument.donated)
        names.push_back(argument.name);
  }

  Error bind(int set) {
    for (const std::string &name : names)
      if (Error error = cli::toError(heddle_bind_list(
              generated.getGraph().get(), name.c_str(), dtype, ranks.size(),
              pointers[set].data(), ranks.data(), extents.data())))
        return error;
    return Error::success();
  }
  Error step(int set) {
    if (Error error = bind(set))
      return error;
    return generated.replay();
  }

private:
  Generated &generated;
  heddle_dtype dtype;
  std::vector<std::string> names;
  std::vector<void *> pointers[2];
  std::vector<int> ranks;
  std::vector<int64_t> extents;
};
} // namespace

Expected<GradientTimes> timeGradients(Device &device,
                                      std::array<Generated *, 2> graphs,
                                      const Lists &lists, StringRef hyper) {
  Gradients first(*graphs[0], lists), second(*graphs[1], lists);
  GradientTimes times;
  auto measure = [](double &time, Expected<double> measured) -> Error {
    if (!measured)
      return measured.takeError();
    time = time == 0 ? *measured : std::min(time, *measured);
    return Error::success();
  };
  // The L2 cache holds nothing of a larger set for the next step. Then one set
  // suffices, and the tables of a second graph take no room in the cache.
  bool inTurn = static_cast<int64_t>(lists.bytes(Lists::grad)) <=
                device.getContext()->l2Bytes();
  int count = 0;
  for (int round = 0; round < 2; ++round) {
    if (Error error = first.step(0))
      return std::move(error);
    if (Error error = second.step(1))
      return std::move(error);
    if (Error error = measure(times.deviceSame, device.time([&] {
          return graphs[inTurn ? ++count % 2 : 0]->replay();
        })))
      return std::move(error);
    if (Error error = measure(times.deviceNew, device.time([&] {
          return first.step(++count % 2);
        })))
      return std::move(error);
  }
  if (Error error = first.step(0))
    return std::move(error);
  if (Error error = measure(times.hostSame,
                            graphs[0]->hostTime([&] { return first.step(0); })))
    return std::move(error);
  if (Error error = measure(times.hostNew, graphs[0]->hostTime([&] {
        return first.step(++count % 2);
      })))
    return std::move(error);
  if (Error error = measure(times.hostSet, graphs[0]->hostTime([&]() -> Error {
        if (Error error = graphs[0]->setScalar(hyper, 1e-3 / (1 + ++count % 7)))
          return error;
        return graphs[0]->replay();
      })))
    return std::move(error);
  if (Error error = graphs[0]->setScalar(hyper, 1e-3))
    return std::move(error);
  if (Error error = first.step(0))
    return std::move(error);
  return times;
}

} // namespace heddle::bench
