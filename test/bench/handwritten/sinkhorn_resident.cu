// Dense Sinkhorn in the log domain, for matrices that stay in the shared memory of one cluster: the whole solve in one
// launch.
//
//   bytes per element   one element of c per solve
//   blocks              one cluster of BLOCKS, each with an equal share of the rows; one warp per row
//   scalars             eps (or null), tolerance and iteration limit are in device memory
//
// The iteration is that in sinkhorn.cu, with these differences: c is scaled once and stays on chip, the row and column
// terms of the exponents stay in base 2, and rows need no barrier. Each block owns a column slice. It receives the
// parts of all blocks for these columns and sends the new column terms to all blocks. An iteration has two cluster
// barriers.
//
// Compiled per size class:
//   ELEMENT   element type of c: 0 f32, 1 f64 (everything else is then f64 too), 2 bf16, 3 f16
//   THREADS   at least 32 * ITEMS / BLOCKS
//   ITEMS     columns per lane; 32 * ITEMS is at least the number of columns
//   ROWS      rows that a warp processes at a time
//   BLOCKS    8, or 16 if the device allows clusters of this size

#ifndef ELEMENT
#define ELEMENT 0
#endif
#ifndef THREADS
#define THREADS 512
#define ITEMS 19
#define ROWS 2
#define BLOCKS 8
#endif

#if ELEMENT == 1
typedef double Real;
#else
typedef float Real;
#endif
#if ELEMENT < 2
typedef Real Element;
#else
typedef unsigned short Element;
#endif

// u and v are logarithms of the scalings: the transport plan is exp(u_i + L_ij + v_j), with L = -c / eps, or L = c if
// eps is null.
struct Sinkhorn {
    const Element *c;
    long long stride;  // elements from one row to the next
    int rows, columns;
    const Real *log_a, *log_b;
    Real *u, *v;  // initial values and results
    const Real *eps;
    const Real *tolerance;  // for sum |row sum - a| at the start of an iteration
    const int *limit;       // maximum number of iterations
    int *iterations;        // number of iterations run
    Real *error;            // sum |row sum - a| at the start of the last iteration
};

constexpr int kWarps = THREADS / 32;
constexpr int kColumns = 32 * ITEMS;  // including padding
static_assert(kColumns <= THREADS * BLOCKS, "a thread updates at most one column");

//----------------------------------------------------------------------------------------------------------------------
// Arithmetic, in base 2
//----------------------------------------------------------------------------------------------------------------------

#if ELEMENT == 1
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)
constexpr Real kLeastRow = 0x1p-400, kMostRow = 0x1p400, kLeastColumn = 0x1p-500, kLeastWeight = 0x1p-1022;
#else
#define INFINITE __int_as_float(0x7f800000)
// The flush of exponentials below 2^-126 to zero must not affect a sum: 40 + 60 + 24 <= 126.
constexpr Real kLeastRow = 0x1p-40f, kMostRow = 0x1p40f, kLeastColumn = 0x1p-60f, kLeastWeight = 0x1p-126f;
#endif
constexpr Real kLog2e = (Real)1.4426950408889634, kLn2 = (Real)0.6931471805599453;

