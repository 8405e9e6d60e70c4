//===- CpuGraphTest.cpp - The cpu target with hand-written programs -------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "runtime/cpu/CpuGraph.h"
#include "runtime/support/Statistics.h"

#include <atomic>
#include <map>

using namespace heddle::runtime;
using namespace llvm;

namespace {

/// Sweeps by name, instead of a program of the compiler's cpu target.
class FakeProgram : public CpuProgram {
public:
  std::map<std::string, Sweep> sweeps;
  Expected<Sweep> lookup(StringRef name) override {
    auto found = sweeps.find(name.str());
    if (found == sweeps.end())
      return makeError(StatusCode::BadInput,
                       "sweep '{0}': there is no such sweep", name);
    return found->second;
  }
};

// x += step. `size` is the number of elements of each member, `total` their
// sum.
const char *addPlan = R"json({
  "name": "add",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument", "donated": true},
    {"name": "step", "kind": "scalar", "dtype": "f64", "rank": 0, "role": "argument", "default": 1},
    {"name": "size", "kind": "list", "dtype": "f32", "rank": 0, "role": "result", "extents": [], "members": 0},
    {"name": "total", "kind": "scalar", "dtype": "f64", "rank": 0, "role": "result"}],
  "results": [{"name": "x", "buffer": 0}, {"name": "size", "buffer": 2}, {"name": "total", "buffer": 3}],
  "tables": [{"name": "add", "rank": 1, "pointers": 2, "segments": [{"tile": 4,
     "operands": [{"buffer": 0, "index": "i"}, {"buffer": 2, "index": ""}], "count": [0, 0]}]}],
  "scratch": [{"per": "tile", "table": 0, "bytes": 8, "zero": true}],
  "nodes": [{"kind": "kernel", "name": "add", "sweeps": ["add"], "table": 0, "variants": [{"entry": "unused"}],
    "arguments": [{"table": 0}, {"buffer": 1}, {"buffer": 3}, {"scratch": 0}], "writes": [0, 2, 3], "always": true}]})json";

struct alignas(16) Member {
  float *x, *size;
  int64_t count;
  int32_t firstTile, tiles, segment, index;
};
struct alignas(16) Tile {
  float *x, *size;
  int64_t first;
  int32_t count, member, segment, tiles;
};

CpuProgram::Sweep addSweep() {
  CpuProgram::Sweep sweep;
  sweep.tile = [](const void *descriptor, int index, void *const *arguments) {
    const Tile *tile = static_cast<const Tile *>(descriptor);
    double step = *static_cast<double *>(arguments[1]);
    for (int i = 0; i < tile->count; ++i)
      tile->x[i] += static_cast<float>(step);
    static_cast<double *>(arguments[3])[index] = tile->count;
  };
  sweep.member = [](const void *descriptor, void *const *arguments) {
    const Member *member = static_cast<const Member *>(descriptor);
    double sum = 0;
    for (int t = 0; t < member->tiles; ++t)
      sum += static_cast<double *>(arguments[3])[member->firstTile + t];
    *member->size = static_cast<float>(sum);
  };
  sweep.epilogue = [](const void *descriptors, int members,
                      void *const *arguments) {
    const Member *member = static_cast<const Member *>(descriptors);
    double sum = 0;
    for (int m = 0; m < members; ++m)
      sum += *member[m].size;
    *static_cast<double *>(arguments[2]) = sum;
  };
  return sweep;
}

std::unique_ptr<ProgramGraph> makeGraph(const char *text,
                                        std::shared_ptr<FakeProgram> program) {
  CompiledProgram compiled{parsed(text), std::move(program)};
  return cantFail(CpuGraph::create(
      cantFail(Executable::create(std::move(compiled), Target::Cpu, ""))));
}

ListMember over(std::vector<float> &values) {
  return {values.data(), {static_cast<int64_t>(values.size())}};
}

// x += g, with a list that is only read.
const char *accumulatePlan = R"json({
  "name": "accumulate",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument", "donated": true},
    {"name": "g", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument"}],
  "results": [{"name": "x", "buffer": 0}],
  "tables": [{"name": "accumulate", "rank": 1, "pointers": 2, "segments": [{"tile": 4, "align_tiles": true,
     "operands": [{"buffer": 0, "index": "i"}, {"buffer": 1, "index": "i"}], "count": [0, 0]}]}],
  "nodes": [{"kind": "kernel", "name": "accumulate", "sweeps": ["accumulate"], "table": 0,
    "variants": [{"entry": "unused"}], "arguments": [{"table": 0}], "writes": [0]}]})json";

