// Clip by global norm, then AdamW, over a list of tensors of one element type: three kernels joined by programmatic edges.
//
//   bytes per element   32 in f32: partials reads g (4); update reads p, g, m, v and writes p, m, v (28). update visits the
//                       tiles in reverse, because the last gradients that partials read are still in the L2 cache.
//   blocks              partials: 256 threads, one tile of up to 4096 gradient elements; combine: one block of 1024
//                       threads; update: 256 threads, one tile of up to 1024 elements (512 in f64), 8 blocks per SM (32 registers;
//                       5 if all elements have 16 bits, 4 in f64)
//   work assignment     block b takes tile descriptor b, which holds the pointers (update: counted from the end)
//   scalars             lr, beta1, beta2, eps, weight_decay and max_norm are f64 in device memory and may change
//                       between launches; the step counter is one f32 per member, advanced in place
//
// combine does all scalar math in one block, while partials is still running: it turns the hyperparameters and each
// member's step into seven numbers per member. Then it waits for the partial sums, adds them in a fixed order and
// publishes the clip factor. Partition and order depend on the table alone, so the norm has the same bits on every GPU.
// combine and update launch early (programmatic dependent launch), load the data that does not depend on the previous
// kernel, and then wait for that kernel.

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

// One descriptor per gradient tile, 16 bytes.
struct alignas(16) GradTile {
    const Param *g;  // first element of the tile
    int count;       // elements in this tile, 1..4096; every tile of a member but its last has 4096
    int unused;
};

// One descriptor per tile of update, 48 bytes.
struct alignas(16) Tile {
    Param *p, *g;          // first element of the tile
    State *m, *v;
    int count;             // elements in this tile, 1..kTile
    int member;            // index into scalars
    int unused[2];
};

// Device addresses of the hyperparameters.
struct Hyper {
    const double *lr, *beta1, *beta2, *eps, *weight_decay, *max_norm;
};

// One entry per member, 32 bytes (64 in f64), written by combine for update.
struct alignas(16) Scalars {
    Real decay, w1, b2, w2, size, root2, eps, unused;
};

constexpr int kThreads = 256;
constexpr int kItems = sizeof(Real) == 8 ? 2 : 4;  // consecutive elements of a thread
constexpr int kTile = kItems * kThreads;
constexpr int kBlocks = sizeof(Real) == 8 ? 4 : sizeof(State) == 2 ? 5 : 8;  // of update, per SM
constexpr int kGradTile = 4096;
constexpr int kGradItems = 16 / sizeof(Param);
constexpr int kGradVectors = kGradTile / kThreads / kGradItems;  // per thread in a gradient tile

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
constexpr int kCombine = 1024;

__device__ __forceinline__ float root(float x) { return sqrtf(x); }
__device__ __forceinline__ double root(double x) { return sqrt(x); }

__device__ __forceinline__ void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;"); }
__device__ __forceinline__ void wait_for_dependency() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Returns the sum over the block, in a fixed order, to thread 0.
template <int Threads>
__device__ __forceinline__ double block_sum(double x) {
    __shared__ double warp[Threads / 32];
#pragma unroll
    for (int offset = 16; offset; offset >>= 1) x += __shfl_xor_sync(~0u, x, offset);
    if (threadIdx.x % 32 == 0) warp[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x == 0) {
        x = 0;
#pragma unroll
        for (int i = 0; i < Threads / 32; ++i) x += warp[i];
    }
    return x;
}

