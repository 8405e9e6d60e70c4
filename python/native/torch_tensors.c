/*===- torch_tensors.c - Tensors of torch without Python objects ----------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 */
/*===----------------------------------------------------------------------===*/

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include "torch_tensors.h"

#include "refusals.h"

#include <dlfcn.h>
#include <string.h>

typedef int32_t (*GetInt64)(TorchHandle tensor, int64_t *result);
typedef int32_t (*GetInt32)(TorchHandle tensor, int32_t *result);
typedef int32_t (*GetArray)(TorchHandle tensor, int64_t **result);
typedef int32_t (*GetPointer)(TorchHandle tensor, void **result);
typedef _Bool (*GetBit)(TorchHandle tensor);

struct Torch {
  GetPointer dataPointer;
  GetInt64 rank, storageSize, storageOffset;
  GetArray sizes, strides;
  GetInt32 dtype, deviceType, deviceIndex, layout;
  /* The elements of a lazy conjugate or negation differ from the memory. */
  GetBit isConjugate, isNegative;
  /* c10::TensorImpl::grad() returns a reference to a tensor, which is the
   * address of a handle. */
  TorchHandle (*gradient)(const void *tensor);
  const void *undefined; /* the object of a tensor that is not there */
  PyTypeObject *tensor, *parameter;
  Py_ssize_t place; /* of the handle in a Python object */
};

/*===- Reading ------------------------------------------------------------===*/

TorchHandle torchHandle(const Torch *torch, PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  if (type != torch->parameter && type != torch->tensor)
    return NULL;
  return (TorchHandle)(const void *)((const char *)object + torch->place);
}

void torchObjects(const Torch *torch, PyTypeObject **tensor,
                  PyTypeObject **parameter, Py_ssize_t *place,
                  const void **undefined) {
  *tensor = torch->tensor;
  *parameter = torch->parameter;
  *place = torch->place;
  *undefined = torch->undefined;
}

int torchExtents(const Torch *torch, TorchHandle tensor, int64_t **sizes,
                 int64_t **strides) {
  return torch->sizes(tensor, sizes) || torch->strides(tensor, strides);
}

TorchHandle torchGradient(const Torch *torch, TorchHandle tensor) {
  TorchHandle gradient = torch->gradient(*tensor);
  return *gradient && *gradient != torch->undefined ? gradient : NULL;
}

/* The code and bits of DLPack by torch's number of an element type; 0: DLPack
 * reads these tensors. */
static const uint16_t elementTypes[16] = {
    [5] = 2 | 16 << 8, [6] = 2 | 32 << 8,   [7] = 2 | 64 << 8,
    [9] = 5 | 64 << 8, [10] = 5 | 128 << 8, [15] = 4 | 16 << 8,
};

static int hasType(const Torch *torch, TorchHandle tensor, int64_t device,
                   int64_t type) {
  int32_t number, kind, index, layout;
  if (torch->dtype(tensor, &number) || torch->deviceType(tensor, &kind) ||
      torch->deviceIndex(tensor, &index) || torch->layout(tensor, &layout))
    return 0;
  if (layout != 0 || number < 0 || number > 15 || (kind != 0 && kind != 1))
    return 0;
  /* The CPU is kind 0 and CUDA kind 1; 1 and 2 in DLPack. */
  int64_t found = kind ? (int64_t)index << 32 | 2 : 1;
  return found == device && elementTypes[number] &&
         (elementTypes[number] | 1 << 16) == (type & 0xffffffff);
}

/* Whether all elements of a tensor are in its storage. The address of a tensor
 * with an offset is not null without a storage. */
static int isInStorage(const Torch *torch, TorchHandle tensor, int64_t rank,
                       const int64_t *sizes, const int64_t *strides,
                       int64_t elementBytes) {
  int64_t bytes, end;
  if (torch->storageSize(tensor, &bytes) || torch->storageOffset(tensor, &end))
    return 0;
  for (int64_t d = 0; d < rank; ++d)
    end += (sizes[d] - 1) * strides[d];
  return (end + 1) * elementBytes <= bytes;
}

