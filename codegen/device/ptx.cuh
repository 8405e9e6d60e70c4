// ptx.cuh: operations that C++ cannot express.
//
// Conversions of 16-bit floats, shuffles, fences, tickets, barriers and copies. All
// device-specific operations are in this file, so that a test can replace it and run
// the other headers on a host.
#pragma once

// Whether blocks of a launch can be clusters.
#define HEDDLE_HAS_CLUSTERS (__CUDA_ARCH__ >= 900)

namespace heddle {

struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };

__device__ __forceinline__ float to_f32(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}

__device__ __forceinline__ float to_f32(bf16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}

// To the nearest, ties to even.
__device__ __forceinline__ f16 to_f16(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

__device__ __forceinline__ bf16 to_bf16(float x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}

// The whole product. The compiler adds zeros to the upper half of a product with a constant.
__device__ __forceinline__ unsigned long long multiply_wide(unsigned a, unsigned b) {
  unsigned long long product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
}

// Two elements of 16 bits in a word, the first in its lower half.
template <class T> __device__ __forceinline__ float first_of(unsigned word);
template <class T> __device__ __forceinline__ float second_of(unsigned word);
template <class T> __device__ __forceinline__ unsigned to_word(float first, float second);
template <> __device__ __forceinline__ float first_of<bf16>(unsigned word) { return __uint_as_float(word << 16); }
template <> __device__ __forceinline__ float second_of<bf16>(unsigned word) { return __uint_as_float(word & 0xffff0000u); }
template <> __device__ __forceinline__ unsigned to_word<bf16>(float first, float second) {
  unsigned word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
}
template <> __device__ __forceinline__ float first_of<f16>(unsigned word) {
  return to_f32(f16{static_cast<unsigned short>(word)});
}
template <> __device__ __forceinline__ float second_of<f16>(unsigned word) {
  return to_f32(f16{static_cast<unsigned short>(word >> 16)});
}
template <> __device__ __forceinline__ unsigned to_word<f16>(float first, float second) {
#if __CUDA_ARCH__ >= 800
  unsigned word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  return word;
#else
  return to_f16(first).bits | static_cast<unsigned>(to_f16(second).bits) << 16;
#endif
}

// The larger and the smaller of two numbers as in math.cuh, in one instruction.
#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ float maximum(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
__device__ __forceinline__ float minimum(float a, float b) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
#endif

// Approximations of 1 / x and 1 / sqrt(x), within 2^-22 of the value.
__device__ __forceinline__ float reciprocal_approx(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float rsqrt_approx(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ bool same_bits(float a, float b) {
  return __float_as_uint(a) == __float_as_uint(b);
}
__device__ __forceinline__ bool same_bits(double a, double b) {
  return __double_as_longlong(a) == __double_as_longlong(b);
}
template <class T> __device__ __forceinline__ bool same_bits(T a, T b) {
  return a == b;
}

// The value of the lane at this lane's index XOR `mask`.
template <class T> __device__ __forceinline__ T shuffle_xor(T value, int mask) {
  static_assert(sizeof(T) % 4 == 0, "shuffles move words");
  constexpr int words = sizeof(T) / 4;
  union { T value; unsigned word[words]; } from = {value}, to = {value};
#pragma unroll
  for (int w = 0; w < words; ++w)
    to.word[w] = __shfl_xor_sync(~0u, from.word[w], mask);
  return to.value;
}

// Evict-first loads and stores of vectors of 2, 4, 8 and 16 bytes.
template <class Vector> __device__ __forceinline__ Vector read_evict_first(const Vector *from) {
  union { Vector vector; unsigned short half; unsigned word; uint2 two; uint4 four; } result;
  if constexpr (sizeof(Vector) == 16)
    result.four = __ldcs(reinterpret_cast<const uint4 *>(from));
  else if constexpr (sizeof(Vector) == 8)
    result.two = __ldcs(reinterpret_cast<const uint2 *>(from));
  else if constexpr (sizeof(Vector) == 4)
    result.word = __ldcs(reinterpret_cast<const unsigned *>(from));
  else if constexpr (sizeof(Vector) == 2)
    result.half = __ldcs(reinterpret_cast<const unsigned short *>(from));
  else
    result.vector = *from;
  return result.vector;
}
template <class Vector> __device__ __forceinline__ void write_evict_first(Vector *to, Vector value) {
  union { Vector vector; unsigned short half; unsigned word; uint2 two; uint4 four; } given = {value};
  if constexpr (sizeof(Vector) == 16)
    __stcs(reinterpret_cast<uint4 *>(to), given.four);
  else if constexpr (sizeof(Vector) == 8)
    __stcs(reinterpret_cast<uint2 *>(to), given.two);
  else if constexpr (sizeof(Vector) == 4)
    __stcs(reinterpret_cast<unsigned *>(to), given.word);
  else if constexpr (sizeof(Vector) == 2)
    __stcs(reinterpret_cast<unsigned short *>(to), given.half);
  else
    *to = value;
}

__device__ __forceinline__ void fence() { __threadfence(); }

// A pointer to global memory. The compiler cannot see this if it loads the pointer, and it
// would compute the pointer again for every access.
template <class T> __device__ __forceinline__ T *in_global(T *pointer) {
  asm("" : "+l"(pointer));
  __builtin_assume(__isGlobal(pointer));
  return pointer;
}

// Keeps earlier loads before this point. Compilers tend to move each load to its use.
__device__ __forceinline__ void keep_order() { asm volatile("" : : : "memory"); }

// The same number, of which the compiler knows nothing: it compares with the number where
// it needs the result, and keeps no results for later.
__device__ __forceinline__ int reread(int x) {
  asm volatile("" : "+r"(x));
  return x;
}

// Ends the loads of the rows from `first_row` on, with a branch that is never taken. Without
// the branch, ptxas may convert an element, for instance of 16 bits, between two loads, and the
// second load then waits for the first.
__device__ __forceinline__ void end_loads(int first_row) {
  keep_order();
  if (reread(first_row) < 0)
    __trap();
}

// threadIdx.x, read again: the compiler must assume that the value has changed, so it
// keeps no value derived from it in a register.
__device__ __forceinline__ int reread_thread_index() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

// Counts an arrival modulo `expected`. Returns the count before it.
__device__ __forceinline__ unsigned count_arrival(unsigned *ticket, int expected) {
  unsigned before;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(ticket), "r"(expected - 1) : "memory");
  return before;
}

// Counts an arrival. Returns true for the last of `expected`, after which the ticket is
// 0 again.
__device__ __forceinline__ bool take_ticket(unsigned *ticket, int expected) {
  return count_arrival(ticket, expected) == expected - 1;
}

__device__ __forceinline__ unsigned read_now(const unsigned *word) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

// A word that a block sends to others, with its number: both are written, and read, in
// one access, so no fence is needed.
struct alignas(8) numbered { unsigned word, number; };
__device__ __forceinline__ void write_now(numbered *to, numbered value) {
  asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" : : "l"(to), "r"(value.word), "r"(value.number) : "memory");
}
__device__ __forceinline__ numbered read_now(const numbered *from) {
  numbered value;
  asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(value.word), "=r"(value.number) : "l"(from) : "memory");
  return value;
}

// Counts `by` arrivals, with release order. The addition returns no value, so the
// thread does not wait for it.
__device__ __forceinline__ void arrive(unsigned *word, unsigned by) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" : : "l"(word), "r"(by) : "memory");
}

