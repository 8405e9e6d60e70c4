/*===- fast.c - The addresses of many tensors, for heddle._fast -----------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The extension heddle._fast_native. python/heddle/_fast.py has the contract of
 * its functions, and _fast_fallback.py the same functions in Python.
 *
 * A library of tensors offers a table of functions, the C exchange API of
 * DLPack 1.2. One of them describes a tensor without an owner, a capsule or any
 * other object. So the extension needs no header of that library.
 *
 * It uses the stable ABI of Python 3.10, which has no buffers: hence bytearray
 * and bytes.
 */
/*===----------------------------------------------------------------------===*/

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

#include "layouts.h"
#include "refusals.h"
#include "torch_tensors.h"
#include "torch_versions.h"
#include "torch_words.h"

#include <stdint.h>
#include <string.h>

/*===- DLPack -------------------------------------------------------------===*/

/* The structs are those of dlpack.h, version 1. */
typedef struct {
  void *data;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} DLTensor;

typedef struct ExchangeHeader {
  uint32_t major;
  uint32_t minor;
  struct ExchangeHeader *older;
} ExchangeHeader;

typedef struct {
  ExchangeHeader header;
  void *allocate;
  void *managed_from_object;
  void *managed_to_object;
  int (*describe)(void *object, DLTensor *out);
  int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
} ExchangeApi;

enum { kCuda = 2 };

static const char kCapsule[] = "dlpack_exchange_api";

/* How to read tensors of one type. */
typedef struct Reader {
  const ExchangeApi *dlpack;
  const Torch *torch; /* null: DLPack reads all */
  Words *words;       /* null: torch's functions read all tensors of torch */
  const Versions *versions; /* null: torch's functions count all changes */
  int hasLazy;              /* whether tensors have is_conj() and is_neg() */
  struct Reader *next;
} Reader;

/*===- Layouts ------------------------------------------------------------===*/

static int64_t deviceWord(const DLTensor *tensor) {
  return (int64_t)((uint64_t)(uint32_t)tensor->device_id << 32 |
                   (uint32_t)tensor->device_type);
}

static int64_t typeWord(const DLTensor *tensor) {
  return (int64_t)((uint64_t)(uint32_t)tensor->ndim << 32 |
                   (uint64_t)tensor->lanes << 16 | (uint64_t)tensor->bits << 8 |
                   tensor->code);
}

static int isEmpty(const DLTensor *tensor) {
  for (int32_t d = 0; d < tensor->ndim; ++d)
    if (tensor->shape[d] == 0)
      return 1;
  return 0;
}

/* Writes the strides that count to `strides`: 0 for a dimension of one element.
 * Without strides, the tensor is dense. */
static void writeStrides(const DLTensor *tensor, int64_t *strides) {
  int empty = isEmpty(tensor);
  int64_t dense = 1;
  for (int32_t d = tensor->ndim; d-- > 0;) {
    int64_t stride = tensor->strides ? tensor->strides[d] : dense;
    strides[d] = tensor->shape[d] > 1 && !empty ? stride : 0;
    dense *= tensor->shape[d];
  }
}

static int hasStrides(const DLTensor *tensor, const int64_t *expected) {
  int64_t small[16], *strides = small;
  if (tensor->ndim > 16 &&
      !(strides = PyMem_Malloc(sizeof(int64_t) * (size_t)tensor->ndim)))
    return 0;
  writeStrides(tensor, strides);
  int equal =
      memcmp(strides, expected, sizeof(int64_t) * (size_t)tensor->ndim) == 0;
  if (strides != small)
    PyMem_Free(strides);
  return equal;
}

/* Whether a tensor has the layout at `expected`. */
static int fits(const DLTensor *tensor, const char *expected) {
  if (wordAt(expected) == HEDDLE_NOTHING ||
      wordAt(expected) != deviceWord(tensor) ||
      wordAt(expected + 8) != typeWord(tensor))
    return 0;
  size_t bytes = sizeof(int64_t) * (size_t)tensor->ndim;
  if (bytes == 0)
    return 1;
  const int64_t *extents = extentsIn(expected);
  return memcmp(tensor->shape, extents, bytes) == 0 &&
         hasStrides(tensor, extents + tensor->ndim);
}

/*===- Arguments ----------------------------------------------------------===*/