TEST(CpuGraph, NewAddressesOfAListThatIsRead) {
  auto program = std::make_shared<FakeProgram>();
  std::vector<float> memory(4096);
  CpuProgram::Sweep &sweep = program->sweeps["accumulate"];
  sweep.tile = [](const void *descriptor, int, void *const *) {
    const Tile *tile = static_cast<const Tile *>(descriptor);
    for (int i = 0; i < tile->count; ++i)
      tile->x[i] += tile->size[i];
  };
  // Addresses with each alignment, in turn.
  std::unique_ptr<ProgramGraph> graph = makeGraph(accumulatePlan, program);
  std::vector<float> x(101), empty;
  float *base = memory.data();
  for (size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<float>(i % 1000);
  std::vector<float> expected(101);
  uint64_t rebindings = statistics().rebindings,
           prepares = statistics().prepares;
  for (int step = 0; step < 64; ++step) {
    int offset = step / 8 * 256 + step % 8 * 4 + step / 32;
    ASSERT_TRUE(
        succeeded(graph->bindList("x", DType::F32, {over(x), over(empty)})));
    ASSERT_TRUE(succeeded(graph->bindList(
        "g", DType::F32, {{base + offset, {101}}, {nullptr, {0}}})));
    ASSERT_TRUE(succeeded(graph->replay(nullptr)));
    for (int i = 0; i < 101; ++i)
      expected[i] += memory[offset + i];
    ASSERT_EQ(x, expected) << "step " << step;
  }
  // The first step, and the one with another alignment.
  EXPECT_EQ(statistics().prepares - prepares, 2u);
  EXPECT_EQ(statistics().rebindings - rebindings, 62u);
  ASSERT_TRUE(succeeded(graph->bindList(
      "g", DType::F32, {{x.data() + 4, {101}}, {nullptr, {0}}})));
  EXPECT_CONTAINS(failure(graph->replay(nullptr), StatusCode::BadInput),
                  "found an overlap with argument 'g', member 0");
}

TEST(CpuGraph, RunsTilesThenMembersThenTheEpilogue) {
  auto program = std::make_shared<FakeProgram>();
  program->sweeps["add"] = addSweep();
  std::unique_ptr<ProgramGraph> graph = makeGraph(addPlan, program);
  std::vector<float> a(1001, 1), b, c(1, 5);
  ASSERT_TRUE(
      succeeded(graph->bindList("x", DType::F32, {over(a), over(b), over(c)})));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  for (float value : a)
    ASSERT_EQ(value, 2);
  EXPECT_EQ(c[0], 6);
  EXPECT_EQ(cantFail(graph->readScalar("total", nullptr)), 1002);
  std::vector<ResultMember> size = cantFail(graph->result("size"));
  ASSERT_EQ(size.size(), 3u);
  EXPECT_EQ(*static_cast<float *>(size[0].address), 1001);
  EXPECT_EQ(*static_cast<float *>(size[1].address), 0);

  // Scalars change without another prepare.
  uint64_t prepares = statistics().prepares;
  ASSERT_TRUE(succeeded(graph->setScalar("step", -2, nullptr)));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(a[1000], 0);
  EXPECT_EQ(statistics().prepares, prepares);

  // Another model, an inactive member, a bound scalar and bound results.
  double step = 10, total = -1;
  std::vector<float> sizes(2, -1);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, {over(a), over(c)})));
  ASSERT_TRUE(succeeded(graph->setInactive("x", {true, false})));
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, &step)));
  ASSERT_TRUE(succeeded(graph->bindResult("size", DType::F32,
                                          {{&sizes[0], {}}, {&sizes[1], {}}})));
  ASSERT_TRUE(
      succeeded(graph->bindResult("total", DType::F64, {{&total, {}}})));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(a[0], 0);
  EXPECT_EQ(c[0], 14);
  EXPECT_EQ(sizes[0], -1);
  EXPECT_EQ(sizes[1], 1);
  EXPECT_EQ(total, 1);
  step = 1;
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(c[0], 15);
  // The graph's own value has not changed.
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, nullptr)));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(c[0], 13);

  // The norm of nothing is 0.
  ASSERT_TRUE(succeeded(graph->setInactive("x", {})));
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, {})));
  ASSERT_TRUE(succeeded(graph->bindResult("size", DType::F32, {})));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(total, 0);
}

/// `addPlan` with a node for the tiles and one for the ends of members.
std::string splitPlan() {
  std::string text = addPlan;
  size_t begin = text.find(R"({"kind": "kernel")"), end = text.rfind("]}");
  std::string node = text.substr(begin, end - begin);
  auto part = [&](StringRef name, StringRef always) {
    std::string changed = node;
    changed.replace(changed.find(R"("table": 0)"), 0,
                    (R"("part": ")" + name + R"(", )").str());
    changed.replace(changed.find("true}"), 4, always.str());
    return changed;
  };
  return text.substr(0, begin) + part("tiles", "false") + ", " +
         part("ends", "true") + R"(], "edges": [[0, 1, "programmatic"]]})";
}

