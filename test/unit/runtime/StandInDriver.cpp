//===- StandInDriver.cpp - A CUDA driver without a GPU --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A shared library with the driver functions that the runtime uses, over host
// memory. With it, tests build, update and replay graphs on any machine. Calls
// on streams run immediately, or when the host waits. Graphs, conditional loops
// and captures behave as the driver's documentation says. Kernels are C++
// functions (StandInKernels.h). HEDDLE_STAND_IN_MEMORY is the size of its
// memory in bytes (default: 1 GiB).
//
//===----------------------------------------------------------------------===//

#include "StandInDriver.h"
#include "StandInExport.h"
#include "StandInGraph.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

using namespace stand_in;

//===----------------------------------------------------------------------===//
// The state of the driver
//===----------------------------------------------------------------------===//

namespace {

struct Stream {
  Graph *captured = nullptr;
};

size_t readMemoryBytes() {
  const char *bytes = std::getenv("HEDDLE_STAND_IN_MEMORY");
  return bytes ? std::strtoull(bytes, nullptr, 10) : size_t(1) << 30;
}
const size_t memoryBytes = readMemoryBytes();
std::map<uintptr_t, size_t> allocations;
std::mutex mutex;
thread_local CUcontext current = nullptr;
std::atomic<int> captures{0}; // active captures
thread_local CUstreamCaptureMode captureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
int contextObject;
std::atomic<CUgraphConditionalHandle> nextCondition{1};

/// Work that was submitted to a stream and has not run; null: to all streams.
struct Work {
  std::function<void()> run;
  CUstream stream;
  size_t number; ///< in the order of submission, from 1
};
std::vector<Work> pending;
size_t submitted = 0;
std::atomic<bool> deferring{false};

/// Runs the work up to a number.
void runPending(size_t last = SIZE_MAX) {
  std::vector<Work> first;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto end =
        std::find_if(pending.begin(), pending.end(),
                     [&](const Work &work) { return work.number > last; });
    first.assign(std::make_move_iterator(pending.begin()),
                 std::make_move_iterator(end));
    pending.erase(pending.begin(), end);
  }
  for (const Work &work : first)
    work.run();
}
/// Runs work of a stream, now or when the host waits. Work of a stream does not
/// wait for that of another.
CUresult submit(std::function<void()> work, CUstream stream = nullptr) {
  bool waits = deferring;
  if (waits) {
    std::lock_guard<std::mutex> lock(mutex);
    ++submitted;
    waits = !stream || pending.empty() ||
            std::any_of(pending.begin(), pending.end(), [&](const Work &other) {
              return !other.stream || other.stream == stream;
            });
    if (waits)
      pending.push_back({std::move(work), stream, submitted});
  }
  if (!waits)
    work();
  return CUDA_SUCCESS;
}

/// An event, after all work up to a number.
struct Event {
  size_t number = 0;
};

Graph *graphOf(CUgraph graph) { return reinterpret_cast<Graph *>(graph); }
Stream *streamOf(CUstream stream) {
  static Stream defaultStream;
  return stream ? reinterpret_cast<Stream *>(stream) : &defaultStream;
}

/// Whether calls that are unsafe during a capture must fail.
bool refused() {
  return captures && captureMode != CU_STREAM_CAPTURE_MODE_RELAXED;
}

} // namespace

EXPORT size_t heddle_stand_in_allocations(void) {
  std::lock_guard<std::mutex> lock(mutex);
  return allocations.size();
}

EXPORT void heddle_stand_in_defer(int deferred) {
  runPending();
  deferring = deferred != 0;
}

//===----------------------------------------------------------------------===//
// The driver's functions
//===----------------------------------------------------------------------===//

