//===- Options.h - the options of a standard program ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of a program are a plain struct. An OptionList has a name, a help
// text and a parser for each field; it stores `amsgrad=true,lr=0.01` in the
// struct.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_DIALECT_LIBRARY_OPTIONS_H
#define HEDDLE_DIALECT_LIBRARY_OPTIONS_H

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <variant>
#include <vector>

namespace heddle::library {

/// One word of a fixed set.
struct Choice {
  std::string value;
  std::vector<std::string> words;
};

/// Several words of a fixed set, written `f32/bf16`.
struct Choices {
  std::string value;
  std::vector<std::string> words;

  std::vector<llvm::StringRef> parts() const;
};

/// One option: its value, and the help text for users.
struct Option {
  std::string name;
  std::variant<bool *, int64_t *, double *, Choice *, Choices *> target;
  std::string help;
  /// Whether the text of the program sets it.
  bool given = false;

  /// "bool", "int", "float" or the words, `f64|f32|f16|bf16`.
  std::string getType() const;
  /// The accepted values, for diagnostics.
  std::string getExpected() const;
  /// The value as text.
  std::string getValue() const;
  /// Stores the value of `text`; returns false if its type does not match.
  bool parse(llvm::StringRef text);
};

class OptionList {
public:
  template <typename T>
  void add(llvm::StringRef name, T &target, llvm::StringRef help) {
    options.push_back({name.str(), &target, help.str()});
  }

  Option *find(llvm::StringRef name);
  std::vector<Option> &all() { return options; }
  const std::vector<Option> &all() const { return options; }

private:
  std::vector<Option> options;
};

/// The shortest text that reads back as the same number.
std::string numberText(double number);

/// The word of `words` that is nearest to `word`, or an empty string if none is
/// a likely misspelling.
llvm::StringRef nearest(llvm::StringRef word,
                        llvm::ArrayRef<llvm::StringRef> words);

/// The element types of a program's lists.
struct ListOptions {
  Choices dtype{"f32", {"f64", "f32", "f16", "bf16"}};

  void describe(OptionList &list);
};

/// One family of lists. Each family has its own element type.
struct Family {
  /// The suffix of the names of its lists if there are several families:
  /// `_bf16`.
  std::string suffix;
  /// The storage type of parameters and gradients, and the compute type.
  mlir::Type storage, compute;
};

std::vector<Family> familiesOf(const ListOptions &options,
                               mlir::MLIRContext *context);

/// The element type called `name`.
mlir::Type typeNamed(llvm::StringRef name, mlir::MLIRContext *context);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_OPTIONS_H
