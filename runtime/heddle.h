/*===- heddle.h - The C interface of heddle ------------------------------===*/
/*
 * Programs over lists of tensors, compiled to fused kernels and replayed as one
 * CUDA graph.
 *
 *   heddle_executable *executable;
 *   heddle_compile("rule.mlir", NULL, &executable); // once per program
 *   heddle_graph *graph;
 *   heddle_graph_create(executable, &graph); // once per set of buffers
 *   heddle_bind_list(graph, "param", HEDDLE_F32, n, pointers, ranks, extents);
 *   ... // and the other arguments
 *   heddle_set_scalar(graph, "lr", 1e-3, stream); // any time between replays
 *   heddle_replay(graph, stream); // every step: one graph launch
 *
 * Errors. Every function that can fail returns a heddle_status;
 * heddle_last_error() has the text of this thread's last failure. No exception
 * crosses this interface. A call that fails with HEDDLE_BAD_INPUT has written
 * nothing.
 *
 * Threads. An executable may be used by any number of threads at once. A graph
 * belongs to one thread at a time.
 *
 * Streams. `stream` is a CUstream (cudaStream_t) of the device, NULL for its
 * default stream; the cpu target ignores it and has finished when a call
 * returns. prepare, replay and set_scalar are ordered on the stream that they
 * are given, and return before the device has finished. A graph's calls must be
 * ordered with each other by the caller: one stream, or events between streams.
 * In a stream that the caller captures, replay adds the step's kernels to the
 * capture; prepare and set_scalar are refused there.
 *
 * Lifetimes. Bound memory must stay valid until the last replay that uses it
 * has finished; heddle does not copy or own it. Memory of results that the
 * caller did not bind belongs to the graph. Free graphs before their buffers;
 * wait for the stream before freeing a graph. An executable may be freed while
 * graphs of it live.
 *
 * Environment: HEDDLE_CACHE_DIR, HEDDLE_CACHE_SIZE (MiB, 0: off),
 * HEDDLE_DUMP_DIR, HEDDLE_NVRTC, HEDDLE_CUDA_DRIVER, HEDDLE_THREADS (of the cpu
 * target and of a compilation).
 */
/*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_H
#define HEDDLE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define HEDDLE_EXPORT
#else
#define HEDDLE_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum heddle_status {
  HEDDLE_OK = 0,
  HEDDLE_FAILED = 1,     /* the work failed */
  HEDDLE_BAD_INPUT = 2,  /* a mistake of the caller's; nothing was written */
  HEDDLE_UNAVAILABLE = 3 /* no GPU, driver, NVRTC or compiler here */
} heddle_status;

typedef enum heddle_dtype {
  HEDDLE_F64 = 0,
  HEDDLE_F32 = 1,
  HEDDLE_F16 = 2,
  HEDDLE_BF16 = 3,
  HEDDLE_I1 = 4, /* one byte, 0 or 1 */
  HEDDLE_I8 = 5,
  HEDDLE_I16 = 6,
  HEDDLE_I32 = 7,
  HEDDLE_I64 = 8
} heddle_dtype;

/* Compiled kernels and their plan. Immutable. */
typedef struct heddle_executable heddle_executable;
/* An executable bound to buffers. */
typedef struct heddle_graph heddle_graph;
/* Memory of the target, for programs that have no other source of it. */
typedef struct heddle_memory heddle_memory;

/* Options of a compilation; zero-initialise, and set struct_size to
 * sizeof(heddle_options). */
typedef struct heddle_options {
  size_t struct_size;
  const char
      *target; /* "cuda" or "cpu"; NULL: cuda if there is a GPU, else cpu */
  const char *arch; /* "sm_90"; NULL: that of the GPU. With a name, compiling
                       needs no GPU. Without one, a program with a panel loop
                       compiles its kernels with the first binding. */
} heddle_options;

/* An argument or a result. */
typedef struct heddle_buffer_info {
  const char *name; /* lives as long as the executable */
  heddle_dtype dtype;
  int is_list; /* 1: one tensor per member; 0: one value for all */
  int rank; /* of a member: 0 one value, 1 any dense tensor (flattened), 2 rows
               and columns (leading dimensions are collapsed into rows) */
  int donated;     /* an argument that a result replaces: updated in place */
  int has_default; /* a scalar argument with a default */
  double default_value;
} heddle_buffer_info;

/* "0.1.0". */
HEDDLE_EXPORT const char *heddle_version(void);

/* Text of this thread's last failure; empty if there was none. Valid until the
 * next failing call of this thread. */
HEDDLE_EXPORT const char *heddle_last_error(void);

/* Frees a text that a function below returned through a char **. NULL is
 * allowed. */
