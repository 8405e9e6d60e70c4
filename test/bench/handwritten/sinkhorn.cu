// Dense Sinkhorn in the log domain: one read and one exponential per element and iteration, the whole solve in one
// launch.
//
//   bytes per element   one element of c per iteration
//   blocks              one per SM, cooperative; if rows are too long for one block, a cluster of CLUSTER blocks splits
//                       their columns
//   work assignment     kPanels panels of consecutive rows; cluster p takes panels p, p + clusters, ... The results do
//                       not depend on the number of clusters
//   scalars             eps (or null), tolerance and iteration limit are in device memory
//
// Let e = exp(u + L + v - log a), and let r / a be the sum of e along a row. The new u is u - log(r / a). With it, the
// contribution of the row to the columns is e * a / (r / a), so one read of the row is enough. A step processes ROWS
// rows between two barriers of the block. While the sums of a step are combined, the block computes the exponentials of
// the next step. Bulk copies prefetch STAGES steps, also across iterations.
//
// The result is exact in every iteration. If the sum of a row is unsafe (after a cold start, or with another eps), its
// block recomputes the row about its maximum. The block that updates a column does the same for the column. These
// fallbacks need no grid barrier.
//
// Compiled per size class:
//   ELEMENT   element type of c: 0 f32, 1 f64 (everything else is then f64 too), 2 bf16, 3 f16
//   THREADS, ITEMS   a block's column slice has more than THREADS * (ITEMS - 1) and at most THREADS * ITEMS columns
//   ROWS      rows of a step, a power of two; more than one for short rows
//   STAGES    steps in shared memory
//   COLUMNS_SHARED   1: the column terms of the exponents are in shared memory, because registers are too few
//   CLUSTER   1, 2, 4 or 8

#ifndef ELEMENT
#define ELEMENT 0
#endif
#ifndef THREADS
#define THREADS 768
#define ITEMS 8
#define ROWS 1
#define STAGES 8
#define COLUMNS_SHARED 0
#define CLUSTER 1
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
    Real *partial;          // scratch, kPanels x columns
    Real *panel_error;      // scratch, 8 * kPanels
    unsigned *barrier;      // scratch, zeroed once
};

constexpr int kPanels = 132 / CLUSTER;
constexpr int kWarps = THREADS / 32;
constexpr int kParts = CLUSTER * kWarps;       // parts of a row's sum
constexpr int kChunk = 256;                    // rows whose values are in shared memory at a time
constexpr int kPanelGroups = 16;               // groups of panels, summed in parallel for a column
constexpr int kWide = THREADS / kPanelGroups;  // columns that a block sums at a time
static_assert((ROWS & (ROWS - 1)) == 0 && ROWS * CLUSTER <= 32, "one lane sends one row's part to one block");

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

// The term of a potential in the exponent; 0 for the potential +infinity of a row or column of infinite costs.
__device__ __forceinline__ Real term_of(Real potential) {
    return potential == INFINITE ? 0 : potential * kLog2e;
}

//----------------------------------------------------------------------------------------------------------------------
// Copies and barriers
//----------------------------------------------------------------------------------------------------------------------

typedef unsigned long long Barrier;  // an mbarrier in shared memory

__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void set_up(Barrier *b, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void expect_bytes(Barrier *b, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(Barrier *b, unsigned phase) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(shared_address(b)), "r"(phase) : "memory");
}
__device__ __forceinline__ void copy_bulk(void *to, const void *from, unsigned bytes, Barrier *b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(b)) : "memory");
}

__device__ __forceinline__ unsigned rank_in_cluster() {
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
__device__ __forceinline__ void sync_cluster() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
// Stores a value in the shared memory of a block of the cluster and counts its bytes at that block's barrier.
__device__ __forceinline__ void send(Real *to, Real x, Barrier *b, unsigned rank) {
    unsigned at, counter;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(to)), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counter) : "r"(shared_address(b)), "r"(rank));
#if ELEMENT == 1
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f64 [%0], %1, [%2];" ::"r"(at), "d"(x),
                 "r"(counter) : "memory");
#else
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(at), "f"(x),
                 "r"(counter) : "memory");
#endif
}

// Synchronizes the grid. Each barrier flips the top bit of `word`, and `top` has the bit from before the barrier; so no
// launch resets the word. The addition is a `red`, because the thread would wait for the result of an `atom`.
__device__ __forceinline__ void sync_grid(unsigned *word, unsigned top) {
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned now, arrival = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
        asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(word), "r"(arrival) : "memory");
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
        while (((now ^ top) & 0x80000000u) == 0);
    }
    __syncthreads();
}