__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// 2^n times a polynomial for |x - n| <= 1/2, accurate to 2^-53; no subnormal results.
__device__ __forceinline__ double power_of_two(double x) {
    const double shifter = 6755399441055744.0;
    double shifted = x + shifter, f = x - (shifted - shifter);
    double p = 4.4558179083360645e-10;
    p = fma(p, f, 7.074194297288521e-09);
    p = fma(p, f, 1.0178057087733941e-07);
    p = fma(p, f, 1.3215432535912375e-06);
    p = fma(p, f, 1.5252733841556773e-05);
    p = fma(p, f, 0.00015403530463724353);
    p = fma(p, f, 0.001333355814640647);
    p = fma(p, f, 0.009618129107587256);
    p = fma(p, f, 0.055504108664821625);
    p = fma(p, f, 0.24022650695910158);
    p = fma(p, f, 0.6931471805599453);
    p = fma(p, f, 1.0);
    int high = __double2hiint(p) + (__double2loint(shifted) << 20), low = __double2loint(p);
    int top = __double2hiint(x);
    if ((top & 0x7fffffff) >= 0x408ff000) {  // beyond +-1022, or NaN, which becomes +infinity and makes the sum unsafe
        high = top < 0 ? 0 : 0x7ff00000;
        low = 0;
    }
    return __hiloint2double(high, low);
}
__device__ __forceinline__ float log_two(float x) { return log2f(x); }
__device__ __forceinline__ double log_two(double x) { return log2(x); }
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double larger(double a, double b) { return fmax(a, b); }
__device__ __forceinline__ float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ double multiply_add(double a, double b, double c) { return fma(a, b, c); }
__device__ __forceinline__ float quotient(float a, float b) { return __fdividef(a, b); }
__device__ __forceinline__ double quotient(double a, double b) { return a / b; }

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

// Whether a row's sum is outside the safe range. A row without weight contributes nothing, so its sum never matters.
__device__ __forceinline__ bool is_unsafe(Real weight, Real sum) {
    return weight != 0 && !(sum >= kLeastRow && sum <= kMostRow);
}

// The term in the exponent; 0 for the potential +infinity of a row or column of infinite costs.
__device__ __forceinline__ Real guarded(Real term) { return term == INFINITE ? 0 : term; }

//----------------------------------------------------------------------------------------------------------------------
// The cluster
//----------------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ int rank_in_cluster() {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
// Makes earlier stores to the cluster's shared memory and to global memory visible to the cluster.
__device__ __forceinline__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void store_in(int rank, Real *to, Real x) {
    unsigned at;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"((unsigned)__cvta_generic_to_shared(to)), "r"(rank));
#if ELEMENT == 1
    asm volatile("st.shared::cluster.f64 [%0], %1;" ::"r"(at), "d"(x) : "memory");
#else
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(at), "f"(x) : "memory");
#endif
}

//----------------------------------------------------------------------------------------------------------------------
// Sums
//----------------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ Real warp_sum(Real x) {
#pragma unroll
    for (int mask = 16; mask; mask /= 2) x += __shfl_xor_sync(~0u, x, mask);
    return x;
}

// A sum of powers of two, as 2^most * sum; `most` is the largest exponent.
struct LogSum {
    Real most, sum;

    __device__ void add(Real x) { add({x, 1}); }
    __device__ void add(LogSum other) {
        Real top = larger(most, other.most);
        if (top == -INFINITE) return;
        sum = sum * power_of_two(most - top) + other.sum * power_of_two(other.most - top);
        most = top;
    }
    __device__ Real log() const { return most + log_two(sum); }
    // Returns log2 of the sum over the warp to all lanes.
    __device__ Real log_of_warp() {
        for (int mask = 16; mask; mask /= 2) {
            Real m = __shfl_xor_sync(~0u, most, mask), x = __shfl_xor_sync(~0u, sum, mask);
            add({m, x});
        }
        return log();
    }
    __device__ LogSum() : most(-INFINITE), sum(0) {}
    __device__ LogSum(Real most, Real sum) : most(most), sum(sum) {}
};

// All lanes of a warp run the fallbacks. They return log2 of a row's sum without its u, or of a column's without its v.
__device__ __noinline__ Real fallback_row(const Real *row, const Real *column_term, int columns) {
    LogSum sum;
    for (int j = threadIdx.x % 32; j < columns; j += 32) sum.add(row[j] + column_term[j]);
    return sum.log_of_warp();
}
__device__ __noinline__ Real fallback_column(const Sinkhorn &s, int column, Real factor) {
    LogSum sum;
    for (int i = threadIdx.x % 32; i < s.rows; i += 32)
        sum.add(multiply_add(value(s.c[i * s.stride + column]), factor, guarded(__ldcg(s.u + i)) * kLog2e));
    return sum.log_of_warp();
}