HEDDLE_EXPORT void heddle_free(char *text);

/*===- Executables --------------------------------------------------------===*/

/* Compiles `program`: the path of a .mlir file, module text, or a library name
 * with options, as "NAME:option=value,option=value"; programs compose with '+'.
 * Compiled kernels come from the disk cache when they can. `options` may be
 * NULL. */
HEDDLE_EXPORT heddle_status heddle_compile(const char *program,
                                           const heddle_options *options,
                                           heddle_executable **executable);

/* Makes an executable from the JSON text of a plan (`heddle emit --stage
 * plan`), for the cuda target. */
HEDDLE_EXPORT heddle_status heddle_load_plan(const char *plan,
                                             const heddle_options *options,
                                             heddle_executable **executable);

HEDDLE_EXPORT void heddle_executable_free(heddle_executable *executable);

/* "cpu", or the architecture, as "sm_90". Lives as long as the executable. */
HEDDLE_EXPORT const char *
heddle_executable_arch(const heddle_executable *executable);
/* NVRTC's log of the kernels that heddle_compile() compiled; empty if there is
 * none. Lives as long as the executable. */
HEDDLE_EXPORT const char *
heddle_executable_log(const heddle_executable *executable);
/* The plan as JSON text; free it with heddle_free. */
HEDDLE_EXPORT heddle_status
heddle_executable_plan(const heddle_executable *executable, char **text);

HEDDLE_EXPORT size_t heddle_argument_count(const heddle_executable *executable);
HEDDLE_EXPORT heddle_status heddle_argument(const heddle_executable *executable,
                                            size_t index,
                                            heddle_buffer_info *info);
HEDDLE_EXPORT size_t heddle_result_count(const heddle_executable *executable);
HEDDLE_EXPORT heddle_status heddle_result(const heddle_executable *executable,
                                          size_t index,
                                          heddle_buffer_info *info);

/*===- Graphs -------------------------------------------------------------===*/

/* On the device whose context is current on this thread (device 0 if none is).
 */
HEDDLE_EXPORT heddle_status heddle_graph_create(heddle_executable *executable,
                                                heddle_graph **graph);
HEDDLE_EXPORT void heddle_graph_free(heddle_graph *graph);

/* Binds a list argument: `members` dense tensors. pointers[m] is the address of
 * member m (device memory; host memory for the cpu target), ranks[m] its number
 * of dimensions; `extents` holds the extents of all members one after the
 * other, in elements. The arrays are copied, the tensors are not. A pointer may
 * be null where the member is inactive or has no elements. Takes effect at the
 * next prepare or replay: new pointers cost one small copy, never a
 * compilation. */
HEDDLE_EXPORT heddle_status heddle_bind_list(
    heddle_graph *graph, const char *name, heddle_dtype dtype, size_t members,
    void *const *pointers, const int *ranks, const int64_t *extents);

/* As heddle_bind_list, of matrices (rank 2) that are parts of larger ones: a
 * row of member m begins strides[m] elements behind the one before, at least as
 * many as it has columns; 0 where the member is dense (a stride of one row does
 * not count). Of more than two dimensions, the last are the columns and all
 * rows have the one stride. A program that takes a matrix for one vector (as
 * element-wise ones do) needs it dense: prepare or replay then says so. What
 * lies between the rows is never written, but counts as the member's where the
 * overlap of what is written is checked. `strides` may be null: all are dense.
 */
HEDDLE_EXPORT heddle_status heddle_bind_list_strided(
    heddle_graph *graph, const char *name, heddle_dtype dtype, size_t members,
    void *const *pointers, const int *ranks, const int64_t *extents,
    const int64_t *strides);

/* Binds a scalar argument to a value of the caller's in the target's memory,
 * which every replay reads again. NULL: back to the graph's own value. */
HEDDLE_EXPORT heddle_status heddle_bind_scalar(heddle_graph *graph,
                                               const char *name,
                                               heddle_dtype dtype,
                                               void *address);

/* Sets the graph's own value of a scalar argument, for every replay that
 * follows on `stream` and for none before. Never compiles, prepares or waits. A
 * scalar that the program only reads travels with the next launch: setting it
 * costs no time on the device. A capture that replay() added kernels to follows
 * what is set, too. */
HEDDLE_EXPORT heddle_status heddle_set_scalar(heddle_graph *graph,
                                              const char *name, double value,
                                              void *stream);

/* Binds a result to memory of the caller's, as heddle_bind_list (a scalar has
 * one member). 0 members: back to the graph's own. A result that replaces a
 * donated argument lives there: bind the argument. */
