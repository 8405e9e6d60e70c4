// random.cuh: random bits that are a function of a position, and rounding by them.
//
// Philox4x32-7: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011. The key of the rounds
// follows from the seed alone, so that it is computed once for all threads of a warp.
#pragma once
#include "access.cuh"
#include "math.cuh"

namespace heddle {

struct philox_block { unsigned word[4]; };

__device__ __forceinline__ philox_block philox(long long seed, long long stream, unsigned long long block) {
  unsigned key[] = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  philox_block x = {{static_cast<unsigned>(block), static_cast<unsigned>(block >> 32), static_cast<unsigned>(stream),
                     static_cast<unsigned>(stream >> 32)}};
#pragma unroll
  for (int round = 0; round < 7; ++round) {
    const unsigned long long first = multiply_wide(x.word[0], 0xd2511f53u);
    const unsigned long long second = multiply_wide(x.word[2], 0xcd9e8d57u);
    x = {{static_cast<unsigned>(second >> 32) ^ x.word[1] ^ key[0], static_cast<unsigned>(second),
          static_cast<unsigned>(first >> 32) ^ x.word[3] ^ key[1], static_cast<unsigned>(first)}};
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return x;
}

// Word `at` of a block, without an array in memory.
__device__ __forceinline__ unsigned word_of(const philox_block &x, unsigned at) {
  const unsigned low = at & 1 ? x.word[1] : x.word[0], high = at & 1 ? x.word[3] : x.word[2];
  return at & 2 ? high : low;
}

// The number of type T at `position` after the beginning of `block`. Inlined where few threads need it, it would take
// registers of all.
template <class T>
__device__ __noinline__ T random(long long seed, long long stream, long long block, long long position) {
  constexpr unsigned in_word = 4 / sizeof(T), in_block = 4 * in_word;
  const unsigned long long number = position;
  const philox_block x = philox(seed, stream, block + number / in_block);
  const unsigned at = number % in_block, word = word_of(x, at / in_word);
  return static_cast<T>(word >> at % in_word * 16);
}

// The random numbers for the elements that a thread holds, as words of a block.
template <class T, int N> struct drawn {
  static constexpr int in_word = 4 / sizeof(T), words = (N + in_word - 1) / in_word;
  unsigned word[words];
  __device__ __forceinline__ T operator[](int k) const {
    return static_cast<T>(word[k / in_word] >> k % in_word * 16);
  }
};

// Each of a group of lanes has a block `x`; number k in `to` is number `lane` of the block of lane k. So this transposes
// the numbers of the group. With N elements, fewer than a block has numbers, lanes k and k + N have the same block.
template <class T, int N> __device__ __forceinline__ void exchange(const philox_block &x, unsigned *to) {
  constexpr int in_word = drawn<T, N>::in_word, in_block = 4 * in_word, count = N < in_block ? N : in_block;
  const unsigned lane = threadIdx.x % in_block;
  unsigned word[] = {x.word[0], x.word[1], x.word[2], x.word[3]};
  // Only the numbers of the lanes that exchange numbers with this one.
#pragma unroll
  for (int half = in_block / 2; half >= count; half /= 2)
#pragma unroll
    for (int w = 0; w < (half + in_word - 1) / in_word; ++w)
      word[w] = half < in_word ? word[w] >> lane % 2 * 16 : lane & half ? word[w + half / in_word] : word[w];
#pragma unroll
  for (int half = count / 2; half >= in_word; half /= 2) {
    const bool is_upper = lane & half;
    const int distance = half / in_word;
#pragma unroll
    for (int w = 0; w < count / in_word; ++w)
      if (!(w & distance)) {
        unsigned &below = word[w], &above = word[w + distance];
        const unsigned other = shuffle_xor(is_upper ? below : above, half);
        (is_upper ? below : above) = other;
      }
  }
  if (in_word == 2 && count > 1)
#pragma unroll
    for (int w = 0; w < count / in_word; ++w) {
      const unsigned other = shuffle_xor(word[w], 1);
      word[w] = lane % 2 ? other >> 16 | (word[w] & 0xffff0000u) : (word[w] & 0xffffu) | other << 16;
    }
#pragma unroll
  for (int w = 0; w < (count + in_word - 1) / in_word; ++w)
    to[w] = word[w];
}

// Draws the numbers at `first`, `first + step` and so on of several streams. If `step` is 1, consecutive threads have
// consecutive groups of N elements, otherwise consecutive elements: then the threads whose elements share blocks compute
// a block each, and exchange the numbers. If the tile begins inside of a block, as the tiles of misaligned lists do, a
// block is computed for each element.
template <class T, int N, int Streams>
__device__ __forceinline__ void draw(long long seed, const long long (&streams)[Streams], long long block,
                                     unsigned long long first, int step, drawn<T, N> (&to)[Streams]) {
  constexpr int in_word = 4 / sizeof(T), in_block = 4 * in_word, words = drawn<T, N>::words;
  const bool is_consecutive = N >= in_word && step == 1;
  const unsigned lane = threadIdx.x % in_block;
  if ((is_consecutive ? first % N : (first - lane) % in_block) != 0) {
#pragma unroll
    for (int stream = 0; stream < Streams; ++stream) {
      unsigned(&word)[words] = to[stream].word;
#pragma unroll
      for (int w = 0; w < words; ++w)
        word[w] = 0;
      // The last element first, so that every element moves up from word 0.
#pragma unroll 1
      for (int k = N - 1; k >= 0; --k) {
        const unsigned bits = random<T>(seed, streams[stream], block, first + static_cast<long long>(k) * step);
#pragma unroll
        for (int w = words - 1; w > 0; --w)
          word[w] = in_word == 1 ? word[w - 1] : word[w] << 16 | word[w - 1] >> 16;
        word[0] = in_word == 1 ? bits : word[0] << 16 | (bits & 0xffffu);
      }
    }
    return;
  }
#pragma unroll
  for (int begin = 0; begin < N; begin += in_block) {
    const unsigned long long number = is_consecutive ? first + begin : first - lane + (begin + lane % N) * step;
#pragma unroll
    for (int stream = 0; stream < Streams; ++stream) {
      const philox_block x = philox(seed, streams[stream], block + number / in_block);
      unsigned *const mine = to[stream].word + begin / in_word;
      if (!is_consecutive) {
        exchange<T, N>(x, mine);
        continue;
      }
      // The part of the block that begins with this thread's first element.
      const unsigned at = N < in_block ? first % in_block / in_word : 0;
#pragma unroll
      for (int w = 0; w < 4; ++w)
        if (begin / in_word + w < words)
          mine[w] = word_of(x, at + w);
    }
  }
}

// The neighbour of x among the numbers of a 16-bit type that `bits`, an unsigned number, selects: the one farther from
// 0 if `bits` and the 2^16 parts of a unit that x lies above the other one add up to a unit.
template <class Stored> __device__ __forceinline__ float round_at_random(float x, short bits);
template <> __device__ __forceinline__ float round_at_random<bf16>(float x, short bits) {
  const float rounded = __uint_as_float((__float_as_uint(x) + static_cast<unsigned short>(bits)) & 0xffff0000u);
  return x == x ? rounded : x;
}
template <> __device__ __forceinline__ float round_at_random<f16>(float x, short bits) {
  const unsigned by = static_cast<unsigned short>(bits);
  const float size = fabsf(x);
  float rounded;
  if (size < 0x1p-14f) { // a multiple of 2^-24
    const unsigned parts = static_cast<unsigned>(size * 0x1p40f);
    rounded = static_cast<float>((parts + by) >> 16) * 0x1p-24f;
  } else {
    const unsigned word = (__float_as_uint(size) + (by >> 3)) & 0xffffe000u;
    rounded = word < 0x47800000u ? __uint_as_float(word) : infinity<float>(); // 2^16
  }
  return x == x ? copysignf(rounded, x) : x;
}

} // namespace heddle
