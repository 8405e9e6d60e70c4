//===- host_launch.h - one signature for all entries ----------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Included after the emitted source. Wraps each entry in a function that reads
// its arguments from an array.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOST_LAUNCH_H
#define HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOST_LAUNCH_H

#include "tables.cuh"

namespace heddle_launch {

template <class T, T...> struct sequence {};

template <class T> struct argument {
  static constexpr bool by_value = true;
  static T from(void *slot) { return *static_cast<T *>(slot); }
};
template <class T> struct argument<T *> {
  static constexpr bool by_value = true;
  static T *from(void *slot) { return static_cast<T *>(slot); }
};
template <class T> struct argument<heddle::scalar_argument<T, true>> {
  static constexpr bool by_value = true;
  static heddle::scalar_argument<T, true> from(void *slot) {
    return {*static_cast<T *>(slot)};
  }
};
template <class T> struct argument<heddle::scalar_argument<T, false>> {
  static constexpr bool by_value = false;
  static heddle::scalar_argument<T, false> from(void *slot) {
    return {static_cast<const T *>(slot)};
  }
};

template <class Function> struct signature;
template <class... P> struct signature<void (*)(P...)> {
  static constexpr int parameters = sizeof...(P);
  static constexpr bool by_value = (argument<P>::by_value && ...);
  template <void (*function)(P...), int... K>
  static void call(void *const *slots, sequence<int, K...>) {
    function(argument<P>::from(slots[K])...);
  }
  template <void (*function)(P...)> static void run(void *const *slots) {
    call<function>(slots, __make_integer_seq<sequence, int, sizeof...(P)>());
  }
};

template <auto function> constexpr heddle_entry entry(const char *name) {
  using type = signature<decltype(function)>;
  return {name, type::template run<function>, type::parameters, type::by_value};
}

} // namespace heddle_launch

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_HOST_LAUNCH_H
