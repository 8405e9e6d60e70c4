// Sinkhorn for a list of small problems of one size, which stay in registers for all iterations: a lower bound for the
// time of a solve in the log domain, because nothing is stabilized and nothing stops.
//
//   problem   one cluster of CLUSTER blocks, which share its rows; with 1, one block
//   thread    RI x CI elements of K = exp(-C / eps) in registers; CT threads side by side in a row, RT rows of threads
//   iteration u = a / (K v): sums over the threads of a row by shuffles; v = b / (u K): sums over rows by shuffles, then
//             over the warps through shared memory, then over the cluster through distributed shared memory, all in a
//             fixed order
//
// The weights are equal, a = 1 / rows and b = 1 / columns. Results are log u and log v. Costs far above 80 eps (in f64,
// 700 eps) underflow.
//
// Macros: ELEMENT, the type of the costs: 0 f32, 1 f64, 2 bf16, 3 f16; CT, RT, CI, RI, CLUSTER, with
// CT * CI >= columns, RT * RI * CLUSTER >= rows, CT 8, 16 or 32, and CT * RT a multiple of 32.

#ifndef ELEMENT
#define ELEMENT 0
#endif
#ifndef CT
#define CT 16
#define RT 16
#define CI 7
#define RI 7
#define CLUSTER 1
#endif

#if ELEMENT == 1
using Real = double;
using Element = double;
#elif ELEMENT == 0
using Real = float;
using Element = float;
#else
using Real = float;
using Element = unsigned short;
#endif

constexpr int kThreads = CT * RT, kWarps = kThreads / 32, kColumns = CT * CI;

struct Batch {
    const Element *c;     // the first problem
    long long stride;     // elements from one problem to the next
    int rows, columns;
    Real *u, *v;          // results: rows and columns of each problem
    const Real *eps;
    const int *limit;     // number of iterations
};

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
__device__ __forceinline__ float exponential(float x) { return __expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }
__device__ __forceinline__ float logarithm(float x) { return logf(x); }
__device__ __forceinline__ double logarithm(double x) { return log(x); }
__device__ __forceinline__ float quotient(float a, float b) { return __fdividef(a, b); }
__device__ __forceinline__ double quotient(double a, double b) { return a / b; }
__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }

// Makes earlier stores to shared memory visible to the blocks of the cluster.
__device__ __forceinline__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ Real load_from(int rank, const Real *from) {
    unsigned at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"((unsigned)__cvta_generic_to_shared(from)), "r"(rank));
    Real x;
#if ELEMENT == 1
    asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(x) : "r"(at) : "memory");
#else
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
#endif
    return x;
}

// grid: CLUSTER * problems
extern "C" __global__ void __launch_bounds__(kThreads) __cluster_dims__(CLUSTER, 1, 1)
    sinkhorn_batched(const __grid_constant__ Batch s) {
    __shared__ Real part[kWarps][kColumns], scaling[kColumns], own[2][kColumns];

    const int t = threadIdx.x, column = t % CT, row = t / CT, warp = t / 32;
    const int problem = blockIdx.x / CLUSTER, begin = (int)(blockIdx.x % CLUSTER) * RT * RI;
    const Element *c = s.c + problem * s.stride;
    const Real a = (Real)1 / s.rows, b = (Real)1 / s.columns, factor = -1 / *s.eps;
    const int limit = *s.limit;

    Real k[RI][CI], u[RI];
#pragma unroll
    for (int i = 0; i < RI; ++i)
#pragma unroll
        for (int j = 0; j < CI; ++j) {
            int r = begin + row + RT * i, q = column + CT * j;
            k[i][j] = r < s.rows && q < s.columns ? exponential(value(c[(long long)r * s.columns + q]) * factor) : 0;
        }
    for (int j = t; j < kColumns; j += kThreads) scaling[j] = j < s.columns ? 1 : 0;
    __syncthreads();

    for (int iteration = 0; iteration < limit; ++iteration) {
#pragma unroll
        for (int i = 0; i < RI; ++i) u[i] = 0;
#pragma unroll
        for (int j = 0; j < CI; ++j) {
            Real v = scaling[column + CT * j];
#pragma unroll
            for (int i = 0; i < RI; ++i) u[i] = multiply_add(k[i][j], v, u[i]);
        }
#pragma unroll
        for (int mask = CT / 2; mask; mask /= 2)
#pragma unroll
            for (int i = 0; i < RI; ++i) u[i] += __shfl_xor_sync(~0u, u[i], mask);
#pragma unroll
        for (int i = 0; i < RI; ++i) u[i] = begin + row + RT * i < s.rows ? quotient(a, u[i]) : 0;
#pragma unroll
        for (int j = 0; j < CI; ++j) {
            Real sum = 0;
#pragma unroll
            for (int i = 0; i < RI; ++i) sum = multiply_add(k[i][j], u[i], sum);
#pragma unroll
            for (int mask = 16; mask >= CT; mask /= 2) sum += __shfl_xor_sync(~0u, sum, mask);
            if (t % 32 < CT) part[warp][column + CT * j] = sum;
        }
        __syncthreads();
        Real *mine = own[iteration % 2];  // the other half may still be read
        for (int j = t; j < s.columns; j += kThreads) {
            Real sum = 0;
#pragma unroll
            for (int w = 0; w < kWarps; ++w) sum += part[w][j];
            if (CLUSTER == 1)
                scaling[j] = quotient(b, sum);
            else
                mine[j] = sum;
        }
        if (CLUSTER > 1) {
            sync_cluster();
            for (int j = t; j < s.columns; j += kThreads) {
                Real sum = 0;
#pragma unroll
                for (int rank = 0; rank < CLUSTER; ++rank) sum += load_from(rank, mine + j);
                scaling[j] = quotient(b, sum);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < RI; ++i) {
        int r = begin + row + RT * i;
        if (column == 0 && r < s.rows) s.u[(long long)problem * s.rows + r] = logarithm(u[i]);
    }
    if (begin == 0)
        for (int j = t; j < s.columns; j += kThreads) s.v[(long long)problem * s.columns + j] = logarithm(scaling[j]);
    if (CLUSTER > 1) sync_cluster();  // no block may end while others read its memory
}
