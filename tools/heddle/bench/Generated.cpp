//===- Generated.cpp - a program compiled by heddle -----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses the public interface only, as any application would.
//
//===----------------------------------------------------------------------===//

#include "Generated.h"
#include "../Support.h"

#include <algorithm>
#include <chrono>

using namespace llvm;
using namespace heddle::runtime;
using heddle::cli::toError;
using heddle::cli::toExpected;

namespace heddle::bench {

Expected<Generated> Generated::create(Device &device, std::string program) {
  auto executable =
      toExpected(heddle::Executable::compile(program, {"cuda", ""}));
  if (!executable)
    return executable.takeError();
  auto text = toExpected(executable->plan());
  if (!text)
    return text.takeError();
  auto plan = parsePlan(*text);
  if (!plan)
    return plan.takeError();
  auto graph = toExpected(heddle::Graph::create(*executable));
  if (!graph)
    return graph.takeError();
  return Generated(device, std::move(*executable), std::move(*graph),
                   std::move(*plan));
}

Error Generated::bind(const Lists &lists, bool swapState) {
  // A step may replace gradients, too: by zeros.
  auto isState = [](const heddle_buffer_info &argument) {
    return argument.is_list && argument.rank > 0 && argument.donated &&
           StringRef(argument.name) != "grad";
  };
  auto arguments = executable.arguments();
  // The parameters, and the lists of state.
  auto updatedLists = static_cast<int>(count_if(arguments, isState));
  int updated = 0;
  size_t tensorStates = 0;
  for (const heddle_buffer_info &argument : arguments) {
    if (!argument.is_list)
      continue;
    std::vector<heddle::Tensor> members(lists.size());
    Lists::Kind kind = Lists::grad;
    if (isState(argument)) {
      int place = swapState ? updatedLists - 1 - updated : updated - 1;
      kind = updated == 0 ? Lists::param : Lists::Kind(Lists::first + place);
      ++updated;
    }
    size_t which = argument.rank == 0 ? tensorStates++ : 0;
    assert(which < Lists::kTensorStates && "more values of tensors than room");
    for (size_t member = 0; member < lists.size(); ++member) {
      if (argument.rank == 0) {
        members[member].data = lists.tensorState(which, member);
        continue;
      }
      const Extents &shape = lists.getModel().shapes[member];
      members[member].data = lists.at(kind, member);
      members[member].extents.assign(shape.begin(), shape.end());
    }
    if (Error error =
            toError(graph.bindList(argument.name, argument.dtype, members)))
      return error;
  }
  return Error::success();
}

Error Generated::prepare() {
  return toError(graph.prepare(device->getStream()));
}

Error Generated::replay() { return toError(graph.replay(device->getStream())); }

Error Generated::setScalar(StringRef name, double value) {
  return toError(graph.setScalar(name.str(), value, device->getStream()));
}

int64_t Generated::launches(const cli::Model &model) const {
  return PlanShapes::bind(plan, model.shapes).launches();
}

Expected<double> Generated::hostTime(function_ref<Error()> step) {
  std::vector<double> times;
  // Steps of tens of milliseconds have fewer rounds.
  const auto start = std::chrono::steady_clock::now();
  const auto isLate = [&] {
    return std::chrono::steady_clock::now() - start > std::chrono::seconds(1);
  };
  for (int round = 0; round < 20 && !(round >= 2 && isLate()); ++round) {
    // Few replays, so that the launch queue never fills up.
    for (int k = 0; k < 16; ++k) {
      auto begin = std::chrono::steady_clock::now();
      if (Error error = step())
        return std::move(error);
      times.push_back(std::chrono::duration<double>(
                          std::chrono::steady_clock::now() - begin)
                          .count());
    }
    if (Error error = device->synchronize())
      return std::move(error);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  return times[times.size() / 2];
}

} // namespace heddle::bench
