// AdamW over a list of fp32 tensors, the whole step in one launch.
//
//   bytes per element   28: reads p, g, m, v; writes p, m, v
//   block               256 threads, at least 6 blocks per SM (40 registers)
//   work assignment     block b takes tile descriptor b, which holds the pointers; a tile has up to 1024 consecutive
//                       elements of one member, so no block searches for its work
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

// One descriptor per tile, 64 bytes, 16-byte aligned.
struct alignas(16) Tile {
    float *p, *g, *m, *v;  // first element of the tile: parameter, gradient, first and second moment
    float *step;           // the member's step counter
    int count;             // elements in this tile, 1..1024
    int member;            // index into memo and tickets
    int tiles;             // number of tiles of the member
    int unused[3];
};

// Device addresses of the hyperparameters.
struct Hyper {
    const double *lr, *beta1, *beta2, *eps, *weight_decay;
};

// One entry per member, 32 bytes, zeroed once by the host.
struct alignas(16) Memo {
    unsigned valid;
    float step;  // the step counter before the update that uses these corrections
    float bias1, root2;
    double beta1, beta2;
};

constexpr int kThreads = 256;
constexpr int kTile = 4 * kThreads;

__device__ __forceinline__ double power(double base, int exponent) {
    double result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result *= base;
        base *= base;
    }
    return result;
}

__device__ __forceinline__ void corrections(float step, double beta1, double beta2, float &bias1, float &root2) {
    int n = (int)step + 1;
    bias1 = (float)(1 - power(beta1, n));
    root2 = (float)sqrt(1 - power(beta2, n));
}

__device__ __forceinline__ Tile load_descriptor(const Tile *descriptor) {
    const ulonglong2 *at = (const ulonglong2 *)descriptor;  // 16-byte loads of 64-bit pairs need the fewest registers
    ulonglong2 a = __ldg(at), b = __ldg(at + 1), c = __ldg(at + 2), d = __ldg(at + 3);
    return {(float *)a.x, (float *)a.y, (float *)b.x, (float *)b.y, (float *)c.x, (int)c.y, (int)(c.y >> 32), (int)d.x, {}};
}

__device__ __forceinline__ Memo load_memo(const Memo *entry) {
    Memo e;
    for (int i = 0; i < 2; ++i) ((uint4 *)&e)[i] = ((const uint4 *)entry)[i];
    return e;
}

// A whole, aligned tile moves one float4 per thread; any other tile moves up to four coalesced scalars per thread.
// `Streaming` marks the data as evict-first in the L2 cache.
template <bool Streaming>
__device__ __forceinline__ void load(float (&x)[4], const float *from, int count, bool whole) {
    if (whole) {
        const float4 *at = (const float4 *)from + threadIdx.x;
        float4 q = Streaming ? __ldcs(at) : *at;
        x[0] = q.x, x[1] = q.y, x[2] = q.z, x[3] = q.w;
    } else {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            int i = threadIdx.x + k * kThreads;
            x[k] = i < count ? from[i] : 0.f;
        }
    }
}

template <bool Streaming>
__device__ __forceinline__ void store(const float (&x)[4], float *to, int count, bool whole) {
    if (whole) {
        float4 *at = (float4 *)to + threadIdx.x;
        float4 q = make_float4(x[0], x[1], x[2], x[3]);
        if (Streaming)
            __stcs(at, q);
        else
            *at = q;
    } else {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            int i = threadIdx.x + k * kThreads;
            if (i < count) to[i] = x[k];
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

    float p[4], g[4], m[4], v[4];
    load<Streaming>(p, tile.p, tile.count, whole);
    load<false>(g, tile.g, tile.count, whole);
    load<Streaming>(m, tile.m, tile.count, whole);
    load<Streaming>(v, tile.v, tile.count, whole);

    float step = *tile.step;
    Memo ready = load_memo(memo + tile.member);
    double beta1 = __ldg(h.beta1), beta2 = __ldg(h.beta2);
    float lr = (float)__ldg(h.lr), weight_decay = (float)__ldg(h.weight_decay), eps = (float)__ldg(h.eps);
    float decay = 1.f - lr * weight_decay, w1 = (float)(1 - beta1), b2 = (float)beta2, w2 = (float)(1 - beta2);
    bool stale = !(ready.valid && __float_as_uint(ready.step) == __float_as_uint(step) &&
                   __double_as_longlong(ready.beta1) == __double_as_longlong(beta1) &&
                   __double_as_longlong(ready.beta2) == __double_as_longlong(beta2));
    float bias1 = ready.bias1, root2 = ready.root2;
    if (stale) corrections(step, beta1, beta2, bias1, root2);

    unsigned ticket = 0;
    __syncthreads_or(stale);
    if (threadIdx.x == 0 && tile.tiles > 1) ticket = take_ticket(tickets + tile.member, tile.tiles - 1);

    float size = lr / bias1;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        p[k] *= decay;
        m[k] += w1 * (g[k] - m[k]);
        v[k] = v[k] * b2 + (w2 * g[k]) * g[k];
        p[k] -= size * (m[k] / (sqrtf(v[k]) / root2 + eps));
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

extern "C" __global__ void __launch_bounds__(kThreads, 6)
    adamw(const Tile *__restrict__ tiles, const Hyper h, Memo *memo, unsigned *tickets) {
    update<false>(tiles, h, memo, tickets);
}

// The same with streaming accesses to p, m and v: faster while the four lists together are about as large as the L2
// cache, slower for larger lists.
extern "C" __global__ void __launch_bounds__(kThreads, 6)
    adamw_l2(const Tile *__restrict__ tiles, const Hyper h, Memo *memo, unsigned *tickets) {
    update<true>(tiles, h, memo, tickets);
}