//----------------------------------------------------------------------------------------------------------------------
// Sums
//----------------------------------------------------------------------------------------------------------------------

// Sums N values over the warp at once; lane l gets the sum of value l % N.
template <int N>
__device__ __forceinline__ Real warp_sums(Real (&x)[N]) {
#pragma unroll
    for (int half = N / 2; half; half /= 2)
#pragma unroll
        for (int i = 0; i < half; ++i) {
            bool upper = threadIdx.x & half;
            Real keep = upper ? x[i + half] : x[i], give = upper ? x[i] : x[i + half];
            x[i] = keep + __shfl_xor_sync(~0u, give, half);
        }
#pragma unroll
    for (int mask = N; mask < 32; mask *= 2) x[0] += __shfl_xor_sync(~0u, x[0], mask);
    return x[0];
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

    // Returns log2 of the sum over the block to all threads.
    __device__ Real log_of_block() {
        __shared__ Real warps[2][kWarps];
        for (int mask = 16; mask; mask /= 2) {
            LogSum other;
            other.most = __shfl_xor_sync(~0u, most, mask);
            other.sum = __shfl_xor_sync(~0u, sum, mask);
            add(other);
        }
        __syncthreads();
        if (threadIdx.x % 32 == 0) warps[0][threadIdx.x / 32] = most, warps[1][threadIdx.x / 32] = sum;
        __syncthreads();
        LogSum all;
        for (int w = 0; w < kWarps; ++w) all.add({warps[0][w], warps[1][w]});
        return all.log();
    }
    __device__ LogSum() : most(-INFINITE), sum(0) {}
    __device__ LogSum(Real most, Real sum) : most(most), sum(sum) {}
};

// All threads of a block run the fallbacks.

// Recomputes the sum of an unsafe row about its maximum and adds the row's contribution to the columns. Returns log2 of
// the sum without the row's u.
__device__ __noinline__ Real fallback_row(const Sinkhorn &s, Real factor, int row, Real weight, Real *partial, int column,
                                    int width) {
    auto exponent = [&](int j) {
        return multiply_add(value(s.c[row * s.stride + j]), factor, term_of(__ldcg(s.v + j)));
    };
    LogSum sum;
    for (int j = threadIdx.x; j < s.columns; j += THREADS) sum.add(exponent(j));
    Real log = sum.log_of_block();
    if (log != -INFINITE)
        for (int j = threadIdx.x; j < width; j += THREADS)  // each thread updates its own columns
            __stcg(partial + j, multiply_add(power_of_two(exponent(column + j) - log), weight, __ldcg(partial + j)));
    return log;
}
// Returns log2 of the sum of an unsafe column without the column's v.
__device__ __noinline__ Real fallback_column(const Sinkhorn &s, int column, Real factor) {
    LogSum sum;
    for (int i = threadIdx.x; i < s.rows; i += THREADS)
        sum.add(multiply_add(value(s.c[i * s.stride + column]), factor, term_of(__ldcg(s.u + i))));
    return sum.log_of_block();
}

//----------------------------------------------------------------------------------------------------------------------
// The rows of a block
//----------------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ int panel_begin(int rows, int panel) { return (int)((long long)rows * panel / kPanels); }

// Prefetches rows; one thread issues the copies.
struct Copies {
    const char *next;  // the next row
    int rows;          // remaining rows of the panel, from `next`
    int stage;
    unsigned issued, planned;  // steps issued, and steps of the whole solve at the iteration limit

