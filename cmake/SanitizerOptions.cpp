// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sanitizer options of every program that is built with HEDDLE_SANITIZE.
//
// The inline functions of LLVM's allocators poison memory if they are compiled
// with a sanitizer. The archives of LLVM are compiled without one and access
// the same memory, which is no error. An allocation of any size may be
// requested and fail; the caller then gets null, as without a sanitizer.
// (libstdc++ does not annotate containers, so overflows of containers need no
// exception.)

extern "C" __attribute__((used, visibility("default"))) const char *
__asan_default_options() {
  return "allow_user_poisoning=0:allocator_may_return_null=1";
}