/* A list or a tuple. Its length may change while functions of Python run. */
typedef struct {
  PyObject *object;
  int isList;
  PyObject *const *items; /* of a tuple, where they lie; null: unknown */
  Py_ssize_t size;
} Sequence;

/* The stable ABI does not say where the items of a tuple are: behind its head.
 * So the first and the last are compared with what its function returns. */
static PyObject *const *itemsOf(PyObject *tuple, Py_ssize_t size) {
  static long head = 0; /* its bytes; -1: unknown */
  if (!head) {
    PyObject *bytes =
        PyObject_GetAttrString((PyObject *)&PyTuple_Type, "__basicsize__");
    head = bytes ? PyLong_AsLong(bytes) : -1;
    Py_XDECREF(bytes);
    PyErr_Clear();
  }
  if (head < (long)sizeof(PyObject) || size == 0)
    return NULL;
  PyObject *const *items =
      (PyObject *const *)(const void *)((const char *)tuple + head);
  return items[0] == PyTuple_GetItem(tuple, 0) &&
                 items[size - 1] == PyTuple_GetItem(tuple, size - 1)
             ? items
             : NULL;
}

static int readSequence(PyObject *object, const char *name, Sequence *out) {
  out->object = object;
  out->isList = PyList_Check(object);
  if (!out->isList && !PyTuple_Check(object)) {
    PyObject *type =
        PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
    if (type)
      PyErr_Format(PyExc_TypeError, "%s: expected a list or tuple, found %U",
                   name, type);
    Py_XDECREF(type);
    return 0;
  }
  out->size = out->isList ? PyList_Size(object) : PyTuple_Size(object);
  out->items = out->isList ? NULL : itemsOf(object, out->size);
  return out->size >= 0;
}

/* A borrowed reference, or null with an exception. */
static PyObject *borrowed(const Sequence *sequence, Py_ssize_t index) {
  return sequence->isList ? PyList_GetItem(sequence->object, index)
                          : PyTuple_GetItem(sequence->object, index);
}

/* A new reference, or null with an exception. */
static PyObject *item(const Sequence *sequence, Py_ssize_t index) {
  PyObject *found = borrowed(sequence, index);
  Py_XINCREF(found);
  return found;
}

static int readApi(PyObject *object, const Reader **reader) {
  *reader = PyLong_AsVoidPtr(object);
  return *reader || !PyErr_Occurred();
}

static int expectArguments(const char *name, Py_ssize_t found, Py_ssize_t least,
                           Py_ssize_t most) {
  if (found >= least && found <= most)
    return 1;
  PyErr_Format(PyExc_TypeError, "%s: expected %zd to %zd arguments, found %zd",
               name, least, most, found);
  return 0;
}

static void wrongType(const char *format, PyObject *object) {
  PyObject *type =
      PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
  if (type)
    PyErr_Format(PyExc_TypeError, format, type);
  Py_XDECREF(type);
}

/* Calls the function of the fallback, for a library without a table. */
static PyObject *callFallback(const char *name, PyObject *const *arguments,
                              Py_ssize_t count) {
  PyObject *result = NULL, *function = NULL, *tuple = NULL;
  PyObject *module = PyImport_ImportModule("heddle._fast_fallback");
  if (module && (function = PyObject_GetAttrString(module, name)) &&
      (tuple = PyTuple_New(count))) {
    for (Py_ssize_t i = 0; i < count; ++i) {
      Py_INCREF(arguments[i]);
      PyTuple_SetItem(tuple, i, arguments[i]);
    }
    result = PyObject_CallObject(function, tuple);
  }
  Py_XDECREF(tuple);
  Py_XDECREF(function);
  Py_XDECREF(module);
  return result;
}

/*===- Gradients ----------------------------------------------------------===*/

/* Reads the attribute `grad` of objects. The search for an attribute takes
 * longer than to call its getter, so the getter of the last type is kept. */
typedef struct {
  PyObject *name;
  PyTypeObject *type; /* borrowed: null, or the type of the last object */
  PyObject *descriptor;
  descrgetfunc get; /* null: the attribute has no getter of C */
} Gradient;