TEST(CpuGraph, RunsTilesAndEndsInNodesOfTheirOwn) {
  auto program = std::make_shared<FakeProgram>();
  program->sweeps["add"] = addSweep();
  std::string text = splitPlan();
  std::unique_ptr<ProgramGraph> graph = makeGraph(text.c_str(), program);
  std::vector<float> a(1001, 1), b, c(1, 5);
  ASSERT_TRUE(
      succeeded(graph->bindList("x", DType::F32, {over(a), over(b), over(c)})));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(a[1000], 2);
  EXPECT_EQ(c[0], 6);
  EXPECT_EQ(cantFail(graph->readScalar("total", nullptr)), 1002);
  // Only the ends run without members.
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, {})));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(cantFail(graph->readScalar("total", nullptr)), 0);
  // The parts are those of the nodes: without the second node, nothing is
  // summed.
  Plan plan = parsed(text.c_str());
  plan.graph.nodes.pop_back();
  plan.graph.edges.clear();
  CompiledProgram tiles{plan, program};
  graph = cantFail(CpuGraph::create(
      cantFail(Executable::create(std::move(tiles), Target::Cpu, ""))));
  double total = -1;
  ASSERT_TRUE(
      succeeded(graph->bindResult("total", DType::F64, {{&total, {}}})));
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, {over(a)})));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(a[1000], 3);
  EXPECT_EQ(total, -1);
}

TEST(CpuGraph, PassesScalarsByAddress) {
  std::string text = addPlan;
  std::string buffer = R"({"buffer": 1})";
  text.replace(text.find(buffer), buffer.size(), R"({"scalar": 1})");
  auto program = std::make_shared<FakeProgram>();
  program->sweeps["add"] = addSweep();
  std::unique_ptr<ProgramGraph> graph = makeGraph(text.c_str(), program);
  std::vector<float> a(9, 0);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, {over(a)})));
  ASSERT_TRUE(succeeded(graph->setScalar("step", 3, nullptr)));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(a[8], 3);
  ASSERT_TRUE(succeeded(graph->setScalar("step", 0.5, nullptr)));
  EXPECT_EQ(cantFail(graph->readScalar("step", nullptr)), 0.5);
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(a[8], 3.5);
  double step = 7;
  ASSERT_TRUE(succeeded(graph->bindScalar("step", DType::F64, &step)));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(a[8], 10.5);
  EXPECT_EQ(cantFail(graph->readScalar("step", nullptr)), 7);
}

TEST(CpuGraph, FillsWithNumbers) {
  const char *text = R"json({
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument"},
    {"name": "y", "kind": "list", "dtype": "f32", "rank": 1, "role": "result", "extents": [[0, 0]], "members": 0},
    {"name": "s", "kind": "scalar", "dtype": "i32", "rank": 0, "role": "result"}],
  "results": [{"name": "y", "buffer": 1}, {"name": "s", "buffer": 2}],
  "nodes": [{"kind": "fill", "name": "a", "to": 1, "value": "inf"}, {"kind": "fill", "name": "b", "to": 2, "value": -7}]})json";
  std::unique_ptr<ProgramGraph> graph =
      makeGraph(text, std::make_shared<FakeProgram>());
  std::vector<float> x(9, 0), y(10, 1);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, {over(x)})));
  ASSERT_TRUE(succeeded(graph->bindResult("y", DType::F32, {{y.data(), {9}}})));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  for (int i = 0; i < 9; ++i)
    EXPECT_EQ(y[i], std::numeric_limits<float>::infinity());
  EXPECT_EQ(y[9], 1);
  EXPECT_EQ(cantFail(graph->readScalar("s", nullptr)), -7);
}

TEST(CpuGraph, KeepsItsStateWhenAPrepareFails) {
  auto program = std::make_shared<FakeProgram>();
  program->sweeps["add"] = addSweep();
  std::unique_ptr<ProgramGraph> graph = makeGraph(addPlan, program);
  std::vector<float> a(3, 1);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, {{nullptr, {3}}})));
  EXPECT_CONTAINS(failure(graph->replay(nullptr), StatusCode::BadInput),
                  "argument 'x', member 0");
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, {over(a)})));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(a[2], 2);
}

TEST(CpuGraph, NeedsItsSweeps) {
  CompiledProgram compiled{parsed(addPlan), std::make_shared<FakeProgram>()};
  auto executable =
      cantFail(Executable::create(std::move(compiled), Target::Cpu, ""));
  EXPECT_CONTAINS(failure(CpuGraph::create(executable), StatusCode::BadInput),
                  "sweep 'add'");
  EXPECT_CONTAINS(
      failure(Executable::create({parsed(addPlan), nullptr}, Target::Cpu, ""),
              StatusCode::BadInput),
      "compiled for the cpu target");
}

