//===- RuntimePlans.h - Hand-written plans and kernels ----------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stand-in driver has C++ functions for these kernels
// (test/unit/runtime/StandInKernels.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_GPU_RUNTIMEPLANS_H
#define HEDDLE_TEST_GPU_RUNTIMEPLANS_H

#include "runtime/plan/Plan.h"

#include <string>

namespace heddle::runtime::test {

using namespace llvm;

struct EmbeddedFile {
  const char *name;
  const char *contents;
};
inline const EmbeddedFile deviceFiles[] = {
#include "RuntimeTestsSource.inc"
};

// The kernels of all plans below.
inline const char *const kernelSource = R"cuda(
#include "tables.cuh"
struct alignas(16) tile_descriptor {
  void *operand[2];
  long long first;
  int count, member, segment, tiles;
};
using member_descriptor = heddle::member_descriptor<2, 1>;

__device__ static void add_to(const tile_descriptor &tile, const double *step) {
  float *x = (float *)tile.operand[0];
  for (int i = threadIdx.x; i < tile.count; i += blockDim.x)
    x[i] += (float)*step;
  if (tile.first == 0 && threadIdx.x == 0)
    *(float *)tile.operand[1] += 1;
}

// x += step; count += 1 for every member.
extern "C" __global__ void add_tiles(heddle::table table, const double *step) {
  add_to(((const tile_descriptor *)table.tiles)[blockIdx.x], step);
}

// The same, without tile descriptors.
extern "C" __global__ void add_search(heddle::table table, const double *step) {
  const member_descriptor *members = (const member_descriptor *)table.members;
  int m = 0, block = blockIdx.x;
  while (m + 1 < table.member_count && members[m + 1].first_tile <= block)
    ++m;
  tile_descriptor tile = {};
  tile.first = (block - members[m].first_tile) * 4;
  tile.operand[0] = (float *)members[m].operand[0] + tile.first;
  tile.operand[1] = members[m].operand[1];
  tile.count = min(4ll, members[m].count - tile.first);
  add_to(tile, step);
}

// x = x * scale + step if `on` is set. The three scalars come by value or by address.
__device__ static void scale(const tile_descriptor &tile, double step, float scale, bool on) {
  float *x = (float *)tile.operand[0];
  for (int i = threadIdx.x; on && i < tile.count; i += blockDim.x)
    x[i] = x[i] * scale + (float)step;
}
extern "C" __global__ void scale_by_value(heddle::table table, double step, float by, bool on) {
  scale(((const tile_descriptor *)table.tiles)[blockIdx.x], step, by, on);
}
extern "C" __global__ void scale_by_address(heddle::table table, const double *step, const float *by, const bool *on) {
  scale(((const tile_descriptor *)table.tiles)[blockIdx.x], *step, *by, *on);
}

// x += g.
extern "C" __global__ void accumulate_tiles(heddle::table table) {
  const tile_descriptor &tile = ((const tile_descriptor *)table.tiles)[blockIdx.x];
  for (int i = threadIdx.x; i < tile.count; i += blockDim.x)
    ((float *)tile.operand[0])[i] += ((const float *)tile.operand[1])[i];
}

extern "C" __global__ void accumulate_distances(heddle::table table,
                                                const __grid_constant__ heddle::distances<1> distances) {
  tile_descriptor tile = ((const tile_descriptor *)table.tiles)[blockIdx.x];
  heddle::move_operand<1, 0>(tile, distances);
  for (int i = threadIdx.x; i < tile.count; i += blockDim.x)
    ((float *)tile.operand[0])[i] += ((const float *)tile.operand[1])[i];
}

// y = x + 1 after a delay; then x = y in a kernel that starts early and takes the tiles in reverse order.
extern "C" __global__ void chain_first(heddle::table table) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  const tile_descriptor &tile = ((const tile_descriptor *)table.tiles)[blockIdx.x];
  __nanosleep(20000);
  for (int i = threadIdx.x; i < tile.count; i += blockDim.x)
    ((float *)tile.operand[1])[i] = ((float *)tile.operand[0])[i] + 1;
}
extern "C" __global__ void chain_second(heddle::table table) {
  const tile_descriptor &tile = ((const tile_descriptor *)table.tiles)[table.tile_count - 1 - blockIdx.x];
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  for (int i = threadIdx.x; i < tile.count; i += blockDim.x)
    ((float *)tile.operand[0])[i] = ((volatile float *)tile.operand[1])[i];
}

