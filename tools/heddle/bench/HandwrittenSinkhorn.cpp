//===- HandwrittenSinkhorn.cpp - hand-written Sinkhorn solvers ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/bench/handwritten/README.md describes sizes and launches.
//
//===----------------------------------------------------------------------===//

#include "HandwrittenSinkhorn.h"
#include "BenchFiles.h"

#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/support/Parallel.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

/// Strength of the regularization, in units of the largest cost.
static constexpr double kEps = 0.05;
/// Number of panels of sinkhorn.cu and sinkhorn_thread_groups.cu, and number of
/// partial errors of a panel.
static constexpr int kPanels = 132, kErrorsOfPanel = 8;
/// Maximum number of rows and columns for sinkhorn_resident.cu.
static constexpr int64_t kMostResident = 608;

//===----------------------------------------------------------------------===//
// Size classes
//===----------------------------------------------------------------------===//

std::string HandwrittenClass::describe() const {
  std::string text =
      threadGroups
          ? formatv("{0} thread group{1} of {2}x{3}", threadGroups,
                    threadGroups == 1 ? "" : "s", threads / threadGroups, items)
                .str()
          : formatv("{0}x{1}, {2} row{3}", threads, items, rows,
                    rows == 1 ? "" : "s")
                .str();
  if (blocks)
    return "resident in " + std::to_string(blocks) + " blocks, " + text;
  if (cluster > 1)
    text += ", clusters of " + std::to_string(cluster);
  if (columnsShared)
    text += ", column terms in shared memory";
  return text;
}

