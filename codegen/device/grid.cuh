// grid.cuh: a barrier of all blocks of a cooperative launch.
#pragma once
#include "ptx.cuh"

namespace heddle {

// Whether the flag of any member is set. `Slot` is the operand slot of the flag, which
// all segments share. All threads of the block call this function.
template <class Descriptor, int Slot> __device__ __forceinline__ bool any_member(const void *members, int count) {
  bool any = false;
  for (int k = threadIdx.x; k < count && !any; k += blockDim.x) {
    const Descriptor &member = static_cast<const Descriptor *>(members)[k];
    any = member.segment == 0 && *static_cast<const volatile bool *>(member.operand[Slot]);
  }
  return __syncthreads_or(any);
}

// Synchronizes all blocks of the launch. `words` holds a count of arrivals and a
// generation, which both persist between launches.
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
