/*===- torch_words.c - Tensors of torch where they lie in memory ----------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 */
/*===----------------------------------------------------------------------===*/

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include "torch_words.h"

#include "refusals.h"

#define INLINE __attribute__((always_inline)) static inline

/* A tensor (c10::TensorImpl) is a sequence of words. Their numbers are known up
 * to the rank, whose number depends on the version of torch; the other numbers
 * count from there. */
enum {
  kClass = 0,
  kStorage = 2,
  kAutograd = 3,
  kExtra = 4, /* null unless the tensor is symbolic, named, or the like */

  kExtents = 1,
  kMaxRank = 5, /* tensors of higher rank have extents elsewhere */
  kStrides = kExtents + kMaxRank,
  kOffset = kStrides + kMaxRank,
  kElements, /* their number */
  kType,
  kKeys = kType + 1,
};

/* The element type and the device in the word kType. The bits above them say
 * facts that follow from the strides. */
static const int64_t kTypeBits = 0xffffffffff;

/* A storage (c10::StorageImpl): the words of its address and of its size in
 * bytes, and the byte that says whether torch must do something before anyone
 * may write, such as copy shared memory. */
enum { kData = 2, kSize = 6, kCheck = 59 };

/* Tensors whose words kType and kKeys are these have this device and element
 * type, and their elements are those in memory. */
typedef struct {
  int64_t type, keys;
  int64_t device, element;
  int64_t bytes; /* of an element */
} Kind;

enum { kMaxKinds = 32 };

struct Words {
  PyTypeObject *tensor, *parameter;
  Py_ssize_t place;           /* of the handle in a Python object */
  const void *undefined;      /* the object of a tensor that is not there */
  Py_ssize_t rank;            /* the number of its word */
  int64_t tensors, autograds; /* the plain classes */
  Py_ssize_t gradient;        /* the place of the handle, from the autograd */
  const Torch *torch;
  Kind kinds[kMaxKinds];
  int count;
};

/*===- Reading ------------------------------------------------------------===*/

static const int64_t *wordsAt(int64_t address) {
  return (const int64_t *)(uintptr_t)address;
}

INLINE const Kind *kindOf(const Words *words, const int64_t *tensor,
                          const Kind *likely) {
  int64_t type = tensor[words->rank + kType] & kTypeBits;
  int64_t keys = tensor[words->rank + kKeys];
  if (likely->type == type && likely->keys == keys)
    return likely;
  for (int i = 0; i < words->count; ++i)
    if (words->kinds[i].type == type && words->kinds[i].keys == keys)
      return &words->kinds[i];
  return NULL;
}

/* The storage of a plain tensor, if its address is that in its memory. */
INLINE const int64_t *storageOf(const Words *words, const int64_t *tensor) {
  if (tensor[kClass] != words->tensors || tensor[kExtra] || !tensor[kStorage])
    return NULL;
  const int64_t *storage = wordsAt(tensor[kStorage]);
  return storage[kData] && !((const char *)storage)[kCheck] ? storage : NULL;
}

/* The number of elements in memory from the first one of a tensor to the last;
 * 0 if the tensor has other extents or strides than a layout, or no elements.
 */
static uint64_t reachOf(const int64_t *rankWord, int64_t rank,
                        const int64_t *extents) {
  int64_t differences = rankWord[kElements] ? 0 : 1;
  uint64_t reach = 1;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t extent = rankWord[kExtents + d];
    int64_t stride = extent > 1 ? rankWord[kStrides + d] : 0;
    differences |= (extent ^ extents[d]) | (stride ^ extents[rank + d]);
    reach += (uint64_t)(extent - 1) * (uint64_t)stride;
  }
  return differences ? 0 : reach;
}

/* The address of a tensor; 0 if it cannot be read, does not have the layout at
 * `layout`, which has at most `bytes` bytes, has no elements, or has some
 * beyond the end of its storage. */