static int findGetter(Gradient *gradient, PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  Py_CLEAR(gradient->descriptor);
  gradient->get = NULL;
  gradient->type = type;
  /* Only then does the type decide alone. */
  if (PyType_GetSlot(type, Py_tp_getattro) != (void *)PyObject_GenericGetAttr)
    return 1;
  gradient->descriptor = PyObject_GetAttr((PyObject *)type, gradient->name);
  if (!gradient->descriptor) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
      return 0;
    PyErr_Clear();
    return 1;
  }
  if (Py_TYPE(gradient->descriptor) == &PyGetSetDescr_Type)
    gradient->get =
        (descrgetfunc)PyType_GetSlot(&PyGetSetDescr_Type, Py_tp_descr_get);
  return 1;
}

/* Replaces an object by its gradient. Returns null with an exception. */
static PyObject *takeGradient(Gradient *gradient, PyObject *object) {
  if (object == Py_None)
    return object;
  PyObject *found = NULL;
  if (gradient->type == Py_TYPE(object) || findGetter(gradient, object))
    found = gradient->get ? gradient->get(gradient->descriptor, object,
                                          (PyObject *)gradient->type)
                          : PyObject_GetAttr(object, gradient->name);
  Py_DECREF(object);
  return found;
}

/*===- Descriptions -------------------------------------------------------===*/

/* Whether a method without arguments returns true, or -1 with an exception. */
static int isTrue(PyObject *object, const char *method) {
  PyObject *result = PyObject_CallMethod(object, method, NULL);
  int found = result ? PyObject_IsTrue(result) : -1;
  Py_XDECREF(result);
  return found;
}

/* The result of a method without arguments as an integer, or -1 with an
 * exception. */
static int64_t integerOf(PyObject *object, const char *method) {
  PyObject *result = object ? PyObject_CallMethod(object, method, NULL) : NULL;
  int64_t found = result ? PyLong_AsLongLong(result) : -1;
  Py_XDECREF(result);
  return found;
}

/* Whether elements of a tensor of torch are beyond the end of its storage, or
 * -1 with an exception. The address of a tensor with an offset is not null
 * without a storage. */
static int exceedsStorage(PyObject *object, const DLTensor *tensor) {
  PyObject *storage = PyObject_CallMethod(object, "untyped_storage", NULL);
  int64_t bytes = integerOf(storage, "nbytes");
  int64_t end = integerOf(object, "storage_offset");
  int known = bytes >= 0 && end >= 0;
  Py_XDECREF(storage);
  if (!clearRefusal())
    return -1;
  for (int32_t d = 0; tensor->strides && d < tensor->ndim; ++d)
    end += (tensor->shape[d] - 1) * tensor->strides[d];
  return known && (end + 1) * (tensor->bits / 8) > bytes;
}

/* Describes a tensor. Returns 0 with an exception if its elements are not those
 * in its memory. */
static int describe(const Reader *reader, PyObject *object, DLTensor *tensor) {
  if (reader->dlpack->describe(object, tensor))
    return 0;
  int missing = isEmpty(tensor)   ? 0
                : !tensor->data   ? 1
                : reader->hasLazy ? exceedsStorage(object, tensor)
                                  : 0;
  if (missing > 0)
    PyErr_SetString(PyExc_BufferError, "elements of the tensor have no memory");
  if (missing)
    return 0;
  int lazy = reader->hasLazy ? isTrue(object, "is_conj") : 0;
  if (lazy == 0 && reader->hasLazy)
    lazy = isTrue(object, "is_neg");
  if (lazy > 0)
    PyErr_SetString(PyExc_BufferError,
                    "the tensor is a lazy conjugate or negation: call "
                    "resolve_conj() or resolve_neg()");
  return lazy == 0;
}

/*===- Functions ----------------------------------------------------------===*/

/* Without any function of Python: the address of a tensor, or of its gradient.
 * Returns 0 if the tensor does not fit, or if it cannot be read so. */
static int readTorch(const Reader *reader, PyObject *object, int ofGradient,
                     const char *expected, int64_t *address) {
  const Torch *torch = reader->torch;
  TorchHandle tensor = torchHandle(torch, object);
  if (tensor && ofGradient) {
    tensor = torchGradient(torch, tensor);
    *address = 0;
    if (!tensor)
      return 1;
  }
  if (!tensor || wordAt(expected) == HEDDLE_NOTHING ||
      !torchFits(torch, tensor, wordAt(expected), wordAt(expected + 8),
                 extentsIn(expected), address))
    return 0;
  if (reader->words)
    learnWords(reader->words, tensor, expected, *address);
  return 1;
}

