//===- host_device.h - CUDA keywords and built-ins on the host ------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Included before the emitted source, which the host compiler then accepts
// unchanged.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOST_DEVICE_H
#define HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOST_DEVICE_H

#include "device_machine.h"
#include <math.h>
#include <stddef.h>

extern "C" {
__attribute__((visibility("default"))) heddle_machine *heddle_on_cpu;
}

#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
// Shared variables belong to a block as thread-local variables belong to a
// thread. With -femulated-tls the compiler calls the function below for their
// addresses.
#define __shared__ static thread_local

struct heddle_shared_variable {
  size_t size, align, offset;
  const void *initial;
};
/// A variable has the same offset in every block.
extern "C" inline __attribute__((visibility("hidden"), used)) void *
__emutls_get_address(heddle_shared_variable *variable) {
  static size_t end = 64;
  if (!variable->offset) {
    variable->offset = (end + variable->align - 1) & -variable->align;
    end = variable->offset + variable->size;
    if (end > heddle_on_cpu->shared_bytes || variable->initial)
      __builtin_trap();
  }
  return heddle_on_cpu->shared + variable->offset;
}

#define threadIdx (heddle_on_cpu->thread_index)
#define blockIdx (heddle_on_cpu->block_index)
#define blockDim (heddle_on_cpu->block_extent)
#define gridDim (heddle_on_cpu->grid_extent)

inline void __syncthreads() { heddle_on_cpu->barrier(0); }
inline int __syncthreads_or(int flag) { return heddle_on_cpu->barrier(flag); }
inline void __syncwarp() {} // a shuffle synchronizes the threads of its warp

template <class T> T __ldg(const T *from) {
  heddle_on_cpu->pause();
  return *from;
}

inline unsigned atomicAdd(unsigned *at, unsigned by) {
  heddle_on_cpu->give_way();
  unsigned before = *at;
  *at = before + by;
  return before;
}

struct alignas(16) ulonglong2 {
  unsigned long long x, y;
};

inline float __int_as_float(int bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}
inline double __longlong_as_double(long long bits) {
  double x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}
inline int __float2int_rz(float x) {
  return x >= 0x1p31f    ? 0x7fffffff
         : x >= -0x1p31f ? static_cast<int>(x)
         : x == x        ? -0x7fffffff - 1
                         : 0;
}
inline int __float_as_int(float x) {
  int bits;
  __builtin_memcpy(&bits, &x, sizeof(x));
  return bits;
}
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  __builtin_memcpy(&bits, &x, sizeof(x));
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  return __int_as_float(static_cast<int>(bits));
}
inline long long __double_as_longlong(double x) {
  long long bits;
  __builtin_memcpy(&bits, &x, sizeof(x));
  return bits;
}
inline int __double2hiint(double x) {
  return static_cast<int>(__double_as_longlong(x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(__double_as_longlong(x));
}
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 |
                              static_cast<unsigned>(low));
}

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOST_DEVICE_H
