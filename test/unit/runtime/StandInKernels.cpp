//===- StandInKernels.cpp - Kernels of the stand-in driver ----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of test/gpu/RuntimePlans.h and the built-in kernels.
//
//===----------------------------------------------------------------------===//

#include "StandInKernels.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

namespace stand_in {

thread_local std::map<CUgraphConditionalHandle, unsigned> conditions;

namespace {

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

/// The argument of heddle_move_operands.
struct Moves {
  char *members, *tiles;
  int bytes, operandOffset, memberOffset;
  int firstMember, memberCount;
  int firstTile, tileCount;
  int unused;
  long long distance[480];
};

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
  for (int bytes : {128, 16}) {
    long long most = 1;
    for (int p = 0; p < 2; ++p)
      if (steps[4 + p] > 0)
        most = std::max(most, bytes / steps[4 + p]);
    for (long long shift = 0; shift < most; ++shift) {
      bool aligned = count + shift >= -2 * steps[0];
      for (int p = 0; p < 2; ++p)
        if (steps[4 + p] > 0)
          aligned &= (reinterpret_cast<uintptr_t>(operands[p]) -
                      shift * steps[4 + p]) %
                             bytes ==
                         0 &&
                     steps[0] * steps[4 + p] % bytes == 0;
      if (aligned)
        return shift;
    }
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
    {"sum_tiles",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       for (unsigned block = 0; block < grid; ++block) {
         const Tile &tile = static_cast<const Tile *>(table.tiles)[block];
         double &sum = argument<double *>(a, 1)[block];
         sum = 0;
         for (int i = 0; i < tile.count; ++i)
           sum += static_cast<const float *>(tile.operand[0])[i];
       }
     }},
    {"sum_ends",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       *argument<double *>(a, 2) = table.memberCount;
       for (unsigned block = 0; block < grid && table.memberCount; ++block) {
         const Member &member =
             static_cast<const Member *>(table.members)[block];
         const double *sums = argument<double *>(a, 1) + member.firstTile;
         double sum = 0;
         for (int k = 0; k < member.tiles; ++k)
           sum += sums[k];
         *static_cast<float *>(member.operand[1]) = static_cast<float>(sum);
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
    {"accumulate_tiles",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       for (unsigned block = 0; block < grid; ++block) {
         const Tile &tile = static_cast<const Tile *>(table.tiles)[block];
         for (int i = 0; i < tile.count; ++i)
           static_cast<float *>(tile.operand[0])[i] +=
               static_cast<const float *>(tile.operand[1])[i];
       }
     }},
    {"accumulate_distances",
     [](const Arguments &a, unsigned grid) {
       Table table = argument<Table>(a, 0);
       auto distances = argument<std::array<long long, 480>>(a, 1);
       for (unsigned block = 0; block < grid; ++block) {
         const Tile &tile = static_cast<const Tile *>(table.tiles)[block];
         auto *g = static_cast<const char *>(tile.operand[1]) +
                   (tile.member < 480 ? distances[tile.member] : 0);
         for (int i = 0; i < tile.count; ++i)
           static_cast<float *>(tile.operand[0])[i] +=
               reinterpret_cast<const float *>(g)[i];
       }
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
                           first * steps[4 + p]
                     : nullptr;
           tile.first = first;
           tile.count = static_cast<int>(
               std::min(size - (k ? 0 : shift), members[m].count - first));
           tile.member = m;
           tile.segment = members[m].segment;
           tile.tiles = members[m].tiles;
         }
     }},
    {"heddle_move_operands",
     [](const Arguments &a, unsigned) {
       Moves moves = argument<Moves>(a, 0);
       auto move = [&](char *descriptor, int member) {
         char *operand = descriptor + moves.operandOffset;
         long long address;
         std::memcpy(&address, operand, sizeof(address));
         address += moves.distance[member];
         std::memcpy(operand, &address, sizeof(address));
       };
       for (int t = 0; t < moves.tileCount; ++t) {
         char *tile = moves.tiles + size_t(moves.firstTile + t) * moves.bytes;
         int member;
         std::memcpy(&member, tile + moves.memberOffset, sizeof(member));
         move(tile, member - moves.firstMember);
       }
       for (int m = 0; m < moves.memberCount; ++m)
         move(moves.members + size_t(moves.firstMember + m) * moves.bytes, m);
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

} // namespace

size_t argumentCount(const std::string &name) {
  static const std::map<std::string, size_t> counts = {
      {"add_tiles", 2},
      {"add_search", 2},
      {"scale_by_value", 4},
      {"scale_by_address", 4},
      {"chain_first", 1},
      {"sum_tiles", 3},
      {"sum_ends", 3},
      {"chain_second", 1},
      {"halve_tiles", 1},
      {"halve_loop", 3},
      {"accumulate_tiles", 1},
      {"accumulate_distances", 2},
      {"heddle_expand_tiles", 7},
      {"heddle_move_operands", 1},
      {"heddle_copy", 3},
      {"heddle_fill", 4},
      {"heddle_nothing", 0},
      {"heddle_loop_begin", 3},
      {"heddle_loop_next", 5}};
  auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

size_t argumentBytes(const std::string &name, size_t index) {
  if (name == "accumulate_distances" && index == 1)
    return 480 * sizeof(long long);
  return name == "heddle_move_operands" ? sizeof(Moves) : 32;
}

bool anyKernelExists() {
  const char *kernels = std::getenv("HEDDLE_STAND_IN_KERNELS");
  return kernels && std::strcmp(kernels, "any") == 0;
}

bool kernelExists(const std::string &name) {
  return kernels.count(name) || anyKernelExists();
}

void runKernel(const std::string &name, const Arguments &arguments,
               unsigned grid) {
  if (auto found = kernels.find(name); found != kernels.end())
    found->second(arguments, grid);
}

} // namespace stand_in