/* Takes the reference to `object`. Returns its address or that of its gradient,
 * -1 if it misfits, or -2 with an exception. */
static int64_t addressOf(PyObject *object, const Reader *reader,
                         Gradient *gradient, const char *expected) {
  int64_t address = -2;
  DLTensor tensor;
  if (reader->torch && expected &&
      readTorch(reader, object, gradient != NULL, expected, &address)) {
    Py_DECREF(object);
    return address;
  }
  if (gradient && !(object = takeGradient(gradient, object)))
    return -2;
  if (object == Py_None)
    address = 0;
  else if (!describe(reader, object, &tensor))
    /* With a description of the contract, a refusal means a misfit. */
    address = expected && clearRefusal() ? -1 : -2;
  else if (expected && !fits(&tensor, expected))
    address = -1;
  else
    address = tensor.data
                  ? (int64_t)((uintptr_t)tensor.data + tensor.byte_offset)
                  : 0;
  Py_DECREF(object);
  return address;
}

/* Reads the next tensors without any function of torch or Python, as long as
 * that is possible. Returns how many. */
static Py_ssize_t readNext(const Sequence *sequence, Py_ssize_t first,
                           const Reader *reader, const Gradient *gradient,
                           Layouts *layouts, int64_t *found) {
  if (!reader->words || !layouts->place || first >= sequence->size)
    return 0;
  if (sequence->items)
    return readWords(reader->words, sequence->items + first,
                     sequence->size - first, gradient != NULL, layouts, found);
  PyObject *object = borrowed(sequence, first);
  if (!object)
    PyErr_Clear(); /* The caller reads it again. */
  return object ? readWords(reader->words, &object, 1, gradient != NULL,
                            layouts, found)
                : 0;
}

/* Reads all addresses into `found`. Returns the number of misfits, or -1 with
 * an exception. */
static Py_ssize_t readAddresses(const Sequence *sequence, const Reader *reader,
                                Gradient *gradient, PyObject *expected,
                                int64_t *found) {
  Py_ssize_t misfits = 0;
  Layouts layouts = {NULL, NULL};
  if (expected) {
    layouts.place = PyBytes_AsString(expected);
    layouts.end = layouts.place + PyBytes_Size(expected);
  }
  Py_ssize_t i = 0;
  while (i < sequence->size) {
    Py_ssize_t read =
        readNext(sequence, i, reader, gradient, &layouts, found + i);
    i += read;
    if (read)
      continue;
    Py_ssize_t bytes = expected ? sizeOfNext(&layouts) : 0;
    if (expected && bytes == 0)
      break;
    PyObject *object = item(sequence, i);
    if (!object)
      return -1;
    found[i] = addressOf(object, reader, gradient, layouts.place);
    if (found[i] == -2)
      return -1;
    misfits += found[i++] == -1;
    layouts.place = expected ? layouts.place + bytes : NULL;
  }
  if (i < sequence->size || layouts.place != layouts.end) {
    PyErr_Format(
        PyExc_ValueError,
        "expected: expected the layouts of %zd tensors, found other layouts",
        sequence->size);
    return -1;
  }
  return misfits;
}

/* Writes the addresses to `out`. Returns how many have changed. */
static Py_ssize_t writeAddresses(const int64_t *found, Py_ssize_t count,
                                 char *out) {
  Py_ssize_t changed = 0;
  for (Py_ssize_t i = 0; i < count; ++i)
    changed += wordAt(out + 8 * i) != found[i];
  if (changed)
    memcpy(out, found, 8 * (size_t)count);
  return changed;
}

static int expectBytes(PyObject *out, Py_ssize_t count) {
  Py_ssize_t found = PyByteArray_Size(out);
  if (found == 8 * count)
    return 1;
  PyErr_Format(PyExc_ValueError,
               "out: expected %zd bytes, 8 for each tensor, found %zd",
               8 * count, found);
  return 0;
}

