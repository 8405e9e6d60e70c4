//===- KernelUnitsTest.cpp - Units of a source, compiled in parallel ------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Helpers.h"

#include "runtime/program/Executable.h"
#include "runtime/support/Parallel.h"
#include "runtime/support/Statistics.h"

#include "llvm/Support/Compiler.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <atomic>
#include <map>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace heddle::runtime;
using namespace llvm;

namespace {

/// Two kernels and a loop with a panel form.
const char *plan = R"json({
  "name": "units",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 2, "role": "argument", "donated": true},
    {"name": "limit", "kind": "scalar", "dtype": "i32", "rank": 0, "role": "argument", "default": 3},
    {"name": "iterations", "kind": "scalar", "dtype": "i32", "rank": 0, "role": "result"},
    {"name": "active", "kind": "list", "dtype": "i1", "rank": 0, "role": "temporary", "extents": [], "members": 0}],
  "results": [{"name": "x", "buffer": 0}, {"name": "iterations", "buffer": 2}],
  "tables": [{"name": "t", "rank": 2, "pointers": 3, "tile_descriptors": false, "segments": [{"tile": 2,
     "operands": [{"buffer": 0, "index": "ij"}, {"buffer": 0, "index": "stride"}, {"buffer": 3, "index": ""}],
     "count": [0, 0], "columns": [0, 1]}]}],
  "nodes": [
    {"kind": "kernel", "name": "a", "table": 0, "arguments": [{"table": 0}], "writes": [0],
     "variants": [{"entry": "first_few", "when": {"max_tiles": 8}}, {"entry": "first"}]},
    {"kind": "kernel", "name": "b", "table": 0, "variants": [{"entry": "second"}], "arguments": [{"table": 0}], "writes": [0]},
    {"kind": "while", "name": "loop", "sweeps": [], "table": 0, "iterations": 2, "limit": 1, "condition": 3,
     "variants": [{"entry": "whole", "cooperative": true, "grid": "resident", "when": {"max_tiles": 8}}, {"form": "graph"}],
     "arguments": [{"table": 0}], "writes": [0, 3],
     "panel": {"entry": "loop_panels", "table": 0, "element_bytes": [4], "compute_bytes": 4, "words": 1, "row_words": 1,
       "columns": 1, "rows": 1, "kept_of_row": 0, "kept_of_column": 0, "cluster_per_member": false, "arguments": [{"table": 0}]},
     "body": {"nodes": [{"kind": "kernel", "name": "k", "table": 0, "variants": [{"entry": "body_tiles"}],
        "arguments": [{"table": 0}], "writes": [0]}], "edges": []}}],
  "edges": [[0, 1], [1, 2]],
  "headers": {"factor.cuh": "constexpr float factor = 2;\n"},
  "source": [
    {"text": "#include \"factor.cuh\"\nstruct table { const void *all[3]; int counts[4]; };\n"},
    {"text": "__device__ float twice(float x) { return factor * x; }\n", "entries": ["first", "first_few"]},
    {"text": "extern \"C\" __global__ void first(table t) { *(float *)t.all[0] = twice(1); }\n", "entries": ["first"]},
    {"text": "extern \"C\" __global__ void first_few(table t) { *(float *)t.all[0] = twice(2); }\n", "entries": ["first_few"]},
    {"text": "extern \"C\" __global__ void second(table t) { *(float *)t.all[0] = 3; }\n", "entries": ["second"]},
    {"text": "__device__ float thrice(float x) { return 3 * x; }\n", "entries": ["whole", "body_tiles"]},
    {"text": "extern \"C\" __global__ void whole(table t) { *(float *)t.all[0] = thrice(1); }\n", "entries": ["whole"]},
    {"text": "extern \"C\" __global__ void body_tiles(table t) { *(float *)t.all[0] = thrice(2); }\n", "entries": ["body_tiles"]}],
  "panel_source": "extern \"C\" __global__ void loop_panels() {}\n",
  "options": ["--std=c++17"]})json";

//===----------------------------------------------------------------------===//
// Units of a source
//===----------------------------------------------------------------------===//

