/*===- heddle.h - The C interface of heddle ------------------------------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
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
 * heddle_last_error() returns the message of this thread's last failure. No
 * exception crosses this interface. A call that fails with HEDDLE_BAD_INPUT has
 * written nothing.
 *
 * Threads. Any number of threads may use one executable at once. A graph
 * belongs to one thread at a time.
 *
 * Fork. A child of fork() can use executables and graphs of the cpu target. A
 * graph or memory of the cuda target belongs to the process that created it:
 * calls in a child fail with HEDDLE_BAD_INPUT and name that process. To use the
 * GPU in a child, fork before the first call that needs the GPU.
 *
 * Streams. `stream` is a CUstream (cudaStream_t); NULL is the default stream.
 * prepare, replay and set_scalar are ordered on their stream and return before
 * the device has finished. The caller must order the calls of one graph: by one
 * stream, or by events between streams. While the caller captures the stream,
 * replay adds the step's kernels to the capture; prepare and set_scalar fail.
 * The cpu target ignores `stream`; its calls return when their work is done.
 *
 * Lifetimes. Bound memory must stay valid until the last replay that uses it
 * has finished; heddle neither copies nor owns it. The graph owns the memory of
 * results that the caller does not bind. Wait for the stream before freeing a
 * graph. Free graphs before the memory that is bound to them. An executable may
 * be freed before its graphs.
 *
 * Environment. HEDDLE_CACHE_DIR, HEDDLE_CACHE_SIZE (in MiB; 0 turns the cache
 * off), HEDDLE_DUMP_DIR, HEDDLE_NVRTC, HEDDLE_CUDA_DRIVER, HEDDLE_THREADS (the
 * threads of the cpu target and of compilations by NVRTC).
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
  HEDDLE_FAILED = 1,     /* the operation failed */
  HEDDLE_BAD_INPUT = 2,  /* a mistake in an argument; nothing was written */
  HEDDLE_UNAVAILABLE = 3 /* there is no GPU, driver, NVRTC or compiler */
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
/* Memory of the target, for callers without an allocator of their own. */
typedef struct heddle_memory heddle_memory;

/* Options of a compilation. Zero-initialize the struct and set struct_size to
 * sizeof(heddle_options). */
typedef struct heddle_options {
  size_t struct_size;
  /* "cuda" or "cpu". NULL: cuda if `arch` is set or there is a GPU, else cpu.
   */
  const char *target;
  /* An architecture such as "sm_90"; compiling for it needs no GPU. NULL: the
   * architecture of the GPU; then a program with a panel loop compiles its
   * kernels with the first binding. */
  const char *arch;
} heddle_options;

/* An argument or a result. */
typedef struct heddle_buffer_info {
  const char *name; /* lives as long as the executable */
  heddle_dtype dtype;
  int is_list; /* 1: one tensor per member; 0: one value for all */
  /* The rank of a member. 0: one value; 1: any dense tensor (flattened); 2:
   * rows and columns (leading dimensions are collapsed into rows). */
  int rank;
  int donated;     /* 1: a result replaces the argument; updated in place */
  int has_default; /* 1: a scalar argument with a default */
  double default_value;
} heddle_buffer_info;

/* The version, such as "0.1.0". */
HEDDLE_EXPORT const char *heddle_version(void);

/* The message of this thread's last failure; empty if there was none. Valid
 * until the next failure on this thread. */
HEDDLE_EXPORT const char *heddle_last_error(void);

/* Frees text that a function returned through a char **. NULL is allowed. */
HEDDLE_EXPORT void heddle_free(char *text);

/*===- Executables --------------------------------------------------------===*/

/* Compiles `program`: the path of a .mlir file, the text of a module, or a
 * standard program with options, as in "NAME:option=value,option=value". '+'
 * joins several standard programs. A text that ends in ".mlir" is a path unless
 * it contains a function. Kernels that are in the disk cache are not compiled
 * again. `options` may be NULL. */
HEDDLE_EXPORT heddle_status heddle_compile(const char *program,
                                           const heddle_options *options,
                                           heddle_executable **executable);

/* Makes an executable for the cuda target from a plan in JSON, as printed by
 * `heddle emit --stage plan`. */
HEDDLE_EXPORT heddle_status heddle_load_plan(const char *plan,
                                             const heddle_options *options,
                                             heddle_executable **executable);