static PyObject *readInto(const char *name, const char *first,
                          Gradient *gradient, PyObject *const *arguments,
                          Py_ssize_t count) {
  Sequence sequence;
  const Reader *reader;
  if (!expectArguments(name, count, 3, 4) ||
      !readSequence(arguments[0], first, &sequence) ||
      !readApi(arguments[1], &reader))
    return NULL;
  if (!reader)
    return callFallback(name, arguments, count);
  PyObject *out = arguments[2];
  PyObject *expected =
      count > 3 && arguments[3] != Py_None ? arguments[3] : NULL;
  if (!PyByteArray_Check(out)) {
    wrongType("out: expected a bytearray, found %U", out);
    return NULL;
  }
  if (expected && !PyBytes_Check(expected)) {
    wrongType("expected: expected bytes or None, found %U", expected);
    return NULL;
  }
  if (!expectBytes(out, sequence.size))
    return NULL;
  int64_t small[1024], *found = small;
  if (sequence.size > 1024 &&
      !(found = PyMem_Malloc(8 * (size_t)sequence.size)))
    return PyErr_NoMemory();
  Py_ssize_t misfits =
      readAddresses(&sequence, reader, gradient, expected, found);
  Py_ssize_t changed = 0;
  /* A function of Python that ran in between may have resized `out`. */
  int valid = misfits >= 0 && expectBytes(out, sequence.size);
  if (valid)
    changed = writeAddresses(found, sequence.size, PyByteArray_AsString(out));
  if (found != small)
    PyMem_Free(found);
  return valid ? PyLong_FromSsize_t(misfits ? -misfits : changed) : NULL;
}

static PyObject *addresses(PyObject *module, PyObject *const *arguments,
                           Py_ssize_t count) {
  return readInto("addresses", "tensors", NULL, arguments, count);
}

static PyObject *gradients(PyObject *module, PyObject *const *arguments,
                           Py_ssize_t count) {
  Gradient gradient = {PyUnicode_InternFromString("grad"), NULL, NULL, NULL};
  if (!gradient.name)
    return NULL;
  PyObject *result =
      readInto("gradients", "params", &gradient, arguments, count);
  Py_DECREF(gradient.name);
  Py_XDECREF(gradient.descriptor);
  return result;
}

/* Reads the addresses of tensors and gradients in one pass, if no function of
 * Python is needed. Returns 0 otherwise; then nothing is written. */
static int readBoth(PyObject *const *arguments, Py_ssize_t *moved,
                    Py_ssize_t *changed) {
  Sequence sequence;
  const Reader *reader;
  int64_t found[1024];
  PyObject *own = arguments[2], *grads = arguments[3], *expected = arguments[4];
  if (!PyTuple_Check(arguments[0]) || !PyByteArray_Check(own) ||
      !PyByteArray_Check(grads) || !PyBytes_Check(expected) ||
      !readSequence(arguments[0], "params", &sequence) ||
      !readApi(arguments[1], &reader))
    return 0;
  Py_ssize_t count = sequence.size;
  if (!reader || !reader->words || !sequence.items ||
      PyByteArray_Size(own) != 8 * count ||
      PyByteArray_Size(grads) != 8 * count)
    return 0;
  Layouts layouts = {PyBytes_AsString(expected), NULL};
  layouts.end = layouts.place + PyBytes_Size(expected);
  int64_t *both = count <= 512 ? found : PyMem_Malloc(16 * (size_t)count);
  int valid = both && readPairs(reader->words, sequence.items, count, layouts,
                                both, both + count);
  if (valid) {
    *moved = writeAddresses(both, count, PyByteArray_AsString(own));
    *changed = writeAddresses(both + count, count, PyByteArray_AsString(grads));
  }
  if (both != found)
    PyMem_Free(both);
  return valid;
}

static PyObject *pairs(PyObject *module, PyObject *const *arguments,
                       Py_ssize_t count) {
  Py_ssize_t moved, changed;
  if (!expectArguments("pairs", count, 5, 5))
    return NULL;
  if (readBoth(arguments, &moved, &changed))
    return Py_BuildValue("(nn)", moved, changed);
  if (PyErr_Occurred())
    PyErr_Clear(); /* the functions below find the same error */
  PyObject *own[] = {arguments[0], arguments[1], arguments[2], arguments[4]};
  PyObject *grads[] = {arguments[0], arguments[1], arguments[3], arguments[4]};
  PyObject *first = addresses(module, own, 4);
  PyObject *second = first ? gradients(module, grads, 4) : NULL;
  if (second)
    return Py_BuildValue("(NN)", first, second);
  Py_XDECREF(first);
  return NULL;
}

