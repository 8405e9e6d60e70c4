//===- RuntimeTests.cpp - Graphs on a device ------------------------------===//
//
// Hand-written plans and kernels: what the runtime does with them, apart from
// any compiler. Runs on a GPU; the unit tests run the same file over a driver
// that is a stand-in (test/unit/runtime/StandInDriver.cpp), where the kernels'
// meaning is given in C++.
//
//===----------------------------------------------------------------------===//

#include "runtime/Graph.h"
#include "runtime/Nvrtc.h"
#include "runtime/Statistics.h"
#include "runtime/heddle.hpp"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>

using namespace heddle::runtime;
using namespace llvm;

namespace {

struct EmbeddedFile {
  const char *name;
  const char *text;
};
const EmbeddedFile deviceFiles[] = {
#include "RuntimeTestsText.inc"
};

testing::AssertionResult succeeded(Error error) {
  auto [code, text] = takeError(std::move(error));
  return code == StatusCode::Ok ? testing::AssertionSuccess()
                                : testing::AssertionFailure() << text;
}

std::string failure(Error error) {
  auto [code, text] = takeError(std::move(error));
  EXPECT_EQ(static_cast<int>(code), static_cast<int>(StatusCode::BadInput))
      << text;
  return text;
}

#define EXPECT_CONTAINS(text, part)                                            \
  EXPECT_NE(std::string(text).find(part), std::string::npos)                   \
      << "the text is: " << (text)

bool standIn() { return std::getenv("HEDDLE_CUDA_DRIVER") != nullptr; }

// The kernels of all plans below.
const char *kernelText = R"cuda(
#include "tables.cuh"
using tile_row = heddle::tile_row<2, 1>;
using member_row = heddle::member_row<2, 1>;

__device__ static void add_to(const tile_row &tile, const double *step) {
  float *x = (float *)tile.operand[0];
  for (int i = threadIdx.x; i < tile.count; i += blockDim.x)
    x[i] += (float)*step;
  if (tile.first == 0 && threadIdx.x == 0)
    *(float *)tile.operand[1] += 1;
}

// x += step; count += 1 for every member.
extern "C" __global__ void add_tiles(heddle_table table, const double *step) {
  add_to(((const tile_row *)table.tiles)[blockIdx.x], step);
}

// The same without tile rows.
extern "C" __global__ void add_search(heddle_table table, const double *step) {
  const member_row *members = (const member_row *)table.members;
  int row = 0, block = blockIdx.x;
  while (row + 1 < table.member_count && members[row + 1].first_tile <= block)
    ++row;
  tile_row tile = {};
  tile.first = (block - members[row].first_tile) * 4;
  tile.operand[0] = (float *)members[row].operand[0] + tile.first;
  tile.operand[1] = members[row].operand[1];
  tile.count = min(4ll, members[row].count - tile.first);
  add_to(tile, step);
}

// x = x * scale + step where `on` is set; the three by value or by address.
__device__ static void scale(const tile_row &tile, double step, float scale, bool on) {
  float *x = (float *)tile.operand[0];
  for (int i = threadIdx.x; on && i < tile.count; i += blockDim.x)
    x[i] = x[i] * scale + (float)step;
}
extern "C" __global__ void scale_by_value(heddle_table table, double step, float by, bool on) {
  scale(((const tile_row *)table.tiles)[blockIdx.x], step, by, on);
}
extern "C" __global__ void scale_by_address(heddle_table table, const double *step, const float *by, const bool *on) {
  scale(((const tile_row *)table.tiles)[blockIdx.x], *step, *by, *on);
}

// y = x + 1, late; then x = y, begun early. The tiles of the second are taken in another order than those of the first.
extern "C" __global__ void chain_first(heddle_table table) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  const tile_row &tile = ((const tile_row *)table.tiles)[blockIdx.x];
  __nanosleep(20000);
  for (int i = threadIdx.x; i < tile.count; i += blockDim.x)
    ((float *)tile.operand[1])[i] = ((float *)tile.operand[0])[i] + 1;
}
extern "C" __global__ void chain_second(heddle_table table) {
  const tile_row &tile = ((const tile_row *)table.tiles)[table.tile_count - 1 - blockIdx.x];
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  for (int i = threadIdx.x; i < tile.count; i += blockDim.x)
    ((float *)tile.operand[0])[i] = ((volatile float *)tile.operand[1])[i];
}

// y /= 2, and a flag for members that are still above 1.
extern "C" __global__ void halve_tiles(heddle_table table) {
  const tile_row &tile = ((const tile_row *)table.tiles)[blockIdx.x];
  float *y = (float *)tile.operand[0];
  for (int i = threadIdx.x; i < tile.count; i += blockDim.x) {
    y[i] /= 2;
    if (y[i] > 1)
      *(unsigned char *)tile.operand[1] = 1;
  }
}

// The whole loop in one block.
extern "C" __global__ void halve_loop(heddle_table table, int *trips, const int *limit) {
  __shared__ int more;
  int taken = 0;
  for (bool go = *limit > 0; go;) {
    __syncthreads();
    if (threadIdx.x == 0)
      more = 0;
    __syncthreads();
    for (int t = 0; t < table.tile_count; ++t) {
      const tile_row &tile = ((const tile_row *)table.tiles)[t];
      float *y = (float *)tile.operand[0];
      for (int i = threadIdx.x; i < tile.count; i += blockDim.x) {
        y[i] /= 2;
        if (y[i] > 1)
          more = 1;
      }
    }
    __syncthreads();
    go = ++taken < *limit && more;
  }
  if (threadIdx.x == 0)
    *trips = taken;
}
)cuda";

