/*===- StandInDriver.h - Faults of the stand-in driver -------------------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Functions that a test finds in the library with dlsym().
 */
/*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_TEST_UNIT_RUNTIME_STANDINDRIVER_H
#define HEDDLE_TEST_UNIT_RUNTIME_STANDINDRIVER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum heddle_stand_in_behavior {
  HEDDLE_STAND_IN_WORKS,
  HEDDLE_STAND_IN_COUNTS,  /* works, and counts calls */
  HEDDLE_STAND_IN_FAILS,   /* returns an error and does nothing */
  HEDDLE_STAND_IN_ZERO,    /* succeeds; its result is 0 or null */
  HEDDLE_STAND_IN_HUGE,    /* succeeds; its result is the largest number */
  HEDDLE_STAND_IN_NEGATIVE /* succeeds; its result is the smallest number */
} heddle_stand_in_behavior;

/* The `nth` call of the driver from now on behaves so, once. */
void heddle_stand_in_fault(heddle_stand_in_behavior behavior, long nth);
/* Calls since then. */
long heddle_stand_in_calls(void);
/* Calls of one function, such as "cuGraphLaunch", since the process began. */
long heddle_stand_in_calls_of(const char *function);
/* From now on, work that is submitted to a stream waits (1) until a call that
 * waits for a stream or an event, or runs at once (0). */
void heddle_stand_in_defer(int deferred);
/* Allocations of device memory that are not freed. */
size_t heddle_stand_in_allocations(void);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_TEST_UNIT_RUNTIME_STANDINDRIVER_H */
