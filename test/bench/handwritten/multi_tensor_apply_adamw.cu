// AdamW over a list of fp32 tensors in the multi-tensor-apply style: the tables are kernel arguments.
//
//   bytes per element   28: reads p, g, m, v; writes p, m, v
//   block               512 threads, 4 elements per thread in flight, one chunk of up to 65536 elements of one tensor
//   work assignment     a table passed by value names the tensor and chunk of each block. It holds 40 tensors and 320
//                       blocks in 3520 bytes, within the former 4 KB limit of kernel parameters. So a long list takes
//                       several launches, and new pointers need new kernel parameters
//   scalars             lr, beta1, beta2, eps and weight_decay are f64 in device memory; the step counter is one f32
//                       per tensor, which a separate kernel advances first; one thread of each block computes the bias
//                       corrections
//
// A baseline with the layout of the fused optimizers in today's libraries. A chunk moves 1.8 MB, so a small model has
// fewer blocks than the GPU has multiprocessors.

constexpr int kChunk = 65536;
constexpr int kThreads = 512;
constexpr int kUnroll = 4;
constexpr int kTensors = 40;
constexpr int kBlocks = 320;

struct Table {
    float *p[kTensors], *g[kTensors], *m[kTensors], *v[kTensors];  // whole tensors
    const float *step[kTensors];
    long long size[kTensors];           // elements
    int chunk[kBlocks];                 // index of the block's chunk in its tensor
    unsigned char tensor[kBlocks];      // index of the block's tensor in this table
};

// Device addresses of the hyperparameters.
struct Hyper {
    const double *lr, *beta1, *beta2, *eps, *weight_decay;
};

struct Scalars {
    float decay, w1, b2, w2, size, root2, eps;
};

// Advances every step counter by one. grid: ceil(tensors / 512)
extern "C" __global__ void __launch_bounds__(kThreads) mta_advance_steps(float *step, int tensors) {
    int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < tensors) step[i] += 1.f;
}

__device__ __forceinline__ double power(double base, int exponent) {
    double result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result *= base;
        base *= base;
    }
    return result;
}

__device__ __forceinline__ void update(float &p, float g, float &m, float &v, const Scalars &s) {
    p *= s.decay;
    m += s.w1 * (g - m);
    v = v * s.b2 + (s.w2 * g) * g;
    p -= s.size * (m / (sqrtf(v) / s.root2 + s.eps));
}

// grid: number of blocks in the table
extern "C" __global__ void __launch_bounds__(kThreads) mta_adamw(const __grid_constant__ Table table, const Hyper h) {
    int tensor = table.tensor[blockIdx.x];
    long long first = (long long)table.chunk[blockIdx.x] * kChunk, rest = table.size[tensor] - first;
    int count = rest < kChunk ? (int)rest : kChunk;
    float *p = table.p[tensor] + first, *m = table.m[tensor] + first, *v = table.v[tensor] + first;
    const float *g = table.g[tensor] + first;

    __shared__ Scalars shared;
    if (threadIdx.x == 0) {
        int n = (int)*table.step[tensor];
        double beta1 = *h.beta1, beta2 = *h.beta2;
        float lr = (float)*h.lr, bias1 = (float)(1 - power(beta1, n));
        shared = {1.f - lr * (float)*h.weight_decay, (float)(1 - beta1), (float)beta2, (float)(1 - beta2),
                  lr / bias1, (float)sqrt(1 - power(beta2, n)), (float)*h.eps};
    }
    __syncthreads();
    Scalars s = shared;

    unsigned long long addresses =
        (unsigned long long)p | (unsigned long long)g | (unsigned long long)m | (unsigned long long)v;
    if ((addresses & 15) == 0 && count % kUnroll == 0) {
        for (int i = threadIdx.x; i < count / kUnroll; i += kThreads) {
            float4 q = ((float4 *)p)[i], d = ((const float4 *)g)[i], a = ((float4 *)m)[i], b = ((float4 *)v)[i];
            update(q.x, d.x, a.x, b.x, s);
            update(q.y, d.y, a.y, b.y, s);
            update(q.z, d.z, a.z, b.z, s);
            update(q.w, d.w, a.w, b.w, s);
            ((float4 *)p)[i] = q;
            ((float4 *)m)[i] = a;
            ((float4 *)v)[i] = b;
        }
    } else {
        for (int start = 0; start < count; start += kUnroll * kThreads) {
            float q[kUnroll], d[kUnroll], a[kUnroll], b[kUnroll];
#pragma unroll
            for (int k = 0; k < kUnroll; ++k) {
                int i = start + threadIdx.x + k * kThreads;
                bool in = i < count;
                q[k] = in ? p[i] : 0.f;
                d[k] = in ? g[i] : 0.f;
                a[k] = in ? m[i] : 0.f;
                b[k] = in ? v[i] : 0.f;
            }
#pragma unroll
            for (int k = 0; k < kUnroll; ++k) update(q[k], d[k], a[k], b[k], s);
#pragma unroll
            for (int k = 0; k < kUnroll; ++k) {
                int i = start + threadIdx.x + k * kThreads;
                if (i < count) {
                    p[i] = q[k];
                    m[i] = a[k];
                    v[i] = b[k];
                }
            }
        }
    }
}
