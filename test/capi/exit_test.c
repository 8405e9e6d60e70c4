/*===- exit_test.c - Loading, unloading, and calls at the end of a process ===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loads the library at run time. Rounds of dlopen() and dlclose(), and threads
 * that end, take no memory. A handler of atexit() that is older than the
 * library uses everything of it. Exit code 0 means success.
 */
/*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include "heddle.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 1 << 20 };
static float list[COUNT];

static void *library;
static heddle_graph *graph; /* from before the end of the process */

static void *function(const char *name) {
  void *found = dlsym(library, name);
  if (!found) {
    fprintf(stderr, "heddle_exit_test: %s\n", dlerror());
    _exit(1);
  }
  return found;
}

/* A function of heddle.h, in the library that is loaded at run time. */
#define CALL(name) ((__typeof__(&name))function(#name))

static void expect(int holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "heddle_exit_test: %s: %s\n", what,
          library ? CALL(heddle_last_error)() : "");
  _exit(1);
}

static void load(void) {
  library = dlopen(HEDDLE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "heddle_exit_test: %s\n", dlerror());
    _exit(1);
  }
}

static void replay_twice(heddle_graph *graph, const char *what) {
  expect(CALL(heddle_replay)(graph, NULL) == HEDDLE_OK &&
             CALL(heddle_replay)(graph, NULL) == HEDDLE_OK,
         what);
}

/* A graph of `program`, whose arguments are lists of one large member. */
static heddle_graph *make_graph(const char *program, const char *target) {
  heddle_options options = {sizeof(options), target, NULL};
  heddle_executable *executable = NULL;
  heddle_graph *made = NULL;
  expect(CALL(heddle_compile)(program, &options, &executable) == HEDDLE_OK,
         "heddle_compile");
  expect(CALL(heddle_graph_create)(executable, &made) == HEDDLE_OK,
         "heddle_graph_create");
  CALL(heddle_executable_free)(executable);
  static float grad[COUNT];
  void *pointers[] = {list}, *gradients[] = {grad};
  int rank = 1;
  int64_t extent = COUNT;
  expect(CALL(heddle_bind_list)(made, "param", HEDDLE_F32, 1, pointers, &rank,
                                &extent) == HEDDLE_OK &&
             CALL(heddle_bind_list)(made, "grad", HEDDLE_F32, 1, gradients,
                                    &rank, &extent) == HEDDLE_OK,
         "heddle_bind_list");
  return made;
}

/* Registered before the library was loaded, so it runs after all handlers and
 * destructors that the library could have registered. */
static void use_at_exit(void) {
  char *text = NULL;
  heddle_options options = {sizeof(options), "cuda", "sm_90"};
  replay_twice(graph, "replay at exit");
  CALL(heddle_graph_free)(graph);
  heddle_graph *late = make_graph("sgd:lr=0.5", "cpu");
  replay_twice(late, "a new graph at exit");
  CALL(heddle_graph_free)(late);
  static const char *const stages[] = {"foreach", "fused", "cuda", "plan"};
  for (int k = 0; k < 4; ++k) {
    expect(CALL(heddle_emit)("sinkhorn", stages[k], &options, &text, NULL) ==
               HEDDLE_OK,
           stages[k]);
    CALL(heddle_free)(text);
  }
  heddle_executable *loaded = NULL;
  expect(CALL(heddle_emit)("adamw", "plan", &options, &text, NULL) == HEDDLE_OK,
         "heddle_emit");
  CALL(heddle_load_plan)(text, &options, &loaded); /* may need NVRTC */
  CALL(heddle_executable_free)(loaded);
  CALL(heddle_free)(text);
  expect(CALL(heddle_explain)("adamw", NULL, 1, &options, &text) == HEDDLE_OK,
         "heddle_explain");
  CALL(heddle_free)(text);
  expect(CALL(heddle_doctor)(&text) == HEDDLE_OK, "heddle_doctor");
  CALL(heddle_free)(text);
  expect(CALL(heddle_compile)("nonsense", NULL, &loaded) == HEDDLE_BAD_INPUT &&
             strstr(CALL(heddle_last_error)(), "nonsense"),
         "a mistake at exit");
  puts("heddle_exit_test: used at exit");
  fflush(stdout);
}

/* Fills the thread-local variables of a thread. */
static void *compile_in_thread(void *unused) {
  char *text = NULL;
  heddle_options options = {sizeof(options), "cuda", "sm_90"};
  expect(CALL(heddle_emit)("sgd", "fused", &options, &text, NULL) == HEDDLE_OK,
         "heddle_emit");
  CALL(heddle_free)(text);
  return unused;
}

static void use_threads(int count) {
  for (int k = 0; k < count; ++k) {
    pthread_t thread;
    expect(pthread_create(&thread, NULL, compile_in_thread, NULL) == 0 &&
               pthread_join(thread, NULL) == 0,
           "a thread");
  }
}

int main(void) {
  expect(atexit(use_at_exit) == 0, "atexit");
  setenv("HEDDLE_THREADS", "4", 1);
  load();
  dlclose(library);
  size_t before = mallinfo2().uordblks;
  for (int round = 0; round < 20; ++round) {
    load();
    dlclose(library);
  }
  library = NULL;
  expect(mallinfo2().uordblks < before + 4096,
         "20 rounds of dlopen() and dlclose() took memory");
  load();
  use_threads(5);
  before = mallinfo2().uordblks;
  use_threads(40);
  expect(mallinfo2().uordblks < before + 40 * 64,
         "the thread-local variables of 40 threads took memory");
  graph = make_graph("sgd", "cpu");
  replay_twice(graph, "replay");
  return 0;
}
