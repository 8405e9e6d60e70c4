//===- Options.h - the options of a standard program ------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of a program are a plain struct. An OptionList has the name, the
// help text and the parser of each member; `amsgrad=true,lr=0.01` is written
// into the struct through the list.
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

/// A word out of a fixed set.
struct Choice {
  std::string value;
  std::vector<std::string> words;
};

/// Several words out of a fixed set, written `f32/bf16`.
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
  /// The values that it accepts, for diagnostics.
  std::string getExpected() const;
  /// The value as text.
  std::string getValue() const;
  /// Reads `text` into the target; false if it is not of the option's type.
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

/// The word of `words` that is nearest to `word`, or an empty string if none is
/// a likely misspelling.
llvm::StringRef nearest(llvm::StringRef word,
                        llvm::ArrayRef<llvm::StringRef> words);

/// The element types of a program's lists.
struct ListOptions {
  Choices dtype{"f32", {"f64", "f32", "f16", "bf16"}};

  void describe(OptionList &list);
};

/// One family of lists, all of one element type.
struct Family {
  /// Suffix of the names of its lists if there are several families: `_bf16`.
  std::string suffix;
  /// Element types of parameters and gradients, and of the arithmetic.
  mlir::Type storage, compute;
};

std::vector<Family> familiesOf(const ListOptions &options,
                               mlir::MLIRContext *context);

/// The element type called `name`.
mlir::Type typeNamed(llvm::StringRef name, mlir::MLIRContext *context);

} // namespace heddle::library

#endif // HEDDLE_DIALECT_LIBRARY_OPTIONS_H