INLINE int64_t addressOf(const Words *words, const int64_t *tensor,
                         const char *layout, Py_ssize_t bytes,
                         const Kind **likely) {
  const int64_t *storage = storageOf(words, tensor);
  const int64_t *rankWord = tensor + words->rank;
  const Kind *kind = storage ? kindOf(words, tensor, *likely) : NULL;
  int64_t rank = *rankWord;
  if (!kind || rank > kMaxRank || bytes < 16 + 16 * rank ||
      kind->device != wordAt(layout) ||
      (kind->element | rank << 32) != wordAt(layout + 8))
    return 0;
  uint64_t reach = reachOf(rankWord, rank, extentsIn(layout));
  uint64_t end = (uint64_t)kind->bytes * ((uint64_t)rankWord[kOffset] + reach);
  if (!reach || (int64_t)end > storage[kSize])
    return 0;
  *likely = kind;
  return storage[kData] + kind->bytes * rankWord[kOffset];
}

INLINE const int64_t *handleIn(const Words *words, PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  if (type != words->parameter && type != words->tensor)
    return NULL;
  return (const int64_t *)(const void *)((const char *)object + words->place);
}

/* The gradient of a tensor; null if it has none. */
INLINE const int64_t *gradientOf(const Words *words, const int64_t *handle,
                                 const int64_t *tensor) {
  if (tensor[kClass] == words->tensors) {
    if (!tensor[kAutograd])
      return NULL;
    const int64_t *autograd = wordsAt(tensor[kAutograd]);
    if (*autograd == words->autograds) {
      int64_t found = autograd[words->gradient];
      return wordsAt(found) == words->undefined ? NULL : wordsAt(found);
    }
  }
  TorchHandle found =
      torchGradient(words->torch, (TorchHandle)(const void *)handle);
  return found ? (const int64_t *)*found : NULL;
}

/* The layout behind that of a tensor. Its size is that of the tensor, so that
 * the processor need not wait for the layout. */
INLINE const char *behind(const Words *words, const char *layout,
                          const int64_t *tensor) {
  return layout + 16 + 16 * tensor[words->rank];
}

Py_ssize_t readWords(const Words *words, PyObject *const *objects,
                     Py_ssize_t count, int ofGradients, Layouts *layouts,
                     int64_t *addresses) {
  const Kind *kind = words->kinds;
  Layouts left = *layouts; /* in registers */
  Py_ssize_t i = 0;
  for (; i < count; ++i) {
    const int64_t *handle = handleIn(words, objects[i]);
    const int64_t *tensor = handle ? wordsAt(*handle) : NULL;
    if (!tensor)
      break;
    if (ofGradients && !(tensor = gradientOf(words, handle, tensor))) {
      Py_ssize_t bytes = sizeOfNext(&left);
      if (!bytes)
        break;
      addresses[i] = 0;
      left.place += bytes;
      continue;
    }
    if (!(addresses[i] = addressOf(words, tensor, left.place,
                                   left.end - left.place, &kind)))
      break;
    left.place = behind(words, left.place, tensor);
  }
  *layouts = left;
  return i;
}

/*===- Batches ------------------------------------------------------------===*/

/* Between steps, other work has used the caches. So the memory of the tensors
 * of a batch is requested before the first one is read. */
enum { kBatch = 16 };

typedef struct {
  const int64_t *handles[kBatch], *tensors[kBatch];
  int count;
} Batch;

/* Requests the words of a tensor, which are in up to 4 lines of the cache. */
INLINE void requestTensor(const Words *words, const int64_t *tensor) {
  __builtin_prefetch(tensor);
  __builtin_prefetch(tensor + 8);
  __builtin_prefetch(tensor + 16);
  __builtin_prefetch(tensor + words->rank + kKeys);
}

INLINE void requestStorages(const Batch *batch) {
  for (int k = 0; k < batch->count; ++k) {
    const int64_t *tensor = batch->tensors[k];
    const char *storage = tensor ? (const char *)wordsAt(tensor[kStorage]) : 0;
    __builtin_prefetch(storage + 8 * kData);
    __builtin_prefetch(storage + kCheck);
  }
}