/* Text that grows. */
typedef struct {
  char *bytes;
  Py_ssize_t size, capacity;
} Bytes;

/* Returns room for more bytes, or null with an exception. */
static char *extend(Bytes *bytes, Py_ssize_t more) {
  if (bytes->size + more > bytes->capacity) {
    Py_ssize_t capacity = 2 * bytes->capacity + more;
    char *grown = PyMem_Realloc(bytes->bytes, (size_t)capacity);
    if (!grown) {
      PyErr_NoMemory();
      return NULL;
    }
    bytes->bytes = grown;
    bytes->capacity = capacity;
  }
  bytes->size += more;
  return bytes->bytes + bytes->size - more;
}

static int appendLayout(Bytes *bytes, PyObject *object, const Reader *reader) {
  if (object == Py_None) {
    const int64_t nothing = HEDDLE_NOTHING;
    char *place = extend(bytes, 8);
    if (place)
      memcpy(place, &nothing, 8);
    return place != NULL;
  }
  DLTensor tensor;
  if (!describe(reader, object, &tensor))
    return 0;
  char *place = extend(bytes, 16 + 16 * (Py_ssize_t)tensor.ndim);
  if (!place)
    return 0;
  int64_t *words = (int64_t *)(void *)place;
  words[0] = deviceWord(&tensor);
  words[1] = typeWord(&tensor);
  if (tensor.ndim) {
    memcpy(words + 2, tensor.shape, sizeof(int64_t) * (size_t)tensor.ndim);
    writeStrides(&tensor, words + 2 + tensor.ndim);
  }
  return 1;
}

static PyObject *layouts(PyObject *module, PyObject *const *arguments,
                         Py_ssize_t count) {
  Sequence sequence;
  const Reader *reader;
  if (!expectArguments("layouts", count, 2, 2) ||
      !readSequence(arguments[0], "tensors", &sequence) ||
      !readApi(arguments[1], &reader))
    return NULL;
  if (!reader)
    return callFallback("layouts", arguments, count);
  Bytes bytes = {NULL, 0, 0};
  int valid = 1;
  for (Py_ssize_t i = 0; valid && i < sequence.size; ++i) {
    PyObject *object = item(&sequence, i);
    valid = object && appendLayout(&bytes, object, reader);
    Py_XDECREF(object);
  }
  PyObject *result =
      valid ? PyBytes_FromStringAndSize(bytes.bytes, bytes.size) : NULL;
  PyMem_Free(bytes.bytes);
  return result;
}

/* The table of version 1 in a capsule; null if there is none. */
static const ExchangeApi *tableIn(PyObject *capsule) {
  ExchangeHeader *header = PyCapsule_IsValid(capsule, kCapsule)
                               ? PyCapsule_GetPointer(capsule, kCapsule)
                               : NULL;
  while (header && header->major > 1)
    header = header->older;
  const ExchangeApi *table = (const ExchangeApi *)(const void *)header;
  return table && header->major == 1 && table->describe ? table : NULL;
}

/* Whether an object has an attribute, or -1 with an exception. */
static int hasAttribute(PyObject *object, const char *name) {
  PyObject *found = PyObject_GetAttrString(object, name);
  Py_XDECREF(found);
  return clearRefusal() ? found != NULL : -1;
}

/* The ways to read tensors of torch, from the slowest to the fastest. */
static const char *const readers[] = {"attributes", "dlpack", "torch",
                                      "memory"};
enum { kAttributes, kDlpack, kTorch, kMemory };

/* The number of a way to read; -1 with an exception if there is none of that
 * name. */
static int readerNamed(PyObject *name) {
  for (int i = kAttributes; i <= kMemory; ++i)
    if (PyUnicode_Check(name) &&
        PyUnicode_CompareWithASCIIString(name, readers[i]) == 0)
      return i;
  PyErr_Format(PyExc_ValueError,
               "fastest: expected 'attributes', 'dlpack', 'torch' or 'memory', "
               "found %R",
               name);
  return -1;
}

