/*===- capi_test.c - The C interface, from C -----------------------------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiles a standard program for the cpu target, runs two steps over host
 * memory, compares the results with the same computation in C, and makes
 * mistakes on purpose. Linked to libheddle only. Exit code 0 means success.
 */
/*===----------------------------------------------------------------------===*/

#include "heddle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MEMBERS = 3, LARGEST = 5000 };

static const int64_t extents[] = {50, 100, 1, 7};
static const int ranks[MEMBERS] = {2, 1, 1};
static const int sizes[MEMBERS] = {LARGEST, 1, 7};

static float param[MEMBERS][LARGEST], grad[MEMBERS][LARGEST],
    momentum[MEMBERS][LARGEST];

static int failures = 0;

static void fail(const char *what) {
  fprintf(stderr, "heddle_capi_test: %s: %s\n", what, heddle_last_error());
  ++failures;
}

static void expect_ok(heddle_status status, const char *what) {
  if (status != HEDDLE_OK)
    fail(what);
}

/* Expects HEDDLE_BAD_INPUT and a message that contains `text`. */
static void expect_mistake(heddle_status status, const char *text,
                           const char *what) {
  if (status != HEDDLE_BAD_INPUT || !strstr(heddle_last_error(), text))
    fail(what);
  else
    fprintf(stderr, "%s: %s\n", what, heddle_last_error());
}

static void bind(heddle_graph *graph, const char *name,
                 float list[MEMBERS][LARGEST]) {
  void *pointers[MEMBERS];
  for (int m = 0; m < MEMBERS; ++m)
    pointers[m] = list[m];
  expect_ok(heddle_bind_list(graph, name, HEDDLE_F32, MEMBERS, pointers, ranks,
                             extents),
            name);
}

/* A program: the sums of the rows of a matrix. */
static const char *const sums =
    "!mats = !foreach.list<tensor<?x?xf32>>\n"
    "!list = !foreach.list<tensor<?xf32>>\n"
    "func.func @sums(%x: !mats) -> !list {\n"
    "  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {\n"
    "    foreach.yield %x : f32\n"
    "  }\n"
    "  return %sum : !list\n"
    "}\n";

/* Binds the left part of a larger matrix, and wrong strides. */
static void sum_strided_rows(const heddle_options *options) {
  enum { ROWS = 5, COLUMNS = 3, STRIDE = 7 };
  float matrix[ROWS * STRIDE], sum[ROWS];
  for (int k = 0; k < ROWS * STRIDE; ++k)
    matrix[k] = k % STRIDE < COLUMNS ? (float)k : 1e30f;
  heddle_executable *executable = NULL;
  heddle_graph *graph = NULL;
  if (heddle_compile(sums, options, &executable) != HEDDLE_OK ||
      heddle_graph_create(executable, &graph) != HEDDLE_OK) {
    fail("compiling sums of rows");
    return;
  }
  void *pointer = matrix, *result = sum;
  int rank = 2, one = 1;
  int64_t shape[] = {ROWS, COLUMNS}, rows = ROWS, stride = STRIDE, narrow = 2;
  expect_ok(heddle_bind_list_strided(graph, "x", HEDDLE_F32, 1, &pointer, &rank,
                                     shape, &stride),
            "bind_list_strided");
  expect_ok(
      heddle_bind_result(graph, "sum", HEDDLE_F32, 1, &result, &one, &rows),
      "bind_result");
  expect_ok(heddle_replay(graph, NULL), "replay");
  for (int i = 0; i < ROWS; ++i)
    if (sum[i] != (float)(3 * i * STRIDE + 3))
      fail("sums of strided rows");

  expect_ok(heddle_bind_list_strided(graph, "x", HEDDLE_F32, 1, &pointer, &rank,
                                     shape, &narrow),
            "bind_list_strided");
  expect_mistake(heddle_replay(graph, NULL), "row stride of at least 3",
                 "rows that overlap");
  expect_ok(heddle_bind_list_strided(graph, "x", HEDDLE_F32, 1, &pointer, &rank,
                                     shape, &stride),
            "bind_list_strided");
  expect_ok(heddle_bind_result_strided(graph, "sum", HEDDLE_F32, 1, &result,
                                       &one, &rows, &stride),
            "bind_result_strided");
  expect_mistake(heddle_replay(graph, NULL), "expected a dense tensor (rank 1)",
                 "a vector with a stride");
  heddle_graph_free(graph);
  heddle_executable_free(executable);
}

