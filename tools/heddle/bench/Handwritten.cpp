//===- Handwritten.cpp - hand-written optimizer steps ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/bench/handwritten/README.md describes the tables. Members are 16-byte
// aligned here, so no first tile is shortened.
//
//===----------------------------------------------------------------------===//

#include "Handwritten.h"
#include "BenchFiles.h"

#include "runtime/nvrtc/Nvrtc.h"

#include <algorithm>
#include <cstring>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

//===----------------------------------------------------------------------===//
// Structures that the kernels read
//===----------------------------------------------------------------------===//

namespace {
struct AdamTile {
  char *p, *g, *m, *v, *step;
  int count, member, tiles, unused[3];
};
static_assert(sizeof(AdamTile) == 64);

struct SgdTile {
  char *p, *g, *buffer;
  int count, unused;
};
static_assert(sizeof(SgdTile) == 32);

struct GradTile {
  char *g;
  int count, unused;
};
static_assert(sizeof(GradTile) == 16);

struct UpdateTile {
  char *p, *g, *m, *v;
  int count, member, unused[2];
};
static_assert(sizeof(UpdateTile) == 48);

struct Hyper {
  const char *lr, *beta1, *beta2, *eps, *weightDecay;
};

struct ClipHyper {
  Hyper adam;
  const char *maxNorm;
};

struct ChunkTable {
  static constexpr int kTensors = 40, kBlocks = 320, kChunk = 65536;
  char *p[kTensors], *g[kTensors], *m[kTensors], *v[kTensors];
  char *step[kTensors];
  int64_t size[kTensors];
  int chunk[kBlocks];
  unsigned char tensor[kBlocks];
};
static_assert(sizeof(ChunkTable) == 3520);

/// The hyperparameters, in their order in device memory.
enum Scalar { lr, beta1, beta2, eps, weightDecay, maxNorm, momentum, scalars };
const double kValues[scalars] = {1e-3, 0.9, 0.999, 1e-8, 1e-2, 1.0, 0.9};

constexpr int kThreads = 256, kGradTile = 4096;
} // namespace

/// Whether the kernels compute in double.
static bool isDouble(ElementTypes types) {
  return types.param == DType::F64 || types.state == DType::F64;
}

/// The elements of a tile, and the bytes of the kernels' own entries per
/// member.
static int tileOf(ElementTypes types) {
  return kThreads * (isDouble(types) ? 2 : 4);
}
static size_t memoBytes(ElementTypes types) {
  return isDouble(types) ? 48 : 32;
}
static size_t scalarBytes(ElementTypes types) {
  return isDouble(types) ? 64 : 32;
}

static Hyper hyper(const DeviceMemory &memory) {
  auto at = [&](Scalar scalar) { return memory.address() + 8 * scalar; };
  return {at(lr), at(beta1), at(beta2), at(eps), at(weightDecay)};
}

/// Calls `visit` for every tile of `tile` elements: member, first element,
/// count, tiles of the member.
static void forEachTile(const Lists &lists, int64_t tile,
                        function_ref<void(size_t, int64_t, int, int)> visit) {
  for (size_t member = 0; member < lists.size(); ++member) {
    int64_t count = lists.count(member);
    int tiles = static_cast<int>((count + tile - 1) / tile);
    for (int64_t begin = 0; begin < count; begin += tile)
      visit(member, begin, static_cast<int>(std::min(tile, count - begin)),
            tiles);
  }
}

