/*===- FaultyDriver.h - A GPU's driver of which a call fails -------------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * libheddle_faulty_driver.so hands all calls to libcuda.so.1, or to the library
 * that HEDDLE_FAULTY_DRIVER_OF names. A test finds these functions with
 * dlsym().
 */
/*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_TEST_GPU_FAULTYDRIVER_H
#define HEDDLE_TEST_GPU_FAULTYDRIVER_H

#ifdef __cplusplus
extern "C" {
#endif

/* The `nth` call of the driver from now on fails, once (0: none). A call that
 * releases something does so and then fails; others do nothing. */
void heddle_faulty_driver_fail(long nth);
/* Calls since then. */
long heddle_faulty_driver_calls(void);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_TEST_GPU_FAULTYDRIVER_H */