EXPORT CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
EXPORT CUresult cuDriverGetVersion(int *version) {
  return *version = 13000, CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetCount(int *count) {
  return *count = 1, CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return *device = ordinal, CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  return std::strncpy(name, "stand-in", size), CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceTotalMem(size_t *bytes, CUdevice) {
  return *bytes = memoryBytes, CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                     CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? 0
           : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 4
           : attribute == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE            ? 4096
                                                                       : 1;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  return *context = reinterpret_cast<CUcontext>(&contextObject), CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
EXPORT CUresult cuCtxGetCurrent(CUcontext *context) {
  return *context = current, CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
  return *device = 0, CUDA_SUCCESS;
}
EXPORT CUresult cuCtxPushCurrent(CUcontext context) {
  return current = context, CUDA_SUCCESS;
}
EXPORT CUresult cuCtxPopCurrent(CUcontext *context) {
  return *context = current, current = nullptr, CUDA_SUCCESS;
}
EXPORT CUresult cuGetErrorName(CUresult, const char **name) {
  return *name = "CUDA_ERROR", CUDA_SUCCESS;
}
EXPORT CUresult cuGetErrorString(CUresult, const char **text) {
  return *text = "an error", CUDA_SUCCESS;
}

EXPORT CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  if (!current)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (refused())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (bytes > memoryBytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!memory)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0xcd, bytes); // device memory is not zero either
  *address = reinterpret_cast<CUdeviceptr>(memory);
  std::lock_guard<std::mutex> lock(mutex);
  allocations[*address] = bytes;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemFree(CUdeviceptr address) {
  runPending();
  std::lock_guard<std::mutex> lock(mutex);
  if (!allocations.erase(address))
    return CUDA_ERROR_INVALID_VALUE;
  std::free(reinterpret_cast<void *>(address));
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemGetInfo(size_t *available, size_t *total) {
  return *available = *total = memoryBytes, CUDA_SUCCESS;
}
EXPORT CUresult cuCtxSynchronize() {
  if (!current)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (refused())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return runPending(), CUDA_SUCCESS;
}
EXPORT CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
  return std::memcpy(reinterpret_cast<void *>(to), from, bytes), CUDA_SUCCESS;
}
EXPORT CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void *>(from), bytes),
         CUDA_SUCCESS;
}
EXPORT CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from,
                                  size_t bytes, CUstream stream) {
  if (streamOf(stream)->captured)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  // Pageable memory is copied first.
  const char *begin = static_cast<const char *>(from);
  return submit([to, copy = std::vector<char>(begin, begin + bytes)] {
    cuMemcpyHtoD(to, copy.data(), copy.size());
  });
}
EXPORT CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                                  CUstream) {
  runPending();
  return cuMemcpyDtoH(to, from, bytes);
}
EXPORT CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from,
                                  size_t bytes, CUstream) {
  return submit(
      [=] { cuMemcpyHtoD(to, reinterpret_cast<const void *>(from), bytes); });
}
EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                size_t bytes, CUstream) {
  return submit(
      [=] { std::memset(reinterpret_cast<void *>(to), value, bytes); });
}
EXPORT CUresult cuPointerGetAttributes(unsigned count,
                                       CUpointer_attribute *attributes,
                                       void **data, CUdeviceptr pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  auto next = allocations.upper_bound(pointer);
  bool known = next != allocations.begin() &&
               pointer < std::prev(next)->first + std::prev(next)->second;
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
      *static_cast<unsigned *>(data[i]) =
          known ? unsigned(CU_MEMORYTYPE_DEVICE) : 0u;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
      *static_cast<int *>(data[i]) = known ? 0 : -2;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
      *static_cast<CUdeviceptr *>(data[i]) = known ? std::prev(next)->first : 0;
    else if (attributes[i] == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
      *static_cast<size_t *>(data[i]) = known ? std::prev(next)->second : 0;
    else
      *static_cast<unsigned *>(data[i]) = 0;
  }
  return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *, unsigned,
                                   CUjit_option *, void **) {
  if (!current)
    return CUDA_ERROR_INVALID_CONTEXT;
  return *module = reinterpret_cast<CUmodule>(new int), CUDA_SUCCESS;
}
EXPORT CUresult cuModuleUnload(CUmodule module) {
  return delete reinterpret_cast<int *>(module), CUDA_SUCCESS;
}
EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule,
                                    const char *name) {
  static std::map<std::string, Function> functions;
  if (!kernelExists(name))
    return CUDA_ERROR_NOT_FOUND;
  std::lock_guard<std::mutex> lock(mutex);
  Function &found = functions.try_emplace(name, Function{name}).first->second;
  return *function = reinterpret_cast<CUfunction>(&found), CUDA_SUCCESS;
}
EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index,
                                   size_t *offset, size_t *bytes) {
  const std::string &name = reinterpret_cast<Function *>(function)->name;
  if (index >= argumentCount(name))
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = argumentBytes(name, index);
  *offset = index * *bytes;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuFuncGetAttribute(int *value, CUfunction_attribute,
                                   CUfunction) {
  return *value = 0, CUDA_SUCCESS;
}
EXPORT CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  return CUDA_SUCCESS;
}
EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                            CUfunction, int,
                                                            size_t) {
  return *blocks = 2, CUDA_SUCCESS;
}
EXPORT CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction,
                                             const CUlaunchConfig *) {
  return *clusters = 60, CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned) {
  return *stream = reinterpret_cast<CUstream>(new Stream), CUDA_SUCCESS;
}
EXPORT CUresult cuStreamDestroy(CUstream stream) {
  return delete streamOf(stream), CUDA_SUCCESS;
}
EXPORT CUresult cuStreamSynchronize(CUstream stream) {
  if (streamOf(stream)->captured || refused())
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return runPending(), CUDA_SUCCESS;
}
EXPORT CUresult cuStreamIsCapturing(CUstream stream,
                                    CUstreamCaptureStatus *status) {
  *status = streamOf(stream)->captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                       : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  ++captures;
  return streamOf(stream)->captured = new Graph, CUDA_SUCCESS;
}
EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  return std::swap(*mode, captureMode), CUDA_SUCCESS;
}
EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  --captures;
  *graph = reinterpret_cast<CUgraph>(
      std::exchange(streamOf(stream)->captured, nullptr));
  return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address,
                                     cuuint32_t value, unsigned) {
  if (streamOf(stream)->captured)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return submit([=] { cuMemcpyHtoD(address, &value, sizeof(value)); });
}
EXPORT CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address,
                                     cuuint64_t value, unsigned) {
  if (streamOf(stream)->captured)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return submit([=] { cuMemcpyHtoD(address, &value, sizeof(value)); });
}
EXPORT CUresult cuEventCreate(CUevent *event, unsigned) {
  return *event = reinterpret_cast<CUevent>(new Event), CUDA_SUCCESS;
}
EXPORT CUresult cuEventDestroy(CUevent event) {
  runPending();
  return delete reinterpret_cast<Event *>(event), CUDA_SUCCESS;
}
EXPORT CUresult cuEventRecord(CUevent event, CUstream) {
  std::lock_guard<std::mutex> lock(mutex);
  return reinterpret_cast<Event *>(event)->number = submitted, CUDA_SUCCESS;
}
EXPORT CUresult cuEventSynchronize(CUevent event) {
  return runPending(reinterpret_cast<Event *>(event)->number), CUDA_SUCCESS;
}
EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent, CUevent) {
  return *milliseconds = 1, CUDA_SUCCESS;
}