const char *addPlan = R"json({
  "name": "add",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument", "donated": true},
    {"name": "count", "kind": "list", "dtype": "f32", "rank": 0, "role": "argument", "donated": true},
    {"name": "step", "kind": "scalar", "dtype": "f64", "rank": 0, "role": "argument", "default": 1}],
  "results": [{"name": "x", "buffer": 0}, {"name": "count", "buffer": 1}],
  "tables": [{"name": "add", "rank": 1, "pointers": 2, "segments": [{"tile": 4,
     "operands": [{"buffer": 0, "index": "i"}, {"buffer": 1, "index": ""}], "count": [0, 0]}]}],
  "nodes": [{"kind": "kernel", "name": "add", "sweeps": ["add"], "table": 0,
     "variants": [{"entry": "add_tiles", "block": 32, "grid": "tiles", "when": {"max_tiles": 100}},
                  {"entry": "add_search", "block": 64, "grid": "tiles", "tile_rows": false}],
     "arguments": [{"table": 0}, {"buffer": 2}], "writes": [0, 1]}],
  "options": ["--std=c++17"]})json";

const char *scalePlan = R"json({
  "name": "scale",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument", "donated": true},
    {"name": "step", "kind": "scalar", "dtype": "f64", "rank": 0, "role": "argument", "default": 1},
    {"name": "by", "kind": "scalar", "dtype": "f32", "rank": 0, "role": "argument", "default": 2},
    {"name": "on", "kind": "scalar", "dtype": "i1", "rank": 0, "role": "argument", "default": 1}],
  "results": [{"name": "x", "buffer": 0}],
  "tables": [{"name": "scale", "rank": 1, "pointers": 2, "segments": [{"tile": 4, "shift": true,
     "operands": [{"buffer": 0, "index": "i"}, {"buffer": 0, "index": ""}], "count": [0, 0]}]}],
  "nodes": [{"kind": "kernel", "name": "scale", "sweeps": ["scale"], "table": 0,
     "variants": [{"entry": "scale_by_value", "block": 32, "numbers": "value"},
                  {"entry": "scale_by_address", "block": 32, "numbers": "address"}],
     "arguments": [{"table": 0}, {"number": 1}, {"number": 2}, {"number": 3}], "writes": [0]}],
  "options": ["--std=c++17"]})json";

// x += 1 through y, in two kernels of which the second begins early.
const char *chainPlan = R"json({
  "name": "chain",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument", "donated": true},
    {"name": "y", "kind": "list", "dtype": "f32", "rank": 1, "role": "temporary", "extents": [[0, 0]], "members": 0}],
  "results": [{"name": "x", "buffer": 0}],
  "tables": [{"name": "chain", "rank": 1, "pointers": 2, "segments": [{"tile": 64,
     "operands": [{"buffer": 0, "index": "i"}, {"buffer": 1, "index": "i"}], "count": [0, 0]}]}],
  "nodes": [
    {"kind": "kernel", "name": "first", "table": 0, "variants": [{"entry": "chain_first", "block": 32}],
     "arguments": [{"table": 0}], "writes": [1]},
    {"kind": "kernel", "name": "second", "table": 0, "variants": [{"entry": "chain_second", "block": 32}],
     "arguments": [{"table": 0}], "writes": [0]}],
  "edges": [[0, 1, "programmatic"]],
  "options": ["--std=c++17"]})json";

// Fills of every width, of lists and of scalars.
const char *fillPlan = R"json({
  "name": "fill",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument"},
    {"name": "a", "kind": "list", "dtype": "f32", "rank": 1, "role": "result", "extents": [[0, 0]], "members": 0},
    {"name": "b", "kind": "list", "dtype": "i16", "rank": 1, "role": "result", "extents": [[0, 0]], "members": 0},
    {"name": "c", "kind": "scalar", "dtype": "f64", "rank": 0, "role": "result"},
    {"name": "d", "kind": "scalar", "dtype": "bf16", "rank": 0, "role": "result"}],
  "results": [{"name": "a", "buffer": 1}, {"name": "b", "buffer": 2}, {"name": "c", "buffer": 3}, {"name": "d", "buffer": 4}],
  "nodes": [{"kind": "fill", "name": "a", "to": 1, "value": "inf"}, {"kind": "fill", "name": "b", "to": 2, "value": -3},
    {"kind": "fill", "name": "c", "to": 3, "value": 0.1}, {"kind": "fill", "name": "d", "to": 4, "value": "-inf"}]})json";

// y starts as x and is halved until no member is above 1, or `limit` times.
// VARIANTS stands for those of the loop.
const char *halvePlan = R"json({
  "name": "halve",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument"},
    {"name": "limit", "kind": "scalar", "dtype": "i32", "rank": 0, "role": "argument", "default": 100},
    {"name": "y", "kind": "list", "dtype": "f32", "rank": 1, "role": "result", "extents": [[0, 0]], "members": 0},
    {"name": "trips", "kind": "scalar", "dtype": "i32", "rank": 0, "role": "result"},
    {"name": "more", "kind": "list", "dtype": "i1", "rank": 0, "role": "temporary", "extents": [], "members": 0}],
  "results": [{"name": "y", "buffer": 2}, {"name": "trips", "buffer": 3}],
  "tables": [{"name": "halve", "rank": 1, "pointers": 2, "segments": [{"tile": 4,
     "operands": [{"buffer": 2, "index": "i"}, {"buffer": 4, "index": ""}], "count": [2, 0]}]}],
  "nodes": [{"kind": "copy", "name": "start", "from": 0, "to": 2}, {"kind": "fill", "name": "clear", "to": 4, "value": 0},
    {"kind": "while", "name": "loop", "trips": 3, "limit": 1, "more": 4, "table": 0, "variants": [VARIANTS],
     "arguments": [{"table": 0}, {"buffer": 3}, {"buffer": 1}], "writes": [2, 3, 4],
     "body": {"nodes": [{"kind": "fill", "name": "none", "to": 4, "value": 0},
        {"kind": "kernel", "name": "halve", "sweeps": ["halve"], "table": 0,
         "variants": [{"entry": "halve_tiles", "block": 32, "grid": "tiles"}],
         "arguments": [{"table": 0}], "writes": [2, 4]}], "edges": [[0, 1]]}}],
  "edges": [[0, 2], [1, 2]],
  "options": ["--std=c++17"]})json";
