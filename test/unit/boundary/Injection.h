//===- Injection.h - Requests to the system that fail on purpose ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The test program defines malloc, operator new, pthread_create, mmap, mprotect
// and write, so libheddle.so calls these definitions. Between arm() and
// disarm(), they count the requests of the library and refuse some of them.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_UNIT_BOUNDARY_INJECTION_H
#define HEDDLE_TEST_UNIT_BOUNDARY_INJECTION_H

#include <cstddef>

namespace heddle::test {

enum class Resource { None, Memory, Thread, Map, Write };

/// Whether this build has the definitions. Sanitizers have their own.
bool canInject();

/// Refuses the `nth` request for `resource` from now on (1 is the first, 0
/// none) and, if `all`, every later one, too.
void arm(Resource resource, long nth, bool all = false);
/// Ends the refusals. Returns the number of requests since arm().
long disarm();

/// The allocations of the library that are not freed. Counted from the first
/// call of arm() or liveAllocations().
struct Live {
  size_t count, bytes;
};
Live liveAllocations();

} // namespace heddle::test

#endif // HEDDLE_TEST_UNIT_BOUNDARY_INJECTION_H