EXPORT CUresult cuGraphCreate(CUgraph *graph, unsigned) {
  return *graph = reinterpret_cast<CUgraph>(new Graph), CUDA_SUCCESS;
}
EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  return delete graphOf(graph), CUDA_SUCCESS;
}
static Node *addNode(CUgraph graph, const CUgraphNode *dependencies,
                     size_t count) {
  auto node = std::make_unique<Node>();
  for (size_t i = 0; i < count; ++i)
    node->dependencies.push_back(reinterpret_cast<Node *>(dependencies[i]));
  Node *added = node.get();
  graphOf(graph)->nodes.push_back(std::move(node));
  return added;
}
EXPORT CUresult cuGraphAddKernelNode(
    CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
    size_t count, const CUDA_KERNEL_NODE_PARAMS *parameters) {
  Node *added = addNode(graph, dependencies, count);
  setParameters(*added, *parameters);
  return *node = reinterpret_cast<CUgraphNode>(added), CUDA_SUCCESS;
}
EXPORT CUresult cuGraphAddDependencies(CUgraph, const CUgraphNode *from,
                                       const CUgraphNode *to,
                                       const CUgraphEdgeData *data,
                                       size_t count) {
  for (size_t i = 0; i < count; ++i) {
    Node *before = reinterpret_cast<Node *>(from[i]),
         *after = reinterpret_cast<Node *>(to[i]);
    bool programmatic = data && data[i].type;
    // A programmatic edge needs both fields, and connects kernels only.
    if (programmatic &&
        (data[i].type != CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
         data[i].from_port != CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ||
         !before->function || !after->function))
      return CUDA_ERROR_INVALID_VALUE;
    after->dependencies.push_back(before);
  }
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle,
                                               CUgraph, CUcontext, unsigned,
                                               unsigned) {
  return *handle = nextCondition++, CUDA_SUCCESS;
}
EXPORT CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph,
                               const CUgraphNode *dependencies,
                               const CUgraphEdgeData *, size_t count,
                               CUgraphNodeParams *parameters) {
  if (parameters->type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
    return CUDA_ERROR_NOT_SUPPORTED;
  Node *added = addNode(graph, dependencies, count);
  added->condition = parameters->conditional.handle;
  added->body = std::make_unique<Graph>();
  added->bodyHandle = reinterpret_cast<CUgraph>(added->body.get());
  parameters->conditional.phGraph_out = &added->bodyHandle;
  return *node = reinterpret_cast<CUgraphNode>(added), CUDA_SUCCESS;
}
EXPORT CUresult cuGraphKernelNodeSetAttribute(
    CUgraphNode node, CUkernelNodeAttrID, const CUkernelNodeAttrValue *value) {
  return reinterpret_cast<Node *>(node)->cooperative = value->cooperative,
                               CUDA_SUCCESS;
}
EXPORT CUresult cuGraphKernelNodeSetParams(
    CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *parameters) {
  return setParameters(*reinterpret_cast<Node *>(node), *parameters),
         CUDA_SUCCESS;
}
EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
                                            unsigned long long) {
  auto *instantiated = new Exec;
  instantiated->graph = copyGraph(*graphOf(graph), instantiated->instantiated);
  return *exec = reinterpret_cast<CUgraphExec>(instantiated), CUDA_SUCCESS;
}
EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return delete reinterpret_cast<Exec *>(exec), CUDA_SUCCESS;
}
EXPORT CUresult
cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                               const CUDA_KERNEL_NODE_PARAMS *parameters) {
  auto &instantiated = reinterpret_cast<Exec *>(exec)->instantiated;
  auto found = instantiated.find(reinterpret_cast<Node *>(node));
  if (found == instantiated.end())
    return CUDA_ERROR_INVALID_VALUE;
  return setParameters(*found->second, *parameters), CUDA_SUCCESS;
}
EXPORT CUresult cuGraphExecUpdate(CUgraphExec, CUgraph,
                                  CUgraphExecUpdateResultInfo *) {
  return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  if (streamOf(stream)->captured)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (!deferring)
    return run(*reinterpret_cast<Exec *>(exec)->graph), CUDA_SUCCESS;
  // A later change of the executable graph does not affect this launch.
  std::map<const Node *, Node *> copies;
  std::shared_ptr<Graph> launched =
      copyGraph(*reinterpret_cast<Exec *>(exec)->graph, copies);
  return submit([launched] { run(*launched); }, stream);
}
EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config,
                                 CUfunction function, void **arguments,
                                 void **) {
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  parameters.func = function;
  parameters.gridDimX = config->gridDimX;
  parameters.kernelParams = arguments;
  if (Graph *captured = streamOf(config->hStream)->captured) {
    Node *node = addNode(reinterpret_cast<CUgraph>(captured), nullptr, 0);
    setParameters(*node, parameters);
    return CUDA_SUCCESS;
  }
  auto node = std::make_shared<Node>();
  setParameters(*node, parameters);
  return submit(
      [node] { runKernel(node->function->name, node->arguments, node->grid); },
      config->hStream);
}