const char *graphForm = R"({"form": "graph"})";
const char *cooperativeForm =
    R"({"entry": "halve_loop", "cooperative": true, "grid": 1, "block": 128})";

Plan withKernels(StringRef text) {
  Plan plan = cantFail(parsePlan(text));
  plan.source = kernelText;
  for (const EmbeddedFile &file : deviceFiles)
    plan.headers[file.name] = file.text;
  return plan;
}

Plan halve(const std::string &variants) {
  std::string text = halvePlan;
  text.replace(text.find("VARIANTS"), 8, variants);
  return withKernels(text);
}

/// Lists on the device, with their contents.
class DeviceList {
public:
  DeviceList(const ContextPtr &context, std::vector<size_t> sizes, float value)
      : context(context), sizes(sizes) {
    size_t total = 64;
    for (size_t size : sizes) {
      offsets.push_back(total / sizeof(float));
      total += size * sizeof(float) + 16 +
               4; // members need no alignment beyond their element's
    }
    memory = cantFail(DeviceMemory::allocate(context, total));
    for (size_t member = 0; member < sizes.size(); ++member)
      write(member, std::vector<float>(sizes[member], value));
  }
  char *address(size_t member) const {
    return memory.address() + offsets[member] * sizeof(float);
  }
  std::vector<ListMember> members(bool scalars = false) const {
    std::vector<ListMember> list;
    for (size_t member = 0; member < sizes.size(); ++member)
      list.push_back({sizes[member] ? address(member) : nullptr, {}});
    if (!scalars)
      for (size_t member = 0; member < sizes.size(); ++member)
        list[member].extents = {static_cast<int64_t>(sizes[member])};
    return list;
  }
  std::vector<float> read(size_t member) const {
    std::vector<float> values(sizes[member]);
    Context::Scope scope(*context);
    if (!values.empty()) {
      EXPECT_EQ(context->driver().cuMemcpyDtoH(
                    values.data(),
                    reinterpret_cast<CUdeviceptr>(address(member)),
                    values.size() * sizeof(float)),
                CUDA_SUCCESS);
    }
    return values;
  }
  void write(size_t member, const std::vector<float> &values) {
    Context::Scope scope(*context);
    if (!values.empty()) {
      EXPECT_EQ(context->driver().cuMemcpyHtoD(
                    reinterpret_cast<CUdeviceptr>(address(member)),
                    values.data(), values.size() * sizeof(float)),
                CUDA_SUCCESS);
    }
  }

private:
  ContextPtr context;
  std::vector<size_t> sizes, offsets;
  DeviceMemory memory;
};

// Before the driver is loaded.
#ifdef HEDDLE_STAND_IN_DRIVER
[[maybe_unused]] const int useStandIn =
    setenv("HEDDLE_CUDA_DRIVER", HEDDLE_STAND_IN_DRIVER, 1);
#endif

struct RuntimeTest : testing::Test {
  ContextPtr context;
  StreamHandle stream;

  void SetUp() override {
    Expected<ContextPtr> current = Context::current();
    if (!current) {
      std::string reason = takeError(current.takeError()).second;
      ASSERT_FALSE(standIn()) << reason;
      GTEST_SKIP() << reason;
    }
    context = *current;
    if (Expected<const Nvrtc *> nvrtc = Nvrtc::get(); !nvrtc)
      GTEST_SKIP() << takeError(nvrtc.takeError()).second;
    stream = cantFail(createStream(context));
  }

  std::shared_ptr<Executable> compile(Plan plan) {
    Expected<std::shared_ptr<Executable>> executable = Executable::create(
        {std::move(plan), nullptr}, Target::Cuda, context->arch());
    if (!executable) {
      ADD_FAILURE() << takeError(executable.takeError()).second;
      return nullptr;
    }
    EXPECT_EQ((*executable)->log().str(), "");
    return *executable;
  }

  std::unique_ptr<Graph> graphOf(Plan plan) {
    return cantFail(Graph::create(compile(std::move(plan)), context));
  }

  void replay(ProgramGraph &graph, int times = 1) {
    for (int i = 0; i < times; ++i)
      ASSERT_TRUE(succeeded(graph.replay(stream.get())));
    ASSERT_TRUE(succeeded(graph.synchronize(stream.get())));
  }

  void bindAdd(ProgramGraph &graph, const DeviceList &x,
               const DeviceList &count) {
    ASSERT_TRUE(succeeded(graph.bindList("x", DType::F32, x.members())));
    ASSERT_TRUE(
        succeeded(graph.bindList("count", DType::F32, count.members(true))));
  }

  static void expectAll(const DeviceList &list, size_t members, float value) {
    for (size_t member = 0; member < members; ++member)
      for (float found : list.read(member))
        ASSERT_EQ(found, value) << "member " << member;
  }
};

TEST_F(RuntimeTest, ReplaysWithScalarsThatChange) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 0, 1, 4, 129}, 0),
      count(context, {1, 1, 1, 1, 1}, 0);
  bindAdd(*graph, x, count);
  replay(*graph);
  expectAll(x, 5, 1);
  expectAll(count, 5, 1);
  uint64_t compilations = statistics().compilations,
           instantiations = statistics().graph_instantiations,
           prepares = statistics().prepares, copies = statistics().table_copies;
  float expected = 1;
  for (double step : {0.5, -2.0, 4.25}) {
    ASSERT_TRUE(succeeded(graph->setScalar("step", step, stream.get())));
    replay(*graph, 3);
    expected += 3 * static_cast<float>(step);
    expectAll(x, 5, expected);
  }
  EXPECT_EQ(cantFail(graph->readScalar("step", stream.get())), 4.25);
  EXPECT_EQ(statistics().compilations, compilations);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
  EXPECT_EQ(statistics().prepares, prepares);
  EXPECT_EQ(statistics().table_copies, copies);
}

