// The softmax of every row of a dense matrix of any width: y = exp(x - max) / sum of exp(x - max).
//
//   row_softmax_narrow    rows of up to 64: a block copies a tile of whole rows into shared memory with 16-byte accesses,
//                         LANES lanes process a row, and the block copies the results back
//   row_softmax           rows that fit the registers of LANES threads, a warp or a block; read once and written once
//   row_softmax_partials, row_softmax_finish
//                         wider rows, in chunks: a block computes maximum and sum of a chunk; then every block combines
//                         those of its row and writes its chunk. The second read is from the L2 cache if the matrix fits
//
// Macros: ELEMENT, the type of x and y: 0 f32, 1 f64, 2 bf16, 3 f16; LANES, threads of a row, a power of two up to 1024;
// ITEMS, elements of a lane; a row has up to LANES * ITEMS elements, for wide rows a chunk.

#ifndef ELEMENT
#define ELEMENT 0
#endif
#ifndef LANES
#define LANES 32
#define ITEMS 2
#endif

#if ELEMENT == 1
using Real = double;
#else
using Real = float;
#endif
#if ELEMENT < 2
using Element = Real;
#else
using Element = unsigned short;
#endif

constexpr int kThreads = LANES > 256 ? LANES : 256;
constexpr int kGroups = kThreads / LANES;     // rows that a block processes at a time
constexpr int kTile = 16384 / sizeof(Real);   // elements in shared memory
constexpr int kPack = 16 / sizeof(Element);

__device__ __forceinline__ Real value(Element x) {
#if ELEMENT == 2
    return __uint_as_float((unsigned)x << 16);
#elif ELEMENT == 3
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
#else
    return x;
#endif
}
__device__ __forceinline__ Element rounded(Real x) {
#if ELEMENT == 2
    Element y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
#elif ELEMENT == 3
    Element y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
#else
    return x;
#endif
}
__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double larger(double a, double b) { return fmax(a, b); }
#if ELEMENT == 1
#define LEAST __longlong_as_double(0xfff0000000000000ll)
#else
#define LEAST __int_as_float(0xff800000)
#endif

// Combines the values of the LANES threads of a row, in a fixed order; all of them get the result.
template <bool Add>
__device__ __forceinline__ Real combined(Real x) {
    auto combine = [](Real a, Real b) { return Add ? a + b : larger(a, b); };
#pragma unroll
    for (int mask = (LANES < 32 ? LANES : 32) / 2; mask; mask /= 2) x = combine(x, __shfl_xor_sync(~0u, x, mask));
    if constexpr (LANES > 32) {
        constexpr int warps = LANES > 32 ? LANES / 32 : 1;
        __shared__ Real parts[2][kThreads / 32];
        const int warp = threadIdx.x / 32;
        if (threadIdx.x % 32 == 0) parts[Add][warp] = x;
        __syncthreads();
        const Real *mine = parts[Add] + warp / warps * warps;
        x = mine[0];
#pragma unroll
        for (int k = 1; k < warps; ++k) x = combine(x, mine[k]);
    }
    return x;
}

// Replaces x by its exponentials about the maximum of the row and returns their sum.
__device__ __forceinline__ Real exponentials(Real (&x)[ITEMS], Real &most) {
    most = x[0];
#pragma unroll
    for (int k = 1; k < ITEMS; ++k) most = larger(most, x[k]);
    most = combined<false>(most);
    Real sum = 0;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) sum += x[k] = exponential(x[k] - most);
    return combined<true>(sum);
}

