// grid.cuh: a barrier for every block of a cooperative launch.
#pragma once
#include "ptx.cuh"

namespace heddle {

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