TEST_F(RuntimeTest, RebindsWithoutInstantiating) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 3}, 0), count(context, {1, 1}, 0);
  bindAdd(*graph, x, count);
  replay(*graph);
  uint64_t instantiations = statistics().graph_instantiations,
           updates = statistics().graph_node_updates,
           compilations = statistics().compilations,
           allocations = statistics().allocations;

  // The same extents elsewhere: the tables alone change.
  DeviceList other(context, {10, 3}, 5);
  allocations = statistics().allocations;
  bindAdd(*graph, other, count);
  replay(*graph);
  expectAll(x, 2, 1);
  expectAll(other, 2, 6);
  EXPECT_EQ(statistics().graph_node_updates, updates);
  EXPECT_EQ(statistics().allocations, allocations);

  // Another model: another grid, and then the other variant.
  DeviceList larger(context, {10, 3, 50}, 0), counts(context, {1, 1, 1}, 0);
  bindAdd(*graph, larger, counts);
  replay(*graph);
  expectAll(larger, 3, 1);
  EXPECT_EQ(statistics().graph_node_updates, updates + 1);
  DeviceList largest(context, {10, 3, 5000, 0, 7}, 0),
      all(context, {1, 1, 1, 1, 1}, 0);
  bindAdd(*graph, largest, all);
  uint64_t expansions = statistics().table_expansions;
  replay(*graph);
  EXPECT_EQ(statistics().table_expansions,
            expansions); // that variant reads no tile rows
  expectAll(largest, 5, 1);
  expectAll(all, 5, 1);

  // Nothing at all, and back.
  bindAdd(*graph, DeviceList(context, {}, 0), DeviceList(context, {}, 0));
  replay(*graph);
  bindAdd(*graph, x, count);
  replay(*graph);
  expectAll(x, 2, 2);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
  EXPECT_LE(statistics().compilations,
            compilations + 1); // the runtime's own kernels, at most
}

TEST_F(RuntimeTest, SkipsInactiveMembers) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 3, 9}, 0), count(context, {1, 1, 1}, 0);
  bindAdd(*graph, x, count);
  ASSERT_TRUE(succeeded(graph->setInactive("x", {false, true, false})));
  replay(*graph, 2);
  EXPECT_EQ(x.read(0), std::vector<float>(10, 2));
  EXPECT_EQ(x.read(1), std::vector<float>(3, 0));
  EXPECT_EQ(count.read(1), std::vector<float>(1, 0));
  EXPECT_EQ(x.read(2), std::vector<float>(9, 2));
}

TEST_F(RuntimeTest, ReadsScalarsOfTheCaller) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10}, 0), count(context, {1}, 0);
  DeviceMemory step = cantFail(DeviceMemory::allocate(context, 8));
  auto write = [&](double value) {
    Context::Scope scope(*context);
    ASSERT_EQ(context->driver().cuMemcpyHtoD(
                  reinterpret_cast<CUdeviceptr>(step.address()), &value, 8),
              CUDA_SUCCESS);
  };
  bindAdd(*graph, x, count);
  ASSERT_TRUE(succeeded(
      graph->setScalar("step", 3, stream.get()))); // before the first prepare
  replay(*graph);
  expectAll(x, 1, 3);
  write(10);
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, step.address())));
  replay(*graph);
  expectAll(x, 1, 13);
  write(100);
  replay(*graph);
  expectAll(x, 1, 113);
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, nullptr)));
  replay(*graph);
  expectAll(x, 1, 116);
}

struct ExpansionTest : RuntimeTest, testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Aligned, ExpansionTest, testing::Values(false, true),
                         [](const auto &info) {
                           return info.param ? "Shifted" : "AsTheyAre";
                         });