// The sums of tiles after a delay; then, in a kernel that starts early and has a block
// for each member, the sums of members and the number of members.
extern "C" __global__ void sum_tiles(heddle::table table, double *of_tiles, double *) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
  const tile_descriptor &tile = ((const tile_descriptor *)table.tiles)[blockIdx.x];
  __nanosleep(20000);
  double sum = 0;
  for (int i = 0; i < tile.count; ++i)
    sum += ((const float *)tile.operand[0])[i];
  if (threadIdx.x == 0)
    of_tiles[blockIdx.x] = sum;
}
extern "C" __global__ void sum_ends(heddle::table table, double *of_tiles, double *members) {
  const member_descriptor *member = (const member_descriptor *)table.members + blockIdx.x;
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *members = table.member_count;
  if (threadIdx.x > 0 || table.member_count == 0)
    return;
  double sum = 0;
  for (int k = 0; k < member->tiles; ++k)
    sum += ((const volatile double *)of_tiles)[member->first_tile + k];
  *(float *)member->operand[1] = sum;
}

// y /= 2, and a flag for members with an element above 1.
extern "C" __global__ void halve_tiles(heddle::table table) {
  const tile_descriptor &tile = ((const tile_descriptor *)table.tiles)[blockIdx.x];
  float *y = (float *)tile.operand[0];
  for (int i = threadIdx.x; i < tile.count; i += blockDim.x) {
    y[i] /= 2;
    if (y[i] > 1)
      *(unsigned char *)tile.operand[1] = 1;
  }
}

// The whole loop in one block.
extern "C" __global__ void halve_loop(heddle::table table, int *iterations, const int *limit) {
  __shared__ int more;
  int taken = 0;
  for (bool go = *limit > 0; go;) {
    __syncthreads();
    if (threadIdx.x == 0)
      more = 0;
    __syncthreads();
    for (int t = 0; t < table.tile_count; ++t) {
      const tile_descriptor &tile = ((const tile_descriptor *)table.tiles)[t];
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
    *iterations = taken;
}
)cuda";

inline const char *const addPlan = R"json({
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
                  {"entry": "add_search", "block": 64, "grid": "tiles", "tile_descriptors": false}],
     "arguments": [{"table": 0}, {"buffer": 2}], "writes": [0, 1]}],
  "options": ["--std=c++17"]})json";

inline const char *const scalePlan = R"json({
  "name": "scale",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument", "donated": true},
    {"name": "step", "kind": "scalar", "dtype": "f64", "rank": 0, "role": "argument", "default": 1},
    {"name": "by", "kind": "scalar", "dtype": "f32", "rank": 0, "role": "argument", "default": 2},
    {"name": "on", "kind": "scalar", "dtype": "i1", "rank": 0, "role": "argument", "default": 1}],
  "results": [{"name": "x", "buffer": 0}],
  "tables": [{"name": "scale", "rank": 1, "pointers": 2, "segments": [{"tile": 4, "align_tiles": true,
     "operands": [{"buffer": 0, "index": "i"}, {"buffer": 0, "index": ""}], "count": [0, 0]}]}],
  "nodes": [{"kind": "kernel", "name": "scale", "sweeps": ["scale"], "table": 0,
     "variants": [{"entry": "scale_by_value", "block": 32, "scalars": "value"},
                  {"entry": "scale_by_address", "block": 32, "scalars": "address"}],
     "arguments": [{"table": 0}, {"scalar": 1}, {"scalar": 2}, {"scalar": 3}], "writes": [0]}],
  "options": ["--std=c++17"]})json";

// x += g, with a list that is only read.
inline const char *const accumulatePlan = R"json({
  "name": "accumulate",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument", "donated": true},
    {"name": "g", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument"}],
  "results": [{"name": "x", "buffer": 0}],
  "tables": [{"name": "accumulate", "rank": 1, "pointers": 2, "segments": [{"tile": 4, "align_tiles": true,
     "operands": [{"buffer": 0, "index": "i"}, {"buffer": 1, "index": "i"}], "count": [0, 0]}]}],
  "nodes": [{"kind": "kernel", "name": "accumulate", "sweeps": ["accumulate"], "table": 0,
     "variants": [{"entry": "accumulate_tiles", "block": 32}], "arguments": [{"table": 0}], "writes": [0]}],
  "options": ["--std=c++17"]})json";