/// Launches a kernel on a capturing stream. `launchesEarly`: the kernel may
/// start before the previous one ends (programmatic dependent launch).
static Error launch(const Driver &driver, CUstream stream, CUfunction function,
                    size_t grid, int block, ArrayRef<void *> arguments,
                    bool launchesEarly = false) {
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config = {};
  config.gridDimX = static_cast<unsigned>(grid);
  config.blockDimX = block;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = launchesEarly ? 1 : 0;
  HEDDLE_DRIVER_CALL(driver, cuLaunchKernelEx, &config, function,
                     const_cast<void **>(arguments.data()), nullptr);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

Error HandwrittenStep::replay(Device &device) const {
  HEDDLE_DRIVER_CALL(device.getDriver(), cuGraphLaunch, graph.get(),
                     device.getStream());
  return Error::success();
}

Error Handwritten::compile(StringRef file, ElementTypes types) {
  KernelSource source;
  source.name = file.str();
  source.text = benchFile(file).str();
  source.options = {"--std=c++17", "--fmad=false",
                    formatv("-DPARAM={0}", elementCode(types.param)).str(),
                    formatv("-DSTATE={0}", elementCode(types.state)).str()};
  auto image =
      compileSource(source, device.getContext()->arch(), ImageKind::Cubin);
  if (!image)
    return image.takeError();
  auto module =
      Module::load(device.getContext(),
                   ArrayRef<char>(image->image.data(), image->image.size()));
  if (!module)
    return module.takeError();
  modules[types.name()].push_back(std::move(*module));
  return Error::success();
}

Expected<std::unique_ptr<Handwritten>> Handwritten::create(Device &device) {
  std::unique_ptr<Handwritten> result(new Handwritten(device));
  auto memory = device.allocate(sizeof(kValues));
  if (!memory)
    return memory.takeError();
  result->hyperparameters = std::move(*memory);
  if (Error error = device.upload(result->hyperparameters.address(), kValues,
                                  sizeof(kValues)))
    return std::move(error);
  return result;
}

Expected<CUfunction> Handwritten::function(ElementTypes types,
                                           StringRef entry) {
  if (!modules.count(types.name())) {
    for (StringRef file : {"adamw.cu", "sgd_momentum.cu", "clip_adamw.cu"})
      if (Error error = compile(file, types))
        return std::move(error);
    if (types == ElementTypes())
      if (Error error = compile("multi_tensor_apply_adamw.cu", types))
        return std::move(error);
  }
  for (const auto &module : modules[types.name()]) {
    auto found = module->function(entry);
    if (found)
      return *found;
    consumeError(found.takeError());
  }
  return makeError(StatusCode::Failed, "no hand-written kernel is named '{0}'",
                   entry);
}

Expected<char *> Handwritten::table(HandwrittenStep &step,
                                    const void *descriptors, size_t bytes) {
  auto memory = device.allocate(bytes);
  if (!memory)
    return memory.takeError();
  if (Error error = device.upload(memory->address(), descriptors, bytes))
    return std::move(error);
  step.memory.push_back(std::move(*memory));
  return step.memory.back().address();
}

Expected<char *> Handwritten::scratch(HandwrittenStep &step, size_t bytes) {
  auto memory = device.allocate(bytes);
  if (!memory)
    return memory.takeError();
  if (Error error = device.clear(memory->address(), bytes))
    return std::move(error);
  step.memory.push_back(std::move(*memory));
  return step.memory.back().address();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Expected<HandwrittenStep> Handwritten::adamw(const Lists &lists,
                                             StringRef entry) {
  HandwrittenStep step;
  step.name = entry.str();
  step.launches = 1;
  std::vector<AdamTile> descriptors;
  forEachTile(lists, tileOf(lists.getTypes()),
              [&](size_t member, int64_t begin, int count, int tiles) {
                auto at = [&](Lists::Kind kind) {
                  return lists.at(kind, member, begin);
                };
                descriptors.push_back({at(Lists::param),
                                       at(Lists::grad),
                                       at(Lists::first),
                                       at(Lists::second),
                                       lists.step(member),
                                       count,
                                       static_cast<int>(member),
                                       tiles,
                                       {}});
              });
  auto kernel = function(lists.getTypes(), entry);
  if (!kernel)
    return kernel.takeError();
  auto tiles =
      table(step, descriptors.data(), descriptors.size() * sizeof(AdamTile));
  if (!tiles)
    return tiles.takeError();
  auto memo = scratch(step, memoBytes(lists.getTypes()) * lists.size());
  if (!memo)
    return memo.takeError();
  auto tickets = scratch(step, 4 * lists.size());
  if (!tickets)
    return tickets.takeError();
  Hyper scalars = hyper(hyperparameters);
  auto graph = device.capture([&](CUstream stream) -> Error {
    return launch(device.getDriver(), stream, *kernel, descriptors.size(), 256,
                  {&*tiles, &scalars, &*memo, &*tickets});
  });
  if (!graph)
    return graph.takeError();
  step.graph = std::move(*graph);
  return step;
}

Expected<HandwrittenStep> Handwritten::sgd(const Lists &lists) {
  HandwrittenStep step;
  step.name = "sgd_momentum";
  step.launches = 1;
  std::vector<SgdTile> descriptors;
  int tile = tileOf(lists.getTypes());
  forEachTile(lists, tile, [&](size_t member, int64_t begin, int count, int) {
    auto at = [&](Lists::Kind kind) { return lists.at(kind, member, begin); };
    descriptors.push_back(
        {at(Lists::param), at(Lists::grad), at(Lists::first), count, 0});
  });
  auto kernel = function(lists.getTypes(), "sgd_momentum");
  if (!kernel)
    return kernel.takeError();
  auto tiles =
      table(step, descriptors.data(), descriptors.size() * sizeof(SgdTile));
  if (!tiles)
    return tiles.takeError();
  char *rate = hyperparameters.address() + 8 * lr;
  char *factor = hyperparameters.address() + 8 * momentum;
  auto graph = device.capture([&](CUstream stream) -> Error {
    return launch(device.getDriver(), stream, *kernel, descriptors.size(), 256,
                  {&*tiles, &rate, &factor});
  });
  if (!graph)
    return graph.takeError();
  step.graph = std::move(*graph);
  return step;
}

Expected<HandwrittenStep> Handwritten::clip(const Lists &lists,
                                            StringRef entry) {
  HandwrittenStep step;
  step.name = entry.str();
  step.launches = 3;
  std::vector<GradTile> gradDescriptors;
  forEachTile(lists, kGradTile,
              [&](size_t member, int64_t begin, int count, int) {
                gradDescriptors.push_back(
                    {lists.at(Lists::grad, member, begin), count, 0});
              });
  std::vector<UpdateTile> descriptors;
  int tile = tileOf(lists.getTypes());
  forEachTile(lists, tile, [&](size_t member, int64_t begin, int count, int) {
    auto at = [&](Lists::Kind kind) { return lists.at(kind, member, begin); };
    descriptors.push_back({at(Lists::param),
                           at(Lists::grad),
                           at(Lists::first),
                           at(Lists::second),
                           count,
                           static_cast<int>(member),
                           {}});
  });
  ElementTypes types = lists.getTypes();
  auto partials = function(types, "clip_adamw_partials"),
       combine = function(types, "clip_adamw_combine"),
       update = function(types, entry);
  if (!partials || !combine || !update)
    return joinErrors(partials.takeError(),
                      joinErrors(combine.takeError(), update.takeError()));
  auto gradTiles = table(step, gradDescriptors.data(),
                         gradDescriptors.size() * sizeof(GradTile));
  if (!gradTiles)
    return gradTiles.takeError();
  auto tiles =
      table(step, descriptors.data(), descriptors.size() * sizeof(UpdateTile));
  if (!tiles)
    return tiles.takeError();
  auto partial = scratch(step, 8 * gradDescriptors.size());
  if (!partial)
    return partial.takeError();
  auto memberScalars = scratch(step, scalarBytes(types) * lists.size());
  if (!memberScalars)
    return memberScalars.takeError();
  auto factor = scratch(step, 16);
  if (!factor)
    return factor.takeError();
  ClipHyper scalars{hyper(hyperparameters),
                    hyperparameters.address() + 8 * maxNorm};
  char *counters = lists.step(0);
  int members = static_cast<int>(lists.size());
  int partialCount = static_cast<int>(gradDescriptors.size());
  const Driver &driver = device.getDriver();
  auto graph = device.capture([&](CUstream stream) -> Error {
    if (Error error = launch(driver, stream, *partials, gradDescriptors.size(),
                             256, {&*gradTiles, &*partial}))
      return error;
    if (Error error = launch(driver, stream, *combine, 1, 1024,
                             {&scalars, &counters, &members, &*partial,
                              &partialCount, &*memberScalars, &*factor},
                             /*launchesEarly=*/true))
      return error;
    return launch(driver, stream, *update, descriptors.size(), 256,
                  {&*tiles, &*memberScalars, &*factor}, /*launchesEarly=*/true);
  });
  if (!graph)
    return graph.takeError();
  step.graph = std::move(*graph);
  return step;
}

Expected<HandwrittenStep> Handwritten::multiTensorApply(const Lists &lists) {
  HandwrittenStep step;
  step.name = "mta_adamw";
  step.multiTensorApply = true;
  auto advance = function(lists.getTypes(), "mta_advance_steps"),
       update = function(lists.getTypes(), "mta_adamw");
  if (!advance || !update)
    return joinErrors(advance.takeError(), update.takeError());
  // Fill each table up to its maximum number of tensors or blocks.
  std::vector<std::pair<ChunkTable, int>> tables;
  int tensors = 0, blocks = 0, last = -1;
  forEachTile(
      lists, ChunkTable::kChunk, [&](size_t member, int64_t begin, int, int) {
        bool sameTensor = last == static_cast<int>(member);
        if (tables.empty() || blocks == ChunkTable::kBlocks ||
            (!sameTensor && tensors == ChunkTable::kTensors)) {
          tables.emplace_back();
          tensors = blocks = 0;
          sameTensor = false;
        }
        ChunkTable &table = tables.back().first;
        if (!sameTensor) {
          table.p[tensors] = lists.at(Lists::param, member);
          table.g[tensors] = lists.at(Lists::grad, member);
          table.m[tensors] = lists.at(Lists::first, member);
          table.v[tensors] = lists.at(Lists::second, member);
          table.step[tensors] = lists.step(member);
          table.size[tensors] = lists.count(member);
          ++tensors;
          last = static_cast<int>(member);
        }
        table.chunk[blocks] = static_cast<int>(begin / ChunkTable::kChunk);
        table.tensor[blocks] = static_cast<unsigned char>(tensors - 1);
        tables.back().second = ++blocks;
      });
  step.launches = 1 + static_cast<int>(tables.size());
  Hyper scalars = hyper(hyperparameters);
  char *counters = lists.step(0);
  int members = static_cast<int>(lists.size());
  const Driver &driver = device.getDriver();
  auto graph = device.capture([&](CUstream stream) -> Error {
    if (Error error = launch(driver, stream, *advance, (members + 511) / 512,
                             512, {&counters, &members}))
      return error;
    for (auto &[table, count] : tables)
      if (Error error =
              launch(driver, stream, *update, count, 512, {&table, &scalars}))
        return error;
    return Error::success();
  });
  if (!graph)
    return graph.takeError();
  step.graph = std::move(*graph);
  return step;
}

Expected<std::vector<HandwrittenStep>> Handwritten::steps(StringRef optimizer,
                                                          const Lists &lists) {
  std::vector<HandwrittenStep> result;
  auto add = [&](Expected<HandwrittenStep> step) -> Error {
    if (!step)
      return step.takeError();
    result.push_back(std::move(*step));
    return Error::success();
  };
  Error error = Error::success();
  if (optimizer == "adamw") {
    error = add(adamw(lists, "adamw"));
    if (!error)
      error = add(adamw(lists, "adamw_l2"));
    if (!error && lists.getTypes() == ElementTypes())
      error = add(multiTensorApply(lists));
  } else if (optimizer == "sgd") {
    error = add(sgd(lists));
  } else if (optimizer == "clip_adamw") {
    error = add(clip(lists, "clip_adamw_update"));
    if (!error)
      error = add(clip(lists, "clip_adamw_update_l2"));
  }
  if (error)
    return std::move(error);
  return result;
}

} // namespace heddle::bench
