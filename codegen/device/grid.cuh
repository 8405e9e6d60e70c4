// grid.cuh: a barrier for every block of a cooperative launch.
#pragma once
#include "ptx.cuh"

namespace heddle {

// Whether the flag of any member is set: operand `Slot` of its descriptor, the
// same in all segments. All threads of a block call it.
template <class Descriptor, int Slot> __device__ __forceinline__ bool any_member(const void *members, int count) {
  bool any = false;
  for (int k = threadIdx.x; k < count && !any; k += blockDim.x) {
    const Descriptor &member = static_cast<const Descriptor *>(members)[k];
    any = member.segment == 0 && *static_cast<const volatile bool *>(member.operand[Slot]);
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

// The same for a launch that meets often, in two halves: a block comes, and does
// other things before it waits. The top bit of the word turns when all have come,
// and the rest of it is zero again: nothing depends on how many blocks the launch
// before had. Number `Number` of the launch's.
template <int Number> class grid_meeting {
  static constexpr unsigned top = 0x80000000u;

public:
  __device__ __forceinline__ explicit grid_meeting(unsigned *word) : word(word) {
    if (threadIdx.x == 0)
      turned() = read_now(word) & top; // it stays until this block has come
  }
  __device__ __forceinline__ void come() {
    __syncthreads();
    if (threadIdx.x == 0)
      come_alone();
  }
  // By one thread, which has met those who have something to leave behind. It
  // waits until all of that has arrived, and the others need not.
  __device__ __forceinline__ void come_alone() {
    turned() ^= top;
    arrive(word, blockIdx.x == 0 ? top - (gridDim.x - 1) : 1);
  }
  // Until all have come as often as this block, which has met since.
  __device__ __forceinline__ void wait() const {
    if (threadIdx.x == 0)
      while ((read_now(word) & top) != turned()) {
      }
    __syncthreads();
  }

private:
  // Of the thread that comes, and of that which waits.
  static __device__ __forceinline__ unsigned &turned() {
    __shared__ unsigned value;
    return value;
  }
  unsigned *word;
};

} // namespace heddle
