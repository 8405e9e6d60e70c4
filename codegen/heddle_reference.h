/*===- heddle_reference.h - What heddle's own tools need ------------------===*/
/*
 * Exported from libheddle.so for the command line tool and the tests, in the
 * manner of heddle.h (see there for errors and threads), but no part of its
 * promises: it may change with every version.
 */
/*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_REFERENCE_H
#define HEDDLE_REFERENCE_H

#include "runtime/heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===- The reference interpreter ------------------------------------------===*/

/* A program on its way through the reference interpreter: foreach semantics
 * alone, before any pass. */
typedef struct heddle_reference heddle_reference;

typedef enum heddle_arithmetic {
  HEDDLE_EXACT = 0, /* double; rounded where a list or scalar of a narrower type
                       stores a value */
  HEDDLE_AS_WRITTEN =
      1, /* every operation in its own type: the plain evaluation */
  HEDDLE_PERTURBED = 2 /* the same, results of elements' operations a unit in
                          the last place off: what evaluations may differ by;
                          each greater number is another draw of it */
} heddle_arithmetic;

/* `program` as for heddle_compile. */
HEDDLE_EXPORT heddle_status
heddle_reference_create(const char *program, heddle_reference **reference);
HEDDLE_EXPORT void heddle_reference_free(heddle_reference *reference);

/* What the elements of a list argument start with, if the program says so (an
 * optimizer's state, a step counter). */
HEDDLE_EXPORT heddle_status
heddle_reference_initial(const heddle_reference *reference,
                         const char *argument, int *given, double *value);

/* Makes room for a list argument of `members` members, zero at first; `extents`
 * as for heddle_bind_list. */
HEDDLE_EXPORT heddle_status heddle_reference_set_list(
    heddle_reference *reference, const char *argument, size_t members,
    const int *ranks, const int64_t *extents);
/* The elements of one member, in row-major order, to be written by the caller
 * before the first run. Null if there is no such member. */
HEDDLE_EXPORT double *heddle_reference_member(heddle_reference *reference,
                                              const char *argument,
                                              size_t member);
HEDDLE_EXPORT heddle_status heddle_reference_set_scalar(
    heddle_reference *reference, const char *argument, double value);

/* One step. Results that replace a donated argument are what the next step
 * finds there. */
HEDDLE_EXPORT heddle_status heddle_reference_step(heddle_reference *reference,
                                                  heddle_arithmetic arithmetic);

/* The elements of a member of result `index`, by position, after a step
 * (scalars have one member); valid until the next step. */
HEDDLE_EXPORT heddle_status
heddle_reference_result(const heddle_reference *reference, size_t index,
                        size_t member, const double **elements, size_t *count);

/*===- Looking around -----------------------------------------------------===*/

/* The standard programs as JSON: [{"name", "summary", "options": [{"name",
 * "type", "default", "help"}]}]. Free it with heddle_free. */
HEDDLE_EXPORT heddle_status heddle_describe_programs(char **text);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HEDDLE_REFERENCE_H */
