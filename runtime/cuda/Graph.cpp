//===- Graph.cpp - A plan as one CUDA graph -------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Graph.h"

#include "runtime/cuda/DeviceSpace.h"
#include "runtime/support/Statistics.h"

using namespace llvm;

namespace heddle::runtime {

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<Graph>>
Graph::create(std::shared_ptr<Executable> executable, ContextPtr context) {
  if (executable->target() != Target::Cuda)
    return makeError(
        StatusCode::BadInput,
        "expected an executable of the cuda target, found one for the cpu");
  if (Error error = executable->kernels()->load(context))
    return std::move(error);
  return std::unique_ptr<Graph>(
      new Graph(std::move(executable), std::move(context)));
}

Graph::Graph(std::shared_ptr<Executable> executable, ContextPtr context)
    : ProgramGraph(std::move(executable)), device(std::move(context)),
      space(std::make_unique<DeviceSpace>(*device)), instance(index({})) {}

Graph::~Graph() = default;

AddressSpace &Graph::addressSpace() { return *space; }

Error Graph::refuseInCapture(CUstream stream, StringRef what) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  HEDDLE_DRIVER_CALL(device->driver(), cuStreamIsCapturing, stream, &status);
  if (numberOf(status) == CU_STREAM_CAPTURE_STATUS_NONE)
    return Error::success();
  return makeError(StatusCode::BadInput,
                   "{0}: expected a stream that is not being captured: call "
                   "{0} before the capture",
                   what);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Launches a kernel on `stream`. With `overlaps`, the kernel may start before
/// the previous launch has ended.
Error Graph::launchKernel(Launch &launch, CUstream stream, bool overlaps) {
  SmallVector<CUlaunchAttribute, 2> attributes;
  auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue & {
    attributes.emplace_back().id = id;
    return attributes.back().value;
  };
  if (launch.cooperative)
    add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  else if (overlaps)
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .programmaticStreamSerializationAllowed = 1;
  if (launch.cluster > 1)
    add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim = {launch.cluster, 1,
                                                             1};
  CUlaunchConfig config = {};
  config.gridDimX = launch.grid;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = launch.block;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = launch.sharedBytes;
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = attributes.size();
  std::vector<void *> pointers = launch.pointers();
  const Driver &driver = device->driver();
  if (CUresult result = driver.cuLaunchKernelEx(&config, launch.function,
                                                pointers.data(), nullptr))
    return withContext("kernel '" + launch.name + "'",
                       driverError(driver, result, "cuLaunchKernelEx"));
  return Error::success();
}

/// Compiles and loads the kernels of `list` that only captures need.
Error Graph::loadCapturedKernels(std::vector<Step> &list) {
  std::vector<std::string> entries;
  for (const Step &step : list)
    if (step.captured && !step.captured->function)
      entries.push_back(step.captured->entry);
  if (entries.empty())
    return Error::success();
  KernelUnits &kernels = *executable()->kernels();
  if (Error error = kernels.compileEntries(entries))
    return error;
  return whileCapturing([&]() -> Error {
    for (Step &step : list) {
      if (!step.captured || step.captured->function)
        continue;
      Launch &launch = *step.captured;
      Expected<CUfunction> function =
          kernels.function(device, launch.entry, launch.arguments.size());
      if (!function)
        return function.takeError();
      launch.function = *function;
    }
    return Error::success();
  });
}

Error Graph::issue(std::vector<Step> &list, CUstream stream) {
  for (Step &step : list) {
    // A captured launch would keep the current values of its scalars.
    if (!step.launch.scalars.empty() && !step.captured)
      return makeError(
          StatusCode::BadInput,
          "node '{0}': a stream capture needs a variant with scalars "
          "by address, and none fits on {1}: replay outside the "
          "capture",
          step.launch.name, device->name());
    if (step.loop && !step.captured)
      return makeError(StatusCode::BadInput,
                       "node '{0}': a loop inside a stream capture needs a "
                       "cooperative kernel, and none fits on {1}: replay "
                       "outside the capture",
                       step.launch.name, device->name());
  }
  if (Error error = loadCapturedKernels(list))
    return error;
  if (Error error = writeDistances())
    return error;
  captured = true;
  if (Error error = writeStaleSlots())
    return error;
  auto launchOf = [](Step &step) -> Launch & {
    return step.captured ? *step.captured : step.launch;
  };
  for (auto [index, step] : enumerate(list)) {
    Launch &launch = launchOf(step);
    bool overlaps =
        step.overlaps >= 0 && step.overlaps + 1 == static_cast<int>(index) &&
        !launch.cooperative && !launchOf(list[index - 1]).cooperative;
    if (Error error = launchKernel(launch, stream, overlaps))
      return error;
    for (Launch &further : step.further)
      if (Error error = launchKernel(further, stream))
        return error;
    count(statistics().launches, 1 + step.further.size());
    count(statistics().programmatic_edges, overlaps);
  }
  count(statistics().captured_replays);
  return Error::success();
}

Error Graph::replay(void *streamHandle) {
  if (Error error = checkProcess())
    return error;
  CUstream stream = static_cast<CUstream>(streamHandle);
  Context::Scope scope(*device);
  const Driver &driver = device->driver();
  CUstreamCaptureStatus written = CU_STREAM_CAPTURE_STATUS_NONE;
  HEDDLE_DRIVER_CALL(driver, cuStreamIsCapturing, stream, &written);
  auto status = numberOf(written);
  if (status != CU_STREAM_CAPTURE_STATUS_NONE &&
      status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return makeError(StatusCode::BadInput,
                     "replay: the capture of this stream is already invalid");
  if (needsPrepare()) {
    if (status != CU_STREAM_CAPTURE_STATUS_NONE)
      return makeError(
          StatusCode::BadInput,
          "replay: bindings changed: call prepare before the capture begins");
    if (Error error = prepare(stream))
      return error;
  }
  if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return issue(instance.steps, stream);
  if (!instance.changedNodes.empty())
    if (Error error = updateChanged())
      return error;
  HEDDLE_DRIVER_CALL(driver, cuGraphLaunch, instance.executable.get(), stream);
  count(statistics().replays);
  // The step is submitted. If its end cannot be recorded, it is waited for.
  if (instance.hasMoved &&
      driver.cuEventRecord(replayed.get(), stream) != CUDA_SUCCESS)
    HEDDLE_DRIVER_CALL(driver, cuStreamSynchronize, stream);
  return Error::success();
}

Error Graph::synchronize(void *stream) {
  if (Error error = checkProcess())
    return error;
  Context::Scope scope(*device);
  HEDDLE_DRIVER_CALL(device->driver(), cuStreamSynchronize,
                     static_cast<CUstream>(stream));
  return Error::success();
}

Error Graph::read(void *to, const void *from, size_t bytes,
                  void *streamHandle) {
  CUstream stream = static_cast<CUstream>(streamHandle);
  Context::Scope scope(*device);
  HEDDLE_DRIVER_CALL(device->driver(), cuMemcpyDtoHAsync, to,
                     reinterpret_cast<CUdeviceptr>(from), bytes, stream);
  HEDDLE_DRIVER_CALL(device->driver(), cuStreamSynchronize, stream);
  return Error::success();
}

} // namespace heddle::runtime
