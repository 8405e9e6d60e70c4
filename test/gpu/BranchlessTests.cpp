//===- BranchlessTests.cpp - Divisions and roots without branches ---------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms of codegen/device/branchless.cuh, and inverse roots, use
// approximations of the GPU, or an inverse that several divisions share.
// Kernels compare them with the exact operations: all pairs of 16-bit values,
// all roots of f32, and random pairs of f32.
//
//===----------------------------------------------------------------------===//

#include "RuntimeHarness.h"

namespace heddle::runtime::test {
namespace {

const EmbeddedFile branchlessFiles[] = {
#include "BranchlessTestsSource.inc"
};

constexpr const char *kSource = R"cuda(
#include "branchless.cuh"
#include "math.cuh"
using namespace heddle;

// Results that differ from the exact ones, results that should have been
// computed without a branch, and the operands of one of them.
struct report {
  unsigned long long wrong, refused;
  float x, y;
};

__device__ bool is_between(float x, float low, float high) {
  return fabsf(x) >= low && fabsf(x) < high;
}

__device__ void compare(report *to, float x, float y, float exact, float found, bool is_exact, bool in_range) {
  const bool same = __float_as_uint(exact) == __float_as_uint(found) || (exact != exact && found != found);
  const bool wrong = is_exact && !same, refused = in_range && !is_exact;
  if (wrong)
    atomicAdd(&to->wrong, 1ull);
  if (refused)
    atomicAdd(&to->refused, 1ull);
  if (wrong || refused) {
    to->x = x;
    to->y = y;
  }
}

__device__ void divide(report *to, float x, float y) {
  element_math math = {true};
  const float exact = x / y, found = math.divide(x, y);
  const bool zero = __float_as_uint(x) == 0 && y > 0;
  compare(to, x, y, exact, found, math.exact,
          is_between(y, 0x1p-125f, 0x1p125f) && (zero || (is_between(x, 0x1p-149f, 0x1p62f) && is_between(exact, 0x1p-126f, 0x1p62f))));
}

__device__ void root(report *to, float x) {
  element_math math = {true};
  const float found = math.root(x);
  compare(to, x, 0, sqrtf(x), found, math.exact, __float_as_uint(x) == 0 || (x > 0 && x < 0x1p60f));
}

__device__ void divide_root(report *to, float x, float y) {
  const root_divisor by = divisor_of_roots(y);
  element_math math = {true, by.exact};
  const float found = math.divide_root(x, by);
  compare(to, x, y, sqrtf(x) / y, found, math.exact,
          y >= 0x1p-40f && y <= 0x1p40f && (__float_as_uint(x) == 0 || (x > 0 && x < 0x1p60f)));
}

__device__ void divide_by_shared(report *to, float x, float y) {
  divisor by(y);
  const float exact = x / y, found = by.divide(x, true);
  compare(to, x, y, exact, found, by.exact(),
          fabsf(y) >= 0x1p-30f && fabsf(y) <= 0x1p40f && (x == 0 || is_between(exact, 0x1p-60f, 0x1p127f)));
}

__device__ void divide_pair(report *to, float x, float y) {
  divide(to, x, y);
  divide_by_shared(to, x, y);
}

// Block b has the pairs of value b and all others.
extern "C" __global__ void all_bf16(report *to) {
  for (unsigned k = threadIdx.x; k < 65536; k += blockDim.x)
    divide_pair(to, to_f32(bf16{(unsigned short)blockIdx.x}), to_f32(bf16{(unsigned short)k}));
}
extern "C" __global__ void all_f16(report *to) {
  for (unsigned k = threadIdx.x; k < 65536; k += blockDim.x)
    divide_pair(to, to_f32(f16{(unsigned short)blockIdx.x}), to_f32(f16{(unsigned short)k}));
}
extern "C" __global__ void all_roots(report *to) {
  for (unsigned k = threadIdx.x; k < 65536; k += blockDim.x)
    root(to, __uint_as_float(blockIdx.x << 16 | k));
}

extern "C" __global__ void all_inverse_roots(report *to) {
  for (unsigned k = threadIdx.x; k < 65536; k += blockDim.x) {
    const float x = __uint_as_float(blockIdx.x << 16 | k);
    compare(to, x, 0, 1.0f / sqrtf(x), inverse_root(x), true, true);
  }
}

__device__ unsigned long long mix(unsigned long long x) {
  x = (x ^ x >> 31) * 0x7fb5d329728ea185ull;
  x = (x ^ x >> 27) * 0x81dadef4bc2dd44dull;
  return x ^ x >> 33;
}
// `fraction` with an exponent from `least` to `most`.
__device__ float with_exponent(unsigned fraction, unsigned random, int least, int most) {
  const unsigned exponent = 127 + least + random % (most - least + 1);
  return __uint_as_float((fraction & 0x807fffff) | exponent << 23);
}

// Pairs of any bits, of moderate values, and of values at the ends of ranges.
extern "C" __global__ void random_pairs(report *to) {
  for (int k = 0; k < 128; ++k) {
    const unsigned long long random = mix((blockIdx.x * 128ull + k) * blockDim.x + threadIdx.x + 1);
    const unsigned a = random, b = random >> 32, r = mix(random + 1), s = mix(random + 2);
    divide(to, __uint_as_float(a), __uint_as_float(b));
    divide(to, with_exponent(a, r, -40, 40), with_exponent(b, s, -40, 40));
    divide(to, with_exponent(a, r, -126, -100), with_exponent(b, s, -64, 64));
    divide(to, with_exponent(a, r, 30, 66), with_exponent(b, s, -126, 0));
    divide(to, __uint_as_float(a & 0x807fffff), with_exponent(b, s, -126, 127)); // denormals
    divide(to, with_exponent(a, r, -126, 127), with_exponent(b, s, 120, 127));
    divide_by_shared(to, __uint_as_float(a), with_exponent(b, s, -31, 41));
    divide_by_shared(to, with_exponent(a, r, -62, 62), with_exponent(b, s, -30, 40));
    divide_root(to, __uint_as_float(a), __uint_as_float(b));
    divide_root(to, with_exponent(a & 0x7fffff, r, -126, 61), with_exponent(b & 0x7fffff, s, -41, 41));
    divide_root(to, __uint_as_float(a & 0x7fffff), with_exponent(b & 0x7fffff, s, -41, 41));
  }
}
)cuda";

struct Report {
  unsigned long long wrong, refused;
  float x, y;
};

struct BranchlessTest : RuntimeTest {
  void expectExact(StringRef kernel, unsigned blocks) {
    KernelSource source{
        "branchless_tests", kSource, {}, {"--std=c++17", "--fmad=false"}};
    for (const EmbeddedFile &file : branchlessFiles)
      source.headers[file.name] = file.contents;
    CompiledImage image =
        cantFail(compileSource(source, context->arch(), ImageKind::Cubin));
    auto module = cantFail(Module::load(context, image.image));
    CUfunction function = cantFail(module->function(kernel));
    DeviceMemory memory =
        cantFail(DeviceMemory::allocate(context, sizeof(Report)));
    Context::Scope scope(*context);
    auto address = reinterpret_cast<CUdeviceptr>(memory.address());
    Report report = {};
    const Driver &driver = context->driver();
    ASSERT_EQ(driver.cuMemcpyHtoD(address, &report, sizeof(report)),
              CUDA_SUCCESS);
    CUlaunchConfig config = {};
    config.gridDimX = blocks;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 256;
    config.blockDimY = config.blockDimZ = 1;
    config.hStream = stream.get();
    void *arguments[] = {&address};
    ASSERT_EQ(driver.cuLaunchKernelEx(&config, function, arguments, nullptr),
              CUDA_SUCCESS);
    ASSERT_EQ(driver.cuStreamSynchronize(stream.get()), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemcpyDtoH(&report, address, sizeof(report)),
              CUDA_SUCCESS);
    EXPECT_EQ(report.wrong, 0u) << report.x << ", " << report.y;
    EXPECT_EQ(report.refused, 0u) << report.x << ", " << report.y;
  }
};

TEST_F(BranchlessTest, QuotientsOfAllBf16) { expectExact("all_bf16", 65536); }
TEST_F(BranchlessTest, QuotientsOfAllF16) { expectExact("all_f16", 65536); }
TEST_F(BranchlessTest, RootsOfAllF32) { expectExact("all_roots", 65536); }
TEST_F(BranchlessTest, InverseRootsOfAllF32) {
  expectExact("all_inverse_roots", 65536);
}
// 11 pairs, 2^28 times.
TEST_F(BranchlessTest, RandomPairs) { expectExact("random_pairs", 8192); }

} // namespace
} // namespace heddle::runtime::test
