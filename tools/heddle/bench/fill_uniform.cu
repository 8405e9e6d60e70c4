// Generates uniform numbers in [0, 1) on the device. Each number follows from its index alone.
//
// ELEMENT is the element type: 0 f32, 1 f64, 2 bf16, 3 f16.

extern "C" __global__ void fill_uniform(void *to, long long count) {
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x) {
        unsigned x = (unsigned)i * 2654435761u ^ (unsigned)(i >> 32);
        x ^= x >> 15, x *= 2246822519u, x ^= x >> 13, x *= 3266489917u, x ^= x >> 16;
        const float value = (x >> 8) * 0x1p-24f;
#if ELEMENT == 0
        ((float *)to)[i] = value;
#elif ELEMENT == 1
        ((double *)to)[i] = value;
#elif ELEMENT == 2
        ((unsigned short *)to)[i] = __float_as_uint(value) >> 16;  // truncated, so that it stays below 1
#else
        asm("cvt.rz.f16.f32 %0, %1;" : "=h"(((unsigned short *)to)[i]) : "f"(value));
#endif
    }
}