HEDDLE_EXPORT void heddle_executable_free(heddle_executable *executable);

/* "cpu", or an architecture such as "sm_90". Lives as long as the executable.
 */
HEDDLE_EXPORT const char *
heddle_executable_arch(const heddle_executable *executable);
/* NVRTC's log of the kernels that heddle_compile() compiled; empty if there is
 * none. Lives as long as the executable. */
HEDDLE_EXPORT const char *
heddle_executable_log(const heddle_executable *executable);
/* The plan in JSON. Free the text with heddle_free. */
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

/* Creates a graph on the device whose context is current on this thread (on
 * device 0 if there is none). */
HEDDLE_EXPORT heddle_status heddle_graph_create(heddle_executable *executable,
                                                heddle_graph **graph);
HEDDLE_EXPORT void heddle_graph_free(heddle_graph *graph);

/* Binds a list argument to `members` dense tensors. pointers[m] is the address
 * of member m (in device memory, or host memory for the cpu target); it may be
 * null if the member is inactive or has no elements. ranks[m] is the number of
 * dimensions of member m. `extents` holds the extents of all members one after
 * the other, in elements. The arrays are copied, the tensors are not. The
 * binding takes effect at the next prepare or replay. New pointers cost some
 * microseconds, never a compilation. */
HEDDLE_EXPORT heddle_status heddle_bind_list(
    heddle_graph *graph, const char *name, heddle_dtype dtype, size_t members,
    void *const *pointers, const int *ranks, const int64_t *extents);

/* As heddle_bind_list, for a list of rank 2 whose matrices are parts of larger
 * ones. strides[m] is the row stride of member m: the number of elements from
 * the start of one row to the start of the next, at least the number of
 * columns, or 0 for a dense member. The stride of a single row is ignored. If a
 * tensor has more than two dimensions, the last one is the columns, and all
 * rows have the same stride. Gaps between rows are never written, but the check
 * for overlaps counts them as part of the member. A program that treats
 * matrices as vectors (elementwise math) needs dense matrices: prepare and
 * replay refuse others. `strides` may be null: all members are dense. */
HEDDLE_EXPORT heddle_status heddle_bind_list_strided(
    heddle_graph *graph, const char *name, heddle_dtype dtype, size_t members,
    void *const *pointers, const int *ranks, const int64_t *extents,
    const int64_t *strides);

/* Binds a scalar argument to a value in the target's memory, which every replay
 * reads. NULL: the graph's own value is used again. */
HEDDLE_EXPORT heddle_status heddle_bind_scalar(heddle_graph *graph,
                                               const char *name,
                                               heddle_dtype dtype,
                                               void *address);

/* Sets the graph's own value of a scalar argument, for all later replays on
 * `stream` and for no earlier one. Never compiles, prepares or waits. A scalar
 * that the program only reads is a kernel parameter of the next launch, so
 * setting it costs no device time. Captured replays read the new value, too. */
HEDDLE_EXPORT heddle_status heddle_set_scalar(heddle_graph *graph,
                                              const char *name, double value,
                                              void *stream);

/* Binds a result to the caller's memory, as heddle_bind_list does (a scalar has
 * one member). 0 members: the graph's own memory is used again. A result that
 * replaces a donated argument has that argument's memory: bind the argument. */
HEDDLE_EXPORT heddle_status heddle_bind_result(
    heddle_graph *graph, const char *name, heddle_dtype dtype, size_t members,
    void *const *pointers, const int *ranks, const int64_t *extents);

/* As heddle_bind_result, with strides as in heddle_bind_list_strided. */
HEDDLE_EXPORT heddle_status heddle_bind_result_strided(
    heddle_graph *graph, const char *name, heddle_dtype dtype, size_t members,
    void *const *pointers, const int *ranks, const int64_t *extents,
    const int64_t *strides);

/* Marks member m of a list argument as inactive if mask[m] is not 0, for
 * example if a parameter has no gradient in this step. The step skips an
 * inactive member in every list with the same members: parameter, state and
 * step counter keep their values. 0 members: all are active. If the list is
 * bound, the mask has as many members: bind first. */
HEDDLE_EXPORT heddle_status heddle_set_inactive(heddle_graph *graph,
                                                const char *name,
                                                size_t members,
                                                const unsigned char *mask);

