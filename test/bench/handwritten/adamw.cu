// AdamW over a list of tensors of one element type, the whole step in one launch.
//
//   bytes per element   28 in f32: reads p, g, m, v; writes p, m, v
//   block               256 threads, at least 6 blocks per SM (40 registers); 5 if all elements have 16 bits, 4 in f64
//   work assignment     block b takes tile descriptor b, which holds the pointers; a tile has up to 1024 (in f64
//                       512) consecutive elements of one member, so no block searches for its work
//   scalars             lr, beta1, beta2, eps and weight_decay are f64 in device memory and may change between
//                       launches; the step counter is one f32 per member, advanced in place
//
// The bias corrections need integer powers in double, which are too slow to compute in every block. They are therefore
// precomputed: the last block of a member to take a ticket stores the next step's corrections, together with the step
// and betas they depend on. Every thread compares these with the actual step and betas bit for bit, and recomputes the
// corrections on a mismatch. The host may overwrite the step and betas or clear the memo; only the next step is then
// slower.
//
// A block takes its ticket while the loads of its tile are in flight, and uses the ticket after the stores. No fence is
// needed: __syncthreads_or consumes a value that every thread derives from the step and the memo. So the block has read
// both before it takes the ticket, and only the block with the last ticket overwrites them. (The PTX memory model has
// no such dependency. It requires a release and an acquire, which cost 2-5 % of the step.)

// Element types of parameters and gradients, and of state: 0 f32, 1 f64, 2 bf16, 3 f16.
#ifndef PARAM
#define PARAM 0
#endif
#ifndef STATE
#define STATE PARAM
#endif

struct Half {
    unsigned short bits;
};
struct BFloat16 {
    unsigned short bits;
};
template <int Code>
struct ElementOf;
template <>
struct ElementOf<0> {
    using type = float;
};
template <>
struct ElementOf<1> {
    using type = double;
};
template <>
struct ElementOf<2> {
    using type = BFloat16;
};
template <>
struct ElementOf<3> {
    using type = Half;
};
using Param = ElementOf<PARAM>::type;
using State = ElementOf<STATE>::type;

// The type of the arithmetic.
#if PARAM == 1 || STATE == 1
using Real = double;
#else
using Real = float;
#endif

__device__ __forceinline__ Real value(float x) { return x; }
__device__ __forceinline__ Real value(double x) { return (Real)x; }
__device__ __forceinline__ Real value(BFloat16 x) { return __uint_as_float((unsigned)x.bits << 16); }
__device__ __forceinline__ Real value(Half x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
__device__ __forceinline__ void assign(float &to, Real x) { to = (float)x; }
__device__ __forceinline__ void assign(double &to, Real x) { to = x; }
__device__ __forceinline__ void assign(BFloat16 &to, Real x) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"((float)x)); }
__device__ __forceinline__ void assign(Half &to, Real x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"((float)x)); }

// One descriptor per tile, 64 bytes, 16-byte aligned.
struct alignas(16) Tile {
    Param *p, *g;          // first element of the tile: parameter, gradient
    State *m, *v;          // first and second moment
    float *step;           // the member's step counter
    int count;             // elements in this tile, 1..kTile
    int member;            // index into memo and tickets
    int tiles;             // number of tiles of the member
    int unused[3];
};

// Device addresses of the hyperparameters.
struct Hyper {
    const double *lr, *beta1, *beta2, *eps, *weight_decay;
};

// One entry per member, 32 bytes (48 in f64), zeroed once by the host.
struct alignas(16) Memo {
    unsigned valid;
    float step;  // the step counter before the update that uses these corrections
    Real bias1, root2;
    double beta1, beta2;
};

constexpr int kThreads = 256;
constexpr int kItems = sizeof(Real) == 8 ? 2 : 4;  // consecutive elements of a thread
constexpr int kBlocks = sizeof(Real) == 8 ? 4 : sizeof(State) == 2 ? 5 : 6;  // per SM
constexpr int kTile = kItems * kThreads;

// The elements of a thread in memory, moved at once.
template <int Bytes>
struct BitsOf;
template <>
struct BitsOf<16> {
    using type = uint4;
};
template <>
struct BitsOf<8> {
    using type = uint2;
};
template <>
struct BitsOf<4> {
    using type = unsigned;
};
template <typename T, int Count>
union Packed {
    typename BitsOf<sizeof(T) * Count>::type bits;
    T elements[Count];
};

__device__ __forceinline__ float root(float x) { return sqrtf(x); }
__device__ __forceinline__ double root(double x) { return sqrt(x); }

__device__ __forceinline__ double power(double base, int exponent) {
    double result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result *= base;
        base *= base;
    }
    return result;
}

__device__ __forceinline__ void corrections(float step, double beta1, double beta2, Real &bias1, Real &root2) {
    int n = (int)step + 1;
    bias1 = (Real)(1 - power(beta1, n));
    root2 = (Real)sqrt(1 - power(beta2, n));
}

__device__ __forceinline__ Tile load_descriptor(const Tile *descriptor) {
    const ulonglong2 *at = (const ulonglong2 *)descriptor;  // 16-byte loads of 64-bit pairs need the fewest registers
    ulonglong2 a = __ldg(at), b = __ldg(at + 1), c = __ldg(at + 2), d = __ldg(at + 3);
    return {(Param *)a.x, (Param *)a.y, (State *)b.x, (State *)b.y, (float *)c.x, (int)c.y, (int)(c.y >> 32), (int)d.x, {}};
}

__device__ __forceinline__ Memo load_memo(const Memo *entry) {
    Memo e;
    for (int i = 0; i < sizeof(Memo) / 16; ++i) ((uint4 *)&e)[i] = ((const uint4 *)entry)[i];
    return e;
}

// A whole, aligned tile moves kItems consecutive elements per thread; any other tile moves coalesced elements.
// `Streaming` marks the data as evict-first in the L2 cache.
template <bool Streaming, typename T>
__device__ __forceinline__ void load(Real (&x)[kItems], const T *from, int count, bool whole) {
    if (whole) {
        Packed<T, kItems> packed;
        auto at = (const decltype(packed.bits) *)from + threadIdx.x;
        packed.bits = Streaming ? __ldcs(at) : *at;
#pragma unroll
        for (int k = 0; k < kItems; ++k) x[k] = value(packed.elements[k]);
    } else {
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
            int i = threadIdx.x + k * kThreads;
            x[k] = i < count ? value(from[i]) : 0;
        }
    }
}

