//===- StandInDriver.cpp - A CUDA driver without a GPU --------------------===//
//
// A shared library with the driver functions that the runtime uses, over host
// memory. With it, tests build, update and replay graphs on any machine. Calls
// on streams run immediately. Graphs, conditional loops and captures do what
// the driver's documentation says. Kernels are found by name and run as C++
// functions: the kernels of test/gpu/RuntimePlans.h and the built-in kernels.
// If HEDDLE_STAND_IN_KERNELS is `any`, every other name is a kernel, too, that
// does nothing. HEDDLE_STAND_IN_MEMORY is the size of its memory in bytes
// (default: 1 GiB).
//
//===----------------------------------------------------------------------===//

#include "StandInDriver.h"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

using Arguments = std::vector<std::array<char, 32>>;

template <typename T> T argument(const Arguments &arguments, size_t index) {
  T value;
  std::memcpy(&value, arguments[index].data(), sizeof(T));
  return value;
}

struct Table {
  const void *tiles, *members;
  unsigned *tickets;
  int tileCount, memberCount;
};
struct alignas(16) Tile {
  void *operand[2];
  long long first;
  int count, member, segment, tiles;
};
struct alignas(16) Member {
  void *operand[2];
  long long count;
  int firstTile, tiles, segment, index;
};
struct SpanDescriptor {
  const char *from;
  char *to;
  long long bytes, firstChunk;
};

std::map<CUgraphConditionalHandle, unsigned> conditions;

void addTile(const Tile &tile, double step) {
  for (int i = 0; i < tile.count; ++i)
    static_cast<float *>(tile.operand[0])[i] += static_cast<float>(step);
  if (tile.first == 0)
    *static_cast<float *>(tile.operand[1]) += 1;
}

/// Halves a tile. Returns whether an element is still above 1.
bool halveTile(const Tile &tile) {
  bool more = false;
  for (int i = 0; i < tile.count; ++i) {
    float &value = static_cast<float *>(tile.operand[0])[i];
    value /= 2;
    more |= value > 1;
  }
  return more;
}

void scaleTile(const Tile &tile, double step, float scale, bool on) {
  for (int i = 0; on && i < tile.count; ++i) {
    float &value = static_cast<float *>(tile.operand[0])[i];
    value = value * scale + static_cast<float>(step);
  }
}

/// The number of elements by which the first tile of a member is shorter, as in
/// heddle_expand_tiles, for two operands. Tries one number after the other.
long long alignmentShift(const long long *steps, void *const *operands,
                         long long count) {
  if (steps[0] >= 0)
    return 0;
  long long most = 1;
  for (int p = 0; p < 2; ++p)
    if (steps[1 + p] > 0)
      most = std::max(most, 16 / steps[1 + p]);
  for (long long shift = 0; shift < most; ++shift) {
    bool aligned = count + shift >= -2 * steps[0];
    for (int p = 0; p < 2; ++p)
      if (steps[1 + p] > 0)
        aligned &= (reinterpret_cast<uintptr_t>(operands[p]) +
                    (-steps[0] - shift) * steps[1 + p]) %
                       16 ==
                   0;
    if (aligned)
      return shift;
  }
  return 0;
}

using Kernel = std::function<void(const Arguments &, unsigned grid)>;