//----------------------------------------------------------------------------------------------------------------------
// The solve
//----------------------------------------------------------------------------------------------------------------------

// grid: BLOCKS; shared memory: (THREADS / 32 + 2) * kColumns + 32 * BLOCKS + rows_of_block * (columns + 3) values;
// rows_of_block is the number of rows divided by BLOCKS, rounded up
extern "C" __global__ void __launch_bounds__(THREADS, 1) __cluster_dims__(BLOCKS, 1, 1)
    sinkhorn_resident(const __grid_constant__ Sinkhorn s, const int rows_of_block) {
    extern __shared__ __align__(16) char memory[];
    __shared__ Real warp_error[kWarps], errors[BLOCKS];

    const int t = threadIdx.x, lane = t % 32, warp = t / 32, rank = rank_in_cluster();
    const int begin = (int)((long long)s.rows * rank / BLOCKS), rows = (int)((long long)s.rows * (rank + 1) / BLOCKS) - begin;
    const Real factor = s.eps ? -kLog2e / *s.eps : kLog2e;
    const int limit = *s.limit;
    const Real tolerance = *s.tolerance;

    // A block owns an equal column slice and combines the parts of all blocks for it.
    const int share = (s.columns + BLOCKS - 1) / BLOCKS, own_begin = rank * share;
    const int own = max(0, min(share, s.columns - own_begin));

    Real *const slots = (Real *)memory;                    // parts of all columns, by warp
    Real *const received = slots + kWarps * kColumns;      // parts of the block's own columns, by sending block
    Real *const column_term = received + kColumns + 32 * BLOCKS;
    Real *const row_term = column_term + kColumns, *const weight = row_term + rows_of_block;
    Real *const log_a = weight + rows_of_block;
    Real *const matrix = log_a + rows_of_block;

    for (int i = warp; i < rows; i += kWarps)
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = lane + 32 * k;
            if (j < s.columns) matrix[i * s.columns + j] = value(s.c[(begin + i) * s.stride + j]) * factor;
        }
    for (int j = t; j < kColumns; j += THREADS)
        column_term[j] = j < s.columns ? guarded(s.v[j] * kLog2e) : -INFINITE;
    Real own_term = t < own ? s.v[own_begin + t] * kLog2e : 0, log_b = t < own ? s.log_b[own_begin + t] * kLog2e : 0;
    for (int i = t; i < rows; i += THREADS) {
        Real a = s.log_a[begin + i], term = (s.u[begin + i] - a) * kLog2e;
        // Without weight, all exponentials are 0. For an infinite u, any finite term works, because an unsafe sum is
        // recomputed.
        row_term[i] = a == -INFINITE ? -INFINITE : term == INFINITE || term == -INFINITE ? 0 : term;
        weight[i] = a == -INFINITE ? 0 : larger(power_of_two(a * kLog2e), kLeastWeight);
        log_a[i] = a;
    }
    sync_cluster();  // all blocks must have started before any block sends

    int iteration = 0;
    while (iteration < limit) {
        Real term_of_column[ITEMS], sums[ITEMS], error = 0;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            term_of_column[k] = column_term[lane + 32 * k];
            sums[k] = 0;
        }
        for (int row = warp; row < rows; row += ROWS * kWarps) {
            Real x[ROWS][ITEMS], sum[ROWS], terms[ROWS];
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                int i = min(row + r * kWarps, rows - 1);  // past the end, repeat the last row
                const Real *from = matrix + i * s.columns + lane;
                Real term = terms[r] = row_term[i], odd = 0;
                sum[r] = 0;
#pragma unroll
                for (int k = 0; k < ITEMS; ++k) {
                    Real c = k < ITEMS - 1 || lane + 32 * k < s.columns ? from[32 * k] : 0;
                    x[r][k] = power_of_two(c + (term + term_of_column[k]));
                    (k % 2 ? odd : sum[r]) += x[r][k];
                }
                sum[r] += odd;
            }
