// ptx.cuh: codegen/device/ptx.cuh for the host.
//
// The same functions in C++: conversions of 16-bit floats bit by bit, shuffles and
// tickets through the emulated GPU. Every access to data that another block can change
// may switch to another block.
#pragma once

#define HEDDLE_HAS_CLUSTERS 1

namespace heddle {

struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };

inline float to_f32(f16 x) {
  const unsigned sign = (x.bits & 0x8000u) << 16, exponent = x.bits >> 10 & 31, fraction = x.bits & 0x3ff;
  if (exponent == 31)
    return __uint_as_float(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
}

inline float to_f32(bf16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }

// `bits` without its last `count` bits, rounded to nearest even.
inline unsigned rounded(unsigned bits, int count) {
  const unsigned half = 1u << (count - 1), rest = bits & (2 * half - 1), kept = bits >> count;
  return kept + (rest > half || (rest == half && (kept & 1)));
}

inline f16 to_f16(float x) {
  const unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return {0x7fff};
  if (magnitude >= 0x47800000u) // 2^16
    return {static_cast<unsigned short>(sign | 0x7c00)};
  if (magnitude >= 0x38800000u) // 2^-14
    return {static_cast<unsigned short>(sign | rounded(magnitude - (112u << 23), 13))};
  const int shift = 126 - static_cast<int>(magnitude >> 23); // for a fraction with its leading one
  if (shift > 24)
    return {static_cast<unsigned short>(sign)};
  return {static_cast<unsigned short>(sign | rounded((magnitude & 0x7fffffu) | 0x800000u, shift))};
}

inline bf16 to_bf16(float x) {
  const unsigned bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return {0x7fff};
  return {static_cast<unsigned short>(rounded(bits, 16))};
}

inline unsigned long long multiply_wide(unsigned a, unsigned b) { return static_cast<unsigned long long>(a) * b; }

template <class T> float first_of(unsigned word) { return to_f32(T{static_cast<unsigned short>(word)}); }
template <class T> float second_of(unsigned word) { return to_f32(T{static_cast<unsigned short>(word >> 16)}); }
template <class T> unsigned to_word(float first, float second);
template <> inline unsigned to_word<f16>(float first, float second) {
  return to_f16(first).bits | static_cast<unsigned>(to_f16(second).bits) << 16;
}
template <> inline unsigned to_word<bf16>(float first, float second) {
  return to_bf16(first).bits | static_cast<unsigned>(to_bf16(second).bits) << 16;
}

// Denormals are zero, as on a GPU.
inline float flushed(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x; }
inline float reciprocal_approx(float x) { return flushed(1.0f / flushed(x)); }
inline float rsqrt_approx(float x) { return 1.0f / __builtin_sqrtf(flushed(x)); }

inline bool same_bits(float a, float b) { return __float_as_uint(a) == __float_as_uint(b); }
inline bool same_bits(double a, double b) { return __double_as_longlong(a) == __double_as_longlong(b); }
template <class T> bool same_bits(T a, T b) { return a == b; }

template <class T> T shuffle_xor(T value, int mask) {
  static_assert(sizeof(T) % 4 == 0, "shuffles move words");
  heddle_on_cpu->shuffle_xor(reinterpret_cast<char *>(&value), sizeof(T), mask);
  return value;
}

template <class Vector> Vector read_evict_first(const Vector *from) {
  heddle_on_cpu->pause();
  return *from;
}
template <class Vector> void write_evict_first(Vector *to, Vector value) {
  heddle_on_cpu->pause();
  *to = value;
}

inline void fence() { heddle_on_cpu->give_way(); }
inline void fence_block() { heddle_on_cpu->give_way(); }
template <class T> T *in_global(T *pointer) { return pointer; }
inline void keep_order() {}
inline void end_loads(int) {}
inline int reread(int x) { return x; }
inline int reread_thread_index() { return threadIdx.x; }

inline unsigned count_arrival(unsigned *ticket, int expected) {
  heddle_on_cpu->give_way();
  const unsigned before = *ticket;
  *ticket = before >= static_cast<unsigned>(expected - 1) ? 0 : before + 1;
  heddle_on_cpu->give_way();
  return before;
}
inline bool take_ticket(unsigned *ticket, int expected) {
  return count_arrival(ticket, expected) == static_cast<unsigned>(expected - 1);
}

inline unsigned read_now(const unsigned *word) {
  heddle_on_cpu->give_way();
  return *static_cast<const volatile unsigned *>(word);
}

struct alignas(8) numbered { unsigned word, number; };
inline void write_now(numbered *to, numbered value) {
  heddle_on_cpu->give_way();
  *to = value;
}
inline numbered read_now(const numbered *from) {
  heddle_on_cpu->give_way();
  return *from;
}

inline void launch_dependents() { heddle_on_cpu->launch_dependents(); }
inline void wait_for_dependency() { heddle_on_cpu->wait_for_dependency(); }

inline void arrive(unsigned *word, unsigned by) {
  heddle_on_cpu->give_way();
  *word += by;
}

inline float exp_2(float x) { return x < -126 ? 0 : exp2f(x); } // no subnormals
inline float quotient(float a, float b) { return a / b; }
inline double quotient(double a, double b) { return a / b; }
inline float rough_log_2(float x) { return log2f(x); }

inline char *dynamic_shared() {
  alignas(128) static thread_local char bytes[232448];
  return bytes;
}

// A copy takes place as late as possible: when a thread waits for it.
struct arrival { unsigned arrivals, left, phase; long long bytes; };
struct late_copy { char *to; const char *from; unsigned bytes; arrival *barrier; };
struct late_copies { late_copy all[512]; int count; };
inline late_copies &copies_in_flight() {
  static thread_local late_copies copies;
  return copies;
}
inline void complete(arrival *barrier) {
  if (barrier->left == 0 && barrier->bytes == 0) {
    barrier->left = barrier->arrivals;
    ++barrier->phase;
  }
}
inline void arrival_init(arrival *barrier, int arrivals) {
  *barrier = {static_cast<unsigned>(arrivals), static_cast<unsigned>(arrivals), 0, 0};
  copies_in_flight().count = 0;
}
inline void arrival_init_fence() {}
inline void arrival_expect(arrival *barrier, unsigned bytes) {
  heddle_on_cpu->give_way();
  barrier->bytes += bytes;
  --barrier->left;
  complete(barrier);
}
inline void bulk_copy_fence() {}
inline void bulk_copy(void *to, const void *from, unsigned bytes, arrival *barrier) {
  late_copies &copies = copies_in_flight();
  if (copies.count == 512 || bytes % 16 || reinterpret_cast<unsigned long long>(to) % 16 || reinterpret_cast<unsigned long long>(from) % 16)
    __builtin_trap();
  __builtin_memset(to, 0xff, bytes);
  copies.all[copies.count++] = {static_cast<char *>(to), static_cast<const char *>(from), bytes, barrier};
}
inline void arrival_wait(arrival *barrier, unsigned phase) {
  while ((barrier->phase & 1) == phase) {
    if (threadIdx.x % 32 == 0) // one thread of a warp is enough
      heddle_on_cpu->give_way();
    else
      heddle_on_cpu->pause();
    late_copies &copies = copies_in_flight();
    int kept = 0;
    for (int k = 0; k < copies.count; ++k) {
      const late_copy copy = copies.all[k];
      if (copy.barrier != barrier || barrier->left) {
        copies.all[kept++] = copy;
        continue;
      }
      __builtin_memcpy(copy.to, copy.from, copy.bytes);
      barrier->bytes -= copy.bytes;
    }
    copies.count = kept;
    if (barrier->left == 0)
      complete(barrier);
  }
}

// Thread groups of a block.
template <int Threads, int OfBlock> void group_barrier(int group) { heddle_on_cpu->group_barrier(group, Threads, 0); }
template <int Threads, int OfBlock> void last_threads_barrier() { heddle_on_cpu->group_barrier(13, Threads, 0); }
template <int Threads, int OfBlock> bool first_threads_barrier(bool mine) {
  return Threads == OfBlock ? __syncthreads_or(mine) : heddle_on_cpu->group_barrier(14, Threads, mine);
}

// Clusters. A shared variable has the same distance from `mailbox` in every block.
struct cluster { unsigned arrived, phase; };
inline cluster clusters[64];
inline char *mailboxes[512];
inline char &mailbox() {
  static thread_local char here;
  return here;
}

inline unsigned arrived_in[512]; // the phase in which a block arrived

inline int cluster_rank() { return blockIdx.x % heddle_on_cpu->cluster; }
inline void cluster_arrive() {
  heddle_on_cpu->barrier(0);
  if (threadIdx.x == 0) {
    mailboxes[blockIdx.x] = &mailbox();
    cluster &own = clusters[blockIdx.x / heddle_on_cpu->cluster];
    arrived_in[blockIdx.x] = own.phase;
    if (++own.arrived == heddle_on_cpu->cluster) {
      own.arrived = 0;
      ++own.phase;
    }
  }
}
inline void cluster_wait() {
  const cluster &own = clusters[blockIdx.x / heddle_on_cpu->cluster];
  if (threadIdx.x == 0)
    while (*static_cast<const volatile unsigned *>(&own.phase) == arrived_in[blockIdx.x])
      heddle_on_cpu->give_way();
  heddle_on_cpu->barrier(0);
}
inline void cluster_barrier() {
  cluster_arrive();
  cluster_wait();
}
template <class T> T *in_block(T *own, int rank) {
  char *const there = mailboxes[blockIdx.x - cluster_rank() + rank];
  return reinterpret_cast<T *>(there + ((const char *)own - &mailbox()));
}
template <class T> void put(T *to, const T &value, int rank) {
  heddle_on_cpu->give_way();
  *in_block(to, rank) = value;
}
template <class T> T fetch(const T *from, int rank) {
  heddle_on_cpu->give_way();
  return *in_block(from, rank);
}
inline int fetch_now(const int *from, int rank) { return fetch(from, rank); }
inline int read_now(const int *word) {
  heddle_on_cpu->give_way();
  return *static_cast<const volatile int *>(word);
}
template <class T> constexpr unsigned sent_bytes = sizeof(T) < 4 ? 4 : sizeof(T);
template <class T> void send(T *to, const T &value, arrival *barrier, int rank) {
  heddle_on_cpu->give_way();
  T *const place = in_block(to, rank);
  __builtin_memset(place, 0xff, sent_bytes<T>);
  *place = value;
  arrival *const remote_barrier = in_block(barrier, rank);
  remote_barrier->bytes -= sent_bytes<T>;
  complete(remote_barrier);
}
// Slow, so that other blocks continue in the meantime.
inline void fence_cluster() {
  for (int k = 0; k < 3; ++k)
    heddle_on_cpu->give_way();
}

} // namespace heddle