HEDDLE_EXPORT heddle_status heddle_bind_result(
    heddle_graph *graph, const char *name, heddle_dtype dtype, size_t members,
    void *const *pointers, const int *ranks, const int64_t *extents);

/* As heddle_bind_result, with strides as in heddle_bind_list_strided. */
HEDDLE_EXPORT heddle_status heddle_bind_result_strided(
    heddle_graph *graph, const char *name, heddle_dtype dtype, size_t members,
    void *const *pointers, const int *ranks, const int64_t *extents,
    const int64_t *strides);

/* Marks members of a list argument as inactive where mask[m] is not 0 (a
 * gradient that is not there). An inactive member is skipped in every list that
 * it meets: parameter, state and step counter stay as they are. 0 members: all
 * are active. */
HEDDLE_EXPORT heddle_status heddle_set_inactive(heddle_graph *graph,
                                                const char *name,
                                                size_t members,
                                                const unsigned char *mask);

/* Checks what is bound, allocates, and brings tables and CUDA graph up to date.
 * replay does it when it is needed; call it before a capture, or to have errors
 * and costs early. */
HEDDLE_EXPORT heddle_status heddle_prepare(heddle_graph *graph, void *stream);

/* Submits one step. */
HEDDLE_EXPORT heddle_status heddle_replay(heddle_graph *graph, void *stream);

/* Waits for a stream. */
HEDDLE_EXPORT heddle_status heddle_synchronize(heddle_graph *graph,
                                               void *stream);

/* Where a result is, after prepare. Addresses of the graph's own memory hold
 * until a binding changes. */
HEDDLE_EXPORT heddle_status heddle_result_members(heddle_graph *graph,
                                                  const char *name,
                                                  size_t *members);
/* `extents` has room for 2; `rank` of them are set. *pointer is null for an
 * inactive or empty member. Rows of memory of the caller's lie as they were
 * bound; the graph's own is dense. */
HEDDLE_EXPORT heddle_status heddle_result_member(heddle_graph *graph,
                                                 const char *name,
                                                 size_t member, void **pointer,
                                                 int *rank, int64_t *extents);

/* The value of a scalar argument or result, after waiting for `stream`. */
HEDDLE_EXPORT heddle_status heddle_read_scalar(heddle_graph *graph,
                                               const char *name, double *value,
                                               void *stream);

/* Device time of one replay in seconds: `replays` replays back to back between
 * two events (wall clock on the cpu target), the median of `samples` such runs,
 * after one that is not counted. Changes state as any replay does. */
HEDDLE_EXPORT heddle_status heddle_measure(heddle_graph *graph, int replays,
                                           int samples, double *seconds);

/*===- Memory -------------------------------------------------------------===*/

/* `bytes` bytes of the executable's target (on the device whose context is
 * current), aligned to 256 bytes. */
HEDDLE_EXPORT heddle_status heddle_memory_create(heddle_executable *executable,
                                                 size_t bytes,
                                                 heddle_memory **memory);
HEDDLE_EXPORT void heddle_memory_free(heddle_memory *memory);
HEDDLE_EXPORT void *heddle_memory_address(const heddle_memory *memory);
/* Copy `bytes` bytes to or from offset `offset`. They wait for the device
 * before and after. */
HEDDLE_EXPORT heddle_status heddle_memory_write(heddle_memory *memory,
                                                size_t offset, const void *from,
                                                size_t bytes);
HEDDLE_EXPORT heddle_status heddle_memory_read(const heddle_memory *memory,
                                               size_t offset, void *to,
                                               size_t bytes);

/*===- Looking inside -----------------------------------------------------===*/

/* The text of a stage: "foreach", "fused", "cuda", "plan", "ptx", or the bytes
 * of "cubin". `size` (may be NULL) gets its length. Free it with heddle_free.
 */
HEDDLE_EXPORT heddle_status heddle_emit(const char *program, const char *stage,
                                        const heddle_options *options,
                                        char **text, size_t *size);

/* The effect of fusion, as text or JSON. `shapes`: JSON array of arrays of
 * extents, or NULL. Free it with heddle_free. */
HEDDLE_EXPORT heddle_status heddle_explain(const char *program,
                                           const char *shapes, int json,
                                           const heddle_options *options,
                                           char **text);

/* A report on this machine, as JSON: driver, devices, nvrtc, cache,
 * compiler. Free it with heddle_free. */
HEDDLE_EXPORT heddle_status heddle_doctor(char **text);

/* Counters of this process: names by position (NULL behind the last), values by
 * name. */
HEDDLE_EXPORT const char *heddle_statistic_name(size_t index);
HEDDLE_EXPORT heddle_status heddle_statistic(const char *name, uint64_t *value);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HEDDLE_H */
