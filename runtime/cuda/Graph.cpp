//===- Graph.cpp - A plan as one CUDA graph -------------------------------===//

#include "runtime/cuda/Graph.h"

#include "runtime/builtin/BuiltinKernels.h"
#include "runtime/support/Statistics.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace heddle::runtime {

static CUdeviceptr devicePointer(const void *address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

/// The kernels of the graph form, in the order in which nodes are added.
static void flatten(std::vector<Step> &steps, std::vector<Launch *> &out) {
  for (Step &step : steps) {
    out.push_back(&step.launch);
    if (!step.loop)
      continue;
    flatten(step.body, out);
    out.push_back(&step.next);
  }
}

/// Whether both have the same nodes and edges: loops and kernels that begin
/// early at the same places. (The rest can be set in an instantiated graph.)
static bool sameShape(ArrayRef<Step> a, ArrayRef<Step> b) {
  return a.size() == b.size() && all_of(zip(a, b), [](const auto &pair) {
           const auto &[x, y] = pair;
           return x.loop == y.loop && x.overlaps == y.overlaps &&
                  x.launch.cooperative == y.launch.cooperative &&
                  sameShape(x.body, y.body);
         });
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// Device memory of one device. Lists of a model share few allocations: what
/// the driver said about one is remembered while a layout is resolved.
class Graph::DeviceSpace : public AddressSpace {
public:
  explicit DeviceSpace(const Context &context) : context(context) {}

  void forget() { known.clear(); }

  Error check(const void *address, size_t bytes) override {
    auto begin = reinterpret_cast<uintptr_t>(address);
    auto next = known.upper_bound(begin);
    if (next != known.begin() && begin + bytes <= std::prev(next)->second)
      return Error::success();

    Context::Scope scope(context);
    unsigned type = 0, managed = 0;
    int ordinal = -1;
    CUdeviceptr start = 0;
    size_t size = 0;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&type, &managed, &ordinal, &start, &size};
    // Pageable host memory: success with a memory type of 0.
    CUresult result = context.driver().cuPointerGetAttributes(
        5, attributes, values, devicePointer(address));
    if (result != CUDA_SUCCESS || (type != CU_MEMORYTYPE_DEVICE && !managed))
      return makeError(StatusCode::BadInput,
                       "expected a device address, found host address {0}",
                       address);
    if (!managed && ordinal != context.ordinal())
      return makeError(
          StatusCode::BadInput,
          "expected memory of device {0} ({1}), found memory of device {2}",
          context.ordinal(), context.name(), ordinal);
    if (start && size && begin >= start && begin < start + size)
      known[start] = start + size;
    return Error::success();
  }

private:
  const Context &context;
  std::map<uintptr_t, uintptr_t> known; ///< begin to end
};

AddressSpace &Graph::addressSpace() {
  space->forget(); // memory may have been freed and allocated since
  return *space;
}

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
      space(std::make_unique<DeviceSpace>(*device)) {}

Graph::~Graph() = default;

//===----------------------------------------------------------------------===//
// Preparing
//===----------------------------------------------------------------------===//

Error Graph::refuseInCapture(CUstream stream, StringRef what) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  HEDDLE_DRIVER_CALL(device->driver(), cuStreamIsCapturing, stream, &status);
  if (status == CU_STREAM_CAPTURE_STATUS_NONE)
    return Error::success();
  return makeError(StatusCode::BadInput,
                   "{0}: expected a stream that is not being captured: do it "
                   "before the capture",
                   what);
}

/// Grows `memory` to at least `bytes`. What it held is lost.
Error Graph::reserve(DeviceMemory &memory, size_t bytes, CUstream stream) {
  if (bytes <= memory.size())
    return Error::success();
  // Replays that are under way still use the old memory.
  HEDDLE_DRIVER_CALL(device->driver(), cuStreamSynchronize, stream);
  Expected<DeviceMemory> grown = DeviceMemory::allocate(device, bytes);
  if (!grown)
    return grown.takeError();
  memory = std::move(*grown);
  return Error::success();
}

