/*===- torch_versions.c - Counters of changes in place --------------------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 */
/*===----------------------------------------------------------------------===*/

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include "torch_versions.h"

#include "refusals.h"

/* The words of a tensor (c10::TensorImpl): its class, which is the address of
 * its table of virtual functions, and the address of its counter, which is null
 * for an inference tensor. */
enum { kClass = 0, kCounter = 5 };

/* The words of a counter. The lower half of the last one is the version. */
enum { kCounterClass = 0, kVersion = 2 };

struct Versions {
  PyTypeObject *tensor, *parameter;
  Py_ssize_t place; /* of the handle in a Python object */
  int64_t plain;    /* the class of plain tensors */
  int64_t counters; /* the class of counters */
};

static int64_t *wordsAt(int64_t address) {
  return (int64_t *)(uintptr_t)address;
}

static uint32_t *versionIn(int64_t *counter) {
  return (uint32_t *)(void *)(counter + kVersion);
}

/*===- Counting -----------------------------------------------------------===*/

/* The words of a tensor; null for an object that is none. */
static inline const int64_t *tensorIn(const Versions *versions,
                                      PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  if (type != versions->parameter && type != versions->tensor)
    return NULL;
  const int64_t *handle =
      (const int64_t *)(const void *)((const char *)object + versions->place);
  return wordsAt(*handle);
}

/* Between steps, other work has used the caches. So the counters of a batch are
 * requested before the first one is incremented. */
enum { kBatch = 16 };

/* Increments the counters of up to kBatch tensors, up to the first one that is
 * left to torch's function. Null counts as incremented. */
static int countBatch(const Versions *versions, const int64_t *const *tensors,
                      int count) {
  int64_t *counters[kBatch];
  int found = 0;
  for (; found < count; ++found) {
    const int64_t *tensor = tensors[found];
    counters[found] = NULL;
    if (!tensor)
      continue;
    if (tensor[kClass] != versions->plain || !tensor[kCounter])
      break;
    counters[found] = wordsAt(tensor[kCounter]);
    __builtin_prefetch(counters[found], 1);
  }
  /* Other threads may count changes of the same tensors. */
  for (int k = 0; k < found; ++k) {
    if (!counters[k])
      continue;
    if (counters[k][kCounterClass] != versions->counters)
      return k;
    __atomic_fetch_add(versionIn(counters[k]), 1, __ATOMIC_SEQ_CST);
  }
  return found;
}

Py_ssize_t countChanges(const Versions *versions, PyObject *const *objects,
                        Py_ssize_t count) {
  const int64_t *tensors[kBatch];
  for (Py_ssize_t i = 0; i < count;) {
    int found = 0;
    for (; found < kBatch && i + found < count; ++found)
      if (!(tensors[found] = tensorIn(versions, objects[i + found])))
        break;
    int counted = countBatch(versions, tensors, found);
    i += counted;
    if (counted < kBatch)
      return i;
  }
  return count;
}

Py_ssize_t countGradientChanges(const Versions *versions, const Words *words,
                                PyObject *const *objects, Py_ssize_t count) {
  const int64_t *gradients[kBatch];
  for (Py_ssize_t i = 0; i < count;) {
    int most = count - i < kBatch ? (int)(count - i) : kBatch;
    int found = readGradientTensors(words, objects + i, most, gradients);
    int counted = countBatch(versions, gradients, found);
    i += counted;
    if (counted < kBatch)
      return i;
  }
  return count;
}

/*===- Opening ------------------------------------------------------------===*/

enum { kMaxSamples = 32 };

/* A sample of heddle._torch_samples. Samples with the same number share a
 * counter. */
typedef struct {
  PyObject *object;
  int64_t counter; /* its address */
  int64_t number;  /* 0: no counter */
} Sample;

static int64_t versionOf(PyObject *tensor) {
  PyObject *value = PyObject_GetAttrString(tensor, "_version");
  int64_t found = value ? PyLong_AsLongLong(value) : -1;
  Py_XDECREF(value);
  return found;
}

static int readSample(const Torch *torch, Versions *versions, PyObject *tuple,
                      Sample *out) {
  out->object = PyTuple_GetItem(tuple, 0);
  PyObject *number = out->object ? PyTuple_GetItem(tuple, 1) : NULL;
  TorchHandle handle = number ? torchHandle(torch, out->object) : NULL;
  if (!handle)
    return 0;
  out->number = PyLong_AsLongLong(number);
  if (!versions->plain)
    versions->plain = *(const int64_t *)*handle;
  const int64_t *tensor = tensorIn(versions, out->object);
  if (!tensor || tensor[kClass] != versions->plain)
    return 0;
  out->counter = tensor[kCounter];
  return 1;
}

/* Whether the words are those of counters: the same ones for tensors that share
 * one, and null for tensors without one. No other word of a tensor is so, which
 * proves that these are addresses of counters. */
static int areCounters(const Sample *samples, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!samples[i].counter != !samples[i].number || samples[i].counter % 8)
      return 0;
    for (Py_ssize_t k = 0; k < i; ++k)
      if ((samples[i].number == samples[k].number) !=
          (samples[i].counter == samples[k].counter))
        return 0;
  }
  return 1;
}

/* Whether a counter has the version that torch reads, before and after it is
 * incremented. */
static int countsRight(Versions *versions, const Sample *sample) {
  if (!sample->counter)
    return 1;
  int64_t *counter = wordsAt(sample->counter);
  if (!versions->counters)
    versions->counters = counter[kCounterClass];
  int64_t before = *versionIn(counter);
  return versions->counters && before == versionOf(sample->object) &&
         countChanges(versions, &sample->object, 1) == 1 &&
         versionOf(sample->object) == before + 1;
}

static int check(const Torch *torch, Versions *versions, PyObject *list) {
  Sample samples[kMaxSamples];
  Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : 0;
  if (count == 0 || count > kMaxSamples)
    return 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!readSample(torch, versions, PyList_GetItem(list, i), &samples[i]))
      return 0;
  if (!areCounters(samples, count))
    return 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!countsRight(versions, &samples[i]))
      return 0;
  return 1;
}

static const Versions *open(const Torch *torch) {
  static Versions versions;
  versions = (Versions){0};
  const void *undefined;
  torchObjects(torch, &versions.tensor, &versions.parameter, &versions.place,
               &undefined);
  PyObject *module = PyImport_ImportModule("heddle._torch_samples");
  PyObject *samples =
      module ? PyObject_CallMethod(module, "versions", NULL) : NULL;
  int valid = samples && check(torch, &versions, samples);
  Py_XDECREF(samples);
  Py_XDECREF(module);
  return valid ? &versions : NULL;
}

const Versions *openVersions(const Torch *torch) {
  static const Versions *found = NULL;
  static int opened = 0;
  if (!opened) {
    found = open(torch);
    opened = clearRefusal();
  }
  return found;
}