TEST_P(ExpansionTest, ExpandsTilesAsTheHostDoes) {
  Plan plan = withKernels(addPlan);
  plan.tables[0].segments[0].shift = GetParam();
  std::shared_ptr<Executable> executable = compile(plan);
  std::shared_ptr<Module> module = cantFail(executable->load(context));
  RowLayout layout(plan.tables[0]);
  std::vector<MemberRow> members(3);
  char *somewhere = reinterpret_cast<char *>(uintptr_t(1) << 40);
  std::vector<int64_t> counts = {1000, 0, 7},
                       steps = segmentSteps(plan, plan.tables[0]);
  std::vector<char> rows;
  int tiles = 0;
  for (auto [index, member] : enumerate(members)) {
    member.operands = {
        index == 1 ? nullptr : somewhere + 4096 * index + 4 * (index + 1) % 16,
        somewhere};
    member.count = counts[index];
    member.firstTile = tiles;
    int64_t shift = shiftOf(steps, member.operands, member.count);
    if (!GetParam())
      EXPECT_EQ(shift, 0);
    else
      EXPECT_EQ(shift, index == 0 ? 1 : index == 2 ? 3 : 0);
    member.tiles = static_cast<int>(tilesOf(member.count + shift, 4));
    member.index = static_cast<int>(index) + 5;
    tiles += member.tiles;
    rows.resize(rows.size() + layout.bytes());
    writeMemberRow(layout, member, rows.data() + index * layout.bytes());
  }
  std::vector<char> host(layout.bytes() * tiles), device(host.size(), 0);
  expandTiles(layout, rows.data(), 3, steps, host.data(), tiles);

  DeviceMemory memory = cantFail(
      DeviceMemory::allocate(context, rows.size() + host.size() + 1024));
  const Driver &driver = context->driver();
  Context::Scope scope(*context);
  char *deviceRows = memory.address(),
       *deviceSteps = deviceRows + alignUp(rows.size()),
       *deviceTiles = deviceSteps + 256;
  auto address = [](char *pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
  };
  ASSERT_EQ(driver.cuMemcpyHtoD(address(deviceRows), rows.data(), rows.size()),
            CUDA_SUCCESS);
  ASSERT_EQ(
      driver.cuMemcpyHtoD(address(deviceSteps), steps.data(), steps.size() * 8),
      CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemsetD8Async(address(deviceTiles), 0, device.size(),
                                   stream.get()),
            CUDA_SUCCESS);
  Launch launch;
  launch.add(deviceRows);
  launch.add(deviceTiles);
  launch.add(deviceSteps);
  launch.add(layout.pointers);
  launch.add(layout.rank);
  launch.add(3);
  launch.add(tiles);
  CUlaunchConfig config = {};
  config.gridDimX = (tiles + 255) / 256;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 256;
  config.hStream = stream.get();
  std::vector<void *> pointers = launch.pointers();
  ASSERT_EQ(driver.cuLaunchKernelEx(
                &config, cantFail(module->function("heddle_expand_tiles")),
                pointers.data(), nullptr),
            CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
  ASSERT_EQ(
      driver.cuMemcpyDtoH(device.data(), address(deviceTiles), device.size()),
      CUDA_SUCCESS);
  EXPECT_EQ(host, device);
}

TEST_F(RuntimeTest, ChoosesByTheSizeOfTheCache) {
  // 10 + 3 elements of 4 bytes: the list that is addressed by element alone.
  double part = 52.0 / static_cast<double>(context->l2Bytes());
  for (double factor : {part * 1.001, part * 0.999}) {
    Plan plan = withKernels(addPlan);
    plan.graph.nodes[0].variants[0].maxTiles.reset();
    plan.graph.nodes[0].variants[0].fitsL2 = factor;
    std::unique_ptr<Graph> graph = graphOf(plan);
    DeviceList x(context, {10, 3}, 0), count(context, {1, 1}, 0);
    bindAdd(*graph, x, count);
    uint64_t expansions = statistics().table_expansions;
    replay(*graph);
    expectAll(x, 2, 1);
    // The variant for what does not fit reads no tile rows.
    EXPECT_EQ(statistics().table_expansions, expansions + (factor > part));
    // What is inactive takes no room.
    ASSERT_TRUE(succeeded(graph->setInactive("x", {true, false})));
    expansions = statistics().table_expansions;
    replay(*graph);
    EXPECT_EQ(statistics().table_expansions, expansions + 1);
  }
}

TEST_F(RuntimeTest, FillsWithNumbers) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(fillPlan));
  DeviceList x(context, {1, 7, 20000}, 0), a(context, {1, 7, 20000}, 0);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  ASSERT_TRUE(succeeded(graph->bindResult("a", DType::F32, a.members())));
  replay(*graph);
  expectAll(a, 3, INFINITY);
  EXPECT_EQ(cantFail(graph->readScalar("c", stream.get())), 0.1);
  EXPECT_EQ(cantFail(graph->readScalar("d", stream.get())), -INFINITY);
  std::vector<ResultMember> b = cantFail(graph->result("b"));
  for (const ResultMember &member : b) {
    std::vector<int16_t> values(member.extents[0]);
    Context::Scope scope(*context);
    ASSERT_EQ(context->driver().cuMemcpyDtoH(
                  values.data(), reinterpret_cast<CUdeviceptr>(member.address),
                  values.size() * 2),
              CUDA_SUCCESS);
    EXPECT_EQ(values, std::vector<int16_t>(values.size(), -3));
  }
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

struct NumberTest : RuntimeTest {
  std::unique_ptr<Graph> graph;
  std::unique_ptr<DeviceList> x;

  void make(float start = 0) {
    graph = graphOf(withKernels(scalePlan));
    x = std::make_unique<DeviceList>(context, std::vector<size_t>{10, 0, 129},
                                     start);
    ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x->members())));
  }
  void set(StringRef name, double value) {
    ASSERT_TRUE(succeeded(graph->setScalar(name, value, stream.get())));
  }
};

TEST_F(NumberTest, ComeWithTheLaunch) {
  make(3);
  replay(*graph);
  expectAll(*x, 3, 7);
  uint64_t compilations = statistics().compilations,
           instantiations = statistics().graph_instantiations,
           updates = statistics().number_updates,
           writes = statistics().slot_writes,
           copies = statistics().table_copies;
  // All that is set between two replays is one update of the node.
  set("step", 100);
  set("by", 0.5);
  set("step", 0.5);
  replay(*graph);
  expectAll(*x, 3, 4);
  EXPECT_EQ(statistics().number_updates, updates + 1);
  set("on", 0);
  set("on", 0);
  replay(*graph, 3);
  expectAll(*x, 3, 4);
  EXPECT_EQ(statistics().number_updates, updates + 2);
  // The same value again is none.
  set("on", 0);
  set("by", 0.5);
  replay(*graph);
  EXPECT_EQ(statistics().number_updates, updates + 2);
  EXPECT_EQ(cantFail(graph->readScalar("step", stream.get())), 0.5);
  set("by", 0.1);
  EXPECT_EQ(cantFail(graph->readScalar("by", stream.get())),
            static_cast<double>(0.1f));
  EXPECT_EQ(cantFail(graph->readScalar("on", stream.get())), 0);
  EXPECT_EQ(statistics().slot_writes, writes);
  EXPECT_EQ(statistics().compilations, compilations);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
  EXPECT_EQ(statistics().table_copies, copies);
}

