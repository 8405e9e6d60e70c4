// grid.cuh: a barrier for every block of a cooperative launch.
#pragma once
#include "ptx.cuh"

namespace heddle {

// Whether the flag of any member is set, asked by all threads of a block: it is
// operand `Slot` of the member's rows, the same in all segments.
template <class Row, int Slot> __device__ __forceinline__ bool any_member(const void *members, int count) {
  bool any = false;
  for (int k = threadIdx.x; k < count && !any; k += blockDim.x) {
    const Row &row = static_cast<const Row *>(members)[k];
    any = row.segment == 0 && *static_cast<const volatile bool *>(row.operand[Slot]);
  }
  return __syncthreads_or(any);
}

// `words` holds a count of arrivals and a generation; both survive a launch.
__device__ __forceinline__ void grid_barrier(unsigned *words) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned generation = read_now(words + 1);
    fence();
    if (take_ticket(words, gridDim.x))
      atomicAdd(words + 1, 1u);
    else
      while (read_now(words + 1) == generation) {
      }
    fence();
  }
  __syncthreads();
}

// The same for a launch that meets often: one word counts all arrivals of all
// launches, each a multiple of the grid.
class grid_meeting {
public:
  __device__ __forceinline__ explicit grid_meeting(unsigned long long *word) : word(word) {
    if (threadIdx.x == 0)
      target() = 0;
  }
  __device__ __forceinline__ void meet() {
    __syncthreads();
    if (threadIdx.x == 0) {
      if (target() == 0)
        target() = (arrive_after(word) / gridDim.x + 1) * gridDim.x;
      else
        arrive(word), target() += gridDim.x;
      while (read_now(word) < target()) {
      }
    }
    __syncthreads();
  }

private:
  // Of the one thread that waits.
  static __device__ __forceinline__ unsigned long long &target() {
    __shared__ unsigned long long value;
    return value;
  }
  unsigned long long *word;
};

} // namespace heddle