const std::map<std::string, Kernel> kernels = {
    {"add_tiles",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       for (unsigned block = 0; block < grid; ++block)
         addTile(static_cast<const Tile *>(table.tiles)[block],
                 *argument<double *>(a, 1));
     }},
    {"add_search",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       for (int m = 0; m < table.memberCount; ++m) {
         const Member &member = static_cast<const Member *>(table.members)[m];
         addTile({{member.operand[0], member.operand[1]},
                  0,
                  static_cast<int>(member.count),
                  m,
                  0,
                  1},
                 *argument<double *>(a, 1));
       }
     }},
    {"scale_by_value",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       for (unsigned block = 0; block < grid; ++block)
         scaleTile(static_cast<const Tile *>(table.tiles)[block],
                   argument<double>(a, 1), argument<float>(a, 2),
                   argument<bool>(a, 3));
     }},
    {"scale_by_address",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       for (unsigned block = 0; block < grid; ++block)
         scaleTile(static_cast<const Tile *>(table.tiles)[block],
                   *argument<double *>(a, 1), *argument<float *>(a, 2),
                   *argument<bool *>(a, 3));
     }},
    {"chain_first",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       for (unsigned block = 0; block < grid; ++block) {
         const Tile &tile = static_cast<const Tile *>(table.tiles)[block];
         for (int i = 0; i < tile.count; ++i)
           static_cast<float *>(tile.operand[1])[i] =
               static_cast<float *>(tile.operand[0])[i] + 1;
       }
     }},
    {"chain_second",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       for (unsigned block = 0; block < grid; ++block) {
         const Tile &tile = static_cast<const Tile *>(table.tiles)[block];
         for (int i = 0; i < tile.count; ++i)
           static_cast<float *>(tile.operand[0])[i] =
               static_cast<float *>(tile.operand[1])[i];
       }
     }},
    {"halve_tiles",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       for (unsigned block = 0; block < grid; ++block) {
         const Tile &tile = static_cast<const Tile *>(table.tiles)[block];
         if (halveTile(tile))
           *static_cast<unsigned char *>(tile.operand[1]) = 1;
       }
     }},
    {"halve_loop",
     [](const Arguments &a, unsigned) {
       Table table = argument<Table>(a, 0);
       int taken = 0, limit = *argument<int *>(a, 2);
       for (bool go = limit > 0; go;) {
         bool more = false;
         for (int t = 0; t < table.tileCount; ++t)
           more |= halveTile(static_cast<const Tile *>(table.tiles)[t]);
         go = ++taken < limit && more;
       }
       *argument<int *>(a, 1) = taken;
     }},
    {"heddle_expand_tiles",
     [](const Arguments &a, unsigned) {
       const Member *members = argument<const Member *>(a, 0);
       Tile *tiles = argument<Tile *>(a, 1);
       const long long *steps = argument<const long long *>(a, 2);
       int pointers = argument<int>(a, 3), rank = argument<int>(a, 4),
           memberCount = argument<int>(a, 5), tileCount = argument<int>(a, 6);
       if (pointers != 2 || rank != 1) {
         // No kernel here reads such tiles. They must have room nevertheless.
         int end = 8 * pointers + (rank == 2 ? 16 : 0) + 24;
         std::memset(tiles, 0, size_t(tileCount) * ((end + 15) / 16 * 16));
         return;
       }
       for (int m = 0; m < memberCount; ++m)
         for (int k = 0; k < members[m].tiles; ++k) {
           long long size = std::abs(steps[0]);
           long long shift =
               alignmentShift(steps, members[m].operand, members[m].count);
           long long first = k ? k * size - shift : 0;
           Tile &tile = tiles[members[m].firstTile + k];
           std::memset(&tile, 0, sizeof(tile));
           for (int p = 0; p < 2; ++p)
             tile.operand[p] =
                 members[m].operand[p]
                     ? static_cast<char *>(members[m].operand[p]) +
                           first * steps[1 + p]
                     : nullptr;
           tile.first = first;
           tile.count = static_cast<int>(
               std::min(size - (k ? 0 : shift), members[m].count - first));
           tile.member = m;
           tile.segment = members[m].segment;
           tile.tiles = members[m].tiles;
         }
     }},
    {"heddle_copy",
     [](const Arguments &a, unsigned) {
       for (int i = 0; i < argument<int>(a, 1); ++i) {
         const SpanDescriptor &span = argument<const SpanDescriptor *>(a, 0)[i];
         std::memcpy(span.to, span.from, span.bytes);
       }
     }},
    {"heddle_fill",
     [](const Arguments &a, unsigned) {
       for (int i = 0; i < argument<int>(a, 1); ++i) {
         const SpanDescriptor &span = argument<const SpanDescriptor *>(a, 0)[i];
         unsigned long long pattern = argument<unsigned long long>(a, 3);
         for (long long at = 0; at < span.bytes; ++at)
           span.to[at] = static_cast<char>(pattern >> at % 8 * 8);
       }
     }},
    {"heddle_nothing", [](const Arguments &, unsigned) {}},
    {"heddle_loop_begin",
     [](const Arguments &a, unsigned) {
       *argument<int *>(a, 1) = 0;
       conditions[argument<CUgraphConditionalHandle>(a, 0)] =
           *argument<int *>(a, 2) > 0;
     }},
    {"heddle_loop_next",
     [](const Arguments &a, unsigned) {
       bool any = false;
       for (int m = 0; m < argument<int>(a, 4); ++m)
         any |= *argument<const unsigned char *const *>(a, 3)[m] != 0;
       int taken = ++*argument<int *>(a, 1);
       conditions[argument<CUgraphConditionalHandle>(a, 0)] =
           any && taken < *argument<int *>(a, 2);
     }},
};

