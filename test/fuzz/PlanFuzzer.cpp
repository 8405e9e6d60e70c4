//===- PlanFuzzer.cpp - The JSON form of plans ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads a plan, prints it, creates a graph, binds every argument and prepares
// the graph, with the stand-in driver. Nothing is replayed: a plan states what
// its kernels do, and the runtime cannot check that.
//
//===----------------------------------------------------------------------===//

#include "Fuzzer.h"
#include "TokenMutator.h"

#include "runtime/heddle.h"

#include <string>

using namespace heddle::fuzz;

static const std::vector<std::string_view> words = splitWords(R"(
"name" "kind" "dtype" "rank" "role" "donated" "default" "extents" "members"
"buffer" "index" "tile" "shift" "operands" "count" "columns" "pointers"
"tile_descriptors" "block_columns" "segments" "per" "table" "bytes" "zero"
"entry" "form" "block" "shared" "cooperative" "scalars" "grid" "when"
"max_tiles" "min_tiles" "fits_l2" "max_columns" "max_parts" "cluster" "value" "address" "graph" "tiles" "resident"
"list" "scalar" "argument" "result" "temporary" "i" "j" "ij" "length" "stride"
"member" "tile_column" "once" "panel_column" "row" "panel" "column" "kernel" "while"
"copy" "fill" "from" "to" "body" "iterations" "limit" "condition" "writes"
"always" "sweeps" "variants" "arguments" "nodes" "edges" "programmatic"
"element_bytes" "compute_bytes" "words" "row_words" "rows" "kept_of_row"
"kept_of_column" "cluster_per_member" "f64" "f32" "f16" "bf16" "i1" "i8" "i32"
"i64" "inf" "" null true false -1 0 1 2 1e300 0.5 [] {} [0,0] [1,1]
)");

/// Memory of the stand-in's device, which every list is bound to.
static char *deviceMemory(heddle_executable *executable) {
  static heddle_memory *memory = nullptr;
  if (!memory && heddle_memory_create(executable, 1 << 16, &memory))
    return nullptr;
  return static_cast<char *>(heddle_memory_address(memory));
}

/// Binds every list argument to one matrix of 3 x 4 and one of 2 x 4, or to
/// vectors. Most plans need other extents of some list and are refused.
static void bindArguments(heddle_executable *executable, heddle_graph *graph) {
  char *memory = deviceMemory(executable);
  size_t offset = 0;
  for (size_t k = 0; memory && k < heddle_argument_count(executable); ++k) {
    heddle_buffer_info info;
    if (heddle_argument(executable, k, &info) || !info.is_list)
      continue;
    void *pointers[] = {memory + offset, memory + offset + 256};
    offset = (offset + 512) % (1 << 15);
    int ranks[] = {info.rank, info.rank};
    int64_t matrices[] = {3, 4, 2, 4}, vectors[] = {4, 4};
    heddle_bind_list(graph, info.name, info.dtype, 2, pointers, ranks,
                     info.rank == 2 ? matrices : vectors);
  }
}

static void run(const uint8_t *data, size_t size) {
  std::string text(textOf(data, size));
  heddle_options options = {sizeof(options), "cuda", nullptr};
  heddle_executable *executable = nullptr;
  if (heddle_load_plan(text.c_str(), &options, &executable))
    return;
  char *printed = nullptr;
  if (heddle_executable_plan(executable, &printed))
    finding("a loaded plan cannot be printed");
  heddle_executable *again = nullptr;
  if (heddle_load_plan(printed, &options, &again))
    finding(
        ("a printed plan cannot be loaded: " + std::string(heddle_last_error()))
            .c_str());
  heddle_executable_free(again);
  heddle_free(printed);
  heddle_graph *graph = nullptr;
  if (!heddle_graph_create(executable, &graph)) {
    bindArguments(executable, graph);
    heddle_prepare(graph, nullptr);
  }
  heddle_graph_free(graph);
  heddle_executable_free(executable);
}

static size_t mutate(uint8_t *data, size_t size, size_t maxSize,
                     unsigned seed) {
  return mutateText(data, size, maxSize, seed, words);
}

const heddle::fuzz::Target heddle::fuzz::planTarget = {"plan", [] {}, run,
                                                       mutate};