std::vector<HandwrittenClass> handwrittenClasses(const ProblemShape &shape) {
  std::vector<HandwrittenClass> classes;
  bool wide = shape.dtype == DType::F64, narrow = dtypeSize(shape.dtype) == 2;
  auto add = [&](int threads, int rows, int stages, int cluster) {
    HandwrittenClass next;
    next.element = elementCode(shape.dtype);
    next.threads = threads;
    int64_t width = (shape.columns + cluster - 1) / cluster;
    next.items = static_cast<int>((width + threads - 1) / threads);
    next.rows = rows;
    next.stages = stages;
    next.cluster = cluster;
    next.columnsShared = wide;
    classes.push_back(next);
    return &classes.back();
  };
  auto addThreadGroups = [&](int groups, int stages, int cluster) {
    HandwrittenClass *next = add(512, 1, stages, cluster);
    next->threadGroups = groups;
    next->items = static_cast<int>(
                      (shape.columns + cluster - 1) / cluster * groups + 511) /
                  512;
    next->columnsShared = false;
  };
  int64_t columns = shape.columns;
  if (columns <= kMostResident && shape.rows <= kMostResident && !wide)
    for (int blocks : {16, 8}) {
      HandwrittenClass *resident = add(512, 2, 0, 1);
      resident->items = static_cast<int>((columns + 31) / 32);
      resident->blocks = blocks;
    }
  else if (wide) {
    if (columns <= 6144)
      addThreadGroups(1, 3, 1);
    else if (columns <= 12288)
      addThreadGroups(1, 3, 2);
  } else if (columns <= 1024) {
    add(256, 8, 6, 1);
    addThreadGroups(4, 3, 1);
  } else if (columns <= 2560) {
    addThreadGroups(4, 4, 1);
    add(512, 4, 5, 1);
  } else if (columns <= 6144) {
    if (narrow) {
      addThreadGroups(2, 6, 1);
      add(384, 2, 8, 1);
    } else {
      add(768, 1, 8, 1);
      add(512, 4, 4, 2);
      addThreadGroups(1, 8, 1);
    }
  } else if (columns <= 12288) {
    add(512, 2, narrow ? 8 : 4, 2);
    addThreadGroups(2, narrow ? 6 : 3, 2);
  } else if (columns <= 20480)
    addThreadGroups(1, narrow ? 8 : 4, 2);
  else if (columns <= 40960)
    add(512, 1, 5, 4);
  return classes;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

static std::string entryOf(const HandwrittenClass &chosen) {
  return chosen.blocks         ? "sinkhorn_resident"
         : chosen.threadGroups ? "sinkhorn_thread_groups"
                               : "sinkhorn";
}

static KernelSource sourceOf(const HandwrittenClass &chosen) {
  KernelSource source;
  source.name = entryOf(chosen) + ".cu";
  source.text = benchFile(source.name).str();
  source.options = {"--std=c++17", "--fmad=false"};
  auto define = [&](const char *name, int value) {
    source.options.push_back(formatv("-D{0}={1}", name, value).str());
  };
  define("ELEMENT", chosen.element);
  define("THREADS", chosen.threads);
  define("ITEMS", chosen.items);
  if (chosen.threadGroups) {
    define("GROUPS", chosen.threadGroups);
  } else {
    define("ROWS", chosen.rows);
  }
  if (chosen.blocks) {
    define("BLOCKS", chosen.blocks);
  } else {
    define("STAGES", chosen.stages);
    define("CLUSTER", chosen.cluster);
    if (!chosen.threadGroups)
      define("COLUMNS_SHARED", chosen.columnsShared);
  }
  return source;
}

void precompileHandwritten(Device &device, ArrayRef<ProblemShape> shapes) {
  std::vector<KernelSource> sources;
  StringSet<> seen;
  std::string arch = device.getContext()->arch();
  for (const ProblemShape &shape : shapes)
    for (const HandwrittenClass &chosen : handwrittenClasses(shape)) {
      KernelSource source = sourceOf(chosen);
      std::string key = source.name;
      for (const std::string &option : source.options)
        key += option;
      if (seen.insert(key).second)
        sources.push_back(std::move(source));
    }
  runInParallel(sources.size(), [&](size_t index) {
    auto image = compileSource(sources[index], arch, ImageKind::Cubin);
    if (!image)
      consumeError(image.takeError());
  });
}

Error HandwrittenSolve::load() {
  auto image = compileSource(sourceOf(chosen), device->getContext()->arch(),
                             ImageKind::Cubin);
  if (!image)
    return image.takeError();
  auto loaded =
      Module::load(device->getContext(),
                   ArrayRef<char>(image->image.data(), image->image.size()));
  if (!loaded)
    return loaded.takeError();
  module = std::move(*loaded);
  auto found = module->function(entryOf(chosen));
  if (!found)
    return found.takeError();
  function = *found;
  const Driver &driver = device->getDriver();
  HEDDLE_DRIVER_CALL(driver, cuFuncSetAttribute, function,
                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                     dynamicBytes);
  if (chosen.blocks > 8)
    HEDDLE_DRIVER_CALL(driver, cuFuncSetAttribute, function,
                       CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// A solve
//===----------------------------------------------------------------------===//

Error HandwrittenSolve::allocate(const Problem &problem) {
  int64_t rows = shape.rows, columns = shape.columns;
  size_t real = dtypeSize(shape.compute());
  Error failure = Error::success();
  auto take = [&](size_t bytes) -> char * {
    if (failure)
      return nullptr;
    auto allocated = device->allocate(bytes);
    if (!allocated) {
      failure = allocated.takeError();
      return nullptr;
    }
    memory.push_back(std::move(*allocated));
    return memory.back().address();
  };
  arguments.c = problem.costs();
  arguments.stride = columns;
  arguments.rows = static_cast<int>(rows);
  arguments.columns = static_cast<int>(columns);
  arguments.logA = problem.logA();
  arguments.logB = problem.logB();
  arguments.u = take(rows * real);
  arguments.v = take(columns * real);
  arguments.eps = take(real);
  arguments.tolerance = take(real);
  arguments.limit = take(sizeof(int));
  arguments.iterations = take(sizeof(int));
  arguments.error = take(real);
  arguments.partial = take(kPanels * columns * real);
  arguments.panelError = take(kErrorsOfPanel * kPanels * real);
  arguments.barrier = take(sizeof(unsigned));
  if (failure)
    return failure;
  if (Error error = device->clear(arguments.barrier, sizeof(unsigned)))
    return error;
  std::vector<char> eps = storeReals(shape.compute(), kEps);
  return device->upload(arguments.eps, eps.data(), eps.size());
}

Expected<HandwrittenSolve>
HandwrittenSolve::create(Device &device, const Problem &problem,
                         const HandwrittenClass &chosen) {
  const ProblemShape &shape = problem.getShape();
  HandwrittenSolve solve(device, shape, chosen);
  int real = static_cast<int>(dtypeSize(shape.compute()));
  int columns = static_cast<int>(shape.columns);
  if (chosen.blocks) {
    solve.second =
        static_cast<int>((shape.rows + chosen.blocks - 1) / chosen.blocks);
    solve.dynamicBytes =
        real * ((chosen.threads / 32 + 2) * 32 * chosen.items +
                32 * chosen.blocks + solve.second * (columns + 3));
    solve.grid = chosen.blocks;
  } else {
    int width = (columns + chosen.cluster - 1) / chosen.cluster;
    int element = static_cast<int>(dtypeSize(shape.dtype));
    solve.second = ((width * element + 15) / 16 + 1) * 16;
    solve.dynamicBytes =
        chosen.stages * std::max(1, chosen.threadGroups) * chosen.rows *
            solve.second +
        chosen.columnsShared * chosen.threads * chosen.items * real;
    // Half of the groups send their columns to the others.
    if (chosen.threadGroups > 1)
      solve.dynamicBytes += chosen.threads / 2 * chosen.items * real;
    int blocks = std::min(kPanels, device.getContext()->multiprocessors());
    solve.grid = blocks / chosen.cluster * chosen.cluster;
  }
  if (Error error = solve.allocate(problem))
    return std::move(error);
  if (Error error = solve.load())
    return std::move(error);
  auto graph =
      device.capture([&](CUstream stream) { return solve.issue(stream); });
  if (!graph)
    return graph.takeError();
  solve.graph = std::move(*graph);
  return solve;
}

Error HandwrittenSolve::issue(CUstream stream) {
  size_t real = dtypeSize(shape.compute());
  if (Error error = device->clear(arguments.u, shape.rows * real))
    return error;
  if (Error error = device->clear(arguments.v, shape.columns * real))
    return error;
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  CUlaunchConfig config = {};
  config.gridDimX = grid;
  config.blockDimX = chosen.threads;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = dynamicBytes;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = chosen.blocks ? 0 : 1;
  void *given[] = {&arguments, &second};
  HEDDLE_DRIVER_CALL(device->getDriver(), cuLaunchKernelEx, &config, function,
                     given, nullptr);
  return Error::success();
}

Error HandwrittenSolve::set(double tolerance, int limit) {
  if (Error error = device->synchronize())
    return error;
  std::vector<char> stored = storeReals(shape.compute(), tolerance);
  if (Error error =
          device->upload(arguments.tolerance, stored.data(), stored.size()))
    return error;
  return device->upload(arguments.limit, &limit, sizeof(limit));
}

Error HandwrittenSolve::replay() {
  HEDDLE_DRIVER_CALL(device->getDriver(), cuGraphLaunch, graph.get(),
                     device->getStream());
  return Error::success();
}

Expected<std::vector<double>> HandwrittenSolve::potentials() {
  size_t real = dtypeSize(shape.compute());
  std::vector<char> stored((shape.rows + shape.columns) * real);
  if (Error error =
          device->download(stored.data(), arguments.u, shape.rows * real))
    return std::move(error);
  if (Error error = device->download(stored.data() + shape.rows * real,
                                     arguments.v, shape.columns * real))
    return std::move(error);
  return loadReals(shape.compute(), stored);
}

Expected<int> HandwrittenSolve::iterations() {
  int value = 0;
  if (Error error =
          device->download(&value, arguments.iterations, sizeof(value)))
    return std::move(error);
  return value;
}

} // namespace heddle::bench
