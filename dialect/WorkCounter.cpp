//===- WorkCounter.cpp - a measure of the compiler's work -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/WorkCounter.h"

#ifdef HEDDLE_COUNT_WORK
// The fast access to a thread-local variable: a unit costs 1 to 2 ns.
__attribute__((tls_model("initial-exec"))) static thread_local uint64_t work;

bool heddle::countsWork() { return true; }
uint64_t heddle::countedWork() { return work; }

/// Code that is compiled with -fsanitize-coverage=trace-pc calls this function
/// at the beginning of each block.
extern "C" void __sanitizer_cov_trace_pc();
#ifndef __clang__
__attribute__((no_sanitize_coverage)) // clang leaves such names alone
#endif
void __sanitizer_cov_trace_pc() {
  ++work;
}
#else
bool heddle::countsWork() { return false; }
uint64_t heddle::countedWork() { return 0; }
#endif
