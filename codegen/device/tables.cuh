// tables.cuh: the tables through which blocks find their work.
//
// Layouts, and the kernel that writes tile descriptors; docs/plan.md describes them.
#pragma once

// Blocks that should fit on a multiprocessor. If this leaves the compiler too few
// registers, so that it spills, the source is compiled again for fewer blocks.
#ifndef HEDDLE_FEWER_BLOCKS
#define HEDDLE_FEWER_BLOCKS 0
#endif
// The number of blocks of 256 threads that fit on a multiprocessor at all.
#if __CUDA_ARCH__ == 750
#define HEDDLE_MOST_BLOCKS 4
#elif __CUDA_ARCH__ >= 1100 || (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900)
#define HEDDLE_MOST_BLOCKS 6
#else
#define HEDDLE_MOST_BLOCKS 8
#endif
#define HEDDLE_WANTED_BLOCKS(blocks) ((blocks) < HEDDLE_MOST_BLOCKS ? (blocks) : HEDDLE_MOST_BLOCKS)
#define HEDDLE_BLOCKS(blocks) \
  (HEDDLE_WANTED_BLOCKS(blocks) > HEDDLE_FEWER_BLOCKS ? HEDDLE_WANTED_BLOCKS(blocks) - HEDDLE_FEWER_BLOCKS : 1)

namespace heddle {

// A kernel's view of the descriptors of a sweep's members and tiles.
struct table {
  const void *tiles, *members;
  unsigned *tickets; // one for each member descriptor, one for the whole list
  int tile_count, member_count;
  int blocks_per_tile;
};

// A scalar argument that nothing in the program writes: its value, or its address
// in the caller's memory.
template <class T, bool ByValue> struct scalar_argument {
  T value;
  __device__ __forceinline__ T operator*() const { return value; }
};
template <class T> struct scalar_argument<T, false> {
  const T *address;
  __device__ __forceinline__ T operator*() const { return __ldg(address); }
};

// The descriptor of a member. That of a tile, which each sweep declares with the
// names of its operands, has the same size: `first` in the place of `count`, and
// `count, member, segment, tiles` at its end.
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

// A descriptor as that of another segment, which has the same layout.
template <class To, class From> __device__ __forceinline__ To as_descriptor(const From &descriptor) {
  static_assert(sizeof(To) == sizeof(From), "descriptors of a table have one size");
  union {
    From from;
    To to;
  } result = {descriptor};
  return result.to;
}

} // namespace heddle

#ifndef HEDDLE_PANELS_ALONE // a module of loops in panels reads member descriptors only
// Writes the tile descriptors of a table from its member descriptors, one thread
// per tile. For each segment, `steps` holds its tile size and then the advance of
// each operand in bytes: s > 0 per element or row; s < 0 per row, of as many
// elements of -s bytes as the next operand slot says; 0 not at all. If the tile
// size is negative, the first tile of a member is shorter where that makes all
// others begin at a multiple of 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
heddle_expand_tiles(const char *members, char *tiles, const long long *steps,
                    int pointers, int rank, int member_count, int tile_count) {
  const int tile = blockIdx.x * blockDim.x + threadIdx.x;
  if (tile >= tile_count)
    return;
  const int count_at = 8 * pointers + (rank == 2 ? 16 : 0);
  const int bytes = (count_at + 24 + 15) / 16 * 16;
  int low = 0, high = member_count;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    const char *descriptor = members + static_cast<long long>(middle) * bytes;
    if (*reinterpret_cast<const int *>(descriptor + count_at + 8) <= tile)
      low = middle;
    else
      high = middle;
  }
  const char *from = members + static_cast<long long>(low) * bytes;
  char *to = tiles + static_cast<long long>(tile) * bytes;
  const int *ints = reinterpret_cast<const int *>(from + count_at + 8); // first_tile, tiles, segment, index
  const long long *step = steps + static_cast<long long>(ints[2]) * (pointers + 1);
  const long long columns = rank == 2 ? *reinterpret_cast<const long long *>(from + 8 * pointers) : 0;
  const long long count = *reinterpret_cast<const long long *>(from + count_at);
  const long long elements = step[0] < 0 ? -step[0] : step[0];
  long long shift = 0;
  if (step[0] < 0) {
    // Of the smallest elements 16 bytes hold the most.
    long long smallest = 0;
    for (int p = 0; p < pointers; ++p)
      if (const long long s = step[1 + p]; s > 0 && (smallest == 0 || s < smallest)) {
        smallest = s;
        shift = *reinterpret_cast<const unsigned long long *>(from + 8 * p) % 16 / s;
      }
    bool gains = count + shift >= 2 * elements;
    for (int p = 0; p < pointers; ++p)
      if (const long long s = step[1 + p]; s > 0)
        gains &= (*reinterpret_cast<const unsigned long long *>(from + 8 * p) + (elements - shift) * s) % 16 == 0;
    shift = gains ? shift : 0;
  }
  const int k = tile - ints[0];
  const long long first = k ? k * elements - shift : 0;
  const long long most = k ? elements : elements - shift;
  for (int p = 0; p < pointers; ++p) {
    const long long s = step[1 + p];
    const long long advance = s >= 0 ? first * s : first * *reinterpret_cast<const long long *>(from + 8 * p + 8) * -s;
    char *operand = *reinterpret_cast<char *const *>(from + 8 * p);
    *reinterpret_cast<char **>(to + 8 * p) = operand ? operand + advance : operand;
  }
  if (rank == 2) {
    const long long base = *reinterpret_cast<const long long *>(from + 8 * pointers + 8);
    *reinterpret_cast<long long *>(to + 8 * pointers) = columns;
    *reinterpret_cast<long long *>(to + 8 * pointers + 8) = base + (tile - ints[0]) * columns;
  }
  const long long left = count - first;
  *reinterpret_cast<long long *>(to + count_at) = first;
  int *out = reinterpret_cast<int *>(to + count_at + 8);
  out[0] = static_cast<int>(left < most ? left : most);
  out[1] = low;
  out[2] = ints[2];
  out[3] = ints[1];
}
#endif
