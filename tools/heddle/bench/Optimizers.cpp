//===- Optimizers.cpp - the benchmark of optimizer steps ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures one model at a time. All candidates share its lists and alternate.
//
//===----------------------------------------------------------------------===//

#include "Optimizers.h"
#include "Generated.h"
#include "Handwritten.h"

#include "codegen/compiler/CopyBandwidth.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <chrono>
#include <cstring>

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

ArrayRef<Optimizer> optimizers() {
  static const Optimizer all[] = {
      {"adamw", "adamw", 3, 4, 2, true},
      {"sgd", "sgd:momentum=0.9", 3, 2, 1, true},
      {"clip_adamw", "clip_by_global_norm+adamw", 4, 4, 2, true},
      {"adabelief", "adabelief", 3, 4},
      {"adadelta", "adadelta", 3, 4},
      {"adagrad", "adagrad", 3, 2, 1},
      {"adam", "adam", 3, 4},
      {"adamax", "adamax", 3, 4},
      {"adamw_schedule_free", "adamw_schedule_free", 3, 4},
      {"adan", "adan", 3, 8, 4},
      {"ademamix", "ademamix", 3, 6, 3},
      {"adopt", "adopt", 3, 4},
      {"asgd", "asgd", 3, 2, 1},
      // The share of a tensor that agrees with its gradient comes first.
      {"cautious_lion", "lion:cautious=true", 4, 3, 1},
      // Norms read every tensor before its update, LAMB's of all gradients
      // before both.
      {"lamb", "lamb", 5, 6},
      {"laprop", "laprop", 3, 4},
      {"lars", "lars", 5, 2, 1},
      {"lion", "lion", 3, 2, 1},
      {"nadam", "nadam", 3, 4},
      {"novograd", "novograd", 4, 2, 1},
      // The estimate of the learning rate comes before the update.
      {"prodigy", "prodigy", 5, 8, 4},
      {"radam", "radam", 3, 4},
      {"rmsprop", "rmsprop", 3, 2, 1},
      {"rprop", "rprop", 3, 4, 2, false, "etaplus"},
      {"sgd_schedule_free", "sgd_schedule_free", 3, 2, 1},
      {"sparse_adam", "sparse_adam", 3, 4},
      // The gradient is read twice and set to 0.
      {"tail", "unscale+clip_by_global_norm+adamw:ema=0.999,zero_grad=true", 5,
       6, 3},
      {"yogi", "yogi", 3, 4}};
  return all;
}

std::string Optimizer::program(ElementTypes types) const {
  std::string result = text.str();
  if (types == ElementTypes())
    return result;
  result += (text.contains(':') ? ",dtype=" : ":dtype=");
  result += dtypeName(types.param);
  if (types.state != types.param)
    result += (",state=" + dtypeName(types.state)).str();
  return result;
}

namespace {
class Benchmark {
public:
  Benchmark(Device &device, cli::Progress &progress)
      : device(device), progress(progress) {}

  Error measureModel(const cli::Model &model, const OptimizerChoice &choice,
                     ElementTypes types, OptimizerReport &report);
  Error open();
  Expected<CounterChanges> countChanges(const cli::Model &model,
                                        const cli::Model &other);

private:
  Error measure(const Optimizer &optimizer, Lists &lists, double bandwidth,
                OptimizerRow &row);
  Error timeRounds(Generated &generated, StringRef hyper,
                   ArrayRef<HandwrittenStep> steps, OptimizerRow &row);
  Error compareBits(Generated &generated, const HandwrittenStep &step,
                    Lists &lists, OptimizerRow &row);
  Expected<double> timeRebinding(Generated &generated, const Lists &lists);

  Device &device;
  cli::Progress &progress;
  std::unique_ptr<Handwritten> handwritten;
  /// Two graphs of each program.
  std::map<std::string, std::array<std::optional<Generated>, 2>> programs;
};
} // namespace

Error Benchmark::open() {
  auto created = Handwritten::create(device);
  if (!created)
    return created.takeError();
  handwritten = std::move(*created);
  return Error::success();
}

static void keepBetter(double &best, double time) {
  best = best == 0 ? time : std::min(best, time);
}

