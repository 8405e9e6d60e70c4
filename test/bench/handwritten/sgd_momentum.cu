// SGD with momentum over a list of fp32 tensors, the whole step in one launch.
//
//   bytes per element   20: reads p, g, buf; writes p, buf
//   block               256 threads (30 registers)
//   work assignment     block b takes tile descriptor b, which holds the pointers; a tile has up to 1024 consecutive
//                       elements of one member
//   scalars             lr and momentum are f64 in device memory and may change between launches; there is no step
//                       counter (the momentum buffer starts at zero, so the first step is no special case)

// One descriptor per tile, 32 bytes, 16-byte aligned.
struct alignas(16) Tile {
    float *p, *g, *buf;  // first element of the tile: parameter, gradient, momentum buffer
    int count;           // elements in this tile, 1..1024
    int unused;
};

constexpr int kThreads = 256;
constexpr int kTile = 4 * kThreads;

__device__ __forceinline__ Tile load_descriptor(const Tile *descriptor) {
    ulonglong2 a = __ldg((const ulonglong2 *)descriptor), b = __ldg((const ulonglong2 *)descriptor + 1);
    return {(float *)a.x, (float *)a.y, (float *)b.x, (int)b.y, 0};
}

// A whole, aligned tile moves one float4 per thread; any other tile moves up to four coalesced scalars per thread.
__device__ __forceinline__ void load(float (&x)[4], const float *from, int count, bool whole) {
    if (whole) {
        float4 q = ((const float4 *)from)[threadIdx.x];
        x[0] = q.x, x[1] = q.y, x[2] = q.z, x[3] = q.w;
    } else {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            int i = threadIdx.x + k * kThreads;
            x[k] = i < count ? from[i] : 0.f;
        }
    }
}

__device__ __forceinline__ void store(const float (&x)[4], float *to, int count, bool whole) {
    if (whole) {
        ((float4 *)to)[threadIdx.x] = make_float4(x[0], x[1], x[2], x[3]);
    } else {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            int i = threadIdx.x + k * kThreads;
            if (i < count) to[i] = x[k];
        }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    sgd_momentum(const Tile *__restrict__ tiles, const double *__restrict__ lr_, const double *__restrict__ momentum_) {
    Tile tile = load_descriptor(tiles + blockIdx.x);
    unsigned long long addresses = (unsigned long long)tile.p | (unsigned long long)tile.g | (unsigned long long)tile.buf;
    bool whole = tile.count == kTile && (addresses & 15) == 0;

    float p[4], g[4], buf[4];
    load(p, tile.p, tile.count, whole);
    load(g, tile.g, tile.count, whole);
    load(buf, tile.buf, tile.count, whole);

    float lr = (float)__ldg(lr_), momentum = (float)__ldg(momentum_);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        buf[k] = buf[k] * momentum + g[k];
        p[k] -= lr * buf[k];
    }
    store(p, tile.p, tile.count, whole);
    store(buf, tile.buf, tile.count, whole);
}