TEST(Source, EntriesOfTheSameSectionsAreOneUnit) {
  Source source;
  source.sections = {{"all ", {}},
                     {"ab ", {"a", "b"}},
                     {"c ", {"c"}},
                     {"abc", {"a", "b", "c"}}};
  std::vector<SourceUnit> units = source.units({"a", "c", "b", "a"});
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units[0].entries, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(units[0].text, "all ab abc");
  EXPECT_EQ(units[1].entries, std::vector<std::string>{"c"});
  EXPECT_EQ(units[1].text, "all c abc");
  EXPECT_EQ(source.text(), "all ab c abc");
  EXPECT_EQ(Source("whole").units({"a", "b"}).size(), 1u);
  EXPECT_TRUE(Source("").empty());
}

TEST(Source, SurvivesJson) {
  Plan parsed = cantFail(parsePlan(plan));
  ASSERT_EQ(parsed.source.sections.size(), 8u);
  EXPECT_EQ(cantFail(planFromJSON(planToJSON(parsed))).source, parsed.source);
  parsed.source = std::string("one text");
  json::Value value = planToJSON(parsed);
  EXPECT_EQ(value.getAsObject()->getString("source"), "one text");
  EXPECT_EQ(cantFail(planFromJSON(value)).source, parsed.source);
  (*value.getAsObject())["source"] = 3;
  EXPECT_CONTAINS(failure(planFromJSON(value), StatusCode::BadInput),
                  "expected a string or a list of sections");
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

TEST(Parallel, CallsEveryIndexOnce) {
  for (const char *threads : {"1", "2", "50"}) {
    ScopedVariable limit("HEDDLE_THREADS", threads);
    EXPECT_EQ(threadLimit(), unsigned(std::atoi(threads)));
    std::vector<std::atomic<int>> calls(100);
    runInParallel(calls.size(), [&](size_t index) { ++calls[index]; });
    for (const auto &count : calls)
      EXPECT_EQ(count, 1);
  }
  runInParallel(0, [](size_t) { FAIL(); });
}

/// Runs in a process that has no memory for the stack of another thread.
[[noreturn]] void workWithoutThreads() {
  setenv("HEDDLE_THREADS", "8", 1);
  rlimit none = {1, 1};
  if (setrlimit(RLIMIT_AS, &none) != 0)
    _exit(2);
  int calls = 0;
  runInParallel(9, [&](size_t) { ++calls; });
  _exit(calls == 9 ? 0 : 1);
}

TEST(ParallelDeathTest, NeedsNoThread) {
  if (LLVM_ADDRESS_SANITIZER_BUILD)
    GTEST_SKIP() << "the address sanitizer itself needs memory";
  EXPECT_EXIT(workWithoutThreads(), testing::ExitedWithCode(0), "");
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

struct KernelUnitsTest : testing::Test {
  TemporaryFolder folder;
  ScopedVariable place{"HEDDLE_CACHE_DIR", folder.path("cache").c_str()},
      size{"HEDDLE_CACHE_SIZE", "64"},
      temporary{"TMPDIR", folder.path().c_str()},
      threads{"HEDDLE_THREADS", "4"};
  std::shared_ptr<Plan> parsed =
      std::make_shared<Plan>(cantFail(parsePlan(plan)));
  uint64_t compilations = 0, hits = 0;

  void SetUp() override {
    if (Expected<const Nvrtc *> nvrtc = Nvrtc::get(); !nvrtc)
      GTEST_SKIP() << takeError(nvrtc.takeError()).second;
    count();
  }
  void count() {
    compilations = statistics().compilations;
    hits = statistics().cache_hits;
  }
  /// Expects these numbers of compilations and cache hits since the last
  /// count().
  void expect(uint64_t compiled, uint64_t found) {
    EXPECT_EQ(statistics().compilations - compilations, compiled);
    EXPECT_EQ(statistics().cache_hits - hits, found);
    count();
  }
  KernelUnits units(const char *arch = "sm_90") { return {parsed, arch}; }
  std::string &section(size_t index) {
    return parsed->source.sections[index].text;
  }
  /// The contents of the cache, by key.
  std::map<std::string, std::string> cached() {
    std::map<std::string, std::string> entries;
    std::error_code error;
    for (sys::fs::directory_iterator item(folder.path("cache"), error), end;
         !error && item != end; item.increment(error))
      entries[item->path()] =
          (*MemoryBuffer::getFile(item->path()))->getBuffer().str();
    return entries;
  }
};

TEST_F(KernelUnitsTest, EveryUnitHasItsOwnEntryInTheCache) {
  KernelUnits first = units();
  ASSERT_TRUE(succeeded(first.compile()));
  expect(3, 0);
  EXPECT_EQ(first.log(), "");
  ASSERT_TRUE(succeeded(units().compile()));
  expect(0, 3);
  section(4) += "// another text\n";
  ASSERT_TRUE(succeeded(units().compile()));
  expect(1, 2);
}

TEST_F(KernelUnitsTest, OneThreadCompilesTheSame) {
  ASSERT_TRUE(succeeded(units().compile()));
  std::map<std::string, std::string> parallel = cached();
  EXPECT_EQ(parallel.size(), 3u);
  sys::fs::remove_directories(folder.path("cache"));
  ScopedVariable one("HEDDLE_THREADS", "1");
  ASSERT_TRUE(succeeded(units().compile()));
  EXPECT_EQ(cached(), parallel);
  expect(6, 0);
}

TEST_F(KernelUnitsTest, OtherFormsOfAPanelLoopAreDeferred) {
  const PlanNode &loop = parsed->graph.nodes[2];
  KernelUnits kernels = units();
  ASSERT_TRUE(succeeded(kernels.compile()));
  expect(3, 0);
  ASSERT_TRUE(succeeded(kernels.compileFor({}, &loop)));
  expect(2, 0);
  ASSERT_TRUE(succeeded(kernels.compileFor({}, &loop)));
  ASSERT_TRUE(succeeded(kernels.compileFor({}, &parsed->graph.nodes[0])));
  expect(0, 0);
  // Before sm_90 there are no panel kernels, so no unit is deferred.
  ASSERT_TRUE(succeeded(units("sm_80").compile()));
  expect(5, 0);
}

TEST_F(KernelUnitsTest, KernelsThatTakeDistancesAreDeferred) {
  parsed->graph.nodes[0].variants[0].distances = {0};
  KernelUnits kernels = units();
  ASSERT_TRUE(succeeded(kernels.compile()));
  EXPECT_TRUE(kernels.awaitsCompilation("first_few"));
  EXPECT_FALSE(kernels.awaitsCompilation("first"));
  ASSERT_TRUE(succeeded(kernels.compileFor({}, {}, {"first_few"})));
  EXPECT_FALSE(kernels.awaitsCompilation("first_few"));
}

TEST_F(KernelUnitsTest, KernelsThatReadScalarsByAddressAreDeferred) {
  // The graph owns the scalar, so that a replay launches first_few, and only a
  // capture launches first.
  PlanNode &node = parsed->graph.nodes[0];
  node.arguments.push_back({ArgumentKind::Scalar, 1});
  node.variants[0].scalarsByValue = true;
  node.variants[0].maxTiles.reset();
  KernelUnits kernels = units();
  ASSERT_TRUE(succeeded(kernels.compile()));
  expect(2, 0);
  EXPECT_FALSE(kernels.awaitsCompilation("first_few"));
  EXPECT_TRUE(kernels.awaitsCompilation("first"));
  ASSERT_TRUE(succeeded(kernels.compileEntries({"first"})));
  expect(1, 0);
  EXPECT_FALSE(kernels.awaitsCompilation("first"));
  // The scalar may be the caller's.
  ASSERT_TRUE(succeeded(units().compileFor({}, &node)));
  expect(0, 3);
  // If first_few does not launch for all extents, replays need first.
  node.variants[0].maxTiles = 8;
  ASSERT_TRUE(succeeded(units().compile()));
  expect(0, 3);
}

TEST_F(KernelUnitsTest, ASizeClassCompilesInOneBatchWithTheOtherUnits) {
  PanelClass panels;
  KernelUnits all = units();
  EXPECT_TRUE(all.needsSizeClass());
  EXPECT_FALSE(units("sm_80").needsSizeClass());
  ASSERT_TRUE(succeeded(all.compileFor(panels, {})));
  expect(4, 0);
  ASSERT_TRUE(succeeded(all.compileFor(panels, &parsed->graph.nodes[2])));
  expect(2, 0);
  // If a class fails, the caller can use another form of the loop.
  parsed->panelSource += "broken;\n";
  ASSERT_TRUE(succeeded(units().compileFor(panels, {})));
  expect(1, 3);
}

TEST_F(KernelUnitsTest, AProgramWithAPanelLoopCanCompileWithTheFirstBinding) {
  cantFail(Executable::create({*parsed, nullptr}, Target::Cuda, "sm_90",
                              Executable::Compile::withBinding));
  expect(0, 0);
  cantFail(Executable::create({*parsed, nullptr}, Target::Cuda, "sm_80",
                              Executable::Compile::withBinding));
  expect(5, 0);
  ScopedVariable none("HEDDLE_NVRTC", folder.path("none").c_str());
  failure(Executable::create({*parsed, nullptr}, Target::Cuda, "sm_90",
                             Executable::Compile::withBinding),
          StatusCode::BadInput);
}

TEST_F(KernelUnitsTest, AFailureNamesTheEntry) {
  section(4) += "broken;\n";
  std::string text = failure(units().compile(), StatusCode::Failed);
  EXPECT_CONTAINS(text, "NVRTC failed on 'second' for sm_90");
  EXPECT_CONTAINS(text, "second.cu(4): error");
  // Of several failures, the first in plan order is reported, on any thread.
  section(3) += "wrong;\n";
  for (int repetition = 0; repetition < 3; ++repetition)
    EXPECT_CONTAINS(failure(units().compile(), StatusCode::Failed),
                    "NVRTC failed on 'first_few' for sm_90");
  // The unit that compiled is in the cache.
  count();
  failure(units().compile(), StatusCode::Failed);
  expect(2, 1);
}

TEST_F(KernelUnitsTest, AFailureDoesNotAffectOtherUnits) {
  section(6) += "broken;\n";
  KernelUnits broken = units();
  ASSERT_TRUE(succeeded(broken.compile()));
  EXPECT_CONTAINS(failure(broken.compileFor({}, &parsed->graph.nodes[2]),
                          StatusCode::Failed),
                  "'whole'");
  EXPECT_CONTAINS(failure(broken.compileFor({}, &parsed->graph.nodes[2]),
                          StatusCode::Failed),
                  "'whole'");
}

TEST_F(KernelUnitsTest, TwoThreadsCompileAUnitOnce) {
  KernelUnits shared = units();
  std::atomic<int> failures{0};
  auto use = [&] {
    failures += !succeeded(shared.compile());
    failures += !succeeded(shared.compileFor({}, &parsed->graph.nodes[2]));
  };
  std::thread other(use);
  use();
  other.join();
  EXPECT_EQ(failures, 0);
  expect(5, 0);
}

TEST_F(KernelUnitsTest, TwoExecutablesCompileAtOnce) {
  std::atomic<int> failures{0};
  auto use = [&] {
    Expected<std::shared_ptr<Executable>> executable =
        Executable::create({*parsed, nullptr}, Target::Cuda, "sm_90");
    failures += !succeeded(executable.takeError());
  };
  std::thread other(use);
  use();
  other.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(cached().size(), 3u);
}

TEST_F(KernelUnitsTest, DumpsUnderTheNameOfTheProgram) {
  ScopedVariable dump("HEDDLE_DUMP_DIR", folder.path("dump").c_str());
  cantFail(Executable::create({*parsed, nullptr}, Target::Cuda, "sm_90"));
  for (const char *file :
       {"plan.json", "units.cu", "factor.cuh", "first.cu", "second.cu",
        "first.sm_90.cubin", "second.sm_90.log"})
    EXPECT_TRUE(sys::fs::exists(folder.path("dump/units/") + file)) << file;
}

} // namespace