Error Benchmark::timeRounds(Generated &generated, StringRef hyper,
                            ArrayRef<HandwrittenStep> steps,
                            OptimizerRow &row) {
  for (int round = 0; round < 2; ++round) {
    auto plain = device.time([&] { return generated.replay(); });
    if (!plain)
      return plain.takeError();
    keepBetter(row.generated, *plain);

    for (const HandwrittenStep &step : steps) {
      auto time = device.time([&] { return step.replay(device); });
      if (!time)
        return time.takeError();
      if (step.multiTensorApply) {
        keepBetter(row.multiTensorApply, *time);
        row.multiTensorApplyLaunches = step.launches;
      } else if (row.handwritten == 0 || *time < row.handwritten) {
        row.handwritten = *time;
        row.handwrittenName = step.name;
        row.handwrittenLaunches = step.launches;
      }
    }

    int count = 0;
    auto set = device.time([&]() -> Error {
      if (Error error = generated.setScalar(hyper, 1e-3 / (1 + ++count % 7)))
        return error;
      return generated.replay();
    });
    if (!set)
      return set.takeError();
    keepBetter(row.generatedSet, *set);
    if (Error error = generated.setScalar(hyper, 1e-3))
      return error;
  }
  return Error::success();
}

Error Benchmark::compareBits(Generated &generated, const HandwrittenStep &step,
                             Lists &lists, OptimizerRow &row) {
  if (row.parameters > 32'000'000)
    return Error::success();
  std::vector<char> results[2];
  for (int which : {0, 1}) {
    if (Error error = lists.reset(device))
      return error;
    for (int k = 0; k < 3; ++k)
      if (Error error = which ? step.replay(device) : generated.replay())
        return error;
    results[which].resize(lists.bytes(Lists::param));
    if (Error error =
            device.download(results[which].data(), lists.base(Lists::param),
                            lists.bytes(Lists::param)))
      return error;
  }
  row.sameBits = results[0] == results[1];
  return lists.reset(device);
}