// The same with a kernel that takes distances.
inline std::string accumulateWithDistances() {
  std::string text = accumulatePlan;
  const std::string variants = R"("variants": [)";
  text.insert(text.find(variants) + variants.size(),
              R"({"entry": "accumulate_distances", "block": 32,
                  "distances": [1]}, )");
  return text;
}

// x += 1 through y, in two kernels with a programmatic edge.
inline const char *const chainPlan = R"json({
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

// The tiles of a sweep, then the ends of its members, which also run without
// members.
inline const char *const sumPlan = R"json({
  "name": "sum",
  "buffers": [
    {"name": "x", "kind": "list", "dtype": "f32", "rank": 1, "role": "argument"},
    {"name": "sum", "kind": "list", "dtype": "f32", "rank": 0, "role": "argument", "donated": true},
    {"name": "members", "kind": "scalar", "dtype": "f64", "rank": 0, "role": "result"}],
  "results": [{"name": "sum", "buffer": 1}, {"name": "members", "buffer": 2}],
  "tables": [{"name": "sum", "rank": 1, "pointers": 2, "segments": [{"tile": 64,
     "operands": [{"buffer": 0, "index": "i"}, {"buffer": 1, "index": ""}], "count": [0, 0]}]}],
  "scratch": [{"per": "tile", "table": 0, "bytes": 8}],
  "nodes": [
    {"kind": "kernel", "name": "sum", "sweeps": ["sum"], "part": "tiles", "table": 0,
     "variants": [{"entry": "sum_tiles", "block": 32}],
     "arguments": [{"table": 0}, {"scratch": 0}, {"buffer": 2}]},
    {"kind": "kernel", "name": "sum_ends", "sweeps": ["sum"], "part": "ends", "table": 0, "always": true,
     "variants": [{"entry": "sum_ends", "block": 32, "grid": "members"}],
     "arguments": [{"table": 0}, {"scratch": 0}, {"buffer": 2}], "writes": [1, 2]}],
  "edges": [[0, 1, "programmatic"]],
  "options": ["--std=c++17"]})json";

// Fills of every width, of lists and of scalars.
inline const char *const fillPlan = R"json({
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

// y starts as x and is halved until no element is above 1, at most `limit`
// times. VARIANTS stands for the variants of the loop.
inline const char *const halvePlan = R"json({
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
    {"kind": "while", "name": "loop", "iterations": 3, "limit": 1, "condition": 4, "table": 0, "variants": [VARIANTS],
     "arguments": [{"table": 0}, {"buffer": 3}, {"buffer": 1}], "writes": [2, 3, 4],
     "body": {"nodes": [{"kind": "fill", "name": "none", "to": 4, "value": 0},
        {"kind": "kernel", "name": "halve", "sweeps": ["halve"], "table": 0,
         "variants": [{"entry": "halve_tiles", "block": 32, "grid": "tiles"}],
         "arguments": [{"table": 0}], "writes": [2, 4]}], "edges": [[0, 1]]}}],
  "edges": [[0, 2], [1, 2]],
  "options": ["--std=c++17"]})json";
inline const char *const graphForm = R"({"form": "graph"})";
inline const char *const cooperativeForm =
    R"({"entry": "halve_loop", "cooperative": true, "grid": 1, "block": 128})";

inline Plan withKernels(StringRef text) {
  Plan plan = cantFail(parsePlan(text));
  plan.source = kernelSource;
  for (const EmbeddedFile &file : deviceFiles)
    plan.headers[file.name] = file.contents;
  return plan;
}

inline Plan halve(const std::string &variants) {
  std::string text = halvePlan;
  text.replace(text.find("VARIANTS"), 8, variants);
  return withKernels(text);
}

} // namespace heddle::runtime::test

#endif // HEDDLE_TEST_GPU_RUNTIMEPLANS_H
