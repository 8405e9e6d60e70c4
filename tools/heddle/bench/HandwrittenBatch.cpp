//===- HandwrittenBatch.cpp - a hand-written solver of lists --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HandwrittenBatch.h"
#include "BenchFiles.h"

#include "runtime/nvrtc/Nvrtc.h"

#include <algorithm>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

/// Strength of the regularization, the default of the program 'sinkhorn'.
static constexpr double kEps = 0.05;

//===----------------------------------------------------------------------===//
// Size classes
//===----------------------------------------------------------------------===//

std::string BatchClass::describe() const {
  std::string text = formatv("{0}x{1} threads of {2}x{3}", rowThreads,
                             columnThreads, rowItems, columnItems);
  if (cluster > 1)
    text += formatv(", clusters of {0}", cluster);
  return text;
}

std::vector<BatchClass> batchClasses(int64_t rows, int64_t columns,
                                     DType dtype) {
  std::vector<BatchClass> classes;
  int words = static_cast<int>(dtypeSize(computeType(dtype)) / 4);
  auto add = [&](int columnThreads, int rowThreads, int cluster) {
    BatchClass next{columnThreads, rowThreads};
    next.columnItems =
        static_cast<int>((columns + columnThreads - 1) / columnThreads);
    // In f64, more blocks share the elements.
    for (next.cluster = cluster; next.cluster <= 8; next.cluster *= 2) {
      int64_t threads = rowThreads * next.cluster;
      next.rowItems = static_cast<int>((rows + threads - 1) / threads);
      if (next.rowItems * next.columnItems * words <= 128)
        break;
    }
    int warps = columnThreads * rowThreads / 32;
    int sharedBytes =
        4 * words * (warps + 3) * columnThreads * next.columnItems;
    if (next.cluster <= 8 && sharedBytes <= 48 << 10)
      classes.push_back(next);
  };
  int64_t most = std::max(rows, columns);
  if (most <= 64) {
    add(16, 8, 1);
    add(16, 16, 1);
  } else if (most <= 128) {
    add(16, 16, 1);
    add(32, 8, 1);
  } else if (most <= 256) {
    add(16, 32, 2);
    add(32, 16, 2);
  } else if (most <= 512) {
    add(32, 16, 4);
    add(32, 16, 8);
  }
  return classes;
}

//===----------------------------------------------------------------------===//
// A solve
//===----------------------------------------------------------------------===//

Error HandwrittenBatch::load() {
  KernelSource source;
  source.name = "sinkhorn_batched.cu";
  source.text = benchFile(source.name).str();
  source.options = {"--std=c++17", "--fmad=false"};
  for (auto [name, value] : {std::pair("ELEMENT", elementCode(dtype)),
                             {"CT", chosen.columnThreads},
                             {"RT", chosen.rowThreads},
                             {"CI", chosen.columnItems},
                             {"RI", chosen.rowItems},
                             {"CLUSTER", chosen.cluster}})
    source.options.push_back(formatv("-D{0}={1}", name, value).str());
  auto image =
      compileSource(source, device->getContext()->arch(), ImageKind::Cubin);
  if (!image)
    return image.takeError();
  auto loaded =
      Module::load(device->getContext(),
                   ArrayRef<char>(image->image.data(), image->image.size()));
  if (!loaded)
    return loaded.takeError();
  module = std::move(*loaded);
  auto found = module->function("sinkhorn_batched");
  if (!found)
    return found.takeError();
  function = *found;
  return Error::success();
}

Error HandwrittenBatch::issue(CUstream stream) {
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(count * chosen.cluster);
  config.blockDimX = chosen.columnThreads * chosen.rowThreads;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  void *given[] = {&arguments};
  HEDDLE_DRIVER_CALL(device->getDriver(), cuLaunchKernelEx, &config, function,
                     given, nullptr);
  return Error::success();
}

Expected<HandwrittenBatch> HandwrittenBatch::create(Device &device,
                                                    const ProblemList &problems,
                                                    const BatchClass &chosen,
                                                    int iterations) {
  HandwrittenBatch batch(device, problems, chosen);
  const TransportLists &lists = problems.lists();
  size_t real = dtypeSize(computeType(batch.dtype));
  Arguments &arguments = batch.arguments;
  arguments.rows = static_cast<int>(problems.rows(0));
  arguments.columns = static_cast<int>(problems.columns(0));
  arguments.c = static_cast<const char *>(lists.costs[0].data);
  if (problems.size() > 1)
    arguments.stride =
        (static_cast<const char *>(lists.costs[1].data) - arguments.c) /
        dtypeSize(batch.dtype);
  std::vector<char> eps = storeReals(computeType(batch.dtype), kEps);
  struct {
    char **at;
    size_t bytes;
    const void *contents;
  } parts[] = {{&arguments.u, batch.count * arguments.rows * real, nullptr},
               {&arguments.v, batch.count * arguments.columns * real, nullptr},
               {&arguments.eps, eps.size(), eps.data()},
               {&arguments.limit, sizeof(iterations), &iterations}};
  for (auto &part : parts) {
    auto memory = device.allocate(part.bytes);
    if (!memory)
      return memory.takeError();
    *part.at = memory->address();
    batch.memory.push_back(std::move(*memory));
    if (part.contents)
      if (Error error = device.upload(*part.at, part.contents, part.bytes))
        return std::move(error);
  }
  if (Error error = batch.load())
    return std::move(error);
  auto graph =
      device.capture([&](CUstream stream) { return batch.issue(stream); });
  if (!graph)
    return graph.takeError();
  batch.graph = std::move(*graph);
  return batch;
}

Error HandwrittenBatch::replay() {
  HEDDLE_DRIVER_CALL(device->getDriver(), cuGraphLaunch, graph.get(),
                     device->getStream());
  return Error::success();
}

Expected<std::vector<double>> HandwrittenBatch::potentials() {
  DType real = computeType(dtype);
  size_t rowBytes = count * arguments.rows * dtypeSize(real);
  size_t columnBytes = count * arguments.columns * dtypeSize(real);
  std::vector<char> stored(rowBytes + columnBytes);
  if (Error error = device->download(stored.data(), arguments.u, rowBytes))
    return std::move(error);
  if (Error error =
          device->download(stored.data() + rowBytes, arguments.v, columnBytes))
    return std::move(error);
  return loadReals(real, stored);
}

} // namespace heddle::bench