size_t argumentCount(const std::string &name) {
  static const std::map<std::string, size_t> counts = {
      {"add_tiles", 2},           {"add_search", 2},
      {"scale_by_value", 4},      {"scale_by_address", 4},
      {"chain_first", 1},         {"chain_second", 1},
      {"halve_tiles", 1},         {"halve_loop", 3},
      {"heddle_expand_tiles", 7}, {"heddle_copy", 3},
      {"heddle_fill", 4},         {"heddle_nothing", 0},
      {"heddle_loop_begin", 3},   {"heddle_loop_next", 5}};
  auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

bool anyKernelExists() {
  const char *kernels = std::getenv("HEDDLE_STAND_IN_KERNELS");
  return kernels && std::strcmp(kernels, "any") == 0;
}

void runKernel(const std::string &name, const Arguments &arguments,
               unsigned grid) {
  if (auto found = kernels.find(name); found != kernels.end())
    found->second(arguments, grid);
}

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

struct Function {
  std::string name;
};

struct Graph;

struct Node {
  std::vector<Node *> dependencies;
  Function *function = nullptr;
  unsigned grid = 0;
  Arguments arguments;
  bool cooperative = false;
  CUgraphConditionalHandle condition = 0;
  std::unique_ptr<Graph> body;
  CUgraph bodyHandle = nullptr;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

/// An instantiated graph. It is a copy, because changing the instantiated graph
/// does not change the graph, and vice versa.
struct Exec {
  std::unique_ptr<Graph> graph;
  std::map<const Node *, Node *> instantiated;
};

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
CUcontext current = nullptr;
int captures = 0; // active captures
thread_local CUstreamCaptureMode captureMode = CU_STREAM_CAPTURE_MODE_GLOBAL;
int contextObject;
CUgraphConditionalHandle nextCondition = 1;

Graph *graphOf(CUgraph graph) { return reinterpret_cast<Graph *>(graph); }
Stream *streamOf(CUstream stream) {
  static Stream defaultStream;
  return stream ? reinterpret_cast<Stream *>(stream) : &defaultStream;
}

/// Whether calls that are unsafe during a capture must fail.
bool refused() {
  return captures && captureMode != CU_STREAM_CAPTURE_MODE_RELAXED;
}

void setParameters(Node &node, const CUDA_KERNEL_NODE_PARAMS &parameters) {
  node.function = reinterpret_cast<Function *>(parameters.func);
  node.grid = parameters.gridDimX;
  node.arguments.resize(argumentCount(node.function->name));
  for (size_t i = 0; i < node.arguments.size(); ++i)
    std::memcpy(node.arguments[i].data(), parameters.kernelParams[i], 32);
}

std::unique_ptr<Graph> copyGraph(const Graph &graph,
                                 std::map<const Node *, Node *> &copies) {
  auto copy = std::make_unique<Graph>();
  for (const auto &node : graph.nodes) {
    auto fresh = std::make_unique<Node>();
    fresh->function = node->function;
    fresh->grid = node->grid;
    fresh->arguments = node->arguments;
    fresh->condition = node->condition;
    for (Node *dependency : node->dependencies)
      fresh->dependencies.push_back(copies.at(dependency)); // an earlier node
    if (node->body)
      fresh->body = copyGraph(*node->body, copies);
    copies[node.get()] = fresh.get();
    copy->nodes.push_back(std::move(fresh));
  }
  return copy;
}

void run(const Graph &graph) {
  for (const auto &node : graph.nodes) {
    if (!node->body)
      runKernel(node->function->name, node->arguments, node->grid);
    else
      while (conditions[node->condition])
        run(*node->body);
  }
}

} // namespace

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
  std::lock_guard<std::mutex> lock(mutex);
  if (!allocations.erase(address))
    return CUDA_ERROR_INVALID_VALUE;
  std::free(reinterpret_cast<void *>(address));
  return CUDA_SUCCESS;
}
EXPORT CUresult cuMemGetInfo(size_t *available, size_t *total) {
  return *available = *total = memoryBytes, CUDA_SUCCESS;
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
  return cuMemcpyHtoD(to, from, bytes);
}
EXPORT CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                                  CUstream) {
  return cuMemcpyDtoH(to, from, bytes);
}
EXPORT CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from,
                                  size_t bytes, CUstream) {
  return cuMemcpyHtoD(to, reinterpret_cast<const void *>(from), bytes);
}
EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                size_t bytes, CUstream) {
  return std::memset(reinterpret_cast<void *>(to), value, bytes), CUDA_SUCCESS;
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
  if (!kernels.count(name) && !anyKernelExists())
    return CUDA_ERROR_NOT_FOUND;
  Function &found = functions[name];
  found.name = name;
  return *function = reinterpret_cast<CUfunction>(&found), CUDA_SUCCESS;
}
EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index,
                                   size_t *offset, size_t *bytes) {
  if (index >= argumentCount(reinterpret_cast<Function *>(function)->name))
    return CUDA_ERROR_INVALID_VALUE;
  *offset = index * 32;
  *bytes = 32;
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
  return streamOf(stream)->captured || refused()
             ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
             : CUDA_SUCCESS;
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
  return cuMemcpyHtoD(address, &value, sizeof(value));
}
EXPORT CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address,
                                     cuuint64_t value, unsigned) {
  if (streamOf(stream)->captured)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return cuMemcpyHtoD(address, &value, sizeof(value));
}
EXPORT CUresult cuEventCreate(CUevent *event, unsigned) {
  return *event = reinterpret_cast<CUevent>(new int), CUDA_SUCCESS;
}
EXPORT CUresult cuEventDestroy(CUevent event) {
  return delete reinterpret_cast<int *>(event), CUDA_SUCCESS;
}
EXPORT CUresult cuEventRecord(CUevent, CUstream) { return CUDA_SUCCESS; }
EXPORT CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
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
  return run(*reinterpret_cast<Exec *>(exec)->graph), CUDA_SUCCESS;
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
  Node node;
  setParameters(node, parameters);
  runKernel(node.function->name, node.arguments, node.grid);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

