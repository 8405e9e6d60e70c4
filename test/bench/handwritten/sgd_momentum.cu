// SGD with momentum over a list of tensors of one element type, the whole step in one launch.
//
//   bytes per element   20 in f32: reads p, g, buf; writes p, buf
//   block               256 threads (30 registers)
//   work assignment     block b takes tile descriptor b, which holds the pointers; a tile has up to 1024 (in f64
//                       512) consecutive elements of one member
//   scalars             lr and momentum are f64 in device memory and may change between launches; there is no step
//                       counter (the momentum buffer starts at zero, so the first step is no special case)

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

// One descriptor per tile, 32 bytes, 16-byte aligned.
struct alignas(16) Tile {
    Param *p, *g;  // first element of the tile: parameter, gradient
    State *buf;    // momentum buffer
    int count;     // elements in this tile, 1..kTile
    int unused;
};

constexpr int kThreads = 256;
constexpr int kItems = sizeof(Real) == 8 ? 2 : 4;  // consecutive elements of a thread
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

__device__ __forceinline__ Tile load_descriptor(const Tile *descriptor) {
    ulonglong2 a = __ldg((const ulonglong2 *)descriptor), b = __ldg((const ulonglong2 *)descriptor + 1);
    return {(Param *)a.x, (Param *)a.y, (State *)b.x, (int)b.y, 0};
}

// A whole, aligned tile moves kItems consecutive elements per thread; any other tile moves coalesced elements.
template <typename T>
__device__ __forceinline__ void load(Real (&x)[kItems], const T *from, int count, bool whole) {
    if (whole) {
        Packed<T, kItems> packed;
        auto at = (const decltype(packed.bits) *)from + threadIdx.x;
        packed.bits = *at;
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

template <typename T>
__device__ __forceinline__ void store(const Real (&x)[kItems], T *to, int count, bool whole) {
    if (whole) {
        Packed<T, kItems> packed;
        auto at = (decltype(packed.bits) *)to + threadIdx.x;
#pragma unroll
        for (int k = 0; k < kItems; ++k) assign(packed.elements[k], x[k]);
        *at = packed.bits;
    } else {
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
            int i = threadIdx.x + k * kThreads;
            if (i < count) assign(to[i], x[k]);
        }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    sgd_momentum(const Tile *__restrict__ tiles, const double *__restrict__ lr_, const double *__restrict__ momentum_) {
    Tile tile = load_descriptor(tiles + blockIdx.x);
    unsigned long long addresses = (unsigned long long)tile.p | (unsigned long long)tile.g | (unsigned long long)tile.buf;
    bool whole = tile.count == kTile && (addresses & 15) == 0;

    Real p[kItems], g[kItems], buf[kItems];
    load(p, tile.p, tile.count, whole);
    load(g, tile.g, tile.count, whole);
    load(buf, tile.buf, tile.count, whole);

    Real lr = (Real)__ldg(lr_), momentum = (Real)__ldg(momentum_);
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
        buf[k] = buf[k] * momentum + g[k];
        p[k] -= lr * buf[k];
    }
    store(p, tile.p, tile.count, whole);
    store(buf, tile.buf, tile.count, whole);
}