template <bool Streaming, typename T>
__device__ __forceinline__ void store(const Real (&x)[kItems], T *to, int count, bool whole) {
    if (whole) {
        Packed<T, kItems> packed;
        auto at = (decltype(packed.bits) *)to + threadIdx.x;
#pragma unroll
        for (int k = 0; k < kItems; ++k) assign(packed.elements[k], x[k]);
        if (Streaming)
            __stcs(at, packed.bits);
        else
            *at = packed.bits;
    } else {
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
            int i = threadIdx.x + k * kThreads;
            if (i < count) assign(to[i], x[k]);
        }
    }
}

__device__ __forceinline__ unsigned take_ticket(unsigned *counter, unsigned last) {
    unsigned before;  // the counter runs from 0 to `last` and wraps, so it needs no reset
    asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(last) : "memory");
    return before;
}

template <bool Streaming>
__device__ __forceinline__ void update(const Tile *tiles, const Hyper &h, Memo *memo, unsigned *tickets) {
    Tile tile = load_descriptor(tiles + blockIdx.x);
    unsigned long long addresses =
        (unsigned long long)tile.p | (unsigned long long)tile.g | (unsigned long long)tile.m | (unsigned long long)tile.v;
    bool whole = tile.count == kTile && (addresses & 15) == 0;

    Real p[kItems], g[kItems], m[kItems], v[kItems];
    load<Streaming>(p, tile.p, tile.count, whole);
    load<false>(g, tile.g, tile.count, whole);
    load<Streaming>(m, tile.m, tile.count, whole);
    load<Streaming>(v, tile.v, tile.count, whole);

    float step = *tile.step;
    Memo ready = load_memo(memo + tile.member);
    double beta1 = __ldg(h.beta1), beta2 = __ldg(h.beta2);
    Real lr = (Real)__ldg(h.lr), weight_decay = (Real)__ldg(h.weight_decay), eps = (Real)__ldg(h.eps);
    Real decay = 1 - lr * weight_decay, w1 = (Real)(1 - beta1), b2 = (Real)beta2, w2 = (Real)(1 - beta2);
    bool stale = !(ready.valid && __float_as_uint(ready.step) == __float_as_uint(step) &&
                   __double_as_longlong(ready.beta1) == __double_as_longlong(beta1) &&
                   __double_as_longlong(ready.beta2) == __double_as_longlong(beta2));
    Real bias1 = ready.bias1, root2 = ready.root2;
    if (stale) corrections(step, beta1, beta2, bias1, root2);

    unsigned ticket = 0;
    __syncthreads_or(stale);
    if (threadIdx.x == 0 && tile.tiles > 1) ticket = take_ticket(tickets + tile.member, tile.tiles - 1);

    Real size = lr / bias1;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
        p[k] *= decay;
        m[k] += w1 * (g[k] - m[k]);
        v[k] = v[k] * b2 + (w2 * g[k]) * g[k];
        p[k] -= size * (m[k] / (root(v[k]) / root2 + eps));
    }
    store<Streaming>(p, tile.p, tile.count, whole);
    store<Streaming>(m, tile.m, tile.count, whole);
    store<Streaming>(v, tile.v, tile.count, whole);

    if (threadIdx.x == 0 && ticket == tile.tiles - 1) {
        Memo next{1, step + 1.f, 0, 0, beta1, beta2};
        corrections(next.step, beta1, beta2, next.bias1, next.root2);
        *tile.step = next.step;
        memo[tile.member] = next;
    }
}

extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    adamw(const Tile *__restrict__ tiles, const Hyper h, Memo *memo, unsigned *tickets) {
    update<false>(tiles, h, memo, tickets);
}

// The same with streaming accesses to p, m and v: faster while the four lists together are about as large as the L2
// cache, slower for larger lists.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    adamw_l2(const Tile *__restrict__ tiles, const Hyper h, Memo *memo, unsigned *tickets) {
    update<true>(tiles, h, memo, tickets);
}