static std::atomic<int> fault{HEDDLE_STAND_IN_WORKS};
static std::atomic<long> faultAt{0}, calls{0};

EXPORT void heddle_stand_in_fault(heddle_stand_in_behavior behavior, long nth) {
  calls = 0;
  faultAt = nth;
  fault = behavior;
}
EXPORT long heddle_stand_in_calls(void) { return calls; }
EXPORT size_t heddle_stand_in_allocations(void) {
  std::lock_guard<std::mutex> lock(mutex);
  return allocations.size();
}

// The results of a call that is said to have succeeded: numbers that no device
// has, and no objects.
template <typename T> static void makeNonsense(T *, int) {}
static void makeNonsense(int *number, int behavior) {
  *number = behavior == HEDDLE_STAND_IN_ZERO   ? 0
            : behavior == HEDDLE_STAND_IN_HUGE ? INT_MAX
                                               : INT_MIN;
}
static void makeNonsense(size_t *number, int behavior) {
  *number = behavior == HEDDLE_STAND_IN_ZERO ? 0 : SIZE_MAX;
}
static void makeNonsense(float *number, int behavior) {
  *number = behavior == HEDDLE_STAND_IN_ZERO   ? 0
            : behavior == HEDDLE_STAND_IN_HUGE ? INFINITY
                                               : NAN;
}
static void makeNonsense(CUdeviceptr *address, int behavior) {
  *address = behavior == HEDDLE_STAND_IN_ZERO ? 0 : 1;
}
template <typename T> static void makeNonsense(T **object, int) {
  *object = nullptr;
}
static void makeNonsense(CUstreamCaptureStatus *status, int behavior) {
  *status = static_cast<CUstreamCaptureStatus>(
      behavior == HEDDLE_STAND_IN_ZERO ? 0 : 77);
}

/// A function of the driver, as the runtime gets it.
template <auto Function> struct Entry;
template <typename... Arguments, CUresult (*Function)(Arguments...)>
struct Entry<Function> {
  static CUresult call(Arguments... arguments) {
    int behavior = fault;
    bool here = behavior != HEDDLE_STAND_IN_WORKS && ++calls == faultAt.load();
    if (here && behavior == HEDDLE_STAND_IN_FAILS)
      return CUDA_ERROR_UNKNOWN;
    CUresult result = Function(arguments...);
    if (here && result == CUDA_SUCCESS) {
      // Results come first in the driver's functions.
      auto first = [behavior](auto result, auto...) {
        if constexpr (std::is_pointer_v<decltype(result)>)
          makeNonsense(result, behavior);
      };
      if constexpr (sizeof...(Arguments) > 0)
        first(arguments...);
      auto later = [behavior](auto result) {
        if constexpr (std::is_same_v<decltype(result), CUgraphNodeParams *>)
          result->conditional.phGraph_out = nullptr;
        if constexpr (std::is_same_v<decltype(result), CUstreamCaptureStatus *>)
          makeNonsense(result, behavior);
      };
      (later(arguments), ...);
    }
    return result;
  }
};

EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int,
                                    cuuint64_t,
                                    CUdriverProcAddressQueryResult *found) {
#define HEDDLE_ENTRY(symbol)                                                   \
  {                                                                            \
    #symbol, reinterpret_cast<void *>(&Entry<&symbol>::call)                   \
  }
  // The functions above that the runtime looks up by name.
  static const std::map<std::string, void *> entries = {
      HEDDLE_ENTRY(cuMemcpyDtoDAsync),
      HEDDLE_ENTRY(cuGraphAddDependencies),
      HEDDLE_ENTRY(cuThreadExchangeStreamCaptureMode),
      HEDDLE_ENTRY(cuStreamBeginCapture),
      HEDDLE_ENTRY(cuStreamEndCapture),
      HEDDLE_ENTRY(cuInit),
      HEDDLE_ENTRY(cuDriverGetVersion),
      HEDDLE_ENTRY(cuDeviceGetCount),
      HEDDLE_ENTRY(cuDeviceGet),
      HEDDLE_ENTRY(cuDeviceGetName),
      HEDDLE_ENTRY(cuDeviceTotalMem),
      HEDDLE_ENTRY(cuDeviceGetAttribute),
      HEDDLE_ENTRY(cuDevicePrimaryCtxRetain),
      HEDDLE_ENTRY(cuDevicePrimaryCtxRelease),
      HEDDLE_ENTRY(cuCtxGetCurrent),
      HEDDLE_ENTRY(cuCtxGetDevice),
      HEDDLE_ENTRY(cuCtxPushCurrent),
      HEDDLE_ENTRY(cuCtxPopCurrent),
      HEDDLE_ENTRY(cuGetErrorName),
      HEDDLE_ENTRY(cuGetErrorString),
      HEDDLE_ENTRY(cuMemAlloc),
      HEDDLE_ENTRY(cuMemFree),
      HEDDLE_ENTRY(cuMemGetInfo),
      HEDDLE_ENTRY(cuMemcpyHtoD),
      HEDDLE_ENTRY(cuMemcpyDtoH),
      HEDDLE_ENTRY(cuMemcpyHtoDAsync),
      HEDDLE_ENTRY(cuMemcpyDtoHAsync),
      HEDDLE_ENTRY(cuMemsetD8Async),
      HEDDLE_ENTRY(cuPointerGetAttributes),
      HEDDLE_ENTRY(cuModuleLoadDataEx),
      HEDDLE_ENTRY(cuModuleUnload),
      HEDDLE_ENTRY(cuModuleGetFunction),
      HEDDLE_ENTRY(cuFuncGetParamInfo),
      HEDDLE_ENTRY(cuFuncGetAttribute),
      HEDDLE_ENTRY(cuFuncSetAttribute),
      HEDDLE_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor),
      HEDDLE_ENTRY(cuOccupancyMaxActiveClusters),
      HEDDLE_ENTRY(cuStreamCreate),
      HEDDLE_ENTRY(cuStreamDestroy),
      HEDDLE_ENTRY(cuStreamSynchronize),
      HEDDLE_ENTRY(cuStreamIsCapturing),
      HEDDLE_ENTRY(cuStreamWriteValue32),
      HEDDLE_ENTRY(cuStreamWriteValue64),
      HEDDLE_ENTRY(cuEventCreate),
      HEDDLE_ENTRY(cuEventDestroy),
      HEDDLE_ENTRY(cuEventRecord),
      HEDDLE_ENTRY(cuEventSynchronize),
      HEDDLE_ENTRY(cuEventElapsedTime),
      HEDDLE_ENTRY(cuGraphCreate),
      HEDDLE_ENTRY(cuGraphDestroy),
      HEDDLE_ENTRY(cuGraphAddKernelNode),
      HEDDLE_ENTRY(cuGraphConditionalHandleCreate),
      HEDDLE_ENTRY(cuGraphAddNode),
      HEDDLE_ENTRY(cuGraphKernelNodeSetAttribute),
      HEDDLE_ENTRY(cuGraphKernelNodeSetParams),
      HEDDLE_ENTRY(cuGraphInstantiateWithFlags),
      HEDDLE_ENTRY(cuGraphExecDestroy),
      HEDDLE_ENTRY(cuGraphExecKernelNodeSetParams),
      HEDDLE_ENTRY(cuGraphExecUpdate),
      HEDDLE_ENTRY(cuGraphLaunch),
      HEDDLE_ENTRY(cuLaunchKernelEx),
  };
  auto entry = entries.find(name);
  *function = entry == entries.end() ? nullptr : entry->second;
  *found = *function ? CU_GET_PROC_ADDRESS_SUCCESS
                     : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return CUDA_SUCCESS;
}