TEST_F(NumberTest, LeaveSubmittedReplaysAlone) {
  make();
  ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
  float expected = 0;
  for (int i = 0; i < 200; ++i) {
    set("step", i % 7);
    set("by", i % 2 ? 0.5 : 1.5);
    ASSERT_TRUE(succeeded(graph->replay(stream.get())));
    expected = expected * (i % 2 ? 0.5f : 1.5f) + static_cast<float>(i % 7);
  }
  ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  expectAll(*x, 3, expected);
}

TEST_F(NumberTest, SurviveRebinding) {
  make();
  replay(*graph);
  expectAll(*x, 3, 1);
  uint64_t instantiations = statistics().graph_instantiations;
  // Set, and bound anew before the next replay.
  set("step", 5);
  DeviceList other(context, {3, 500}, 1);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, other.members())));
  replay(*graph);
  expectAll(other, 2, 7);
  // Set, and a prepare that finds something else to do.
  set("step", 6);
  DeviceList third(context, {3, 500}, 1);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, third.members())));
  ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
  set("by", 3);
  replay(*graph);
  expectAll(third, 2, 9);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
}

TEST_F(NumberTest, OfTheCallerComeByAddress) {
  make();
  replay(*graph);
  expectAll(*x, 3, 1);
  DeviceMemory memory = cantFail(DeviceMemory::allocate(context, 8));
  auto write = [&](double value) {
    Context::Scope scope(*context);
    ASSERT_EQ(context->driver().cuMemcpyHtoD(
                  reinterpret_cast<CUdeviceptr>(memory.address()), &value, 8),
              CUDA_SUCCESS);
  };
  uint64_t writes = statistics().slot_writes,
           instantiations = statistics().graph_instantiations;
  // The slot of the other number is written once it is read.
  set("by", 10);
  EXPECT_EQ(statistics().slot_writes, writes);
  write(7);
  ASSERT_TRUE(
      succeeded(graph->bindScalar("step", DType::F64, memory.address())));
  replay(*graph);
  expectAll(*x, 3, 17);
  EXPECT_EQ(statistics().slot_writes, writes + 1);
  write(8);
  set("by", 2);
  EXPECT_EQ(statistics().slot_writes, writes + 2);
  replay(*graph);
  expectAll(*x, 3, 42);
  EXPECT_EQ(cantFail(graph->readScalar("step", stream.get())), 8);
  EXPECT_EQ(cantFail(graph->readScalar("by", stream.get())), 2);
  // And back.
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, nullptr)));
  set("step", 3);
  replay(*graph);
  expectAll(*x, 3, 87);
  set("by", 1);
  replay(*graph);
  expectAll(*x, 3, 90);
  EXPECT_EQ(statistics().slot_writes, writes + 2);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
}

TEST_F(NumberTest, HostTimeOfASet) {
  make();
  replay(*graph, 10);
  constexpr int batches = 20, times = 50;
  double set = 1e9, alone = 1e9;
  for (int batch = 0; batch < 2 * batches; ++batch) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i) {
      if (batch % 2)
        ASSERT_TRUE(succeeded(graph->setScalar("step", i, stream.get())));
      ASSERT_TRUE(succeeded(graph->replay(stream.get())));
    }
    double elapsed = std::chrono::duration<double, std::micro>(
                         std::chrono::steady_clock::now() - begin)
                         .count() /
                     times;
    double &best = batch % 2 ? set : alone;
    best = std::min(best, elapsed);
    ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  }
  printf("host time of a replay: %.2f us, with a number set: %.2f us\n", alone,
         set);
}

//===----------------------------------------------------------------------===//
// Kernels that begin early
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, KernelsBeginEarly) {
  uint64_t edges = statistics().programmatic_edges;
  std::unique_ptr<Graph> graph = graphOf(withKernels(chainPlan));
  DeviceList x(context, {10, 0, 5000}, 0), none(context, {}, 0);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  replay(*graph, 50);
  expectAll(x, 3, 50);
  bool early = context->canOverlap();
  EXPECT_EQ(statistics().programmatic_edges, edges + early);
  // Where there is nothing to do there is nothing to wait for either.
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, none.members())));
  replay(*graph);
  EXPECT_EQ(statistics().programmatic_edges, edges + early);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  replay(*graph);
  expectAll(x, 3, 51);
  EXPECT_EQ(statistics().programmatic_edges, edges + 2 * early);
  // Other grids keep their edges.
  uint64_t instantiations = statistics().graph_instantiations;
  DeviceList larger(context, {100000, 3}, 0);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, larger.members())));
  replay(*graph, 5);
  expectAll(larger, 2, 5);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

struct LoopTest : RuntimeTest, testing::WithParamInterface<const char *> {
  void expectTrips(ProgramGraph &graph, int expected) {
    EXPECT_EQ(cantFail(graph.readScalar("trips", stream.get())), expected);
  }
  float resultAt(ProgramGraph &graph, size_t member, size_t element) {
    std::vector<ResultMember> y = cantFail(graph.result("y"));
    float value = NAN;
    Context::Scope scope(*context);
    EXPECT_EQ(context->driver().cuMemcpyDtoH(
                  &value,
                  reinterpret_cast<CUdeviceptr>(
                      static_cast<float *>(y[member].address) + element),
                  4),
              CUDA_SUCCESS);
    return value;
  }
};

