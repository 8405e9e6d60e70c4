//===- ScaledPrograms.h - programs of every size ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs in which one construct occurs n times, and compositions of n
// standard programs. A user can write each of them, so the work of the compiler
// must not grow faster than n log n.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SCALING_SCALEDPROGRAMS_H
#define HEDDLE_TEST_SCALING_SCALEDPROGRAMS_H

#include "FunctionText.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace heddle::test {

struct ScaledProgram {
  llvm::StringRef name;
  llvm::StringRef meaning; ///< of n
  /// The largest n in the test. For most programs it is a size at which a
  /// quadratic term is large.
  int size;
  void (*write)(FunctionText &function, int n);
  /// The most by which work may grow if n is doubled. n log n from 64 to 128
  /// grows by 2.33, quadratic work by 4.
  double mostGrowth = 2.4;
  /// In place of `write`, if it is null.
  std::string (*compose)(int n) = nullptr;

  /// The program of size n.
  std::string text(int n) const;
};

llvm::ArrayRef<ScaledProgram> scaledPrograms();

} // namespace heddle::test

#endif // HEDDLE_TEST_SCALING_SCALEDPROGRAMS_H