// grid: rows / rows_of_block, rounded up; rows_of_block is a multiple of 8, and rows_of_block * columns <= kTile
extern "C" __global__ void __launch_bounds__(kThreads)
    row_softmax_narrow(const Element *x, Element *y, long long rows, int columns, int rows_of_block) {
    __shared__ __align__(16) Real tile[kTile];
    const long long first = (long long)blockIdx.x * rows_of_block;
    const int here = (int)min((long long)rows_of_block, rows - first), count = here * columns;
    x += first * columns;
    y += first * columns;
    union Pack {
        uint4 bits;
        Element elements[kPack];
    };
    for (int i = threadIdx.x * kPack; i < count; i += kThreads * kPack) {
        Pack pack;
        if (i + kPack <= count)
            pack.bits = *(const uint4 *)(x + i);
        else
#pragma unroll
            for (int k = 0; k < kPack; ++k) pack.elements[k] = i + k < count ? x[i + k] : 0;
#pragma unroll
        for (int k = 0; k < kPack; ++k)
            if (i + k < count) tile[i + k] = value(pack.elements[k]);
    }
    __syncthreads();
    const int lane = threadIdx.x % LANES;
    for (int row = threadIdx.x / LANES; row < (here + kGroups - 1) / kGroups * kGroups; row += kGroups) {
        Real e[ITEMS], most;
        Real *at = tile + row * columns;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = lane + LANES * k;
            e[k] = row < here && j < columns ? at[j] : LEAST;
        }
        Real sum = exponentials(e, most);
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = lane + LANES * k;
            if (row < here && j < columns) at[j] = e[k] / sum;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x * kPack; i < count; i += kThreads * kPack) {
        Pack pack;
#pragma unroll
        for (int k = 0; k < kPack; ++k) pack.elements[k] = i + k < count ? rounded(tile[i + k]) : 0;
        if (i + kPack <= count)
            *(uint4 *)(y + i) = pack.bits;
        else
#pragma unroll
            for (int k = 0; k < kPack; ++k)
                if (i + k < count) y[i + k] = pack.elements[k];
    }
}

// grid: rows / kGroups, rounded up
extern "C" __global__ void __launch_bounds__(kThreads)
    row_softmax(const Element *x, Element *y, long long rows, int columns) {
    const int lane = threadIdx.x % LANES;
    const long long row = (long long)blockIdx.x * kGroups + threadIdx.x / LANES;
    x += row * columns;
    y += row * columns;
    Real e[ITEMS], most;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        int j = lane + LANES * k;
        e[k] = row < rows && j < columns ? value(x[j]) : LEAST;
    }
    Real sum = exponentials(e, most);
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        int j = lane + LANES * k;
        if (row < rows && j < columns) y[j] = rounded(e[k] / sum);
    }
}

// LANES is kThreads in the kernels of wide rows. grid: chunks x rows; partial: the maximum and sum of each chunk of each row
extern "C" __global__ void __launch_bounds__(kThreads)
    row_softmax_partials(const Element *x, Real *partial, int columns) {
    const int begin = blockIdx.x * LANES * ITEMS + threadIdx.x;
    x += (long long)blockIdx.y * columns;
    Real e[ITEMS], most;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        int j = begin + LANES * k;
        e[k] = j < columns ? value(x[j]) : LEAST;
    }
    Real sum = exponentials(e, most);
    if (threadIdx.x == 0) {
        Real *mine = partial + 2 * ((long long)blockIdx.y * gridDim.x + blockIdx.x);
        mine[0] = most;
        mine[1] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    row_softmax_finish(const Element *x, Element *y, const Real *partial, int columns) {
    const int begin = blockIdx.x * LANES * ITEMS + threadIdx.x;
    x += (long long)blockIdx.y * columns;
    y += (long long)blockIdx.y * columns;
    Element e[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        int j = begin + LANES * k;
        e[k] = j < columns ? x[j] : 0;
    }
    const Real *mine = partial + 2 * (long long)blockIdx.y * gridDim.x;
    Real most = LEAST, sum = 0;
    for (int k = threadIdx.x; k < gridDim.x; k += kThreads) most = larger(most, mine[2 * k]);
    most = combined<false>(most);
    for (int k = threadIdx.x; k < gridDim.x; k += kThreads) sum += mine[2 * k + 1] * exponential(mine[2 * k] - most);
    sum = combined<true>(sum);
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        int j = begin + LANES * k;
        if (j < columns) y[j] = rounded(exponential(value(e[k]) - most) / sum);
    }
}
