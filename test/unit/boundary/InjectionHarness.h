//===- InjectionHarness.h - Runs a sequence for each refused request ------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence of calls runs once for each n. The n-th allocation, thread,
// mapping or write of the library fails. Each time the sequence ends with a
// status, the library has freed its allocations, and the same sequence then
// succeeds.
//
// HEDDLE_INJECTION=full tests every n, and HEDDLE_INJECTION=K/N the K-th of N
// parts; otherwise only some of a long sequence.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_BOUNDARY_INJECTIONHARNESS_H
#define HEDDLE_TEST_UNIT_BOUNDARY_INJECTIONHARNESS_H

#include "Environment.h"
#include "Injection.h"

namespace heddle::test {

using Sequence = std::function<Outcome()>;

struct Injected {
  Resource resource;
  bool all = false; ///< every later request, too
  long most = 100;  ///< values of n to test, spread over the sequence
  size_t leak = 0;  ///< bytes that a failure may lose
  /// Runs before each sequence, without refusals.
  std::function<void()> before = [] {};
};

/// The values of n to test, of a sequence with `total` requests.
std::vector<long> requestsToRefuse(long total, long most);

void expectHolds(const Sequence &sequence, Injected injected);

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_BOUNDARY_INJECTIONHARNESS_H