    __device__ void begin(const Sinkhorn &s, int first_panel, int clusters) {
        rows = stage = issued = planned = 0;
        for (int p = first_panel; p < kPanels; p += clusters)
            planned += (panel_begin(s.rows, p + 1) - panel_begin(s.rows, p) + ROWS - 1) / ROWS;
        planned *= *s.limit;
    }
    // Issues the copies of the next step into the next stage and sets `panel` to the panel of its rows.
    __device__ void prefetch(const Sinkhorn &s, int first_panel, int clusters, int column, int width, char *stages,
                        int row_bytes, Barrier *arrived, int &panel) {
        if (issued == planned) return;
        ++issued;
        while (rows <= 0) {
            panel = panel + clusters < kPanels ? panel + clusters : first_panel;
            int begin = panel_begin(s.rows, panel);
            rows = panel_begin(s.rows, panel + 1) - begin;
            next = (const char *)(s.c + begin * s.stride + column);
        }
        unsigned bytes[ROWS], total = 0;
        const char *from[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            unsigned off = (unsigned)(unsigned long long)next & 15;  // a copy must start at a multiple of 16 bytes
            from[r] = next - off;
            bytes[r] = r < rows ? off + width * (unsigned)sizeof(Element) + 15 & ~15u : 0;
            total += bytes[r];
            next += s.stride * sizeof(Element);
        }
        expect_bytes(arrived + stage, total);
#pragma unroll
        for (int r = 0; r < ROWS; ++r)
            if (bytes[r]) copy_bulk(stages + (stage * ROWS + r) * row_bytes, from[r], bytes[r], arrived + stage);
        rows -= ROWS;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
};

// grid: at most one block per SM, a multiple of CLUSTER; shared memory: STAGES * ROWS * row_bytes, and
// THREADS * ITEMS values with COLUMNS_SHARED
extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if CLUSTER > 1
    __cluster_dims__(CLUSTER, 1, 1)
#endif
    sinkhorn(const __grid_constant__ Sinkhorn s, const int row_bytes) {
    extern __shared__ __align__(128) char stages[];
    __shared__ Barrier arrived[STAGES], sums_arrived[4];
    __shared__ Real parts[4][kParts * ROWS];  // parts of row sums: [warp][row]
    __shared__ Real panel_sums[THREADS];
    __shared__ Real log_weight[kChunk], weight[kChunk], old_term[kChunk], row_term[kChunk], row_sum[kChunk], errors[kChunk];
    __shared__ unsigned offset[kChunk];  // byte offset of the row in its copy
    __shared__ int iterations, next_panel, bad_chunk;  // bad_chunk: 1 + the first row of a chunk with an unsafe sum
    __shared__ unsigned top;  // the top bit of the barrier word before the first barrier of an iteration

    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    const int rank = CLUSTER > 1 ? rank_in_cluster() : 0;
    const int first_panel = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    const int column = (int)((long long)s.columns * rank / CLUSTER);
    const int width = (int)((long long)s.columns * (rank + 1) / CLUSTER) - column;
    const Real factor = s.eps ? -kLog2e / *s.eps : kLog2e;
    if (*s.limit < 1) {
        if (blockIdx.x == 0 && t == 0) *s.iterations = 0;
        return;
    }

#if COLUMNS_SHARED  // too few registers
    __shared__
#endif
        Copies copies;  // used by thread 0
    auto prefetch = [&] { copies.prefetch(s, first_panel, clusters, column, width, stages, row_bytes, arrived, next_panel); };
    if (t == 0) {
        iterations = bad_chunk = 0;
        next_panel = first_panel - clusters;
        top = __ldcg(s.barrier);
        for (int k = 0; k < STAGES; ++k) set_up(arrived + k, 1);
        for (int k = 0; k < 4; ++k) set_up(sums_arrived + k, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        copies.begin(s, first_panel, clusters);
        for (int k = 0; k < STAGES; ++k) prefetch();
    }
    __syncthreads();
    if (CLUSTER > 1) sync_cluster();

    // Whether item k of this thread is a column; only the last item may not be.
    auto has = [&](int k) { return k < ITEMS - 1 || t + k * THREADS < width; };
#if COLUMNS_SHARED
    Real *const column_terms = (Real *)(stages + STAGES * ROWS * row_bytes) + t;
    auto column_term = [&](int k) -> Real & { return column_terms[k * THREADS]; };
#else
    Real column_terms[ITEMS];
    auto column_term = [&](int k) -> Real & { return column_terms[k]; };
#endif
    Real sums[ITEMS], e[2][ROWS][ITEMS];
    int stage = 0;
    unsigned phase = 0, step = 0;  // phase of the stages; number of steps that reduce() has begun

    // Reduce phase: computes the exponentials of a step and stores or sends this warp's part of their sums.
    auto reduce = [&](int row, int rows, Real(&x)[ROWS][ITEMS]) {
        wait(arrived + stage, phase);
        Real part[ROWS];
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const Element *from = (const Element *)(stages + (stage * ROWS + r) * row_bytes + offset[row + r]) + t;
            part[r] = 0;
            if (ROWS > 1 && row + r >= rows) {
#pragma unroll
                for (int k = 0; k < ITEMS; ++k) x[r][k] = 0;
                continue;
            }
            Real term = row_term[row + r], odd = 0;
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) {
                Real c = has(k) ? value(from[k * THREADS]) : 0;
                x[r][k] = power_of_two(multiply_add(c, factor, term + column_term(k)));
                (k % 2 ? odd : part[r]) += x[r][k];
            }
            part[r] += odd;
        }
        Real mine = warp_sums(part);
        Real *to = &parts[step % 4][warp * ROWS];
        if (CLUSTER == 1) {
            if (lane < ROWS) to[lane] = mine;
        } else {
            if (t == 0) expect_bytes(sums_arrived + step % 4, kParts * ROWS * sizeof(Real));
            if (lane < ROWS * CLUSTER)
                send(to + rank * kWarps * ROWS + lane % ROWS, mine, sums_arrived + step % 4, lane / ROWS);
        }
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        phase ^= stage == 0;
        ++step;
    };
    // Waits for the parts of all warps. All warps have then read the rows, so the stage is free.
    auto sync_sums = [&](unsigned of) {
        if (CLUSTER > 1)
            wait(sums_arrived + of % 4, of / 4 & 1);
        else
            __syncthreads();
        if (t == 0) prefetch();
    };
    // Accumulate phase: adds the contributions of a step to the columns.
    auto accumulate = [&](int row, int chunk, int rows, unsigned of, Real(&x)[ROWS][ITEMS]) {
        Real sum[1] = {0};
#pragma unroll
        for (int k = 0; k < (kParts * ROWS + 31) / 32; ++k)
            if (kParts * ROWS % 32 == 0 || lane + 32 * k < kParts * ROWS) sum[0] += parts[of % 4][lane + 32 * k];
#pragma unroll
        for (int mask = ROWS; mask < 32; mask *= 2) sum[0] += __shfl_xor_sync(~0u, sum[0], mask);

        int mine = row + lane % ROWS;  // this lane's row
        bool there = ROWS == 1 || mine < rows;
        Real a = there ? weight[mine] : 0;
        bool bad = is_unsafe(a, sum[0]);
        if (warp == 0 && lane < ROWS && there) {
            row_sum[mine] = sum[0];
            if (bad) bad_chunk = chunk + 1;  // the fallback runs after all rows
        }
        Real scale = a == 0 || bad ? 0 : quotient(a, sum[0]);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            Real g = ROWS == 1 ? scale : __shfl_sync(~0u, scale, r);
            if (g != 0)  // the exponentials of an unsafe row may be infinite
#pragma unroll
                for (int k = 0; k < ITEMS; ++k) sums[k] = multiply_add(x[r][k], g, sums[k]);
        }
    };

    for (;;) {
        for (int panel = first_panel; panel < kPanels; panel += clusters) {
            const int begin = panel_begin(s.rows, panel), end = panel_begin(s.rows, panel + 1);
            if (t < kChunk) errors[t] = 0;
            for (int chunk = begin; chunk == begin || chunk < end; chunk += kChunk) {
                const int rows = min(kChunk, end - chunk), steps = (rows + ROWS - 1) / ROWS;
                const unsigned start = step;
                // Issue all loads before the first use.
                const Real last_error = __ldcg(s.error);
                const Real tolerance = __ldg(s.tolerance);
                const int limit = __ldg(s.limit);
#pragma unroll
                for (int k = 0; k < ITEMS; ++k) {
                    column_term(k) = has(k) ? __ldcg(s.v + column + t + k * THREADS) : -INFINITE;
                    sums[k] = 0;
                }
                if (t < rows) {
                    Real log_a = __ldg(s.log_a + chunk + t), term = (__ldcg(s.u + chunk + t) - log_a) * kLog2e;
                    // Without weight, all exponentials are 0. For an infinite u, any finite term works, because an
                    // unsafe sum is recomputed.
                    term = log_a == -INFINITE ? -INFINITE : term == INFINITE || term == -INFINITE ? 0 : term;
                    log_weight[t] = log_a;
                    weight[t] = log_a == -INFINITE ? 0 : larger(power_of_two(log_a * kLog2e), kLeastWeight);
                    row_term[t] = old_term[t] = term;
                    offset[t] = (unsigned)(unsigned long long)(s.c + (chunk + t) * s.stride + column) & 15;
                }
#pragma unroll
                for (int k = 0; k < ITEMS; ++k) column_term(k) = term_of(column_term(k));
                if (iterations > 0 && (iterations >= limit || last_error <= tolerance)) goto done;
                __syncthreads();
                for (int k = 0; k <= steps; k += 2) {
                    if (k < steps) reduce(k * ROWS, rows, e[0]);
                    if (CLUSTER == 1 && k < steps) sync_sums(0);
                    if (k > 0) {
                        if (CLUSTER > 1) sync_sums(start + k - 1);
                        accumulate((k - 1) * ROWS, chunk, rows, start + k - 1, e[1]);
                    }
                    if (k == steps) break;
                    if (k + 1 < steps) reduce((k + 1) * ROWS, rows, e[1]);
                    if (CLUSTER == 1 && k + 1 < steps) sync_sums(0);
                    if (CLUSTER > 1) sync_sums(start + k);
                    accumulate(k * ROWS, chunk, rows, start + k, e[0]);
                }
                Real *partial = s.partial + (long long)panel * s.columns + column;
#pragma unroll
                for (int k = 0; k < ITEMS; ++k)
                    if (has(k)) {
                        Real *at = partial + t + k * THREADS;
                        __stcg(at, chunk == begin ? sums[k] : __ldcg(at) + sums[k]);
                    }
                __syncthreads();
                if (bad_chunk == chunk + 1) {
                    for (int k = 0; k < rows; ++k)
                        if (is_unsafe(weight[k], row_sum[k])) {
                            Real log = fallback_row(s, factor, chunk + k, weight[k], partial, column, width);
                            if (t == 0) row_term[k] = -log, row_sum[k] = 1;
                            __syncthreads();
                        }
                    __syncthreads();
                }
                if (t < rows && rank == 0) {
                    Real log_a = log_weight[t], term = row_term[t], sum = row_sum[t];
                    Real ratio = term == INFINITE ? 0 : sum * power_of_two(old_term[t] - term);  // row sum over weight
                    __stcg(s.u + chunk + t, log_a == -INFINITE ? log_a : log_a + kLn2 * (term - log_two(sum)));
                    if (log_a != -INFINITE) errors[t] += weight[t] * fabs(ratio - 1);
                }
            }
            if (t < kChunk && rank == 0) {
                Real error[1] = {errors[t]};
                Real all = warp_sums(error);
                if (lane == 0) __stcg(s.panel_error + panel * (kChunk / 32) + warp, all);
            }
        }
        sync_grid(s.barrier, top);
        if (t == 0) {
            bad_chunk = 0;
            ++iterations;
            if (blockIdx.x == 0) __stcg(s.iterations, iterations);
        }

        // Sum the columns, in an order that does not depend on the number of blocks.
        const int share = (s.columns + gridDim.x - 1) / gridDim.x;
        const int from = blockIdx.x * share, to = min(from + share, s.columns);
        for (int begin = from; begin < to; begin += kWide) {
            int c = t % kWide, panel_group = t / kWide, j = begin + c;
            Real sum = 0, log_b, v;
            if (t < kWide && j < to) log_b = __ldg(s.log_b + j), v = __ldcg(s.v + j);
            if (j < to)
#pragma unroll
                for (int k = 0; k < (kPanels + kPanelGroups - 1) / kPanelGroups; ++k)
                    if (panel_group + k * kPanelGroups < kPanels)
                        sum += __ldcg(s.partial + (long long)(panel_group + k * kPanelGroups) * s.columns + j);
            if (t < kWide * kPanelGroups) panel_sums[t] = sum;
            __syncthreads();
            bool bad = false;
            if (t < kWide && j < to) {
                sum = 0;
#pragma unroll
                for (int k = 0; k < kPanelGroups; ++k) sum += panel_sums[k * kWide + c];
                bad = log_b != -INFINITE && !(sum >= kLeastColumn);
                v = (v == INFINITE ? 0 : v) + log_b - kLn2 * log_two(sum);
                __stcg(s.v + j, log_b == -INFINITE ? log_b : v);
            }
            if (__syncthreads_or(bad)) {
                if (t < kWide) panel_sums[t] = bad;
                __syncthreads();
                for (int k = 0; k < kWide; ++k)
                    if (panel_sums[k] != 0) {
                        Real log = fallback_column(s, begin + k, factor);
                        if (t == 0) __stcg(s.v + begin + k, __ldg(s.log_b + begin + k) - kLn2 * log);
                    }
                __syncthreads();
            }
        }
        if (blockIdx.x == gridDim.x - 1 && warp == kWarps - 1) {
            Real error[1] = {0};
#pragma unroll 11
            for (int p = lane; p < kPanels * (kChunk / 32); p += 32) error[0] += __ldcg(s.panel_error + p);
            Real all = warp_sums(error);
            if (lane == 0) __stcg(s.error, all);
        }
        sync_grid(s.barrier, ~top);
    }
done:
    // Copies in flight must complete before the block exits.
    if (t == 0)
        for (; step != copies.issued; ++step) {
            wait(arrived + stage, phase);
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            phase ^= stage == 0;
        }
}
