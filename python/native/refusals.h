/*===- refusals.h - The exceptions of objects that refuse to be read ------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A signal handler may raise any other exception in a function of Python. It
 * must reach the caller. python/heddle/_refusals.py has the same list.
 */
/*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_REFUSALS_H
#define HEDDLE_REFUSALS_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030A0000
#endif
#include <Python.h>

/* Clears the exception if it is such a one. Returns 0 if there is still one. */
static inline int clearRefusal(void) {
  PyObject *const kinds[] = {
      PyExc_ArithmeticError, PyExc_AssertionError, PyExc_AttributeError,
      PyExc_BufferError,     PyExc_ImportError,    PyExc_LookupError,
      PyExc_NameError,       PyExc_RuntimeError,   PyExc_TypeError,
      PyExc_ValueError,      PyExc_Warning,
  };
  if (!PyErr_Occurred())
    return 1;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
    if (PyErr_ExceptionMatches(kinds[i])) {
      PyErr_Clear();
      return 1;
    }
  return 0;
}

#endif