static PyObject *exchangeApi(PyObject *module, PyObject *const *arguments,
                             Py_ssize_t count) {
  static Reader *known = NULL; /* for as long as the process */
  if (!expectArguments("exchange_api", count, 1, 2))
    return NULL;
  PyObject *type = arguments[0];
  int fastest = count > 1 ? readerNamed(arguments[1]) : kMemory;
  if (fastest < 0)
    return NULL;
  PyObject *capsule =
      fastest == kAttributes
          ? NULL
          : PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
  if (!capsule) {
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_AttributeError))
      return NULL;
    PyErr_Clear();
    return PyLong_FromLong(0);
  }
  const ExchangeApi *table = tableIn(capsule);
  Py_DECREF(capsule); /* the table lives as long as the process */
  if (!table)
    return PyLong_FromLong(0);
  const Torch *torch = fastest >= kTorch ? openTorch(type) : NULL;
  Words *words = torch && fastest >= kMemory ? openWords(torch) : NULL;
  if (PyErr_Occurred())
    return NULL;
  const Versions *versions =
      torch && fastest >= kMemory ? openVersions(torch) : NULL;
  if (PyErr_Occurred())
    return NULL;
  Reader *reader = known;
  while (reader && (reader->dlpack != table || reader->torch != torch ||
                    reader->words != words || reader->versions != versions))
    reader = reader->next;
  if (!reader) {
    int hasLazy = hasAttribute(type, "is_conj");
    if (hasLazy > 0)
      hasLazy = hasAttribute(type, "is_neg");
    if (hasLazy < 0)
      return NULL;
    if (!(reader = PyMem_Malloc(sizeof *reader)))
      return PyErr_NoMemory();
    *reader = (Reader){table, torch, words, versions, hasLazy, known};
    known = reader;
  }
  return PyLong_FromVoidPtr(reader);
}

static PyObject *reader(PyObject *module, PyObject *api) {
  const Reader *found;
  if (!readApi(api, &found))
    return NULL;
  return PyUnicode_FromString(readers[!found          ? kAttributes
                                      : !found->torch ? kDlpack
                                      : !found->words ? kTorch
                                                      : kMemory]);
}

/* How many of the next tensors, or of their gradients, are counted in memory.
 */
static Py_ssize_t countNext(const Sequence *sequence, Py_ssize_t first,
                            const Reader *reader, const Gradient *gradient) {
  if (!reader->versions || (gradient && !reader->words))
    return 0;
  PyObject *object = borrowed(sequence, first);
  if (!object) {
    PyErr_Clear(); /* The caller reads it again. */
    return 0;
  }
  Py_ssize_t size = sequence->items ? sequence->size - first : 1;
  PyObject *const *items = sequence->items ? sequence->items + first : &object;
  return gradient ? countGradientChanges(reader->versions, reader->words, items,
                                         size)
                  : countChanges(reader->versions, items, size);
}

/* Increments version counters of tensors, or of their gradients. Returns a list
 * of the tensors that are left. */
static PyObject *countAll(const Sequence *sequence, const Reader *reader,
                          Gradient *gradient) {
  PyObject *left = PyList_New(0);
  for (Py_ssize_t i = 0; left && i < sequence->size;) {
    Py_ssize_t counted = countNext(sequence, i, reader, gradient);
    i += counted ? counted : 1;
    if (counted)
      continue;
    PyObject *object = item(sequence, i - 1);
    if (object && gradient)
      object = takeGradient(gradient, object);
    if (!object || (object != Py_None && PyList_Append(left, object)))
      Py_CLEAR(left);
    Py_XDECREF(object);
  }
  return left;
}

/* Counts changes of the tensors in the first argument, or of their gradients.
 */
static PyObject *countIn(const char *name, const char *label,
                         Gradient *gradient, PyObject *const *arguments,
                         Py_ssize_t count) {
  Sequence sequence;
  const Reader *reader;
  if (!expectArguments(name, count, 2, 2) ||
      !readSequence(arguments[0], label, &sequence) ||
      !readApi(arguments[1], &reader))
    return NULL;
  return reader ? countAll(&sequence, reader, gradient)
                : callFallback(name, arguments, count);
}

static PyObject *changes(PyObject *module, PyObject *const *arguments,
                         Py_ssize_t count) {
  return countIn("count_changes", "tensors", NULL, arguments, count);
}