int torchFits(const Torch *torch, TorchHandle tensor, int64_t device,
              int64_t type, const int64_t *extents, int64_t *address) {
  int64_t rank, *sizes, *strides;
  void *data;
  if (!hasType(torch, tensor, device, type) || torch->rank(tensor, &rank) ||
      rank != type >> 32 || torch->sizes(tensor, &sizes) ||
      torch->strides(tensor, &strides))
    return 0;
  int isEmpty = 0;
  for (int64_t d = 0; d < rank; ++d)
    isEmpty |= sizes[d] == 0;
  for (int64_t d = 0; d < rank; ++d)
    if (sizes[d] != extents[d] ||
        (sizes[d] > 1 && !isEmpty ? strides[d] : 0) != extents[rank + d])
      return 0;
  int isComplex = (type & 0xff) == 5;
  int64_t elementBytes = (type >> 8 & 0xff) / 8;
  if (!isEmpty &&
      !isInStorage(torch, tensor, rank, sizes, strides, elementBytes))
    return 0;
  if (torch->dataPointer(tensor, &data) || (!data && !isEmpty) ||
      torch->isNegative(tensor) || (isComplex && torch->isConjugate(tensor)))
    return 0;
  *address = (int64_t)(uintptr_t)data;
  return 1;
}

/*===- Opening ------------------------------------------------------------===*/

/* The attribute of an object as an integer; -1 if it is none. */
static int64_t integer(PyObject *object, const char *name) {
  PyObject *value = PyObject_GetAttrString(object, name);
  long long found = value ? PyLong_AsLongLong(value) : -1;
  Py_XDECREF(value);
  return found;
}

static int64_t call(PyObject *object, const char *name) {
  PyObject *value = PyObject_CallMethod(object, name, NULL);
  long long found = value ? PyLong_AsLongLong(value) : -1;
  Py_XDECREF(value);
  return found;
}

static int findFunctions(Torch *torch) {
  void *tensors = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  void *core = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!tensors || !core)
    return 0;
  /* Both stay open, because they are never unloaded. */
  *(void **)&torch->dataPointer = dlsym(tensors, "aoti_torch_get_data_ptr");
  *(void **)&torch->rank = dlsym(tensors, "aoti_torch_get_dim");
  *(void **)&torch->storageSize = dlsym(tensors, "aoti_torch_get_storage_size");
  *(void **)&torch->storageOffset =
      dlsym(tensors, "aoti_torch_get_storage_offset");
  *(void **)&torch->sizes = dlsym(tensors, "aoti_torch_get_sizes");
  *(void **)&torch->strides = dlsym(tensors, "aoti_torch_get_strides");
  *(void **)&torch->dtype = dlsym(tensors, "aoti_torch_get_dtype");
  *(void **)&torch->deviceType = dlsym(tensors, "aoti_torch_get_device_type");
  *(void **)&torch->deviceIndex = dlsym(tensors, "aoti_torch_get_device_index");
  *(void **)&torch->layout = dlsym(tensors, "aoti_torch_get_layout");
  *(void **)&torch->isConjugate =
      dlsym(tensors, "_ZN2at6native7is_conjERKNS_6TensorE");
  *(void **)&torch->isNegative =
      dlsym(tensors, "_ZN2at6native6is_negERKNS_6TensorE");
  *(void **)&torch->gradient = dlsym(core, "_ZNK3c1010TensorImpl4gradEv");
  torch->undefined = dlsym(core, "_ZN3c1019UndefinedTensorImpl10_singletonE");
  return torch->dataPointer && torch->rank && torch->storageSize &&
         torch->storageOffset && torch->sizes && torch->strides &&
         torch->dtype && torch->deviceType && torch->deviceIndex &&
         torch->layout && torch->isConjugate && torch->isNegative &&
         torch->gradient && torch->undefined;
}

/* Whether the functions that read lazy operations do so. */
static int readsBits(const Torch *torch, PyObject *sample) {
  PyObject *negative = PyObject_CallMethod(sample, "_neg_view", NULL);
  PyObject *complex = PyObject_CallMethod(sample, "cfloat", NULL);
  PyObject *conjugate =
      complex ? PyObject_CallMethod(complex, "conj", NULL) : NULL;
  TorchHandle handles[] = {torchHandle(torch, sample),
                           negative ? torchHandle(torch, negative) : NULL,
                           conjugate ? torchHandle(torch, conjugate) : NULL};
  int right = handles[1] && handles[2] && !torch->isNegative(handles[0]) &&
              !torch->isConjugate(handles[0]) &&
              torch->isNegative(handles[1]) && torch->isConjugate(handles[2]);
  Py_XDECREF(conjugate);
  Py_XDECREF(complex);
  Py_XDECREF(negative);
  return right;
}

