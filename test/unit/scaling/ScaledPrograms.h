//===- ScaledPrograms.h - programs of every size ----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs in which one construct occurs n times. A user can write each of
// them, so the work of the compiler must not grow faster than n log n.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SCALING_SCALEDPROGRAMS_H
#define HEDDLE_TEST_SCALING_SCALEDPROGRAMS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace heddle::test {

/// The text of a function, from its parts.
class FunctionText {
public:
  void argument(const llvm::Twine &name, llvm::StringRef type,
                const llvm::Twine &attributes = "");
  /// Adds a line of the body.
  void line(const llvm::Twine &text) { body += text.str() + "\n"; }
  void result(const llvm::Twine &value, llvm::StringRef type);
  /// An argument that the next result replaces.
  void donated(const llvm::Twine &name, llvm::StringRef type);

  /// A map from `from` to `to`, lists of vectors of f32, that adds 1.
  void map(const llvm::Twine &to, const llvm::Twine &from);
  /// A reduction of a list of vectors of f32 to a device scalar.
  void sum(const llvm::Twine &to, const llvm::Twine &from);

  std::string str() const;

private:
  std::string arguments, body, results, types;
  int donations = 0;
};

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

  /// The program of size n.
  std::string text(int n) const;
};

llvm::ArrayRef<ScaledProgram> scaledPrograms();

} // namespace heddle::test

#endif // HEDDLE_TEST_SCALING_SCALEDPROGRAMS_H
