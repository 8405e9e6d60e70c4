// trips.cuh: vectors that a loop addresses by the number of its trip.
#pragma once
#include "access.cuh"
#include "math.cuh"

namespace heddle {

// What a value of no trip is.
template <class T> __device__ __forceinline__ T of_no_trip() { return 0; }
template <> __device__ __forceinline__ float of_no_trip<float>() { return infinity<float>(); }
template <> __device__ __forceinline__ double of_no_trip<double>() { return infinity<double>(); }

// The entry of a schedule that holds in a trip: beyond its end, its last one.
template <class T, class Stored>
__device__ __forceinline__ T at_trip(const Stored *schedule, long long length, int trip) {
  return length == 0 ? of_no_trip<T>() : convert<T>(schedule[trip < length ? trip : length - 1]);
}

// Keeps a value as the entry of a trip, where the vector has one.
template <class Stored>
__device__ __forceinline__ void record(Stored *vector, long long length, int trip, Stored value) {
  if (trip < length)
    vector[trip] = value;
}

} // namespace heddle
