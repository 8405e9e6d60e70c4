// Dense Sinkhorn in the log domain, one read and one exponential per element and iteration, the whole solve in one launch:
// the iteration of sinkhorn.cu, in which a row has not the whole block but a crew of it.
//
//   bytes per element   one element of c per iteration
//   blocks              one per SM, cooperative; a cluster of CLUSTER of them splits the columns of rows that one cannot hold
//   finds its work      kPanels panels of consecutive rows; cluster p takes panels p, p + clusters, ... Crew k of a block
//                       takes rows k, k + CREWS, ... of a panel. Nothing that is computed depends on how many blocks there are
//   scalars             eps or its absence, tolerance and iteration limit are in device memory
//
// A crew takes the exponentials of a row, meets for their sum and adds them to its columns, row after row; while one waits
// the others have work. So a thread keeps the exponentials of one row, and has room for many columns. Crews bring their
// columns together at the end of an iteration. Each crew has rows of its own on their way.
//
// Compiled per size class:
//   ELEMENT   what c holds: 0 f32, 1 f64 (then everything else is f64 too), 2 bf16, 3 f16
//   THREADS, CREWS, ITEMS   a block's share of a row has more than THREADS / CREWS * (ITEMS - 1) and at most
//             THREADS / CREWS * ITEMS columns; CREWS is a power of two
//   STAGES    rows of each crew, in shared memory
//   CLUSTER   1, 2 or 4

#ifndef ELEMENT
#define ELEMENT 0
#endif
#ifndef THREADS
#define THREADS 512
#define ITEMS 24
#define CREWS 2
#define STAGES 4
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

// Potentials are log scalings: the plan is exp(u_i + L_ij + v_j), with L = -c / eps, or L = c where eps is null.
struct Sinkhorn {
    const Element *c;
    long long stride;  // elements from one row to the next
    int rows, columns;
    const Real *log_a, *log_b;
    Real *u, *v;  // what they hold is where the solve starts
    const Real *eps;
    const Real *tolerance;  // of sum |row sum - a|, of the potentials that enter an iteration
    const int *limit;       // iterations at most
    int *iterations;        // done
    Real *error;            // at the beginning of the last one
    Real *partial;          // scratch, kPanels x columns
    Real *panel_error;      // scratch, 8 * kPanels
    unsigned *barrier;      // scratch, zeroed once
};

constexpr int kPanels = CLUSTER > 2 ? 120 / CLUSTER : 132 / CLUSTER;
constexpr int kWarps = THREADS / 32;
constexpr int kCrew = THREADS / CREWS;    // threads that take a row together
constexpr int kCrewWarps = kCrew / 32;
constexpr int kParts = CLUSTER * kCrewWarps;  // of a row's sum
constexpr int kWidest = kCrew * ITEMS;
constexpr int kChunk = 256;               // rows whose values are in shared memory at a time
constexpr int kGroups = 11;               // of panels, when a column is summed
constexpr int kWide = THREADS / kGroups;  // columns that a block sums at a time

//----------------------------------------------------------------------------------------------------------------------
// Arithmetic, in base 2
//----------------------------------------------------------------------------------------------------------------------

#if ELEMENT == 1
#define INFINITE __longlong_as_double(0x7ff0000000000000ll)
constexpr Real kLeastRow = 0x1p-400, kMostRow = 0x1p400, kLeastColumn = 0x1p-500, kLeastWeight = 0x1p-1022;
#else
#define INFINITE __int_as_float(0x7f800000)
// What exponentials below 2^-126 could have added must not matter: 40 + 60 + 24 <= 126.
constexpr Real kLeastRow = 0x1p-40f, kMostRow = 0x1p40f, kLeastColumn = 0x1p-60f, kLeastWeight = 0x1p-126f;
#endif
constexpr Real kLog2e = (Real)1.4426950408889634, kLn2 = (Real)0.6931471805599453;

