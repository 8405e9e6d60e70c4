/*===- layouts.h - The layouts that tensors are expected to have ----------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A layout is a sequence of words: the device; the element type and the rank;
 * the extents; the strides. None has one word, which no tensor has.
 */
/*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_PYTHON_LAYOUTS_H
#define HEDDLE_PYTHON_LAYOUTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define HEDDLE_NOTHING ((int64_t)-1)

/* The layouts that a caller expects, one after the other. */
typedef struct {
  const char *place;
  const char *end;
} Layouts;

static inline int64_t wordAt(const char *place) {
  int64_t word;
  memcpy(&word, place, sizeof word);
  return word;
}

/* The bytes of the next layout; 0 if there is none. */
static inline Py_ssize_t sizeOfNext(const Layouts *layouts) {
  Py_ssize_t left = layouts->end - layouts->place;
  if (left < 8)
    return 0;
  if (wordAt(layouts->place) == HEDDLE_NOTHING)
    return 8;
  if (left < 16)
    return 0;
  int64_t rank = wordAt(layouts->place + 8) >> 32;
  return rank < 0 || rank > (left - 16) / 16 ? 0 : 16 + 16 * (Py_ssize_t)rank;
}

/* The extents of a layout, before its strides. The contents of a bytes object
 * are aligned to at least 8 bytes, and so is every layout. */
static inline const int64_t *extentsIn(const char *layout) {
  return (const int64_t *)(const void *)(layout + 16);
}

#endif
