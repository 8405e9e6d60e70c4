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

} // namespace heddle
