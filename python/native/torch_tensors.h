/*===- torch_tensors.h - Tensors of torch without Python objects ----------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * torch's C functions for tensors (aoti_torch/c/shim.h, whose ABI is stable)
 * read a tensor in a few nanoseconds, because they change no reference count.
 * They take the address of a tensor's handle. It lies in the Python object of
 * the tensor, and in the object that torch keeps for its gradient. So a new
 * gradient is read without a new Python object.
 *
 * Some facts are not part of a stable ABI: the place of the handle in the
 * object, and the functions that return the gradient and the bits of lazy
 * operations. openTorch() finds them and compares what they return with the
 * attributes of sample tensors. If anything differs, it returns null, and
 * DLPack reads the tensors.
 */
/*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_PYTHON_TORCH_TENSORS_H
#define HEDDLE_PYTHON_TORCH_TENSORS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

typedef struct Torch Torch;

/* A handle is the address of a pointer. */
typedef void *const *TorchHandle;

/* The functions for torch.Tensor; null if `type` is another type, or if this
 * version of torch differs. Never leaves an exception. Lives as long as the
 * process. */
const Torch *openTorch(PyObject *type);

/* The handle in an object of the class Tensor or Parameter; null for every
 * other object, also of derived classes, which may override attributes. */
TorchHandle torchHandle(const Torch *torch, PyObject *object);

/* The classes Tensor and Parameter, the place of the handle in their objects,
 * and the object of a tensor that is not there. */
void torchObjects(const Torch *torch, PyTypeObject **tensor,
                  PyTypeObject **parameter, Py_ssize_t *place,
                  const void **undefined);

/* The extents and the strides of a tensor, in its memory. Returns 0, or an
 * error. */
int torchExtents(const Torch *torch, TorchHandle tensor, int64_t **sizes,
                 int64_t **strides);

/* The handle of the gradient of a tensor; null if it has none. */
TorchHandle torchGradient(const Torch *torch, TorchHandle tensor);

/* Whether a tensor has the layout of `rank` and these words (layouts.h). Then
 * its address is in *address. 0 also if these functions cannot tell. */
int torchFits(const Torch *torch, TorchHandle tensor, int64_t device,
              int64_t type, const int64_t *extents, int64_t *address);

#endif
