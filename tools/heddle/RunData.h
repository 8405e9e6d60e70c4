//===- RunData.h - generation, storage and loading of elements --*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The value of element k of list l follows from the seed, l, k and the extents
// of k's member alone, so any range can be generated again at any time.
// Elements are computed as doubles and converted to and from each dtype.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_RUNDATA_H
#define HEDDLE_TOOLS_HEDDLE_RUNDATA_H

#include "runtime/plan/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace heddle::cli {

/// Initial contents of a list.
struct Contents {
  enum Kind {
    constant,
    normal,
    /// Between 0 and 1, such as points of the unit cube.
    uniform,
    /// Positive, with a sum of 1 over each member.
    weights,
    /// The logarithms of weights.
    logWeights,
    /// Symmetric positive definite matrices, with eigenvalues of about 1 to 10.
    spd,
    /// Squared distances of a point for each row from one for each column, in
    /// the unit square.
    distances
  } kind = constant;
  /// The constant, or the factor of the values (for `normal`, the standard
  /// deviation around 0).
  double value = 0;

  bool isRandom() const { return kind != constant; }
};

/// The word of each kind that --fill names, and its meaning for help texts.
struct ContentsWord {
  llvm::StringLiteral word;
  Contents contents;
  llvm::StringLiteral meaning;
};
llvm::ArrayRef<ContentsWord> contentsWords();

/// Why the contents do not fit into a member of `rank` dimensions with these
/// extents; empty if they do.
std::string misfit(const Contents &contents, int rank,
                   llvm::ArrayRef<int64_t> extents);

/// A member of a list: its place among the lists, the position of its first
/// element in the list, and its extents.
struct MemberPlace {
  uint64_t list = 0;
  int64_t begin = 0;
  llvm::ArrayRef<int64_t> extents = {};
};

/// Generates elements `first` to `first + count` of a member. Kinds other than
/// `constant` and `normal` need the extents.
void makeElements(const Contents &contents, uint64_t seed,
                  const MemberPlace &member, int64_t first, int64_t count,
                  double *to);

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
