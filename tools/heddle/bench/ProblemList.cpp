//===- ProblemList.cpp - transport problems on the device -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProblemList.h"

#include <cstring>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

double ProblemList::bytes(const cli::Model &model, DType dtype) {
  return static_cast<double>(model.elements()) * dtypeSize(dtype);
}

bool ProblemList::isUniform() const {
  return all_of(tensors.costs, [&](const heddle::Tensor &costs) {
    return costs.extents == tensors.costs.front().extents;
  });
}

Expected<ProblemList>
ProblemList::create(Device &device, const cli::Model &model, DType dtype) {
  ProblemList problems;
  problems.tensors.dtype = dtype;
  unsigned real = dtypeSize(computeType(dtype));
  struct {
    std::vector<heddle::Tensor> &tensors;
    unsigned size;
    size_t bytes = 0;
  } lists[] = {{problems.tensors.costs, dtypeSize(dtype)},
               {problems.tensors.a, real},
               {problems.tensors.b, real}};
  std::vector<size_t> offsets[3];
  for (const Extents &shape : model.shapes) {
    std::vector<int64_t> extents[3] = {
        {shape[0], shape[1]}, {shape[0]}, {shape[1]}};
    for (int k : {0, 1, 2}) {
      offsets[k].push_back(lists[k].bytes);
      lists[k].bytes +=
          (elementCount(extents[k]) * lists[k].size + 15) & ~size_t(15);
      lists[k].tensors.push_back({nullptr, std::move(extents[k])});
    }
  }
  for (int k : {0, 1, 2}) {
    auto memory = device.allocate(lists[k].bytes);
    if (!memory)
      return memory.takeError();
    char *base = memory->address();
    problems.memory.push_back(std::move(*memory));
    for (auto [tensor, offset] : zip_equal(lists[k].tensors, offsets[k]))
      tensor.data = base + offset;
    if (k == 0) {
      if (Error error = fillUniform(
              device, base,
              static_cast<int64_t>(lists[k].bytes / lists[k].size), dtype))
        return std::move(error);
      continue;
    }
    std::vector<char> stored(lists[k].bytes);
    for (auto [tensor, offset] : zip_equal(lists[k].tensors, offsets[k])) {
      int64_t count = tensor.extents[0];
      std::vector<char> weights = storeReals(
          computeType(dtype),
          std::vector<double>(count, 1.0 / static_cast<double>(count)));
      std::memcpy(stored.data() + offset, weights.data(), weights.size());
    }
    if (Error error = device.upload(base, stored.data(), stored.size()))
      return std::move(error);
  }
  return problems;
}

} // namespace heddle::bench
