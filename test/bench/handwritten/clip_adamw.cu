// Clip by global norm, then AdamW, over a list of fp32 tensors: three kernels joined by programmatic edges.
//
//   bytes per element   32: partials reads g (4); update reads p, g, m, v and writes p, m, v (28). update visits the
//                       tiles in reverse, because the last gradients that partials read are still in the L2 cache.
//   blocks              partials: 256 threads, one tile of up to 4096 gradient elements; combine: one block of 1024
//                       threads; update: 256 threads, one tile of up to 1024 elements, 8 blocks per SM (32 registers)
//   work assignment     block b takes tile descriptor b, which holds the pointers (update: counted from the end)
//   scalars             lr, beta1, beta2, eps, weight_decay and max_norm are f64 in device memory and may change
//                       between launches; the step counter is one f32 per member, advanced in place
//
// combine does all scalar math in one block, while partials is still running: it turns the hyperparameters and each
// member's step into seven floats per member. Then it waits for the partial sums, adds them in a fixed order and
// publishes the clip factor. Partition and order depend on the table alone, so the norm has the same bits on every GPU.
// combine and update launch early (programmatic dependent launch), load the data that does not depend on the previous
// kernel, and then wait for that kernel.

// One descriptor per gradient tile, 16 bytes.
struct alignas(16) GradTile {
    const float *g;  // first element of the tile
    int count;       // elements in this tile, 1..4096; every tile of a member but its last has 4096
    int unused;
};

// One descriptor per tile of update, 48 bytes.
struct alignas(16) Tile {
    float *p, *g, *m, *v;  // first element of the tile
    int count;             // elements in this tile, 1..1024
    int member;            // index into scalars
    int unused[2];
};

// Device addresses of the hyperparameters.
struct Hyper {
    const double *lr, *beta1, *beta2, *eps, *weight_decay, *max_norm;
};

// One entry per member, 32 bytes, written by combine for update.
struct alignas(16) Scalars {
    float decay, w1, b2, w2, size, root2, eps, unused;
};

constexpr int kThreads = 256;
constexpr int kTile = 4 * kThreads;
constexpr int kGradVectors = 4;  // float4 per thread in a gradient tile
constexpr int kGradTile = 4 * kGradVectors * kThreads;
constexpr int kCombine = 1024;

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
extern "C" __global__ void __launch_bounds__(kThreads, 8)
    clip_adamw_partials(const GradTile *__restrict__ tiles, double *__restrict__ partial) {
    launch_dependents();
    uint4 descriptor = __ldg((const uint4 *)(tiles + blockIdx.x));
    const float *g = (const float *)(descriptor.x | (unsigned long long)descriptor.y << 32);
    int count = (int)descriptor.z;

    float x[kGradVectors][4];
    if (count == kGradTile && ((unsigned long long)g & 15) == 0) {
#pragma unroll
        for (int k = 0; k < kGradVectors; ++k) {
            float4 q = __ldg((const float4 *)g + threadIdx.x + k * kThreads);
            x[k][0] = q.x, x[k][1] = q.y, x[k][2] = q.z, x[k][3] = q.w;
        }
    } else {  // the same elements in the same threads, so alignment never changes the sum
#pragma unroll
        for (int k = 0; k < kGradVectors; ++k)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                int i = 4 * (threadIdx.x + k * kThreads) + j;
                x[k][j] = i < count ? __ldg(g + i) : 0.f;
            }
    }
    double sum = 0;
#pragma unroll
    for (int k = 0; k < kGradVectors; ++k)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum += (double)x[k][j] * x[k][j];
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
                       float *clip) {
    launch_dependents();
    double beta1 = __ldg(h.beta1), beta2 = __ldg(h.beta2), max_norm = __ldg(h.max_norm);
    float lr = (float)__ldg(h.lr), weight_decay = (float)__ldg(h.weight_decay), eps = (float)__ldg(h.eps);
    for (int i = threadIdx.x; i < members; i += kCombine) {
        float t = step[i];
        int n = (int)t + 1;
        float bias1 = (float)(1 - power(beta1, n)), root2 = (float)sqrt(1 - power(beta2, n));
        scalars[i] = {1.f - lr * weight_decay, (float)(1 - beta1), (float)beta2, (float)(1 - beta2),
                      lr / bias1,              root2,              eps,          0};
        step[i] = t + 1.f;
    }
    wait_for_dependency();
    double sum = 0;
#pragma unroll 8
    for (int i = threadIdx.x; i < partials; i += kCombine) sum += __ldcg(partial + i);
    sum = block_sum<kCombine>(sum);
    if (threadIdx.x == 0) {
        double c = max_norm / (sqrt(sum) + 1e-6);
        *clip = c < 1 ? (float)c : isnan(c) ? (float)c : 1.f;
    }
}

__device__ __forceinline__ Tile load_descriptor(const Tile *descriptor) {
    const ulonglong2 *at = (const ulonglong2 *)descriptor;  // 16-byte loads of 64-bit pairs need the fewest registers
    ulonglong2 a = __ldg(at), b = __ldg(at + 1), c = __ldg(at + 2);
    return {(float *)a.x, (float *)a.y, (float *)b.x, (float *)b.y, (int)c.x, (int)(c.x >> 32), {}};
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

template <bool Streaming>
__device__ __forceinline__ void update(const Tile *tiles, const Scalars *scalars, const float *clip) {
    Tile tile = load_descriptor(tiles + (gridDim.x - 1 - blockIdx.x));
    unsigned long long addresses =
        (unsigned long long)tile.p | (unsigned long long)tile.g | (unsigned long long)tile.m | (unsigned long long)tile.v;
    bool whole = tile.count == kTile && (addresses & 15) == 0;

    float p[4], g[4], m[4], v[4];
    load<Streaming>(p, tile.p, tile.count, whole);
    load<false>(g, tile.g, tile.count, whole);
    load<Streaming>(m, tile.m, tile.count, whole);
    load<Streaming>(v, tile.v, tile.count, whole);

    wait_for_dependency();
    // Plain loads, because all threads read the same few values from the L1 cache (bypassing it costs 2 %).
    float c = *clip;
    float4 s0 = ((const float4 *)(scalars + tile.member))[0], s1 = ((const float4 *)(scalars + tile.member))[1];
    float decay = s0.x, w1 = s0.y, b2 = s0.z, w2 = s0.w, size = s1.x, root2 = s1.y, eps = s1.z;
#pragma unroll
    for (int k = 0; k < 4; ++k) g[k] *= c;
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
}

// grid: number of tiles
extern "C" __global__ void __launch_bounds__(kThreads, 8)
    clip_adamw_update(const Tile *__restrict__ tiles, const Scalars *scalars, const float *clip) {
    update<false>(tiles, scalars, clip);
}

// The same with streaming accesses to p, m and v: faster while the four lists together are about as large as the L2
// cache, slower for larger lists.
extern "C" __global__ void __launch_bounds__(kThreads, 8)
    clip_adamw_update_l2(const Tile *__restrict__ tiles, const Scalars *scalars, const float *clip) {
    update<true>(tiles, scalars, clip);
}
