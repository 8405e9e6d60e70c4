/*===- heddle_reference.h - functions for heddle's own tools --------------===*/
/*
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

typedef enum heddle_arithmetic {
  HEDDLE_EXACT = 0, /* double precision; values round only when stored in a
                       narrower type */
  HEDDLE_AS_WRITTEN =
      1, /* the plain evaluation: each operation in its own type */
  HEDDLE_PERTURBED = 2 /* the plain evaluation, with an error of one unit in
                          the last place in the result of each operation on
                          elements; greater values select other random errors
                        */
} heddle_arithmetic;

/* Reads a program; `program` is as for heddle_compile. */
HEDDLE_EXPORT heddle_status
heddle_reference_create(const char *program, heddle_reference **reference);
HEDDLE_EXPORT void heddle_reference_free(heddle_reference *reference);

/* The initial value that the program declares for the elements of a list
 * argument, such as an optimizer's state. `given` is 0 if it declares none. */
HEDDLE_EXPORT heddle_status
heddle_reference_initial(const heddle_reference *reference,
                         const char *argument, int *given, double *value);

/* Allocates a list argument of `members` members, filled with zeros; `extents`
 * is as for heddle_bind_list. */
HEDDLE_EXPORT heddle_status heddle_reference_set_list(
    heddle_reference *reference, const char *argument, size_t members,
    const int *ranks, const int64_t *extents);
/* The elements of one member in row-major order. The caller writes them before
 * the first step. Null if the member does not exist. */
HEDDLE_EXPORT double *heddle_reference_member(heddle_reference *reference,
                                              const char *argument,
                                              size_t member);
HEDDLE_EXPORT heddle_status heddle_reference_set_scalar(
    heddle_reference *reference, const char *argument, double value);

/* Evaluates one step. The results that replace donated arguments are the
 * arguments of the next step. */
HEDDLE_EXPORT heddle_status heddle_reference_step(heddle_reference *reference,
                                                  heddle_arithmetic arithmetic);

/* The elements of a member of result `index` after a step; a scalar has one
 * member. The pointer is valid until the next step. */
HEDDLE_EXPORT heddle_status
heddle_reference_result(const heddle_reference *reference, size_t index,
                        size_t member, const double **elements, size_t *count);

/*===- Standard programs --------------------------------------------------===*/

/* The standard programs as JSON: [{"name", "summary", "options": [{"name",
 * "type", "default", "help"}]}]. The caller frees it with heddle_free. */
HEDDLE_EXPORT heddle_status heddle_describe_programs(char **text);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HEDDLE_REFERENCE_H */