// launch_dependents allows the next launch to begin while this one runs.
// wait_for_dependency waits until the previous launch has ended and its writes are
// visible. Without programmatic dependent launch, a launch begins after the previous
// one anyway.
__device__ __forceinline__ void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void wait_for_dependency() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// 2^x in one instruction, to about two units in the last place.
__device__ __forceinline__ float exp_2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// a / b in two instructions, to two units in the last place, for b below 2^126.
__device__ __forceinline__ float quotient(float a, float b) { return __fdividef(a, b); }
// a / b in double without a branch, to one unit in the last place, for b and a result
// from 2^-1000 to 2^1000. The estimate of 1 / b, with an error e of 2^-20, is
// multiplied by 1 + e + e^2, and the remainder of the quotient corrects the result.
__device__ __forceinline__ double quotient(double a, double b) {
  double estimate;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(estimate) : "d"(b));
  const double error = fma(-b, estimate, 1.0);
  const double inverse = fma(estimate, fma(error, error, error), estimate), first = a * inverse;
  return fma(fma(-b, first, a), inverse, first);
}
// log2(x) in one instruction, with an error of 2^-22 near 1.
__device__ __forceinline__ float rough_log_2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The dynamic shared memory of the launch.
__device__ __forceinline__ char *dynamic_shared() {
  extern __shared__ __align__(128) char heddle_dynamic_shared[];
  return heddle_dynamic_shared;
}

#if __CUDA_ARCH__ >= 900
// A barrier in shared memory (mbarrier) that counts arrivals of threads and bytes of
// copies.
struct arrival { unsigned long long bits; };

__device__ __forceinline__ unsigned shared_address(const void *pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
__device__ __forceinline__ void arrival_init(arrival *barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void arrival_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
}
__device__ __forceinline__ void arrival_expect(arrival *barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" : : "r"(shared_address(barrier)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void arrival_wait(arrival *barrier, unsigned phase) {
  asm volatile("{\n"
               ".reg .pred done;\n"
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again;\n"
               "}"
               : : "r"(shared_address(barrier)), "r"(phase) : "memory");
}
// Copies a multiple of 16 bytes from global to shared memory.
__device__ __forceinline__ void bulk_copy(void *to, const void *from, unsigned bytes, arrival *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               : : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}
// Orders a thread's own writes and its bulk copies to the same memory.
__device__ __forceinline__ void bulk_copy_fence() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }

// Synchronizes the `Threads` threads of thread group `group`.
template <int Threads, int OfBlock> __device__ __forceinline__ void group_barrier(int group) {
  if constexpr (Threads == OfBlock)
    __syncthreads();
  else if constexpr (Threads == 32)
    __syncwarp();
  else
    asm volatile("bar.sync %0, %1;" : : "r"(group + 1), "r"(Threads) : "memory");
}

// Synchronizes the first `Threads` threads of a block, independently of its thread
// groups; returns whether `mine` holds for any of them.
template <int Threads, int OfBlock> __device__ __forceinline__ bool first_threads_barrier(bool mine) {
  if constexpr (Threads == OfBlock)
    return __syncthreads_or(mine);
  int any;
  asm volatile("{ .reg .pred p, q;\nsetp.ne.u32 p, %1, 0;\nbar.red.or.pred q, 15, %2, p;\nselp.u32 %0, 1, 0, q; }" : "=r"(any) : "r"(static_cast<int>(mine)), "n"(Threads) : "memory");
  return any;
}

// Synchronizes the last `Threads` threads of a block.
template <int Threads, int OfBlock> __device__ __forceinline__ void last_threads_barrier() {
  if constexpr (Threads == OfBlock)
    __syncthreads();
  else
    asm volatile("bar.sync 14, %0;" : : "n"(Threads) : "memory");
}

// The rank of the block in its cluster.
__device__ __forceinline__ int cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" : : : "memory");
}
// The two halves of the barrier. A block may end between them. The first one is relaxed; an
// arrival_init_fence() before it orders the initialization of barriers. With release order, it
// would wait for all stores of the thread, also for those of spilled registers.
__device__ __forceinline__ void cluster_arrive() {
  __syncwarp();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory");
}
__device__ __forceinline__ void cluster_wait() {
  __syncwarp();
  asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory");
}
// Writes to `to` in the shared memory of the block of rank `rank`.
template <class T> __device__ __forceinline__ void put(T *to, const T &value, int rank) {
  unsigned place;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(shared_address(to)), "r"(rank));
  static_assert(sizeof(T) % 4 == 0, "words");
  union { T value; unsigned word[sizeof(T) / 4]; } sent = {value};
#pragma unroll
  for (int k = 0; k < static_cast<int>(sizeof(T) / 4); ++k)
    asm volatile("st.shared::cluster.u32 [%0], %1;" : : "r"(place + 4 * k), "r"(sent.word[k]) : "memory");
}
// Reads `from` in the shared memory of the block of rank `rank`.
template <class T> __device__ __forceinline__ T fetch(const T *from, int rank) {
  const T *place;
  asm("mapa.u64 %0, %1, %2;" : "=l"(place) : "l"(from), "r"(rank));
  return *place;
}
// The same for polling: every call reads the word again.
__device__ __forceinline__ int fetch_now(const int *from, int rank) {
  unsigned place;
  int value;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(shared_address(from)), "r"(rank));
  asm volatile("ld.relaxed.cluster.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(place) : "memory");
  return value;
}
// The same in the thread's own block.
__device__ __forceinline__ int read_now(const int *word) { return *static_cast<const volatile int *>(word); }
// Writes to `to` in the shared memory of the block of rank `rank`, and completes as
// many bytes on `barrier` there. Whole words are sent, so `to` has room for at least
// one; four words at a time if they are aligned.
template <class T> constexpr unsigned sent_bytes = sizeof(T) < 4 ? 4 : sizeof(T);
template <class T> __device__ __forceinline__ void send(T *to, const T &value, arrival *barrier, int rank) {
  unsigned place, remote_barrier;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(shared_address(to)), "r"(rank));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_barrier) : "r"(shared_address(barrier)), "r"(rank));
  constexpr int words = sent_bytes<T> / 4, in_fours = alignof(T) % 16 ? 0 : words / 4 * 4;
  static_assert(sent_bytes<T> % 4 == 0, "words");
  union { unsigned word[words]; T value; } sent = {};
  sent.value = value;
#pragma unroll
  for (int k = 0; k < in_fours; k += 4)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                 : : "r"(place + 4 * k), "r"(sent.word[k]), "r"(sent.word[k + 1]), "r"(sent.word[k + 2]), "r"(sent.word[k + 3]), "r"(remote_barrier) : "memory");
#pragma unroll
  for (int k = in_fours; k + 1 < words; k += 2)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];"
                 : : "r"(place + 4 * k), "l"(sent.word[k] | static_cast<unsigned long long>(sent.word[k + 1]) << 32), "r"(remote_barrier) : "memory");
  if constexpr ((words - in_fours) % 2)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 : : "r"(place + 4 * words - 4), "r"(sent.word[words - 1]), "r"(remote_barrier) : "memory");
}
// Orders the memory accesses of this warp for its block, or for the cluster: those
// before the fence are visible before those after it.
__device__ __forceinline__ void fence_block() {
  __syncwarp();
  asm volatile("fence.acq_rel.cta;" : : : "memory");
}
__device__ __forceinline__ void fence_cluster() {
  __syncwarp();
  asm volatile("fence.acq_rel.cluster;" : : : "memory");
}
#endif

} // namespace heddle