static const char *const shares =
    "!mats = !foreach.list<tensor<?x?xf32>>\n"
    "!list = !foreach.list<tensor<?xf32>>\n"
    "func.func @shares(%x: !mats {foreach.donate = 0 : i64}) -> (!mats, !list) "
    "{\n"
    "  %sum = foreach.reduce add along j (%x = %x[i, j] : !mats) -> !list {\n"
    "    foreach.yield %x : f32\n"
    "  }\n"
    "  %y = foreach.map (%x = %x[i, j] : !mats, %sum = %sum[i] : !list) -> "
    "!mats {\n"
    "    %y = arith.divf %x, %sum : f32\n"
    "    foreach.yield %y : f32\n"
    "  }\n"
    "  return %y, %sum : !mats, !list\n"
    "}\n";

/* A result in the memory of a donated part of a larger matrix has its row
 * stride; without gaps, the number of columns; a vector has none. */
static void read_strided_result(const heddle_options *options) {
  enum { ROWS = 4, COLUMNS = 2, STRIDE = 5 };
  float matrix[ROWS * STRIDE];
  for (int k = 0; k < ROWS * STRIDE; ++k)
    matrix[k] = k % STRIDE < COLUMNS ? 1 : -7;
  heddle_executable *executable = NULL;
  heddle_graph *graph = NULL;
  if (heddle_compile(shares, options, &executable) != HEDDLE_OK ||
      heddle_graph_create(executable, &graph) != HEDDLE_OK) {
    fail("compiling shares of rows");
    return;
  }
  heddle_buffer_info result;
  expect_ok(heddle_result(executable, 0, &result), "result");
  void *pointer = matrix;
  int rank = 2;
  int64_t shape[] = {ROWS, COLUMNS}, stride = STRIDE;
  expect_ok(heddle_bind_list_strided(graph, "x", HEDDLE_F32, 1, &pointer, &rank,
                                     shape, &stride),
            "bind_list_strided");
  expect_ok(heddle_replay(graph, NULL), "replay");
  void *found = NULL;
  int64_t extents[2] = {0, 0}, step = 0;
  expect_ok(heddle_result_member(graph, result.name, 0, &found, &rank, extents,
                                 &step),
            "result_member");
  if (found != matrix || rank != 2 || extents[0] != ROWS ||
      extents[1] != COLUMNS || step != STRIDE) {
    fail("a result with a row stride");
  } else {
    for (int k = 0; k < ROWS * STRIDE; ++k)
      if (matrix[k] != (k % STRIDE < COLUMNS ? 0.5f : -7.0f))
        fail("elements of a result with a row stride");
  }
  expect_ok(heddle_result(executable, 1, &result), "result");
  expect_ok(heddle_result_member(graph, result.name, 0, &found, &rank, extents,
                                 &step),
            "result_member");
  if (rank != 1 || extents[0] != ROWS || step != 0)
    fail("a vector has no row stride");
  expect_mistake(
      heddle_result_member(graph, result.name, 0, &found, &rank, extents, NULL),
      "heddle_result_member", "a null row stride");

  rank = 2;
  expect_ok(heddle_bind_list(graph, "x", HEDDLE_F32, 1, &pointer, &rank, shape),
            "bind_list");
  expect_ok(heddle_prepare(graph, NULL), "prepare");
  expect_ok(heddle_result(executable, 0, &result), "result");
  expect_ok(heddle_result_member(graph, result.name, 0, &found, &rank, extents,
                                 &step),
            "result_member");
  if (step != COLUMNS)
    fail("a dense result has as many columns as its row stride");
  heddle_graph_free(graph);
  heddle_executable_free(executable);
}

/* Weights with the wrong number of elements: the message names the argument,
 * not a list that is computed from it. */
static void bind_wrong_weights(const heddle_options *options) {
  enum { ROWS = 2, COLUMNS = 4 };
  float matrix[ROWS * COLUMNS] = {0}, weights[COLUMNS + 1];
  for (int k = 0; k <= COLUMNS; ++k)
    weights[k] = 1;
  heddle_executable *executable = NULL;
  heddle_graph *graph = NULL;
  if (heddle_compile("sinkhorn", options, &executable) != HEDDLE_OK ||
      heddle_graph_create(executable, &graph) != HEDDLE_OK) {
    fail("compiling sinkhorn");
    return;
  }
  void *pointer = matrix, *vector = weights;
  int rank = 2, one = 1;
  int64_t shape[] = {ROWS, COLUMNS}, rows = ROWS + 1, columns = COLUMNS;
  expect_ok(heddle_bind_list(graph, "C", HEDDLE_F32, 1, &pointer, &rank, shape),
            "bind_list C");
  expect_ok(heddle_bind_list(graph, "a", HEDDLE_F32, 1, &vector, &one, &rows),
            "bind_list a");
  expect_ok(
      heddle_bind_list(graph, "b", HEDDLE_F32, 1, &vector, &one, &columns),
      "bind_list b");
  expect_mistake(
      heddle_replay(graph, NULL),
      "argument 'a', member 0: expected 2 elements, one for each row "
      "of argument 'C', found 3",
      "more weights than rows");
  rows = ROWS, columns = COLUMNS + 1;
  expect_ok(heddle_bind_list(graph, "a", HEDDLE_F32, 1, &vector, &one, &rows),
            "bind_list a");
  expect_ok(
      heddle_bind_list(graph, "b", HEDDLE_F32, 1, &vector, &one, &columns),
      "bind_list b");
  expect_mistake(heddle_replay(graph, NULL),
                 "argument 'b', member 0: expected 4 elements, one for each "
                 "column of argument 'C', found 5",
                 "more weights than columns");
  heddle_graph_free(graph);
  heddle_executable_free(executable);
}

