// tables.cuh: the tables that describe the work of blocks.
//
// docs/plan.md describes their layout and the kernel that writes tile descriptors.
#pragma once

// The blocks that should fit on a multiprocessor. If that leaves too few registers, so
// that the compiler spills, the source is compiled again for fewer blocks.
#ifndef HEDDLE_FEWER_BLOCKS
#define HEDDLE_FEWER_BLOCKS 0
#endif
// The most blocks of 256 threads that fit on a multiprocessor.
#if __CUDA_ARCH__ == 750
#define HEDDLE_MOST_BLOCKS 4
#elif __CUDA_ARCH__ >= 1100 || (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900)
#define HEDDLE_MOST_BLOCKS 6
#else
#define HEDDLE_MOST_BLOCKS 8
#endif
#define HEDDLE_WANTED_BLOCKS(blocks) ((blocks) < HEDDLE_MOST_BLOCKS ? (blocks) : HEDDLE_MOST_BLOCKS)
// A thread has as many registers with seven blocks as with eight.
#define HEDDLE_LESS(blocks) (HEDDLE_FEWER_BLOCKS && (blocks) == 8 ? HEDDLE_FEWER_BLOCKS + 1 : HEDDLE_FEWER_BLOCKS)
#define HEDDLE_LEFT(blocks) ((blocks) > HEDDLE_LESS(blocks) ? (blocks) - HEDDLE_LESS(blocks) : 1)
#define HEDDLE_BLOCKS(blocks) HEDDLE_LEFT(HEDDLE_WANTED_BLOCKS(blocks))

namespace heddle {

// A kernel's view of the descriptors of a sweep's members and tiles.
struct table {
  const void *tiles, *members;
  unsigned *tickets; // one for each member descriptor, one for the whole list
  int tile_count, member_count;
  int blocks_per_tile, parts_per_tile; // for a sweep that divides rows, the most parts of a row that has several blocks
  const int *chosen; // indices of the `member_count` members that a panel launch processes; null: all members
};

// The index of the `k`th member that a panel launch processes.
__device__ __forceinline__ int chosen_member(const table &table, int k) { return table.chosen ? table.chosen[k] : k; }

// The value at `from`, which the launch does not write. Flags and numbers of 16 bits are
// read as their bits.
template <class T> __device__ __forceinline__ T read_constant(const T *from) {
  if constexpr (sizeof(T) == 1) {
    union { unsigned char bits; T value; } read = {__ldg(reinterpret_cast<const unsigned char *>(from))};
    return read.value;
  } else if constexpr (sizeof(T) == 2) {
    union { unsigned short bits; T value; } read = {__ldg(reinterpret_cast<const unsigned short *>(from))};
    return read.value;
  } else {
    return __ldg(from);
  }
}

// A scalar argument that nothing in the program writes: its value, or its address
// in the caller's memory.
template <class T, bool ByValue> struct scalar_argument {
  T value;
  __device__ __forceinline__ T operator*() const { return value; }
};
template <class T> struct scalar_argument<T, false> {
  const T *address;
  __device__ __forceinline__ T operator*() const { return read_constant(address); }
};

// The member descriptor. A tile descriptor, which each sweep declares with the names of
// its operands, has the same size: `first` replaces `count`, and `count, member,
// segment, tiles` are at its end.
template <int Pointers, int Rank> struct member_descriptor;

template <int Pointers> struct alignas(16) member_descriptor<Pointers, 1> {
  void *operand[Pointers];
  long long count;
  int first_tile, tiles, segment, index;
};

template <int Pointers> struct alignas(16) member_descriptor<Pointers, 2> {
  void *operand[Pointers];
  long long columns, column_base, count;
  int first_tile, tiles, segment, index;
};

// The index of the first tile of a member.
template <class Member> __device__ __forceinline__ int first_tile(const table &table, int member) {
  return static_cast<const Member *>(table.members)[member].first_tile;
}

// Descriptor `index` of a table, read 16 bytes at a time as pairs of addresses:
// the compiler then keeps them in uniform registers, which a warp shares.
template <class Descriptor>
__device__ __forceinline__ Descriptor descriptor_at(const void *descriptors, int index) {
  constexpr int pairs = sizeof(Descriptor) / 16;
  union {
    ulonglong2 pair[pairs];
    Descriptor descriptor;
  } result;
  const ulonglong2 *const from = static_cast<const ulonglong2 *>(descriptors) + static_cast<long long>(index) * pairs;
#pragma unroll
  for (int k = 0; k < pairs; ++k)
    result.pair[k] = __ldg(from + k);
  return result.descriptor;
}

// The distances that a launch can take; runtime/plan/Plan.h has the number, too.
constexpr int most_distances = 480;

// How far operands have moved since their addresses were written into descriptors, in
// bytes, for the first members. As a parameter of a launch, new addresses cost no kernel
// that writes descriptors.
template <int Operands> struct distances {
  static constexpr int members = most_distances / Operands;
  long long of[Operands][members];
};

// Moves the operand in slot `Slot` of a tile descriptor by its distance, the `Nth` of the
// member.
template <int Slot, int Nth, class Tile, int Operands>
__device__ __forceinline__ void move_operand(Tile &tile, const distances<Operands> &distances) {
  if (tile.member >= distances.members)
    return;
  union {
    Tile tile;
    long long words[sizeof(Tile) / 8];
  } moved = {tile};
  moved.words[Slot] += distances.of[Nth][tile.member];
  tile = moved.tile;
}

// `descriptor` as the descriptor of another segment, which has the same layout.
template <class To, class From> __device__ __forceinline__ To as_descriptor(const From &descriptor) {
  static_assert(sizeof(To) == sizeof(From), "descriptors of a table have one size");
  union {
    From from;
    To to;
  } result = {descriptor};
  return result.to;
}

} // namespace heddle