/* The tensors of up to kBatch objects, up to the first object that has none. */
INLINE void readTensors(const Words *words, PyObject *const *objects,
                        Py_ssize_t count, Batch *batch) {
  int k = 0;
  for (; k < kBatch && k < count; ++k) {
    const int64_t *handle = handleIn(words, objects[k]);
    if (!handle || !*handle)
      break;
    batch->handles[k] = handle;
    batch->tensors[k] = wordsAt(*handle);
    requestTensor(words, batch->tensors[k]);
  }
  batch->count = k;
}

/* The gradients of the tensors of a batch. */
INLINE void readGradients(const Words *words, const Batch *batch,
                          Batch *gradients) {
  for (int k = 0; k < batch->count; ++k)
    __builtin_prefetch(wordsAt(batch->tensors[k][kAutograd]));
  for (int k = 0; k < batch->count; ++k) {
    gradients->tensors[k] =
        gradientOf(words, batch->handles[k], batch->tensors[k]);
    requestTensor(words, gradients->tensors[k]);
  }
  gradients->count = batch->count;
}

int readPairs(const Words *words, PyObject *const *objects, Py_ssize_t count,
              Layouts layouts, int64_t *addresses, int64_t *ofGradients) {
  const Kind *kind = words->kinds;
  Batch batch, gradients;
  for (Py_ssize_t i = 0; i < count; i += kBatch) {
    readTensors(words, objects + i, count - i, &batch);
    if (batch.count < kBatch && batch.count < count - i)
      return 0;
    readGradients(words, &batch, &gradients);
    requestStorages(&batch);
    requestStorages(&gradients);
    for (int k = 0; k < batch.count; ++k) {
      Py_ssize_t left = layouts.end - layouts.place;
      const int64_t *gradient = gradients.tensors[k];
      if (!(addresses[i + k] =
                addressOf(words, batch.tensors[k], layouts.place, left, &kind)))
        return 0;
      ofGradients[i + k] = 0;
      if (gradient && !(ofGradients[i + k] = addressOf(
                            words, gradient, layouts.place, left, &kind)))
        return 0;
      layouts.place = behind(words, layouts.place, batch.tensors[k]);
    }
  }
  return layouts.place == layouts.end;
}

int readGradientTensors(const Words *words, PyObject *const *objects, int count,
                        const int64_t **gradients) {
  int i = 0;
  for (; i < count; ++i) {
    const int64_t *handle = handleIn(words, objects[i]);
    if (!handle || !*handle)
      break;
    gradients[i] = gradientOf(words, handle, wordsAt(*handle));
  }
  return i;
}

/*===- Kinds --------------------------------------------------------------===*/

void learnWords(Words *words, TorchHandle handle, const char *layout,
                int64_t address) {
  const int64_t *tensor = (const int64_t *)*handle;
  const int64_t *storage = storageOf(words, tensor);
  if (!storage || words->count == kMaxKinds ||
      kindOf(words, tensor, words->kinds))
    return;
  int64_t element = wordAt(layout + 8) & 0xffffffff, bytes = element >> 8 & 255;
  bytes /= 8;
  if (storage[kData] + bytes * tensor[words->rank + kOffset] == address)
    words->kinds[words->count++] =
        (Kind){tensor[words->rank + kType] & kTypeBits,
               tensor[words->rank + kKeys], wordAt(layout), element, bytes};
}

/*===- Opening ------------------------------------------------------------===*/

/* A sample of heddle._torch_samples. */
typedef struct {
  TorchHandle handle;
  const int64_t *tensor;
  int64_t storage; /* its address; 0: unknown */
  PyObject *layout;
  int64_t address; /* 0: the sample must not be read */
} Sample;

static int64_t integerAt(PyObject *tuple, Py_ssize_t place) {
  PyObject *item = PyTuple_GetItem(tuple, place);
  return item ? PyLong_AsLongLong(item) : -1;
}