#pragma unroll
            for (int mask = 16; mask; mask /= 2)
#pragma unroll
                for (int r = 0; r < ROWS; ++r) sum[r] += __shfl_xor_sync(~0u, sum[r], mask);
#pragma unroll
            for (int r = 0; r < ROWS; ++r) {
                int i = row + r * kWarps;
                if (r > 0 && i >= rows) continue;
                Real a = weight[i];
                if (a == 0) {
                    if (lane == 0) __stcg(s.u + begin + i, -INFINITE);
                    continue;
                }
                Real term = terms[r], ratio = sum[r], scale = quotient(a, sum[r]);
                if (is_unsafe(a, sum[r])) {
                    Real log = fallback_row(matrix + i * s.columns, column_term, s.columns);
                    ratio = log == -INFINITE ? 0 : power_of_two(term + log);
                    term = -log;
                    scale = log == -INFINITE ? 0 : a;
                    const Real *from = matrix + i * s.columns + lane;
#pragma unroll
                    for (int k = 0; k < ITEMS; ++k)
                        x[r][k] = lane + 32 * k < s.columns
                                      ? power_of_two(from[32 * k] + (guarded(term) + column_term[lane + 32 * k]))
                                      : 0;
                } else {
                    term -= log_two(sum[r]);
                }
                error += a * fabs(ratio - 1);
                if (lane == 0) {
                    row_term[i] = guarded(term);
                    __stcg(s.u + begin + i, log_a[i] + kLn2 * term);
                }
#pragma unroll
                for (int k = 0; k < ITEMS; ++k) sums[k] = multiply_add(x[r][k], scale, sums[k]);
            }
            __syncwarp();
        }
        if (lane == 0) warp_error[warp] = error;

        // Combine the parts of the block's warps, then those of the blocks in the block that owns the column.
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) slots[warp * kColumns + lane + 32 * k] = sums[k];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < (kColumns + THREADS - 1) / THREADS; ++k) {
            int j = t + k * THREADS;
            if (j < s.columns) {
                Real sum = 0;
#pragma unroll
                for (int w = 0; w < kWarps; ++w) sum += slots[w * kColumns + j];
                int owner = j / share;
                store_in(owner, received + rank * share + (j - owner * share), sum);
            }
        }
        if (warp == kWarps - 1) {
            Real sum = warp_sum(lane < kWarps ? warp_error[lane] : 0);
            if (lane < BLOCKS) store_in(lane, &errors[rank], sum);
        }
        sync_cluster();

        Real sum = 0;
        bool bad = false;
        if (t < own) {
#pragma unroll
            for (int k = 0; k < BLOCKS; ++k) sum += received[k * share + t];
            bad = log_b != -INFINITE && !(sum >= kLeastColumn);
            own_term = log_b == -INFINITE ? log_b : guarded(own_term) + log_b - log_two(sum);
        }
        if (warp * 32 < own)  // the warp that updates the column runs the fallback
            for (unsigned left = __ballot_sync(~0u, bad); left; left &= left - 1) {
                int of = __ffs(left) - 1;
                Real log = fallback_column(s, own_begin + warp * 32 + of, factor);
                if (lane == of) own_term = log_b - log;
            }
        if (t < own)
#pragma unroll
            for (int k = 0; k < BLOCKS; ++k) store_in(k, column_term + own_begin + t, guarded(own_term));
        Real all = 0;
#pragma unroll
        for (int k = 0; k < BLOCKS; ++k) all += errors[k];
        ++iteration;
        sync_cluster();
        if (rank == 0 && t == 0) *s.error = all;
        if (all <= tolerance) break;
    }
    if (t < own) s.v[own_begin + t] = own_term * kLn2;
    if (rank == 0 && t == 0) *s.iterations = iteration;
}
