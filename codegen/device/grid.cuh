// grid.cuh: a barrier of blocks.
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

// Synchronizes `blocks` blocks, which must all be on the device. `words` holds a count of
// arrivals and a generation, which both persist between launches.
__device__ __forceinline__ void barrier_of_blocks(unsigned *words, int blocks) {
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned generation = read_now(words + 1);
    fence();
    if (take_ticket(words, blocks))
      atomicAdd(words + 1, 1u);
    else
      while (read_now(words + 1) == generation) {
      }
    fence();
  }
  __syncthreads();
}

// Synchronizes all blocks of the launch.
__device__ __forceinline__ void grid_barrier(unsigned *words) { barrier_of_blocks(words, gridDim.x); }

} // namespace heddle