TEST_P(LoopTest, RunsAndStopsOnTheDevice) {
  std::unique_ptr<Graph> graph = graphOf(halve(GetParam()));
  DeviceList x(context, {9, 1}, 64);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  replay(*graph);
  expectTrips(*graph, 6);
  EXPECT_EQ(resultAt(*graph, 0, 8), 1);
  EXPECT_EQ(resultAt(*graph, 1, 0), 1);
  expectAll(x, 2, 64);

  uint64_t instantiations = statistics().graph_instantiations;
  for (int limit : {3, 1, 0, 6, 1000}) {
    ASSERT_TRUE(succeeded(graph->setScalar("limit", limit, stream.get())));
    replay(*graph);
    int trips = std::min(limit, 6);
    expectTrips(*graph, trips);
    EXPECT_EQ(resultAt(*graph, 0, 8), std::ldexp(64.f, -trips));
  }
  // One member alone keeps the loop going.
  x.write(1, {4096});
  replay(*graph);
  expectTrips(*graph, 12);
  EXPECT_EQ(resultAt(*graph, 1, 0), 1);

  // Another model, also inside the body.
  DeviceList more(context, {40, 3, 5, 0, 100000}, 16);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, more.members())));
  replay(*graph);
  expectTrips(*graph, 4);
  EXPECT_EQ(resultAt(*graph, 4, 99999), 1);
  EXPECT_EQ(statistics().graph_instantiations, instantiations);
}

TEST_P(LoopTest, SkipsInactiveMembers) {
  std::unique_ptr<Graph> graph = graphOf(halve(GetParam()));
  DeviceList x(context, {9, 1}, 64);
  x.write(1, {4096});
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  ASSERT_TRUE(succeeded(graph->setInactive("x", {false, true})));
  replay(*graph);
  expectTrips(*graph, 6);
  EXPECT_EQ(cantFail(graph->result("y"))[1].address, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Forms, LoopTest,
                         testing::Values(graphForm, cooperativeForm),
                         [](const auto &info) {
                           return info.index == 0 ? "Graph" : "Cooperative";
                         });

//===----------------------------------------------------------------------===//
// Captures of the caller's
//===----------------------------------------------------------------------===//

struct CaptureTest : NumberTest {
  void begin() {
    ASSERT_EQ(context->driver().cuStreamBeginCapture(
                  stream.get(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              CUDA_SUCCESS);
  }

  /// Ends the capture and runs what it holds `times` times.
  void finishAndRun(int times) {
    const Driver &driver = context->driver();
    Context::Scope scope(*context);
    CUgraph captured = nullptr;
    CUgraphExec executable = nullptr;
    ASSERT_EQ(driver.cuStreamEndCapture(stream.get(), &captured), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, captured, 0),
              CUDA_SUCCESS);
    for (int i = 0; i < times; ++i)
      ASSERT_EQ(driver.cuGraphLaunch(executable, stream.get()), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
  }
};

TEST_F(CaptureTest, IssuesThePlanIntoTheCapture) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 3}, 0), count(context, {1, 1}, 0);
  bindAdd(*graph, x, count);
  ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
  ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  begin();
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  EXPECT_CONTAINS(failure(graph->setScalar("step", 2, stream.get())),
                  "before the capture");
  finishAndRun(3);
  expectAll(x, 2, 6);
}

TEST_F(CaptureTest, ReadsNumbersFromTheirSlots) {
  make();
  replay(*graph);
  expectAll(*x, 3, 1);
  // Slots are behind when the capture begins, and are written while it runs.
  set("step", 3);
  set("by", 10);
  set("on", 1);
  replay(*graph);
  expectAll(*x, 3, 13);
  begin();
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  EXPECT_CONTAINS(failure(graph->setScalar("step", 2, stream.get())),
                  "before the capture");
  const Driver &driver = context->driver();
  CUgraph captured = nullptr;
  CUgraphExec executable = nullptr;
  Context::Scope scope(*context);
  ASSERT_EQ(driver.cuStreamEndCapture(stream.get(), &captured), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, captured, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphLaunch(executable, stream.get()), CUDA_SUCCESS);
  ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  expectAll(*x, 3, 133);
  // What was refused has changed nothing.
  EXPECT_EQ(cantFail(graph->readScalar("step", stream.get())), 3);
  // From now on both forms follow what is set, in the order of the stream.
  set("by", 0);
  ASSERT_EQ(driver.cuGraphLaunch(executable, stream.get()), CUDA_SUCCESS);
  set("by", 2);
  set("step", 1);
  ASSERT_TRUE(succeeded(graph->replay(stream.get())));
  set("step", 5);
  ASSERT_EQ(driver.cuGraphLaunch(executable, stream.get()), CUDA_SUCCESS);
  ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  expectAll(*x, 3, (3 * 2 + 1) * 2 + 5);
  EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
}

TEST_F(CaptureTest, KernelsBeginEarly) {
  std::unique_ptr<Graph> chain = graphOf(withKernels(chainPlan));
  DeviceList values(context, {10, 0, 5000}, 0);
  ASSERT_TRUE(succeeded(chain->bindList("x", DType::F32, values.members())));
  ASSERT_TRUE(succeeded(chain->prepare(stream.get())));
  ASSERT_TRUE(succeeded(chain->synchronize(stream.get())));
  uint64_t edges = statistics().programmatic_edges;
  begin();
  ASSERT_TRUE(succeeded(chain->replay(stream.get())));
  ASSERT_TRUE(succeeded(chain->replay(stream.get())));
  EXPECT_EQ(statistics().programmatic_edges, edges + 2 * context->canOverlap());
  finishAndRun(20);
  expectAll(values, 3, 40);
}

TEST_F(CaptureTest, RefusesToPrepareInside) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 3}, 0), count(context, {1, 1}, 0);
  bindAdd(*graph, x, count);
  begin();
  EXPECT_CONTAINS(failure(graph->replay(stream.get())),
                  "call prepare before the capture begins");
  EXPECT_CONTAINS(failure(graph->prepare(stream.get())), "before the capture");
  finishAndRun(1);
  expectAll(x, 2, 0);
}