Error Graph::update(Layout &next, void *streamHandle) {
  CUstream stream = static_cast<CUstream>(streamHandle);
  Context::Scope scope(*device);
  const Driver &driver = device->driver();
  if (Error error = refuseInCapture(stream, "prepare"))
    return error;
  const Plan &plan = this->plan();
  StepBuilder builder(next, device, *executable()->kernels());
  if (Error error = builder.choose())
    return error;

  // Where everything goes: offsets in the four blocks.
  struct TablePlaces {
    size_t members, steps, tickets, tiles;
    std::vector<int64_t> stepValues;
    bool expand;
  };
  std::vector<TablePlaces> places(plan.tables.size());
  size_t uploadedBytes = 0, clearedBytes = 0, workBytes = 0;
  auto take = [](size_t &total, size_t bytes) {
    return std::exchange(total, total + alignUp(bytes));
  };
  for (auto [index, place] : enumerate(places)) {
    const PlanTable &table = plan.tables[index];
    const TableView &view = next.tables()[index];
    size_t rowBytes = DescriptorLayout(table).bytes();
    place.expand = builder.needsTileDescriptors(index) && view.tileCount > 0;
    place.members = take(uploadedBytes, rowBytes * view.memberCount);
    place.stepValues = segmentSteps(plan, table);
    place.steps =
        take(uploadedBytes, place.stepValues.size() * sizeof(int64_t));
    place.tickets =
        take(clearedBytes, (view.memberCount + 1) * sizeof(unsigned));
    place.tiles = take(workBytes, place.expand ? rowBytes * view.tileCount : 0);
  }
  size_t spansOffset = take(uploadedBytes, builder.spanDescriptors().size());
  std::vector<size_t> scratchOffsets;
  for (auto [planned, bytes] : zip(plan.scratch, next.scratchBytes()))
    scratchOffsets.push_back(
        take(planned.zero ? clearedBytes : workBytes, bytes));

  if (Error error = reserve(arena, next.arenaBytes(), stream))
    return error;
  if (Error error = reserve(uploaded, uploadedBytes, stream))
    return error;
  if (Error error = reserve(cleared, clearedBytes, stream))
    return error;
  if (Error error = reserve(work, workBytes, stream))
    return error;
  std::vector<char> values = slotValues();
  if (!slots) {
    if (Error error = reserve(slotMemory, values.size(), stream))
      return error;
    if (!values.empty())
      HEDDLE_DRIVER_CALL(driver, cuMemcpyHtoDAsync,
                         devicePointer(slotMemory.address()), values.data(),
                         values.size(), stream);
    slots = slotMemory.address();
    slotRead.assign(plan.buffers.size(), false);
    slotBehind.assign(plan.buffers.size(), false);
  }
  next.place(arena.address(), slots);

  StepBuilder::Addresses addresses;
  std::vector<char> upload(uploadedBytes);
  auto put = [&](size_t offset, const void *bytes, size_t size) {
    if (size)
      std::memcpy(upload.data() + offset, bytes, size);
  };
  for (auto [index, place] : enumerate(places)) {
    const TableView &view = next.tables()[index];
    std::vector<char> rows = next.memberDescriptors(index);
    put(place.members, rows.data(), rows.size());
    put(place.steps, place.stepValues.data(),
        place.stepValues.size() * sizeof(int64_t));
    addresses.tables.push_back(
        {place.expand ? work.address() + place.tiles : nullptr,
         uploaded.address() + place.members,
         reinterpret_cast<unsigned *>(cleared.address() + place.tickets),
         view.tileCount, view.memberCount, view.blocksPerTile});
  }
  for (auto [planned, offset] : zip(plan.scratch, scratchOffsets))
    addresses.scratch.push_back((planned.zero ? cleared : work).address() +
                                offset);
  addresses.spanDescriptors = uploaded.address() + spansOffset;
  addresses.slotValues = values.data();
  Expected<std::vector<Step>> built = builder.build(addresses);
  if (!built)
    return built.takeError();
  put(spansOffset, builder.spanDescriptors().data(),
      builder.spanDescriptors().size());

  // The copy is staged by the driver before the call returns, as the host
  // memory is pageable.
  if (!upload.empty()) {
    count(statistics().table_copies);
    HEDDLE_DRIVER_CALL(driver, cuMemcpyHtoDAsync,
                       devicePointer(uploaded.address()), upload.data(),
                       upload.size(), stream);
  }
  if (clearedBytes)
    HEDDLE_DRIVER_CALL(driver, cuMemsetD8Async,
                       devicePointer(cleared.address()), 0, clearedBytes,
                       stream);
  for (auto [index, place] : enumerate(places)) {
    if (!place.expand)
      continue;
    Expected<CUfunction> function =
        builtinFunction(device, "heddle_expand_tiles");
    if (!function)
      return function.takeError();
    Launch launch;
    launch.function = *function;
    launch.grid = (addresses.tables[index].tileCount + 255) / 256;
    launch.block = 256;
    const DeviceTable &table = addresses.tables[index];
    launch.add(table.members);
    launch.add(table.tiles);
    launch.add(uploaded.address() + place.steps);
    launch.add(plan.tables[index].pointers);
    launch.add(plan.tables[index].rank);
    launch.add(table.memberCount);
    launch.add(table.tileCount);
    count(statistics().table_expansions);
    if (Error error = launchPlainly(launch, stream))
      return error;
  }

  bool released = false;
  for (size_t buffer = 0; buffer < slotRead.size(); ++buffer) {
    bool reads = builder.readsSlot()[buffer];
    if (reads && slotBehind[buffer])
      if (Error error = writeSlot(
              buffer, values.data() + buffer * sizeof(double), stream))
        return error;
    released |= slotRead[buffer] && !reads;
  }
  // A slot that nothing reads may be written at any time: no replay that still
  // reads it may be under way.
  if (released)
    HEDDLE_DRIVER_CALL(driver, cuStreamSynchronize, stream);

  if (executableGraph && sameShape(steps, *built) && updateNodes(*built))
    adopt(std::move(*built));
  else if (Error error = instantiate(std::move(*built)))
    return error;
  slotRead = builder.readsSlot();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

static CUDA_KERNEL_NODE_PARAMS nodeParameters(const Launch &launch,
                                              std::vector<void *> &pointers) {
  CUDA_KERNEL_NODE_PARAMS parameters = {};
  parameters.func = launch.function;
  parameters.gridDimX = launch.grid;
  parameters.gridDimY = parameters.gridDimZ = 1;
  parameters.blockDimX = launch.block;
  parameters.blockDimY = parameters.blockDimZ = 1;
  parameters.sharedMemBytes = launch.sharedBytes;
  parameters.kernelParams = pointers.data();
  return parameters;
}

Expected<CUgraphNode> Graph::addKernel(CUgraph graph, Launch &launch,
                                       ArrayRef<CUgraphNode> dependencies,
                                       CUgraphConditionalHandle condition) {
  const Driver &driver = device->driver();
  if (condition)
    std::memcpy(launch.arguments[0].data(), &condition, sizeof(condition));
  std::vector<void *> pointers = launch.pointers();
  CUDA_KERNEL_NODE_PARAMS parameters = nodeParameters(launch, pointers);
  Node added;
  added.condition = condition;
  if (CUresult result =
          driver.cuGraphAddKernelNode(&added.node, graph, dependencies.data(),
                                      dependencies.size(), &parameters))
    return withContext("node '" + launch.name + "'",
                       driverError(driver, result, "cuGraphAddKernelNode"));
  if (launch.cooperative) {
    CUkernelNodeAttrValue value = {};
    value.cooperative = 1;
    HEDDLE_DRIVER_CALL(driver, cuGraphKernelNodeSetAttribute, added.node,
                       CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE, &value);
  }
  nodes.push_back(added);
  return added.node;
}

/// The edge across which `to` begins early. A driver that refuses it gets an
/// ordinary one.
Error Graph::addEdge(CUgraph graph, CUgraphNode from, CUgraphNode to) {
  const Driver &driver = device->driver();
  CUgraphEdgeData data = {};
  data.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  data.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  if (driver.graphAddDependencies(graph, &from, &to, &data, 1) ==
      CUDA_SUCCESS) {
    count(statistics().programmatic_edges);
    return Error::success();
  }
  data = {};
  if (CUresult result =
          driver.graphAddDependencies(graph, &from, &to, &data, 1))
    return driverError(driver, result, "cuGraphAddDependencies");
  return Error::success();
}

/// Adds the steps and returns, for each, the node that others wait for.
Expected<std::vector<CUgraphNode>> Graph::addSteps(CUgraph graph,
                                                   std::vector<Step> &list,
                                                   ArrayRef<PlanEdge> edges) {
  const Driver &driver = device->driver();
  std::vector<CUgraphNode> last;
  for (auto [index, step] : enumerate(list)) {
    SmallVector<CUgraphNode> dependencies;
    for (const PlanEdge &edge : edges)
      if (edge.to == static_cast<int>(index) && edge.from != step.overlaps &&
          !is_contained(dependencies, last[edge.from]))
        dependencies.push_back(last[edge.from]);
    CUgraphConditionalHandle condition = 0;
    if (step.loop)
      HEDDLE_DRIVER_CALL(driver, cuGraphConditionalHandleCreate, &condition,
                         graph, device->handle(), 0, 0);
    Expected<CUgraphNode> kernel =
        addKernel(graph, step.launch, dependencies, condition);
    if (!kernel)
      return kernel.takeError();
    if (step.overlaps >= 0)
      if (Error error = addEdge(graph, last[step.overlaps], *kernel))
        return std::move(error);
    if (!step.loop) {
      last.push_back(*kernel);
      continue;
    }
    CUgraphNodeParams parameters = {};
    parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    parameters.conditional.handle = condition;
    parameters.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    parameters.conditional.size = 1;
    parameters.conditional.ctx = device->handle();
    CUgraphNode conditional = nullptr;
    CUgraphNode begin = *kernel;
    if (CUresult result = driver.graphAddNode(&conditional, graph, &begin,
                                              nullptr, 1, &parameters))
      return withContext("node '" + step.launch.name + "'",
                         driverError(driver, result, "cuGraphAddNode"));
    CUgraph body = parameters.conditional.phGraph_out[0];
    // The end of a trip waits for every step of the body.
    Expected<std::vector<CUgraphNode>> ends =
        addSteps(body, step.body, step.edges);
    if (!ends)
      return ends.takeError();
    Expected<CUgraphNode> next = addKernel(body, step.next, *ends, condition);
    if (!next)
      return next.takeError();
    last.push_back(conditional);
  }
  return last;
}

Error Graph::instantiate(std::vector<Step> next) {
  const Driver &driver = device->driver();
  Expected<GraphHandle> fresh = createGraph(device);
  if (!fresh)
    return fresh.takeError();
  // The graph of before stays usable until the new one is complete.
  std::vector<Node> before = std::exchange(nodes, {});
  Expected<std::vector<CUgraphNode>> ends =
      addSteps(fresh->get(), next, plan().graph.edges);
  CUgraphExec instantiated = nullptr;
  Error failure = ends ? Error::success() : ends.takeError();
  if (!failure)
    if (CUresult result =
            driver.cuGraphInstantiateWithFlags(&instantiated, fresh->get(), 0))
      failure = driverError(driver, result, "cuGraphInstantiateWithFlags");
  if (failure) {
    nodes = std::move(before);
    return failure;
  }
  count(statistics().graph_instantiations);
  executableGraph = GraphExecHandle(device, instantiated, "executable graph");
  graph = std::move(*fresh);
  adopt(std::move(next));
  return Error::success();
}

void Graph::adopt(std::vector<Step> next) {
  steps = std::move(next);
  launches.clear();
  flatten(steps, launches);
  nodesOfScalar.assign(plan().buffers.size(), {});
  for (auto [index, launch] : enumerate(launches))
    for (const Launch::Scalar &scalar : launch->scalars)
      nodesOfScalar[scalar.buffer].push_back(index);
  changedNodes.clear();
  nodeChanged.assign(launches.size(), false);
}

bool Graph::updateNodes(std::vector<Step> &next) {
  const Driver &driver = device->driver();
  std::vector<Launch *> changed;
  flatten(next, changed);
  bool inPlace = true;
  for (auto [index, node, before, after] :
       enumerate(nodes, launches, changed)) {
    if (node.condition)
      std::memcpy(after->arguments[0].data(), &node.condition,
                  sizeof(node.condition));
    if (*before == *after && !nodeChanged[index])
      continue;
    std::vector<void *> pointers = after->pointers();
    CUDA_KERNEL_NODE_PARAMS parameters = nodeParameters(*after, pointers);
    // The graph is kept up to date too: it is what a whole update starts from.
    if (driver.cuGraphKernelNodeSetParams(node.node, &parameters) !=
        CUDA_SUCCESS)
      return false;
    if (!inPlace)
      continue;
    if (driver.cuGraphExecKernelNodeSetParams(executableGraph.get(), node.node,
                                              &parameters) == CUDA_SUCCESS)
      count(statistics().graph_node_updates);
    else
      inPlace = false;
  }
  if (inPlace)
    return true;
  // Scalars were set in the instantiated graph alone.
  for (auto [node, after] : zip_equal(nodes, changed)) {
    std::vector<void *> pointers = after->pointers();
    CUDA_KERNEL_NODE_PARAMS parameters = nodeParameters(*after, pointers);
    if (!after->scalars.empty() && driver.cuGraphKernelNodeSetParams(
                                       node.node, &parameters) != CUDA_SUCCESS)
      return false;
  }
  // A driver may refuse single nodes (inside a loop's body, say) and still take
  // the graph as a whole.
  CUgraphExecUpdateResultInfo info = {};
  if (driver.cuGraphExecUpdate(executableGraph.get(), graph.get(), &info) !=
      CUDA_SUCCESS)
    return false;
  count(statistics().graph_updates);
  return true;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// `overlaps`: begins before the launch just before it has ended.
Error Graph::launchPlainly(Launch &launch, CUstream stream, bool overlaps) {
  CUlaunchAttribute attribute = {};
  if (launch.cooperative) {
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  } else {
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  CUlaunchConfig config = {};
  config.gridDimX = launch.grid;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = launch.block;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = launch.sharedBytes;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = launch.cooperative || overlaps ? 1 : 0;
  std::vector<void *> pointers = launch.pointers();
  const Driver &driver = device->driver();
  if (CUresult result = driver.cuLaunchKernelEx(&config, launch.function,
                                                pointers.data(), nullptr))
    return withContext("kernel '" + launch.name + "'",
                       driverError(driver, result, "cuLaunchKernelEx"));
  return Error::success();
}

Error Graph::issue(std::vector<Step> &list, CUstream stream) {
  for (Step &step : list) {
    // Values of a captured launch would stay for as long as the capture.
    if (!step.launch.scalars.empty() && !step.captured)
      return makeError(StatusCode::BadInput,
                       "node '{0}': no variant that reads its scalars from "
                       "memory fits on {1}, as a stream capture needs: replay "
                       "outside the capture",
                       step.launch.name, device->name());
    if (step.loop && !step.captured)
      return makeError(StatusCode::BadInput,
                       "node '{0}': a loop inside a stream capture needs a "
                       "cooperative kernel, which this plan lacks or "
                       "which does not fit on {1}: replay outside the capture",
                       step.launch.name, device->name());
  }
  captured = true;
  if (Error error = bringSlotsUpToDate())
    return error;
  auto launchOf = [](Step &step) -> Launch & {
    return step.captured ? *step.captured : step.launch;
  };
  for (auto [index, step] : enumerate(list)) {
    Launch &launch = launchOf(step);
    bool overlaps =
        step.overlaps >= 0 && step.overlaps + 1 == static_cast<int>(index) &&
        !launch.cooperative && !launchOf(list[index - 1]).cooperative;
    if (Error error = launchPlainly(launch, stream, overlaps))
      return error;
    count(statistics().launches);
    count(statistics().programmatic_edges, overlaps);
  }
  count(statistics().captured_replays);
  return Error::success();
}

Error Graph::replay(void *streamHandle) {
  CUstream stream = static_cast<CUstream>(streamHandle);
  Context::Scope scope(*device);
  const Driver &driver = device->driver();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  HEDDLE_DRIVER_CALL(driver, cuStreamIsCapturing, stream, &status);
  if (status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    return makeError(StatusCode::BadInput,
                     "replay: the capture of this stream failed before");
  if (needsPrepare()) {
    if (status != CU_STREAM_CAPTURE_STATUS_NONE)
      return makeError(
          StatusCode::BadInput,
          "replay: bindings changed: call prepare before the capture begins");
    if (Error error = prepare(stream))
      return error;
  }
  if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return issue(steps, stream);
  if (!changedNodes.empty())
    if (Error error = updateScalars())
      return error;
  HEDDLE_DRIVER_CALL(driver, cuGraphLaunch, executableGraph.get(), stream);
  count(statistics().replays);
  return Error::success();
}

Error Graph::synchronize(void *stream) {
  Context::Scope scope(*device);
  HEDDLE_DRIVER_CALL(device->driver(), cuStreamSynchronize,
                     static_cast<CUstream>(stream));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Error Graph::acceptScalar(void *stream) {
  Context::Scope scope(*device);
  return refuseInCapture(static_cast<CUstream>(stream), "set_scalar");
}

Error Graph::scalarChanged(int buffer, const ScalarBytes &bytes, void *stream) {
  Context::Scope scope(*device);
  for (unsigned node : nodesOfScalar[buffer]) {
    Launch &launch = *launches[node];
    bool differs = false;
    for (const Launch::Scalar &scalar : launch.scalars) {
      char *value = launch.arguments[scalar.argument].data();
      if (scalar.buffer != buffer ||
          !std::memcmp(value, bytes.data(), bytes.size()))
        continue;
      std::memcpy(value, bytes.data(), bytes.size());
      differs = true;
    }
    if (differs && !nodeChanged[node]) {
      nodeChanged[node] = true;
      changedNodes.push_back(node);
    }
  }
  if (captured || slotRead[buffer])
    return writeSlot(buffer, bytes.data(), static_cast<CUstream>(stream));
  slotBehind[buffer] = true;
  return Error::success();
}

/// Updates the nodes whose scalars changed. A launch that was submitted before
/// keeps its values.
Error Graph::updateScalars() {
  const Driver &driver = device->driver();
  while (!changedNodes.empty()) {
    unsigned index = changedNodes.back();
    std::vector<void *> pointers = launches[index]->pointers();
    CUDA_KERNEL_NODE_PARAMS parameters =
        nodeParameters(*launches[index], pointers);
    if (CUresult result = driver.cuGraphExecKernelNodeSetParams(
            executableGraph.get(), nodes[index].node, &parameters))
      return withContext(
          "node '" + launches[index]->name + "'",
          driverError(driver, result, "cuGraphExecKernelNodeSetParams"));
    count(statistics().scalar_updates);
    changedNodes.pop_back();
    nodeChanged[index] = false;
  }
  return Error::success();
}

/// Writes an own scalar to its slot, in the order of `stream`.
Error Graph::writeSlot(int buffer, const char *bytes, CUstream stream) {
  const Driver &driver = device->driver();
  CUdeviceptr slot = devicePointer(slots + buffer * sizeof(double));
  unsigned size = dtypeSize(plan().buffers[buffer].dtype);
  slotBehind[buffer] = false;
  count(statistics().slot_writes);
  // The value travels inside the command: no copy, no staging.
  uint64_t wide;
  uint32_t narrow;
  std::memcpy(&wide, bytes, sizeof(wide));
  std::memcpy(&narrow, bytes, sizeof(narrow));
  if (size == 8 && device->canWriteValue64() &&
      driver.cuStreamWriteValue64(
          stream, slot, wide, CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS)
    return Error::success();
  if (size == 4 && driver.cuStreamWriteValue32(stream, slot, narrow,
                                               CU_STREAM_WRITE_VALUE_DEFAULT) ==
                       CUDA_SUCCESS)
    return Error::success();
  HEDDLE_DRIVER_CALL(driver, cuMemcpyHtoDAsync, slot, bytes, size, stream);
  return Error::success();
}

/// Writes the slots that are behind while the caller captures a stream, where
/// nothing could be written: on a stream of this graph's own, to its end. No
/// replay reads them.
Error Graph::bringSlotsUpToDate() {
  if (none_of(slotBehind, [](bool behind) { return behind; }))
    return Error::success();
  const Driver &driver = device->driver();
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  HEDDLE_DRIVER_CALL(driver, cuThreadExchangeStreamCaptureMode, &mode);
  auto write = [&]() -> Error {
    if (!ownStream) {
      Expected<StreamHandle> stream = createStream(device);
      if (!stream)
        return stream.takeError();
      ownStream = std::move(*stream);
    }
    std::vector<char> values = slotValues();
    for (size_t buffer = 0; buffer < slotBehind.size(); ++buffer)
      if (slotBehind[buffer])
        if (Error error =
                writeSlot(buffer, values.data() + buffer * sizeof(double),
                          ownStream.get()))
          return error;
    HEDDLE_DRIVER_CALL(driver, cuStreamSynchronize, ownStream.get());
    return Error::success();
  };
  Error failure = write();
  CUresult restored = driver.cuThreadExchangeStreamCaptureMode(&mode);
  if (!failure && restored)
    failure =
        driverError(driver, restored, "cuThreadExchangeStreamCaptureMode");
  return failure;
}

Error Graph::read(void *to, const void *from, size_t bytes,
                  void *streamHandle) {
  CUstream stream = static_cast<CUstream>(streamHandle);
  Context::Scope scope(*device);
  HEDDLE_DRIVER_CALL(device->driver(), cuMemcpyDtoHAsync, to,
                     devicePointer(from), bytes, stream);
  HEDDLE_DRIVER_CALL(device->driver(), cuStreamSynchronize, stream);
  return Error::success();
}

} // namespace heddle::runtime
