//===- RunData.h - generation, storage and loading of elements --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value of element k of list l follows from the seed, l and k alone, so any
// range can be generated again at any time. Elements are computed as doubles
// and converted to and from each dtype.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUNDATA_H
#define HEDDLE_TOOLS_HEDDLE_RUNDATA_H

#include "runtime/plan/Plan.h"

#include <cstdint>

namespace heddle::cli {

/// Initial contents of a list.
struct Contents {
  enum Kind { constant, normal } kind = constant;
  /// The constant, or the standard deviation around 0.
  double value = 0;
};

/// Generates elements `first` to `first + count` of list `list`.
void makeElements(const Contents &contents, uint64_t seed, uint64_t list,
                  int64_t first, int64_t count, double *to);

void storeElements(runtime::DType dtype, const double *from, int64_t count,
                   char *to);
void loadElements(runtime::DType dtype, const char *from, int64_t count,
                  double *to);

/// Returns the distance from 1 to the next value of a floating-point dtype; 0
/// for integers.
double unitInLastPlace(runtime::DType dtype);

/// Returns the smallest number of a floating-point dtype that has all its
/// digits; 0 for integers.
double smallestNormal(runtime::DType dtype);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_RUNDATA_H