int main(void) {
  heddle_options options = {0};
  options.struct_size = sizeof(options);
  options.target = "cpu";
  heddle_executable *executable = NULL;
  heddle_graph *graph = NULL;
  if (heddle_compile("sgd:momentum=0.9", &options, &executable) != HEDDLE_OK ||
      heddle_graph_create(executable, &graph) != HEDDLE_OK) {
    fail("compiling");
    return 1;
  }

  for (int m = 0; m < MEMBERS; ++m)
    for (int i = 0; i < sizes[m]; ++i) {
      param[m][i] = 1.0f + (float)i / 1024;
      grad[m][i] = 0.5f - (float)m;
    }
  bind(graph, "param", param);
  bind(graph, "grad", grad);
  bind(graph, "momentum_buffer", momentum);
  expect_ok(heddle_set_scalar(graph, "lr", 0.25, NULL), "set_scalar");

  /* Two steps: the momentum is g, then 0.9 g + g. */
  expect_ok(heddle_replay(graph, NULL), "replay");
  expect_ok(heddle_set_scalar(graph, "lr", 0.125, NULL), "set_scalar");
  expect_ok(heddle_replay(graph, NULL), "replay");
  expect_ok(heddle_synchronize(graph, NULL), "synchronize");
  double lr = 0, worst = 0;
  expect_ok(heddle_read_scalar(graph, "lr", &lr, NULL), "read_scalar");
  if (lr != 0.125)
    fail("the value that was set");
  for (int m = 0; m < MEMBERS; ++m)
    for (int i = 0; i < sizes[m]; ++i) {
      double g = 0.5 - m,
             expected = 1.0 + i / 1024.0 - 0.25 * g - 0.125 * 1.9 * g;
      worst = fmax(worst, fabs(param[m][i] - expected) / fabs(expected));
      worst = fmax(worst, fabs(momentum[m][i] - 1.9 * g));
    }
  if (!(worst < 1e-6))
    fail("the numbers");

  heddle_executable *none = NULL;
  expect_mistake(heddle_compile("sgd:speed=2", &options, &none), "speed",
                 "an option that does not exist");
  expect_mistake(heddle_compile("adamw:zero_grad=true+sgd", &options, &none),
                 "found 'adamw:zero_grad=true' and 'sgd': leave one of these "
                 "programs out",
                 "two updates");
  expect_mistake(heddle_compile("sgd+clip_by_global_norm", &options, &none),
                 "write 'clip_by_global_norm' before 'sgd'",
                 "a program after the update");
  void *pointers[MEMBERS] = {param[0], param[1], param[2]};
  expect_mistake(heddle_bind_list(graph, "param", HEDDLE_F64, MEMBERS, pointers,
                                  ranks, extents),
                 "expected dtype f32, found f64", "another dtype");
  expect_ok(heddle_bind_list(graph, "grad", HEDDLE_F32, MEMBERS - 1, pointers,
                             ranks, extents),
            "bind_list");
  expect_mistake(heddle_replay(graph, NULL), "expected 3 members",
                 "a list that is too short");

  /* Absurd counts and sizes are refused before they are used. */
  size_t absurd = (size_t)1 << 62;
  expect_mistake(heddle_bind_list(graph, "param", HEDDLE_F32, absurd, pointers,
                                  ranks, extents),
                 "at most 2^31 members", "too many members");
  unsigned char mask[MEMBERS] = {0};
  expect_mistake(heddle_set_inactive(graph, "grad", MEMBERS, mask),
                 "expected a mask of 2 members, as bound, found 3",
                 "a mask of another length");
  expect_mistake(heddle_set_inactive(graph, "grad", absurd, mask),
                 "at most 2^31 members", "a mask of too many members");
  heddle_memory *memory = NULL;
  expect_mistake(heddle_memory_create(executable, SIZE_MAX, &memory),
                 "at most 2^48", "more memory than there is");

  heddle_graph_free(graph);
  heddle_executable_free(executable);
  sum_strided_rows(&options);
  read_strided_result(&options);
  bind_wrong_weights(&options);
  printf("heddle %s from C: %s\n", heddle_version(),
         failures ? "failed" : "two steps and thirteen mistakes as expected");
  return failures != 0;
}
