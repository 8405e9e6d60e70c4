//===- FunctionText.h - the text of a function ------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SCALING_FUNCTIONTEXT_H
#define HEDDLE_TEST_SCALING_FUNCTIONTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <string>

namespace heddle::test {

/// Appends `item` to a list that commas separate.
void appendItem(std::string &list, const llvm::Twine &item);

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

} // namespace heddle::test

#endif // HEDDLE_TEST_SCALING_FUNCTIONTEXT_H