/* The only place in the object of `sample` with the address of its tensor; 0 if
 * there is none or are several. */
static Py_ssize_t findPlace(PyObject *sample) {
  int64_t size = integer((PyObject *)Py_TYPE(sample), "__basicsize__");
  int64_t expected = integer(sample, "_cdata");
  Py_ssize_t found = 0;
  for (Py_ssize_t place = sizeof(PyObject);
       expected > 0 && place + 8 <= (Py_ssize_t)size; place += 8) {
    int64_t word;
    memcpy(&word, (const char *)sample + place, sizeof word);
    if (word == expected && found)
      return 0;
    if (word == expected)
      found = place;
  }
  return found;
}

/* Whether the functions return what the attributes of a sample of 2 x 3
 * elements do, before and after it has the gradient `other`. */
static int isRight(const Torch *torch, PyObject *sample, PyObject *other) {
  TorchHandle tensor = torchHandle(torch, sample);
  int64_t rank, bytes, offset, *sizes, *strides;
  void *data;
  if (!tensor || (int64_t)(uintptr_t)*tensor != integer(sample, "_cdata") ||
      torch->rank(tensor, &rank) || rank != 2 || torch->sizes(tensor, &sizes) ||
      sizes[0] != 2 || sizes[1] != 3 || torch->strides(tensor, &strides) ||
      strides[0] != 3 || strides[1] != 1 ||
      torch->storageSize(tensor, &bytes) || bytes != 24 ||
      torch->storageOffset(tensor, &offset) || offset ||
      torch->dataPointer(tensor, &data) ||
      (int64_t)(uintptr_t)data != call(sample, "data_ptr"))
    return 0;
  if (torchGradient(torch, tensor) ||
      PyObject_SetAttrString(sample, "grad", other))
    return 0;
  TorchHandle gradient = torchGradient(torch, tensor);
  return gradient &&
         (int64_t)(uintptr_t)*gradient == integer(other, "_cdata") &&
         PyObject_SetAttrString(sample, "grad", Py_None) == 0 &&
         !torchGradient(torch, tensor);
}

static int open(Torch *torch, PyObject *type) {
  PyObject *modules = PyImport_GetModuleDict();              /* borrowed */
  PyObject *module = PyDict_GetItemString(modules, "torch"); /* borrowed */
  PyObject *own = module ? PyObject_GetAttrString(module, "Tensor") : NULL;
  PyObject *nn = own == type ? PyObject_GetAttrString(module, "nn") : NULL;
  PyObject *parameter = nn ? PyObject_GetAttrString(nn, "Parameter") : NULL;
  PyObject *sample = NULL, *other = NULL;
  int valid = 0;
  if (parameter && PyType_Check(parameter) && PyType_Check(type) &&
      findFunctions(torch)) {
    torch->tensor = (PyTypeObject *)type;
    torch->parameter = (PyTypeObject *)parameter;
    sample = PyObject_CallFunction(type, "ii", 2, 3);
    other = sample ? PyObject_CallFunction(type, "ii", 2, 3) : NULL;
    torch->place = other && Py_TYPE(sample) == torch->tensor &&
                           PyType_IsSubtype(torch->parameter, torch->tensor)
                       ? findPlace(sample)
                       : 0;
    valid = torch->place && isRight(torch, sample, other) &&
            readsBits(torch, sample) && findPlace(other) == torch->place;
  }
  if (valid) { /* for as long as the process */
    Py_INCREF(type);
    Py_INCREF(parameter);
  }
  Py_XDECREF(other);
  Py_XDECREF(sample);
  Py_XDECREF(parameter);
  Py_XDECREF(nn);
  Py_XDECREF(own);
  return valid;
}

const Torch *openTorch(PyObject *type) {
  static Torch torch;
  static int opened = 0;
  if (opened)
    return (PyObject *)torch.tensor == type ? &torch : NULL;
  int valid = open(&torch, type);
  if (clearRefusal())
    opened = valid;
  return opened ? &torch : NULL;
}