// partial[b] = the sum of squares of gradient tile b. grid: number of gradient tiles
extern "C" __global__ void __launch_bounds__(kThreads, sizeof(Real) == 8 ? 4 : 8)
    clip_adamw_partials(const GradTile *__restrict__ tiles, double *__restrict__ partial) {
    launch_dependents();
    uint4 descriptor = __ldg((const uint4 *)(tiles + blockIdx.x));
    const Param *g = (const Param *)(descriptor.x | (unsigned long long)descriptor.y << 32);
    int count = (int)descriptor.z;

    Real x[kGradVectors][kGradItems];
    if (count == kGradTile && ((unsigned long long)g & 15) == 0) {
#pragma unroll
        for (int k = 0; k < kGradVectors; ++k) {
            Packed<Param, kGradItems> packed;
            packed.bits = __ldg((const uint4 *)g + threadIdx.x + k * kThreads);
#pragma unroll
            for (int j = 0; j < kGradItems; ++j) x[k][j] = value(packed.elements[j]);
        }
    } else {  // the same elements in the same threads, so alignment never changes the sum
#pragma unroll
        for (int k = 0; k < kGradVectors; ++k)
#pragma unroll
            for (int j = 0; j < kGradItems; ++j) {
                int i = kGradItems * (threadIdx.x + k * kThreads) + j;
                x[k][j] = i < count ? value(g[i]) : 0;
            }
    }
    double sum = 0;
#pragma unroll
    for (int k = 0; k < kGradVectors; ++k)
#pragma unroll
        for (int j = 0; j < kGradItems; ++j) sum += (double)x[k][j] * x[k][j];
    sum = block_sum<kThreads>(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__device__ __forceinline__ double power(double base, int exponent) {
    double result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result *= base;
        base *= base;
    }
    return result;
}

// Computes every member's scalars and advances its step; then sets *clip = min(1, max_norm / (norm + 1e-6)). grid: 1
extern "C" __global__ void __launch_bounds__(kCombine)
    clip_adamw_combine(const Hyper h, float *step, int members, const double *partial, int partials, Scalars *scalars,
                       Real *clip) {
    launch_dependents();
    double beta1 = __ldg(h.beta1), beta2 = __ldg(h.beta2), max_norm = __ldg(h.max_norm);
    Real lr = (Real)__ldg(h.lr), weight_decay = (Real)__ldg(h.weight_decay), eps = (Real)__ldg(h.eps);
    for (int i = threadIdx.x; i < members; i += kCombine) {
        float t = step[i];
        int n = (int)t + 1;
        Real bias1 = (Real)(1 - power(beta1, n)), root2 = (Real)sqrt(1 - power(beta2, n));
        scalars[i] = {1 - lr * weight_decay, (Real)(1 - beta1), (Real)beta2, (Real)(1 - beta2),
                      lr / bias1,            root2,             eps,         0};
        step[i] = t + 1.f;
    }
    wait_for_dependency();
    double sum = 0;
#pragma unroll 8
    for (int i = threadIdx.x; i < partials; i += kCombine) sum += __ldcg(partial + i);
    sum = block_sum<kCombine>(sum);
    if (threadIdx.x == 0) {
        double c = max_norm / (sqrt(sum) + 1e-6);
        *clip = c < 1 || isnan(c) ? (Real)c : 1;
    }
}

__device__ __forceinline__ Tile load_descriptor(const Tile *descriptor) {
    const ulonglong2 *at = (const ulonglong2 *)descriptor;  // 16-byte loads of 64-bit pairs need the fewest registers
    ulonglong2 a = __ldg(at), b = __ldg(at + 1), c = __ldg(at + 2);
    return {(Param *)a.x, (Param *)a.y, (State *)b.x, (State *)b.y, (int)c.x, (int)(c.x >> 32), {}};
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

template <bool Streaming>
__device__ __forceinline__ void update(const Tile *tiles, const Scalars *scalars, const Real *clip) {
    Tile tile = load_descriptor(tiles + (gridDim.x - 1 - blockIdx.x));
    unsigned long long addresses =
        (unsigned long long)tile.p | (unsigned long long)tile.g | (unsigned long long)tile.m | (unsigned long long)tile.v;
    bool whole = tile.count == kTile && (addresses & 15) == 0;

    Real p[kItems], g[kItems], m[kItems], v[kItems];
    load<Streaming>(p, tile.p, tile.count, whole);
    load<false>(g, tile.g, tile.count, whole);
    load<Streaming>(m, tile.m, tile.count, whole);
    load<Streaming>(v, tile.v, tile.count, whole);

    wait_for_dependency();
    // Plain loads, because all threads read the same few values from the L1 cache (bypassing it costs 2 %).
    Real c = *clip;
    Scalars s;
#pragma unroll
    for (int i = 0; i < sizeof(Scalars) / 16; ++i) ((uint4 *)&s)[i] = ((const uint4 *)(scalars + tile.member))[i];
#pragma unroll
    for (int k = 0; k < kItems; ++k) g[k] *= c;
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
        p[k] *= s.decay;
        m[k] += s.w1 * (g[k] - m[k]);
        v[k] = v[k] * s.b2 + (s.w2 * g[k]) * g[k];
        p[k] -= s.size * (m[k] / (root(v[k]) / s.root2 + s.eps));
    }
    store<Streaming>(p, tile.p, tile.count, whole);
    store<Streaming>(m, tile.m, tile.count, whole);
    store<Streaming>(v, tile.v, tile.count, whole);
}

// grid: number of tiles
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    clip_adamw_update(const Tile *__restrict__ tiles, const Scalars *scalars, const Real *clip) {
    update<false>(tiles, scalars, clip);
}

// The same with streaming accesses to p, m and v: faster while the four lists together are about as large as the L2
// cache, slower for larger lists.
extern "C" __global__ void __launch_bounds__(kThreads, kBlocks)
    clip_adamw_update_l2(const Tile *__restrict__ tiles, const Scalars *scalars, const Real *clip) {
    update<true>(tiles, scalars, clip);
}