Expected<double> Benchmark::timeRebinding(Generated &generated,
                                          const Lists &lists) {
  std::vector<double> times;
  for (int sample = 0; sample < 5; ++sample) {
    auto begin = std::chrono::steady_clock::now();
    if (Error error = generated.bind(lists, /*swapState=*/sample % 2 == 0))
      return std::move(error);
    if (Error error = generated.prepare())
      return std::move(error);
    if (Error error = device.synchronize())
      return std::move(error);
    times.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::sort(times.begin(), times.end());
  if (Error error = generated.bind(lists))
    return std::move(error);
  return times[times.size() / 2];
}

Error Benchmark::measure(const Optimizer &optimizer, Lists &lists,
                         double bandwidth, OptimizerRow &row) {
  const cli::Model &model = lists.getModel();
  row.optimizer = optimizer.name.str();
  row.types = lists.getTypes();
  row.program = optimizer.program(row.types);
  row.model = model.name;
  row.tensors = static_cast<int64_t>(model.shapes.size());
  row.parameters = model.elements();
  row.bytesPerParameter = optimizer.bytesPerParameter(row.types);
  row.floor =
      static_cast<double>(row.parameters) * row.bytesPerParameter / bandwidth;
  auto &graphs = programs[row.program];
  for (std::optional<Generated> &graph : graphs) {
    if (graph)
      continue;
    auto created = Generated::create(device, row.program);
    if (!created)
      return created.takeError();
    graph = std::move(*created);
  }
  Generated &generated = *graphs[0];
  row.launches = generated.launches(model);
  if (Error error = lists.reset(device))
    return error;
  auto rebind = timeRebinding(generated, lists);
  if (!rebind)
    return rebind.takeError();
  row.rebind = *rebind;
  if (Error error = generated.prepare())
    return error;
  auto steps = handwritten->steps(optimizer.name, lists);
  if (!steps)
    return steps.takeError();
  if (!steps->empty())
    if (Error error = compareBits(generated, steps->front(), lists, row))
      return error;
  if (Error error = timeRounds(generated, optimizer.hyper, *steps, row))
    return error;
  auto host = generated.hostTime([&] { return generated.replay(); });
  if (!host)
    return host.takeError();
  row.host = *host;
  if (Error error = graphs[1]->bind(lists))
    return error;
  auto gradients =
      timeGradients(device, {&generated, &*graphs[1]}, lists, optimizer.hyper);
  if (!gradients)
    return gradients.takeError();
  row.gradients = *gradients;
  return device.synchronize();
}

Error Benchmark::measureModel(const cli::Model &model,
                              const OptimizerChoice &choice, ElementTypes types,
                              OptimizerReport &report) {
  auto free = device.freeBytes();
  if (!free)
    return free.takeError();
  std::string what = model.name + " in " + types.name();
  int states = 0;
  for (const Optimizer &optimizer : choice.optimizers)
    states = std::max(states, optimizer.states);
  double needed = 1.025 * Lists::bytes(model, types, states);
  if (needed > 0.95 * static_cast<double>(*free)) {
    report.skipped.push_back(formatv("{0}: needs {1:f1} GB, {2:f1} GB are free",
                                     what, needed * 1e-9,
                                     static_cast<double>(*free) * 1e-9));
    return Error::success();
  }
  auto lists = Lists::create(device, model, types, choice.gradients, states);
  if (!lists)
    return lists.takeError();
  for (const Optimizer &optimizer : choice.optimizers) {
    progress.show("measuring " + optimizer.name + " on " + what + " ...");
    OptimizerRow &row = report.rows.emplace_back();
    if (Error error = measure(optimizer, **lists, report.copyBandwidth, row))
      return withContext(optimizer.name + " on " + what, std::move(error));
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

static std::map<std::string, uint64_t> readCounters() {
  std::map<std::string, uint64_t> counters;
  for (const char *name : {"compilations", "graph_instantiations"})
    counters[name] = heddle::statistic(name);
  return counters;
}

/// The first tensors of a model: counters do not depend on sizes.
static cli::Model firstTensors(cli::Model model) {
  constexpr int64_t most = 32'000'000; // elements
  while (model.shapes.size() > 1 && model.elements() > most)
    model.shapes.resize(llvm::divideCeil(model.shapes.size(), 2));
  return model;
}

Expected<CounterChanges> Benchmark::countChanges(const cli::Model &model,
                                                 const cli::Model &other) {
  auto lists = Lists::create(device, firstTensors(model)),
       others = Lists::create(device, firstTensors(other));
  if (!lists || !others)
    return joinErrors(lists.takeError(), others.takeError());
  auto generated = Generated::create(device, "adamw");
  if (!generated)
    return generated.takeError();
  if (Error error = generated->bind(**lists))
    return std::move(error);
  if (Error error = generated->replay())
    return std::move(error);

  CounterChanges changes;
  auto observe = [&](StringRef what, function_ref<Error()> change) -> Error {
    auto before = readCounters();
    if (Error error = change())
      return error;
    if (Error error = generated->replay())
      return error;
    if (Error error = device.synchronize())
      return error;
    for (const auto &[name, value] : readCounters())
      changes[what.str()][name] = value - before[name];
    return Error::success();
  };
  if (Error error = observe("hyperparameters", [&]() -> Error {
        for (auto [name, value] :
             {std::pair("lr", 5e-4), std::pair("beta1", 0.8),
              std::pair("beta2", 0.99), std::pair("eps", 1e-6),
              std::pair("weight_decay", 0.1)})
          if (Error error = generated->setScalar(name, value))
            return error;
        return Error::success();
      }))
    return std::move(error);
  if (Error error =
          observe("pointers", [&] { return generated->bind(**lists, true); }))
    return std::move(error);
  if (Error error = observe("model", [&] { return generated->bind(**others); }))
    return std::move(error);
  return changes;
}

Expected<OptimizerReport> measureOptimizers(Device &device,
                                            const OptimizerChoice &choice,
                                            cli::Progress &progress) {
  OptimizerReport report;
  report.gradients = choice.gradients;
  progress.show("measuring the copy bandwidth ...");
  auto bandwidth =
      measureCopyBandwidth(device.getContext(), size_t(1) << 31, 8);
  if (!bandwidth)
    return bandwidth.takeError();
  report.copyBandwidth = *bandwidth;

  progress.show("measuring compile times ...");
  // Compile times depend little on element types.
  std::vector<std::string> programs;
  for (const Optimizer &optimizer : choice.optimizers)
    programs.push_back(optimizer.program(choice.types.front()));
  auto times = measureCompileTimes(
      SmallVector<StringRef>(programs.begin(), programs.end()));
  if (!times)
    return times.takeError();
  report.compileTimes = std::move(*times);

  Benchmark benchmark(device, progress);
  if (Error error = benchmark.open())
    return std::move(error);
  const std::vector<cli::Model> &models = choice.models;
  for (const cli::Model &model : models)
    for (ElementTypes types : choice.types)
      if (Error error = benchmark.measureModel(model, choice, types, report))
        return std::move(error);
  if (!models.empty()) {
    progress.show("counting compilations ...");
    auto counters = benchmark.countChanges(
        models.front(), models[std::min<size_t>(1, models.size() - 1)]);
    if (!counters)
      return counters.takeError();
    report.counters = std::move(*counters);
  }
  return report;
}

} // namespace heddle::bench