// y starts as x and is halved until no element is above 1, at most `limit`
// times.
const char *loopPlan = R"json({
  "name": "halve",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument"},
    {"name": "limit", "kind": "scalar", "dtype": "i32", "rank": 0, "role": "argument", "default": 100},
    {"name": "y", "kind": "list", "dtype": "f32", "rank": 1, "role": "result", "extents": [[0, 0]], "members": 0},
    {"name": "iterations", "kind": "scalar", "dtype": "i32", "rank": 0, "role": "result"},
    {"name": "more", "kind": "list", "dtype": "i1", "rank": 0, "role": "temporary", "extents": [], "members": 0}],
  "results": [{"name": "y", "buffer": 2}, {"name": "iterations", "buffer": 3}],
  "tables": [{"name": "halve", "rank": 1, "pointers": 2, "segments": [{"tile": 4,
     "operands": [{"buffer": 2, "index": "i"}, {"buffer": 4, "index": ""}], "count": [2, 0]}]}],
  "nodes": [{"kind": "copy", "name": "start", "from": 0, "to": 2}, {"kind": "fill", "name": "clear", "to": 4, "value": 0},
    {"kind": "while", "name": "loop", "iterations": 3, "limit": 1, "condition": 4, "variants": [{"form": "graph"}],
     "writes": [2, 3, 4],
     "body": {"nodes": [{"kind": "fill", "name": "none", "to": 4, "value": 0},
        {"kind": "kernel", "name": "halve", "sweeps": ["halve"], "table": 0, "variants": [{"entry": "unused"}],
         "arguments": [{"table": 0}], "writes": [2, 4]}], "edges": [[0, 1]]}}],
  "edges": [[0, 2], [1, 2]]})json";

TEST(CpuGraph, LoopsUntilNoMemberIsActive) {
  struct alignas(16) Descriptor {
    float *y;
    unsigned char *more;
    int64_t count;
    int32_t a, b, c, d;
  };
  auto program = std::make_shared<FakeProgram>();
  program->sweeps["halve"].tile = [](const void *descriptor, int,
                                     void *const *) {
    const Descriptor *tile = static_cast<const Descriptor *>(descriptor);
    for (int i = 0; i < tile->a; ++i)
      tile->y[i] /= 2;
  };
  program->sweeps["halve"].member = [](const void *descriptor, void *const *) {
    const Descriptor *member = static_cast<const Descriptor *>(descriptor);
    for (int64_t i = 0; i < member->count; ++i)
      *member->more |= member->y[i] > 1;
  };
  std::unique_ptr<ProgramGraph> graph = makeGraph(loopPlan, program);
  std::vector<float> a(9, 64), b(1, 3);
  ASSERT_TRUE(succeeded(graph->bindList("x", DType::F32, {over(a), over(b)})));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(cantFail(graph->readScalar("iterations", nullptr)), 6);
  EXPECT_EQ(a[0], 64);
  std::vector<ResultMember> y = cantFail(graph->result("y"));
  EXPECT_EQ(static_cast<float *>(y[0].address)[8], 1);
  ASSERT_TRUE(succeeded(graph->setScalar("limit", 2, nullptr)));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(cantFail(graph->readScalar("iterations", nullptr)), 2);
  EXPECT_EQ(static_cast<float *>(y[0].address)[8], 16);
  ASSERT_TRUE(succeeded(graph->setScalar("limit", 0, nullptr)));
  ASSERT_TRUE(succeeded(graph->replay(nullptr)));
  EXPECT_EQ(cantFail(graph->readScalar("iterations", nullptr)), 0);
  EXPECT_EQ(static_cast<float *>(y[0].address)[8], 64);
  EXPECT_CONTAINS(
      failure(graph->setScalar("limit", 0.5, nullptr), StatusCode::BadInput),
      "argument 'limit'");
}

TEST(CpuGraph, RefusesMissingResultsAndScalars) {
  auto program = std::make_shared<FakeProgram>();
  program->sweeps["add"] = addSweep();
  std::unique_ptr<ProgramGraph> graph = makeGraph(addPlan, program);
  EXPECT_CONTAINS(failure(graph->result("size"), StatusCode::BadInput),
                  "expected prepare() or replay() first");
  EXPECT_CONTAINS(failure(graph->result("other"), StatusCode::BadInput),
                  "there is no such result");
  EXPECT_CONTAINS(
      failure(graph->readScalar("x", nullptr), StatusCode::BadInput),
      "expected a scalar");
}

} // namespace