__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// 2^n times a polynomial for |x - n| <= 1/2, good to 2^-53; no subnormal results.
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
    if ((top & 0x7fffffff) >= 0x408ff000) {  // beyond +-1022, or NaN, which is taken for +infinity and found in the sum
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

// Whether a row's sum tells nothing; a row without weight gives nothing anyway.
__device__ __forceinline__ bool is_bad(Real weight, Real sum) {
    return weight != 0 && !(sum >= kLeastRow && sum <= kMostRow);
}

// A potential as a part of the exponent. +infinity belongs to a row or column that allows nothing.
__device__ __forceinline__ Real part_of(Real potential) {
    return potential == INFINITE ? 0 : potential * kLog2e;
}

//----------------------------------------------------------------------------------------------------------------------
// Copies and barriers
//----------------------------------------------------------------------------------------------------------------------

typedef unsigned long long Barrier;  // of the hardware, in shared memory

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
__device__ __forceinline__ void meet_cluster() {
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
// Stores in the shared memory of a block of the cluster and counts the bytes there.
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

// Waits for all blocks. The top bit of the word, which is `top` before, turns with every barrier; nothing is reset
// between launches. An addition that returns nothing: its answer would be waited for.
__device__ __forceinline__ void meet_grid(unsigned *word, unsigned top) {
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

__device__ __forceinline__ Real warp_sum(Real x) {
#pragma unroll
    for (int mask = 16; mask; mask /= 2) x += __shfl_xor_sync(~0u, x, mask);
    return x;
}

// A sum of powers of two with its largest exponent shifted out.
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

    // Over the block, for all its threads.
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

// The cold paths, by all threads of a block. A row whose exponentials were of no use gives to the columns now; log2 of
// its sum without its u.
__device__ __noinline__ Real repair(const Sinkhorn &s, Real factor, int row, Real weight, Real *partial, int column,
                                    int width) {
    auto exponent = [&](int j) {
        return multiply_add(value(s.c[row * s.stride + j]), factor, part_of(__ldcg(s.v + j)));
    };
    LogSum sum;
    for (int j = threadIdx.x; j < s.columns; j += THREADS) sum.add(exponent(j));
    Real log = sum.log_of_block();
    if (log != -INFINITE)
        for (int j = threadIdx.x; j < width; j += THREADS)  // each thread its own columns
            __stcg(partial + j, multiply_add(power_of_two(exponent(column + j) - log), weight, __ldcg(partial + j)));
    return log;
}
// log2 of a column's sum without its v.
__device__ __noinline__ Real log_of_column(const Sinkhorn &s, int column, Real factor) {
    LogSum sum;
    for (int i = threadIdx.x; i < s.rows; i += THREADS)
        sum.add(multiply_add(value(s.c[i * s.stride + column]), factor, part_of(__ldcg(s.u + i))));
    return sum.log_of_block();
}

//----------------------------------------------------------------------------------------------------------------------
// The rows that a block walks, again and again
//----------------------------------------------------------------------------------------------------------------------

__device__ __forceinline__ int panel_begin(int rows, int panel) { return (int)((long long)rows * panel / kPanels); }

// Runs ahead of the walk and asks for its rows; one thread does.
struct Copies {
    const char *next;  // the row to ask for
    int rows;          // of the crew, from there to the end of the panel
    int stage;
    int panel;
    unsigned asked, left;  // rows, of the whole solve

    __device__ void begin(const Sinkhorn &s, int crew, int first_panel, int clusters) {
        rows = stage = asked = left = 0;
        panel = first_panel - clusters;
        for (int p = first_panel; p < kPanels; p += clusters)
            left += max(0, panel_begin(s.rows, p + 1) - panel_begin(s.rows, p) + CREWS - 1 - crew) / CREWS;
        left *= *s.limit;
    }
    // The next row into the next stage.
    __device__ __forceinline__ void ask(const Sinkhorn &s, int crew, int first_panel, int clusters, int column, int width,
                                        char *stages, int row_bytes, Barrier *arrived) {
        if (asked == left) return;
        ++asked;
        while (rows <= 0) {
            panel = panel + clusters < kPanels ? panel + clusters : first_panel;
            int begin = panel_begin(s.rows, panel) + crew;
            rows = (panel_begin(s.rows, panel + 1) - begin + CREWS - 1) / CREWS;
            next = (const char *)(s.c + begin * s.stride + column);
        }
        unsigned off = (unsigned)(unsigned long long)next & 15;  // rows of odd length are not aligned, copies are
        unsigned bytes = off + width * (unsigned)sizeof(Element) + 15 & ~15u;
        expect_bytes(arrived + stage, bytes);
        copy_bulk(stages + stage * row_bytes, next - off, bytes, arrived + stage);
        next += CREWS * s.stride * sizeof(Element);
        --rows;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
    }
};

struct __align__(16) RowInfo {
    Real part, weight;
    unsigned offset;  // of a row in what was copied
};

__device__ __forceinline__ void meet_crew(int crew) {
    if (kCrewWarps == 1)
        __syncwarp();
    else if (CREWS == 1)
        __syncthreads();
    else
        asm volatile("bar.sync %0, %1;" ::"r"(crew + 1), "r"(kCrew) : "memory");
}

// grid: at most one block per SM, a multiple of CLUSTER; shared memory: CREWS * STAGES * row_bytes, and
// (CREWS - 1) / 2 rounded up * kWidest values
extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if CLUSTER > 1
    __cluster_dims__(CLUSTER, 1, 1)
#endif
    sinkhorn_crews(const __grid_constant__ Sinkhorn s, const int row_bytes) {
    extern __shared__ __align__(128) char memory[];
    __shared__ Barrier all_arrived[CREWS * STAGES], all_met[CREWS * 2];
    __shared__ __align__(16) Real all_parts[CREWS][2][kParts];  // of row sums
    __shared__ Real groups[THREADS];
    __shared__ RowInfo info[kChunk];
    __shared__ Real log_weight[kChunk], row_sum[kChunk], new_part[kChunk], errors[kChunk];
    __shared__ int trips;
    __shared__ unsigned top;  // of the grid's barrier, before both of an iteration
    __shared__ Copies all_copies[CREWS];

    const int t = threadIdx.x, lane = t % 32;
    const int crew = CREWS == 1 ? 0 : __shfl_sync(~0u, t / kCrew, 0), ct = t - crew * kCrew;
    const int rank = CLUSTER > 1 ? rank_in_cluster() : 0;
    const int first_panel = blockIdx.x / CLUSTER, clusters = gridDim.x / CLUSTER;
    const int column = (int)((long long)s.columns * rank / CLUSTER);
    const int width = (int)((long long)s.columns * (rank + 1) / CLUSTER) - column;
    const Real factor = s.eps ? -kLog2e / *s.eps : kLog2e;
    if (*s.limit < 1) {
        if (blockIdx.x == 0 && t == 0) *s.iterations = 0;
        return;
    }
    char *const stages = memory + crew * STAGES * row_bytes;
    Real *const gather = (Real *)(memory + CREWS * STAGES * row_bytes);
    Barrier *const arrived = all_arrived + crew * STAGES, *const met = all_met + crew * 2;
    Copies &copies = all_copies[crew];
    auto ask = [&] { copies.ask(s, crew, first_panel, clusters, column, width, stages, row_bytes, arrived); };
    if (t == 0) {
        trips = 0;
        top = __ldcg(s.barrier);
    }
    if (ct == 0) {
        for (int k = 0; k < STAGES; ++k) set_up(arrived + k, 1);
        for (int k = 0; k < 2; ++k) set_up(met + k, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        copies.begin(s, crew, first_panel, clusters);
        for (int k = 0; k < STAGES; ++k) ask();
    }
    __syncthreads();
    if (CLUSTER > 1) meet_cluster();

    // Whether this thread has a column in round k; only the last one is not full.
    auto has = [&](int k) { return k < ITEMS - 1 || ct + k * kCrew < width; };
    Real column_part[ITEMS], sums[ITEMS];
    int stage = 0;
    unsigned phase = 0, step = 0;

    for (;;) {
        for (int panel = first_panel; panel < kPanels; panel += clusters) {
            const int begin = panel_begin(s.rows, panel), end = panel_begin(s.rows, panel + 1);
            if (t < kChunk) errors[t] = 0;
            for (int chunk = begin; chunk == begin || chunk < end; chunk += kChunk) {
                const int rows = min(kChunk, end - chunk);
                // All that comes from memory is asked for before any of it is used.
                const Real last_error = __ldcg(s.error);
                const Real tolerance = __ldg(s.tolerance);
                const int limit = __ldg(s.limit);
#pragma unroll
                for (int k = 0; k < ITEMS; ++k) {
                    column_part[k] = has(k) ? __ldcg(s.v + column + ct + k * kCrew) : -INFINITE;
                    sums[k] = 0;
                }
                if (t < rows) {
                    Real log_a = __ldg(s.log_a + chunk + t), part = (__ldcg(s.u + chunk + t) - log_a) * kLog2e;
                    // Without weight: no exponential. Infinite: any finite part does, the sum will tell.
                    part = log_a == -INFINITE ? -INFINITE : part == INFINITE || part == -INFINITE ? 0 : part;
                    log_weight[t] = log_a;
                    RowInfo own;
                    own.part = part;
                    own.weight = log_a == -INFINITE ? 0 : larger(power_of_two(log_a * kLog2e), kLeastWeight);
                    own.offset = (unsigned)(unsigned long long)(s.c + (chunk + t) * s.stride + column) & 15;
                    info[t] = own;
                }
#pragma unroll
                for (int k = 0; k < ITEMS; ++k) column_part[k] = part_of(column_part[k]);
                if (trips > 0 && (trips >= limit || last_error <= tolerance)) goto done;
                __syncthreads();
                for (int row = crew; row < rows; row += CREWS) {
                    const RowInfo own = info[row];
                    Real e[ITEMS], known = 0, odd = 0;
                    wait(arrived + stage, phase);
                    const Element *from = (const Element *)(stages + stage * row_bytes + own.offset) + ct;
#pragma unroll
                    for (int k = 0; k < ITEMS; ++k) {
                        Real c = has(k) ? value(from[k * kCrew]) : 0;
                        e[k] = power_of_two(multiply_add(c, factor, own.part + column_part[k]));
                        (k % 2 ? odd : known) += e[k];
                    }
                    known = warp_sum(known + odd);
                    Real *const parts = all_parts[crew][step % 2];
                    if (CLUSTER == 1) {
                        if (kCrewWarps > 1 && lane == 0) parts[ct / 32] = known;
                        meet_crew(crew);
                    } else {
                        if (ct == 0) expect_bytes(met + step % 2, kParts * sizeof(Real));
                        if (lane < CLUSTER) send(parts + rank * kCrewWarps + ct / 32, known, met + step % 2, lane);
                        wait(met + step % 2, step / 2 & 1);
                    }
                    if (ct == 0) ask();
                    Real sum = known;
                    if (kParts > 1) {
                        sum = parts[0];
#pragma unroll
                        for (int k = 1; k < kParts; ++k) sum += parts[k];
                    }
                    ++step;
                    stage = stage + 1 == STAGES ? 0 : stage + 1;
                    phase ^= stage == 0;
                    if (ct == 0) row_sum[row] = sum;
                    const bool good = sum >= kLeastRow && sum <= kMostRow;
                    if (good) {  // the exponentials of a bad row may be infinite
                        const Real give = quotient(own.weight, sum);
#pragma unroll
                        for (int k = 0; k < ITEMS; ++k) sums[k] = multiply_add(e[k], give, sums[k]);
                    }
                }
                // The crews meet.
#pragma unroll
                for (int half = CREWS / 2; half; half /= 2) {
                    if (crew >= half && crew < 2 * half)
#pragma unroll
                        for (int k = 0; k < ITEMS; ++k) gather[(crew - half) * kWidest + ct + k * kCrew] = sums[k];
                    __syncthreads();
                    if (crew < half)
#pragma unroll
                        for (int k = 0; k < ITEMS; ++k) sums[k] += gather[crew * kWidest + ct + k * kCrew];
                    if (half > 1) __syncthreads();
                }
                Real *partial = s.partial + (long long)panel * s.columns + column;
                if (crew == 0)
#pragma unroll
                    for (int k = 0; k < ITEMS; ++k)
                        if (has(k)) {
                            Real *at = partial + ct + k * kCrew;
                            __stcg(at, chunk == begin ? sums[k] : __ldcg(at) + sums[k]);
                        }
                if (t < rows) new_part[t] = info[t].part;
                if (__syncthreads_or(t < rows && is_bad(info[t].weight, row_sum[t]))) {
                    for (int k = 0; k < rows; ++k)
                        if (is_bad(info[k].weight, row_sum[k])) {
                            Real log = repair(s, factor, chunk + k, info[k].weight, partial, column, width);
                            if (t == 0) new_part[k] = -log, row_sum[k] = 1;
                            __syncthreads();
                        }
                    __syncthreads();
                }
                if (t < rows && rank == 0) {
                    Real log_a = log_weight[t], part = new_part[t], sum = row_sum[t];
                    Real ratio = part == INFINITE ? 0 : sum * power_of_two(info[t].part - part);  // of sum and weight
                    __stcg(s.u + chunk + t, log_a == -INFINITE ? log_a : log_a + kLn2 * (part - log_two(sum)));
                    if (log_a != -INFINITE) errors[t] += info[t].weight * fabs(ratio - 1);
                }
            }
            if (t < kChunk && rank == 0) {
                Real all = warp_sum(errors[t]);
                if (lane == 0) __stcg(s.panel_error + panel * (kChunk / 32) + t / 32, all);
            }
        }
        meet_grid(s.barrier, top);
        if (t == 0) {
            ++trips;
            if (blockIdx.x == 0) __stcg(s.iterations, trips);
        }

        // Columns, in an order that does not depend on who does it.
        const int share = (s.columns + gridDim.x - 1) / gridDim.x;
        const int from = blockIdx.x * share, to = min(from + share, s.columns);
        for (int begin = from; begin < to; begin += kWide) {
            int c = t % kWide, group = t / kWide, j = begin + c;
            Real sum = 0, log_b, v;
            if (t < kWide && j < to) log_b = __ldg(s.log_b + j), v = __ldcg(s.v + j);
            if (j < to)
#pragma unroll
                for (int k = 0; k < (kPanels + kGroups - 1) / kGroups; ++k)
                    if (group + k * kGroups < kPanels)
                        sum += __ldcg(s.partial + (long long)(group + k * kGroups) * s.columns + j);
            if (t < kWide * kGroups) groups[t] = sum;
            __syncthreads();
            bool bad = false;
            if (t < kWide && j < to) {
                sum = 0;
#pragma unroll
                for (int k = 0; k < kGroups; ++k) sum += groups[k * kWide + c];
                bad = log_b != -INFINITE && !(sum >= kLeastColumn);
                v = (v == INFINITE ? 0 : v) + log_b - kLn2 * log_two(sum);
                __stcg(s.v + j, log_b == -INFINITE ? log_b : v);
            }
            if (__syncthreads_or(bad)) {
                if (t < kWide) groups[t] = bad;
                __syncthreads();
                for (int k = 0; k < kWide; ++k)
                    if (groups[k] != 0) {
                        Real log = log_of_column(s, begin + k, factor);
                        if (t == 0) __stcg(s.v + begin + k, __ldg(s.log_b + begin + k) - kLn2 * log);
                    }
                __syncthreads();
            }
        }
        if (blockIdx.x == gridDim.x - 1 && t / 32 == kWarps - 1) {
            Real error = 0;
#pragma unroll 11
            for (int p = lane; p < kPanels * (kChunk / 32); p += 32) error += __ldcg(s.panel_error + p);
            Real all = warp_sum(error);
            if (lane == 0) __stcg(s.error, all);
        }
        meet_grid(s.barrier, ~top);
    }
done:
    // Nothing may arrive in the shared memory of a block that has ended.
    if (ct == 0)
        for (; step != copies.asked; ++step) {
            wait(arrived + stage, phase);
            stage = stage + 1 == STAGES ? 0 : stage + 1;
            phase ^= stage == 0;
        }
}
