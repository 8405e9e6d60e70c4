/*===- heddle_reference.h - functions for heddle's own tools --------------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * These functions are exported from libheddle.so for the command line tool and
 * the tests. The rules of heddle.h for errors and threads apply. This interface
 * is not stable: it may change with every version.
 */
/*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_REFERENCE_H
#define HEDDLE_REFERENCE_H

#include "runtime/heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===- The reference interpreter ------------------------------------------===*/

/* A program in the reference interpreter, which evaluates foreach IR before any
 * pass. */
typedef struct heddle_reference heddle_reference;

/* Reads a program; `program` is as for heddle_compile. */
HEDDLE_EXPORT heddle_status
heddle_reference_create(const char *program, heddle_reference **reference);
HEDDLE_EXPORT void heddle_reference_free(heddle_reference *reference);

/* The initial value that the program declares for the elements of a list
 * argument, such as an optimizer's state. `given` is 0 if it declares none. */
HEDDLE_EXPORT heddle_status
heddle_reference_initial(const heddle_reference *reference,
                         const char *argument, int *given, double *value);

/* A number for dimension 0 or 1 of a list argument. Dimensions with one number
 * have equal extents, because an operation of the program as written binds them
 * to one axis. */
HEDDLE_EXPORT heddle_status
heddle_reference_extent(const heddle_reference *reference, const char *argument,
                        int dimension, int64_t *number);

/* Sets *fill to 1 if the program as written sets all elements of list result
 * `index` to a constant, and to 0 if it computes them. */
HEDDLE_EXPORT heddle_status heddle_reference_is_fill(
    const heddle_reference *reference, size_t index, int *fill);

/* Allocates a list argument of `members` members, filled with zeros; `extents`
 * is as for heddle_bind_list. */
HEDDLE_EXPORT heddle_status heddle_reference_set_list(
    heddle_reference *reference, const char *argument, size_t members,
    const int *ranks, const int64_t *extents);
/* The elements of one member in row-major order. The caller writes them before
 * a step. Null if the member does not exist. */
HEDDLE_EXPORT double *heddle_reference_member(heddle_reference *reference,
                                              const char *argument,
                                              size_t member);
HEDDLE_EXPORT heddle_status heddle_reference_set_scalar(
    heddle_reference *reference, const char *argument, double value);

/* Evaluates one step in double precision, rounded only where a list or scalar
 * stores a narrower type, with the ranges of all elements. The results that
 * replace donated arguments are the arguments of the next step. */
HEDDLE_EXPORT heddle_status heddle_reference_step(heddle_reference *reference);

/* Evaluates one step in the types of the program, with an error of `ulps` units
 * in the last place, up or down, in the result of each operation. `seed`
 * selects the random signs. */
HEDDLE_EXPORT heddle_status heddle_reference_perturbed_step(
    heddle_reference *reference, uint64_t seed, double ulps);

/* A member of result `index` after a step; a scalar has one member. `low` and
 * `high` have the range of each element: its values in all evaluations whose
 * operations are within their documented accuracy. Without ranges, they are
 * `elements`. The pointers are valid until the next step. */
typedef struct heddle_reference_elements {
  const double *elements, *low, *high;
  size_t count;
} heddle_reference_elements;
HEDDLE_EXPORT heddle_status
heddle_reference_result(const heddle_reference *reference, size_t index,
                        size_t member, heddle_reference_elements *result);

/*===- Standard programs --------------------------------------------------===*/

/* The standard programs as JSON: [{"name", "summary", "options": [{"name",
 * "type", "default", "help"}]}]. The caller frees it with heddle_free. */
HEDDLE_EXPORT heddle_status heddle_describe_programs(char **text);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HEDDLE_REFERENCE_H */
