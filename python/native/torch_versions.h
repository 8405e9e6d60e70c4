/*===- torch_versions.h - Counters of changes in place --------------------===*/
/*
 * Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A tensor of torch has a version counter, by which autograd notices that a
 * tensor that it has saved has changed in place. torch's own function needs
 * 35 ns to increment one; to do so in memory takes 5 ns. No rule says where the
 * counter lies. Therefore openVersions() compares the counters of the tensors
 * of heddle._torch_samples with what torch says about these tensors. If
 * anything differs, it returns null, and torch's function counts all changes.
 */
/*===----------------------------------------------------------------------===*/

#ifndef HEDDLE_PYTHON_TORCH_VERSIONS_H
#define HEDDLE_PYTHON_TORCH_VERSIONS_H

#include "torch_tensors.h"
#include "torch_words.h"

typedef struct Versions Versions;

/* Null if this version of torch differs. Never leaves an exception. Lives as
 * long as the process. */
const Versions *openVersions(const Torch *torch);

/* Increments the counters of tensors, up to the first one that is left to
 * torch's function: a tensor of another class, or one without a counter.
 * Returns how many it has incremented. Calls no function of Python. */
Py_ssize_t countChanges(const Versions *versions, PyObject *const *objects,
                        Py_ssize_t count);

/* As countChanges(), for the gradients of tensors. A tensor without a gradient
 * counts as incremented. */
Py_ssize_t countGradientChanges(const Versions *versions, const Words *words,
                                PyObject *const *objects, Py_ssize_t count);

#endif
