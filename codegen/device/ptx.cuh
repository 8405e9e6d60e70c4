// ptx.cuh: the few operations that C++ does not spell.
//
// Conversions of 16-bit floats, shuffles, fences and tickets. All device-specific
// operations are in this file, so a test can replace it and run the other headers
// on a host.
#pragma once

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

__device__ __forceinline__ bool same_bits(float a, float b) {
  return __float_as_uint(a) == __float_as_uint(b);
}
__device__ __forceinline__ bool same_bits(double a, double b) {
  return __double_as_longlong(a) == __double_as_longlong(b);
}
template <class T> __device__ __forceinline__ bool same_bits(T a, T b) {
  return a == b;
}

// The value of the thread whose lane differs from this one's in `mask`.
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

// Keeps the loads before this point there. Compilers tend to move loads to their
// uses, one after the other.
__device__ __forceinline__ void keep_order() { asm volatile("" : : : "memory"); }

// threadIdx.x, recomputed: the compiler cannot know that the value is unchanged, so it
// does not keep values derived from it in registers.
__device__ __forceinline__ int thread_anew() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

// Counts an arrival, 0 .. expected - 1 and from 0 again.
__device__ __forceinline__ unsigned count_arrival(unsigned *ticket, int expected) {
  unsigned before;
  asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(ticket), "r"(expected - 1) : "memory");
  return before;
}

// Counts an arrival; true for the one that completes `expected`, after which
// the ticket is at rest again.
__device__ __forceinline__ bool take_ticket(unsigned *ticket, int expected) {
  return count_arrival(ticket, expected) == expected - 1;
}

__device__ __forceinline__ unsigned read_now(const unsigned *word) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

// Counts `by` arrivals, with release order. The addition returns no value, so no thread
// waits for one.
__device__ __forceinline__ void arrive(unsigned *word, unsigned by) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" : : "l"(word), "r"(by) : "memory");
}

// Lets the next launch begin while this one still runs, and waits until the one
// before has finished and all it wrote is there. Without programmatic launches
// the next begins after this one anyway.
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
// a / b in two instructions, to two units in the last place, b below 2^126.
__device__ __forceinline__ float quotient(float a, float b) { return __fdividef(a, b); }
// And in double to one unit, without a branch; b from 2^-1000 to 2^1000, as the
// result: an estimate with an error e of 2^-20, 1 + e + e^2 times it, and what the
// quotient then leaves over.
__device__ __forceinline__ double quotient(double a, double b) {
  double estimate;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(estimate) : "d"(b));
  const double error = fma(-b, estimate, 1.0);
  const double inverse = fma(estimate, fma(error, error, error), estimate), first = a * inverse;
  return fma(fma(-b, first, a), inverse, first);
}
// log2(x) in one instruction, to 2^-22 next to 1.
__device__ __forceinline__ float rough_log_2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The shared memory that a launch asks for.
__device__ __forceinline__ char *dynamic_shared() {
  extern __shared__ __align__(128) char heddle_dynamic_shared[];
  return heddle_dynamic_shared;
}

#if __CUDA_ARCH__ >= 900
// A barrier in shared memory on which threads arrive, and the bytes of copies.
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
// Multiples of 16 bytes, from global to shared memory.
__device__ __forceinline__ void bulk_copy(void *to, const void *from, unsigned bytes, arrival *barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               : : "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}
// Between a thread's own writes and copies to the same place.
__device__ __forceinline__ void bulk_copy_fence() { asm volatile("fence.proxy.async.shared::cta;" : : : "memory"); }

// Synchronizes thread group `group` of a block, which has `Threads` threads.
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

// Blocks of a cluster, which see each other's shared memory.
__device__ __forceinline__ int cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ __forceinline__ void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" : : : "memory");
}
// Writes to the place that `to` is in the block of rank `rank`.
template <class T> __device__ __forceinline__ void put(T *to, const T &value, int rank) {
  unsigned place;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(shared_address(to)), "r"(rank));
  static_assert(sizeof(T) % 4 == 0, "words");
  union { T value; unsigned word[sizeof(T) / 4]; } sent = {value};
#pragma unroll
  for (int k = 0; k < static_cast<int>(sizeof(T) / 4); ++k)
    asm volatile("st.shared::cluster.u32 [%0], %1;" : : "r"(place + 4 * k), "r"(sent.word[k]) : "memory");
}
// Reads the place that `from` is in the block of rank `rank`.
template <class T> __device__ __forceinline__ T fetch(const T *from, int rank) {
  const T *place;
  asm("mapa.u64 %0, %1, %2;" : "=l"(place) : "l"(from), "r"(rank));
  return *place;
}
// The same, again and again until it changes.
__device__ __forceinline__ int fetch_now(const int *from, int rank) {
  unsigned place;
  int value;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(shared_address(from)), "r"(rank));
  asm volatile("ld.relaxed.cluster.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(place) : "memory");
  return value;
}
// Writes to the place that `to` is in the block of rank `rank`, and arrives with
// as many bytes on the barrier that `barrier` is there. Words are sent, there is
// room for one, or four at a time where they are aligned.
template <class T> constexpr unsigned sent_bytes = sizeof(T) < 4 ? 4 : sizeof(T);
template <class T> __device__ __forceinline__ void send(T *to, const T &value, arrival *barrier, int rank) {
  unsigned place, bell;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(shared_address(to)), "r"(rank));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(bell) : "r"(shared_address(barrier)), "r"(rank));
  constexpr int words = sent_bytes<T> / 4, in_fours = alignof(T) % 16 ? 0 : words / 4 * 4;
  static_assert(sent_bytes<T> % 4 == 0, "words");
  union { unsigned word[words]; T value; } sent = {};
  sent.value = value;
#pragma unroll
  for (int k = 0; k < in_fours; k += 4)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
                 : : "r"(place + 4 * k), "r"(sent.word[k]), "r"(sent.word[k + 1]), "r"(sent.word[k + 2]), "r"(sent.word[k + 3]), "r"(bell) : "memory");
#pragma unroll
  for (int k = in_fours; k + 1 < words; k += 2)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];"
                 : : "r"(place + 4 * k), "l"(sent.word[k] | static_cast<unsigned long long>(sent.word[k + 1]) << 32), "r"(bell) : "memory");
  if constexpr ((words - in_fours) % 2)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 : : "r"(place + 4 * words - 4), "r"(sent.word[words - 1]), "r"(bell) : "memory");
}
// What this warp has done is seen by the cluster before what it does next.
__device__ __forceinline__ void fence_cluster() {
  __syncwarp();
  asm volatile("fence.acq_rel.cluster;" : : : "memory");
}
#endif

} // namespace heddle