TEST_F(CaptureTest, LoopsTakeTheirCooperativeForm) {
  std::unique_ptr<Graph> both =
      graphOf(halve(std::string(graphForm) + ", " + cooperativeForm));
  std::unique_ptr<Graph> one = graphOf(halve(graphForm));
  DeviceList x(context, {9, 1}, 64);
  for (Graph *graph : {both.get(), one.get()}) {
    ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
    ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
    ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  }
  begin();
  ASSERT_TRUE(succeeded(both->replay(stream.get())));
  EXPECT_CONTAINS(failure(one->replay(stream.get())),
                  "a loop inside a stream capture needs a cooperative kernel");
  finishAndRun(2);
  EXPECT_EQ(cantFail(both->readScalar("trips", stream.get())), 6);
}

//===----------------------------------------------------------------------===//
// Mistakes
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, RefusesHostMemory) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  DeviceList x(context, {10, 3}, 0), count(context, {1, 1}, 0);
  std::vector<ListMember> members = x.members();
  std::vector<float> onHost(3, 7);
  members[1].data = onHost.data();
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, members)));
  ASSERT_TRUE(
      succeeded(graph->bindList("count", DType::F32, count.members(true))));
  EXPECT_CONTAINS(
      failure(graph->replay(stream.get())),
      "argument 'x', member 1: expected a device address, found host address");
  double step = 1;
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, x.members())));
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, &step)));
  EXPECT_CONTAINS(failure(graph->replay(stream.get())),
                  "argument 'step': expected a device address");
  expectAll(x, 2, 0);
  expectAll(count, 2, 0);
  EXPECT_EQ(onHost[0], 7);
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, nullptr)));
  replay(*graph);
  expectAll(x, 2, 1);
}

TEST_F(RuntimeTest, NamesKernelsThatAreMissing) {
  Plan plan = withKernels(addPlan);
  plan.graph.nodes[0].variants[0].entry = "add_tile";
  std::unique_ptr<Graph> graph = graphOf(plan);
  DeviceList x(context, {10}, 0), count(context, {1}, 0);
  bindAdd(*graph, x, count);
  EXPECT_CONTAINS(failure(graph->replay(stream.get())),
                  "the plan's source has no kernel 'add_tile'");
}

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, HostTimeOfAReplay) {
  std::unique_ptr<Graph> graph = graphOf(withKernels(addPlan));
  std::vector<size_t> sizes(580, 100), ones(580, 1);
  DeviceList x(context, sizes, 0), count(context, ones, 0);
  bindAdd(*graph, x, count);
  replay(*graph, 10);
  constexpr int batches = 20, times = 50;
  double best = 1e9;
  for (int batch = 0; batch < batches; ++batch) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < times; ++i)
      ASSERT_TRUE(succeeded(graph->replay(stream.get())));
    auto elapsed = std::chrono::duration<double, std::micro>(
                       std::chrono::steady_clock::now() - begin)
                       .count();
    best = std::min(best, elapsed / times);
    ASSERT_TRUE(succeeded(graph->synchronize(stream.get())));
  }
  RecordProperty("host_us_per_replay", std::to_string(best));
  printf("host time of a replay: %.2f us\n", best);
  EXPECT_LE(best, standIn() ? 1000 : 10);
  auto begin = std::chrono::steady_clock::now();
  bindAdd(*graph, x, count);
  ASSERT_TRUE(succeeded(graph->prepare(stream.get())));
  printf("rebinding 580 + 580 tensors: %.0f us\n",
         std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now() - begin)
             .count());
}

TEST_F(RuntimeTest, WarmLoad) {
  Plan plan = withKernels(addPlan);
  compile(plan);
  auto begin = std::chrono::steady_clock::now();
  std::shared_ptr<Executable> executable = compile(plan);
  cantFail(executable->load(context));
  double milliseconds = std::chrono::duration<double, std::milli>(
                            std::chrono::steady_clock::now() - begin)
                            .count();
  printf("from the cache to a loaded module: %.2f ms\n", milliseconds);
  EXPECT_LE(milliseconds, 20);
}

//===----------------------------------------------------------------------===//
// The C ABI, through heddle.hpp
//===----------------------------------------------------------------------===//

TEST_F(RuntimeTest, WorksThroughTheHeader) {
  std::string plan = formatv("{0}", planToJSON(withKernels(addPlan))).str();
  auto executable = heddle::Executable::fromPlan(plan);
  ASSERT_TRUE(executable) << executable.error();
  EXPECT_EQ(executable->arch(), context->arch());
  ASSERT_EQ(executable->arguments().size(), 3u);
  EXPECT_EQ(executable->arguments()[2].name, std::string("step"));
  auto graph = heddle::Graph::create(*executable);
  ASSERT_TRUE(graph) << graph.error();
  auto memory = heddle::Memory::create(*executable, 1024);
  ASSERT_TRUE(memory) << memory.error();
  std::vector<float> values(100, 1), zero(1, 0);
  ASSERT_TRUE(memory->write(0, values.data(), 400));
  ASSERT_TRUE(memory->write(512, zero.data(), 4));
  char *base = static_cast<char *>(memory->address());
  ASSERT_TRUE(graph->bindList("x", HEDDLE_F32, {{base, {10, 10}}}));
  ASSERT_TRUE(graph->bindList("count", HEDDLE_F32, {{base + 512, {}}}));
  ASSERT_TRUE(graph->setScalar("step", 2));
  heddle::Status status = graph->replay();
  ASSERT_TRUE(status) << status.error();
  ASSERT_TRUE(graph->replay());
  ASSERT_TRUE(graph->synchronize());
  ASSERT_TRUE(memory->read(0, values.data(), 400));
  EXPECT_EQ(values, std::vector<float>(100, 5));
  auto seconds = graph->measure(5, 3);
  ASSERT_TRUE(seconds) << seconds.error();
  EXPECT_GT(*seconds, 0);
  status = graph->bindList("y", HEDDLE_F32, {});
  EXPECT_FALSE(status);
  EXPECT_EQ(status.code(), HEDDLE_BAD_INPUT);
  EXPECT_CONTAINS(status.error(), "argument 'y'");
}

} // namespace