/* Checks the bound buffers, allocates memory, and updates the tables and the
 * CUDA graph. replay does this if a binding changed. Call prepare before a
 * capture, or to get errors and costs early. */
HEDDLE_EXPORT heddle_status heddle_prepare(heddle_graph *graph, void *stream);

/* Submits one step: one graph launch. */
HEDDLE_EXPORT heddle_status heddle_replay(heddle_graph *graph, void *stream);

/* Waits for a stream. */
HEDDLE_EXPORT heddle_status heddle_synchronize(heddle_graph *graph,
                                               void *stream);

/* The number of members of a result, after prepare (1 for a scalar). */
HEDDLE_EXPORT heddle_status heddle_result_members(heddle_graph *graph,
                                                  const char *name,
                                                  size_t *members);
/* The address, rank, extents and row stride of a member of a result, after
 * prepare. *pointer is null for an inactive or empty member. `extents` has room
 * for 2 values, of which *rank are set. *stride is the number of elements from
 * one row of a matrix to the next: the row stride with which a member in the
 * caller's memory was bound, or the number of columns of a dense matrix. It is
 * 0 if *rank is not 2. Addresses in the graph's own memory are valid until a
 * binding changes. */
HEDDLE_EXPORT heddle_status heddle_result_member(heddle_graph *graph,
                                                 const char *name,
                                                 size_t member, void **pointer,
                                                 int *rank, int64_t *extents,
                                                 int64_t *stride);

/* The value of a scalar argument or result, after waiting for `stream`. */
HEDDLE_EXPORT heddle_status heddle_read_scalar(heddle_graph *graph,
                                               const char *name, double *value,
                                               void *stream);

/* Device time of one replay in seconds: the median of `samples` runs, after a
 * warm-up run. A run is `replays` replays back to back between two events (the
 * cpu target uses the host's clock). State changes as in any replay. */
HEDDLE_EXPORT heddle_status heddle_measure(heddle_graph *graph, int replays,
                                           int samples, double *seconds);

/*===- Memory -------------------------------------------------------------===*/

/* Allocates `bytes` bytes of the memory of the executable's target (on the
 * device whose context is current), aligned to 256 bytes. */
HEDDLE_EXPORT heddle_status heddle_memory_create(heddle_executable *executable,
                                                 size_t bytes,
                                                 heddle_memory **memory);
HEDDLE_EXPORT void heddle_memory_free(heddle_memory *memory);
HEDDLE_EXPORT void *heddle_memory_address(const heddle_memory *memory);
/* Copy `bytes` bytes to or from `offset`. Both wait for the device before and
 * after the copy. */
HEDDLE_EXPORT heddle_status heddle_memory_write(heddle_memory *memory,
                                                size_t offset, const void *from,
                                                size_t bytes);
HEDDLE_EXPORT heddle_status heddle_memory_read(const heddle_memory *memory,
                                               size_t offset, void *to,
                                               size_t bytes);

/*===- Inspection ---------------------------------------------------------===*/

/* Compiles `program` up to a stage and returns the text of "foreach", "fused",
 * "cuda", "plan" or "ptx", or the bytes of "cubin". *size is set to the length;
 * `size` may be NULL. Free the text with heddle_free. */
HEDDLE_EXPORT heddle_status heddle_emit(const char *program, const char *stage,
                                        const heddle_options *options,
                                        char **text, size_t *size);

/* Explains a program as `heddle explain` does, as text or (`json` is not 0)
 * JSON. `shapes` is a JSON array of arrays of extents; NULL or an empty text is
 * one tensor of 1000 x 1000. Free the text with heddle_free. */
HEDDLE_EXPORT heddle_status heddle_explain(const char *program,
                                           const char *shapes, int json,
                                           const heddle_options *options,
                                           char **text);

/* A report on this machine, as JSON: driver, devices, nvrtc, cache, compiler,
 * environment. Free the text with heddle_free. */
HEDDLE_EXPORT heddle_status heddle_doctor(char **text);

/* The name of a counter by index; NULL after the last. */
HEDDLE_EXPORT const char *heddle_statistic_name(size_t index);
/* The value of a counter of this process. */
HEDDLE_EXPORT heddle_status heddle_statistic(const char *name, uint64_t *value);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HEDDLE_H */