static PyObject *gradientChanges(PyObject *module, PyObject *const *arguments,
                                 Py_ssize_t count) {
  Gradient gradient = {PyUnicode_InternFromString("grad"), NULL, NULL, NULL};
  if (!gradient.name)
    return NULL;
  PyObject *left =
      countIn("count_gradient_changes", "params", &gradient, arguments, count);
  Py_DECREF(gradient.name);
  Py_XDECREF(gradient.descriptor);
  return left;
}

/* Whether two lists or tuples have the same objects. */
static PyObject *same(PyObject *module, PyObject *const *arguments,
                      Py_ssize_t count) {
  Sequence left, right;
  if (!expectArguments("same", count, 2, 2) ||
      !readSequence(arguments[0], "left", &left) ||
      !readSequence(arguments[1], "right", &right))
    return NULL;
  if (left.size != right.size)
    return PyBool_FromLong(0);
  for (Py_ssize_t i = 0; i < left.size; ++i) {
    PyObject *one = left.items ? left.items[i] : borrowed(&left, i);
    PyObject *other = right.items ? right.items[i] : borrowed(&right, i);
    if (!one || !other)
      return NULL;
    if (one != other)
      return PyBool_FromLong(0);
  }
  return PyBool_FromLong(1);
}

static PyObject *stream(PyObject *module, PyObject *const *arguments,
                        Py_ssize_t count) {
  const Reader *reader;
  if (!expectArguments("stream", count, 2, 2) ||
      !readApi(arguments[0], &reader))
    return NULL;
  if (!reader)
    return callFallback("stream", arguments, count);
  long device = PyLong_AsLong(arguments[1]);
  if (device == -1 && PyErr_Occurred())
    return NULL;
  void *found = NULL;
  if (reader->dlpack->current_stream(kCuda, (int32_t)device, &found))
    return NULL;
  return PyLong_FromVoidPtr(found);
}

/*===- Launches -----------------------------------------------------------===*/

/* A garbage collection runs functions of any object, which may replace the
 * memory of tensors. */
static int64_t collectionCount = 0;

/* A function of gc.callbacks. */
static PyObject *countCollection(PyObject *module, PyObject *const *arguments,
                                 Py_ssize_t count) {
  ++collectionCount;
  Py_RETURN_NONE;
}

static PyObject *collections(PyObject *module, PyObject *none) {
  return PyLong_FromLongLong(collectionCount);
}

/* No function of Python runs between the comparison and the launch. */
static PyObject *launch(PyObject *module, PyObject *const *arguments,
                        Py_ssize_t count) {
  if (!expectArguments("launch", count, 4, 4))
    return NULL;
  void *address = PyLong_AsVoidPtr(arguments[0]);
  void *graph = PyLong_AsVoidPtr(arguments[1]);
  void *stream = PyLong_AsVoidPtr(arguments[2]);
  int64_t expected = PyLong_AsLongLong(arguments[3]);
  if (PyErr_Occurred())
    return NULL;
  if (expected != collectionCount)
    Py_RETURN_NONE;
  int (*function)(void *, void *);
  memcpy(&function, &address, sizeof function);
  int status;
  Py_BEGIN_ALLOW_THREADS;
  status = function(graph, stream);
  Py_END_ALLOW_THREADS;
  return PyLong_FromLong(status);
}

/*===- Module -------------------------------------------------------------===*/

typedef void (*AnyFunction)(void);
#define HEDDLE_FAST(function)                                                  \
  (PyCFunction)(AnyFunction)(function), METH_FASTCALL, NULL

static PyMethodDef methods[] = {
    {"exchange_api", HEDDLE_FAST(exchangeApi)},
    {"reader", reader, METH_O, NULL},
    {"layouts", HEDDLE_FAST(layouts)},
    {"addresses", HEDDLE_FAST(addresses)},
    {"gradients", HEDDLE_FAST(gradients)},
    {"pairs", HEDDLE_FAST(pairs)},
    {"collections", collections, METH_NOARGS, NULL},
    {"count_collection", HEDDLE_FAST(countCollection)},
    {"launch", HEDDLE_FAST(launch)},
    {"count_changes", HEDDLE_FAST(changes)},
    {"count_gradient_changes", HEDDLE_FAST(gradientChanges)},
    {"same", HEDDLE_FAST(same)},
    {"stream", HEDDLE_FAST(stream)},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "heddle._fast_native",
    .m_doc = "The functions of heddle._fast.",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__fast_native(void) {
  return PyModuleDef_Init(&definition);
}
