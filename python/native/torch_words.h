/*===- torch_words.h - Tensors of torch where they lie in memory ----------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A call of torch's C functions for each attribute takes longer than to read
 * the memory of a tensor: 20 ns instead of 6. The attributes of a tensor lie at
 * the same places in torch 2.11 and in torch 2.15, but no rule says so.
 * Therefore:
 *
 * openWords() compares what is read with what torch says about the tensors of
 * heddle._torch_samples. If anything differs, it returns null, and torch's
 * functions read all tensors.
 *
 * A tensor is read only if it is of the plain class (its table of virtual
 * functions), and if its words for element type, device and dispatch keys are
 * those of a tensor that torch's functions have read before. All other tensors
 * are left to torch's functions.
 */
/*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_PYTHON_TORCH_WORDS_H
#define HEDDLE_PYTHON_TORCH_WORDS_H

#include "layouts.h"
#include "torch_tensors.h"

typedef struct Words Words;

/* Null if this version of torch differs. Never leaves an exception. Lives as
 * long as the process. */
Words *openWords(const Torch *torch);

/* Reads the addresses of tensors, or of their gradients, until one cannot be
 * read or does not have its layout. Returns how many were read, and moves
 * `layouts` behind their layouts. Calls no function of Python. */
Py_ssize_t readWords(const Words *words, PyObject *const *objects,
                     Py_ssize_t count, int ofGradients, Layouts *layouts,
                     int64_t *addresses);

/* Reads the addresses of all tensors and of their gradients, which have the
 * layouts of their tensors. Returns 0 if one cannot be read or does not have
 * its layout. Calls no function of Python. */
int readPairs(const Words *words, PyObject *const *objects, Py_ssize_t count,
              Layouts layouts, int64_t *addresses, int64_t *ofGradients);

/* Reads the words of the gradients of up to `count` tensors, null for a tensor
 * without one, up to the first object that cannot be read. Returns how many
 * were read. Calls no function of Python. */
int readGradientTensors(const Words *words, PyObject *const *objects, int count,
                        const int64_t **gradients);

/* Tensors like this one can be read from now on. Torch's functions have read
 * it, and it has this layout and address. */
void learnWords(Words *words, TorchHandle tensor, const char *layout,
                int64_t address);

#endif