/* Sample `index`, or 0 if there is none or an error. */
static int sampleAt(const Torch *torch, PyObject *samples, Py_ssize_t index,
                    Sample *out) {
  PyObject *tuple = PyList_GetItem(samples, index);
  PyObject *tensor = tuple ? PyTuple_GetItem(tuple, 0) : NULL;
  out->handle = tensor ? torchHandle(torch, tensor) : NULL;
  if (!out->handle)
    return 0;
  out->tensor = (const int64_t *)*out->handle;
  out->storage = integerAt(tuple, 1);
  out->layout = PyTuple_GetItem(tuple, 2);
  out->address = integerAt(tuple, 3);
  return out->layout && PyBytes_Check(out->layout) && !PyErr_Occurred();
}

/* Finds the rank and the plain class. */
static int findRank(Words *words, const Sample *sample) {
  int64_t *sizes, *strides;
  if (torchExtents(words->torch, sample->handle, &sizes, &strides) ||
      strides - sizes != kMaxRank)
    return 0;
  words->rank = sizes - kExtents - sample->tensor;
  words->tensors = sample->tensor[kClass];
  return words->rank > kExtra && words->rank < 16 && sample->address;
}

/* Finds the place of the gradient and the plain class of an autograd. The
 * handle of a gradient lies in the autograd, which proves that its address is
 * one. */
static int findGradient(Words *words, const Sample *sample) {
  TorchHandle gradient = torchGradient(words->torch, sample->handle);
  const int64_t *autograd = wordsAt(sample->tensor[kAutograd]);
  if (!gradient || !autograd)
    return 0;
  int64_t place = (int64_t)(uintptr_t)gradient - (int64_t)(uintptr_t)autograd;
  if (place <= 0 || place > 256 || place % 8)
    return 0;
  words->gradient = place / 8;
  words->autograds = *autograd;
  return 1;
}

static int learnSample(Words *words, const Sample *sample) {
  const char *layout = PyBytes_AsString(sample->layout);
  int64_t address;
  if (!torchFits(words->torch, sample->handle, wordAt(layout),
                 wordAt(layout + 8), extentsIn(layout), &address) ||
      address != sample->address)
    return 0;
  learnWords(words, sample->handle, layout, address);
  return 1;
}

/* Whether a sample is read as torch describes it. */
static int isRight(const Words *words, const Sample *sample) {
  const Kind *kind = words->kinds;
  const int64_t *handle = (const int64_t *)(const void *)sample->handle;
  TorchHandle gradient = torchGradient(words->torch, sample->handle);
  return addressOf(words, sample->tensor, PyBytes_AsString(sample->layout),
                   PyBytes_Size(sample->layout), &kind) == sample->address &&
         gradientOf(words, handle, sample->tensor) ==
             (gradient ? (const int64_t *)*gradient : NULL);
}

static int check(Words *words, PyObject *samples) {
  Sample sample;
  Py_ssize_t count = PyList_Check(samples) ? PyList_Size(samples) : 0;
  if (!count || !sampleAt(words->torch, samples, 0, &sample) ||
      !findRank(words, &sample) || !findGradient(words, &sample))
    return 0;
  /* An address is followed only after it has proved to be one. */
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!sampleAt(words->torch, samples, i, &sample) ||
        (sample.storage && sample.tensor[kStorage] != sample.storage))
      return 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!sampleAt(words->torch, samples, i, &sample) ||
        (sample.address && !learnSample(words, &sample)))
      return 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!sampleAt(words->torch, samples, i, &sample) ||
        !isRight(words, &sample))
      return 0;
  words->count = 0;
  return 1;
}

static Words *open(const Torch *torch) {
  static Words words;
  words = (Words){0};
  words.torch = torch;
  torchObjects(torch, &words.tensor, &words.parameter, &words.place,
               &words.undefined);
  PyObject *module = PyImport_ImportModule("heddle._torch_samples");
  PyObject *samples =
      module ? PyObject_CallMethod(module, "samples", NULL) : NULL;
  int valid = samples && check(&words, samples);
  Py_XDECREF(samples);
  Py_XDECREF(module);
  return valid ? &words : NULL;
}

Words *openWords(const Torch *torch) {
  static Words *found = NULL;
  static int opened = 0;
  if (!opened) {
    found = open(torch);
    opened = clearRefusal();
  }
  return found;
}
