//===- GraphScalars.cpp - The scalars of a CUDA graph ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By-value scalars are parameters of nodes. Scalar slots are in device memory.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Graph.h"

#include "runtime/support/Statistics.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace heddle::runtime {

static CUdeviceptr devicePointer(const void *address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

Error Graph::acceptScalar(void *stream) {
  Context::Scope scope(*device);
  return refuseInCapture(static_cast<CUstream>(stream), "set_scalar");
}

Error Graph::scalarChanged(int buffer, const ScalarBytes &bytes, void *stream) {
  Context::Scope scope(*device);
  for (unsigned node : instance.nodesOfScalar[buffer]) {
    Launch &launch = *instance.launches[node];
    bool differs = false;
    for (const Launch::Scalar &scalar : launch.scalars) {
      char *value = launch.arguments[scalar.argument].data();
      if (scalar.buffer != buffer ||
          !std::memcmp(value, bytes.data(), bytes.size()))
        continue;
      std::memcpy(value, bytes.data(), bytes.size());
      differs = true;
    }
    if (differs)
      instance.change(node);
  }
  if (captured || slotRead[buffer])
    return writeSlot(buffer, bytes.data(), static_cast<CUstream>(stream));
  slotStale[buffer] = true;
  return Error::success();
}

/// Sets the parameters of the nodes whose scalars or distances changed.
/// Submitted replays keep their values.
Error Graph::updateChanged() {
  const Driver &driver = device->driver();
  while (!instance.changedNodes.empty()) {
    unsigned index = instance.changedNodes.back();
    std::vector<void *> pointers = instance.launches[index]->pointers();
    CUDA_KERNEL_NODE_PARAMS parameters =
        kernelNodeParameters(*instance.launches[index], pointers);
    if (CUresult result = driver.cuGraphExecKernelNodeSetParams(
            instance.executable.get(), instance.nodes[index].node, &parameters))
      return withContext(
          "node '" + instance.launches[index]->name + "'",
          driverError(driver, result, "cuGraphExecKernelNodeSetParams"));
    count(statistics().scalar_updates);
    instance.changedNodes.pop_back();
    instance.nodeChanged[index] = false;
  }
  return Error::success();
}

/// Writes a value to a scalar slot, ordered on `stream`.
Error Graph::writeSlot(int buffer, const char *bytes, CUstream stream) {
  const Driver &driver = device->driver();
  CUdeviceptr slot = devicePointer(slots + buffer * sizeof(double));
  unsigned size = dtypeSize(plan().buffers[buffer].dtype);
  slotStale[buffer] = true;
  // These commands contain the value, so nothing is copied or staged.
  uint64_t wide;
  uint32_t narrow;
  std::memcpy(&wide, bytes, sizeof(wide));
  std::memcpy(&narrow, bytes, sizeof(narrow));
  bool written =
      (size == 8 && device->canWriteValue64() &&
       driver.cuStreamWriteValue64(stream, slot, wide,
                                   CU_STREAM_WRITE_VALUE_DEFAULT) ==
           CUDA_SUCCESS) ||
      (size == 4 && driver.cuStreamWriteValue32(
                        stream, slot, narrow, CU_STREAM_WRITE_VALUE_DEFAULT) ==
                        CUDA_SUCCESS);
  if (!written)
    HEDDLE_DRIVER_CALL(driver, cuMemcpyHtoDAsync, slot, bytes, size, stream);
  slotStale[buffer] = false;
  count(statistics().slot_writes);
  return Error::success();
}

Error Graph::createOwnStream() {
  if (ownStream)
    return Error::success();
  Expected<StreamHandle> stream = createStream(device);
  if (!stream)
    return stream.takeError();
  ownStream = std::move(*stream);
  return Error::success();
}

/// Writes the slots that do not have the last value. The caller's stream is
/// being captured, so this uses a stream of the graph and waits for it. No
/// submitted replay reads these slots.
Error Graph::writeStaleSlots() {
  if (none_of(slotStale, [](bool stale) { return stale; }))
    return Error::success();
  return whileCapturing([&]() -> Error {
    if (Error error = createOwnStream())
      return error;
    std::vector<char> values = slotValues();
    for (size_t buffer = 0; buffer < slotStale.size(); ++buffer)
      if (slotStale[buffer])
        if (Error error =
                writeSlot(buffer, values.data() + buffer * sizeof(double),
                          ownStream.get()))
          return error;
    HEDDLE_DRIVER_CALL(device->driver(), cuStreamSynchronize, ownStream.get());
    return Error::success();
  });
}

Error Graph::whileCapturing(function_ref<Error()> action) {
  const Driver &driver = device->driver();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  HEDDLE_DRIVER_CALL(driver, cuThreadExchangeStreamCaptureMode, &mode);
  Error failure = action();
  CUresult restored = driver.cuThreadExchangeStreamCaptureMode(&mode);
  if (!failure && restored)
    failure =
        driverError(driver, restored, "cuThreadExchangeStreamCaptureMode");
  return failure;
}

} // namespace heddle::runtime
