// iterations.cuh: vectors indexed by the iteration of a loop.
#pragma once
#include "access.cuh"
#include "math.cuh"

namespace heddle {

// The entry that an empty vector has for every iteration.
template <class T> __device__ __forceinline__ T of_no_iteration() { return 0; }
template <> __device__ __forceinline__ float of_no_iteration<float>() { return infinity<float>(); }
template <> __device__ __forceinline__ double of_no_iteration<double>() { return infinity<double>(); }

// The entry of a vector for an iteration; beyond the end, the last entry.
template <class T, class Stored>
__device__ __forceinline__ T at_iteration(const Stored *vector, long long length, int iteration) {
  return length == 0 ? of_no_iteration<T>() : convert<T>(vector[iteration < length ? iteration : length - 1]);
}

// Stores a value as the entry of an iteration, if the vector has one.
template <class Stored>
__device__ __forceinline__ void record(Stored *vector, long long length, int iteration, Stored value) {
  if (iteration < length)
    vector[iteration] = value;
}

} // namespace heddle
