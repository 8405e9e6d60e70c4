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

#include <limits>
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

/// Names that the text of a program chooses, written `muon/rest`, or `none`.
struct Names {
  std::string value = "none";

  std::vector<llvm::StringRef> parts() const;
};

/// The numbers that an option takes.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool takesLeast = true, takesMost = true;

  bool holds(double number) const;
  /// "from 0 to below 1", or an empty string if every number is in it.
  std::string getText() const;
};

/// One option: its value, and the help text for users.
struct Option {
  std::string name;
  std::variant<bool *, int64_t *, double *, Choice *, Choices *, Names *>
      target;
  std::string help;
  /// The range of a number.
  Range range;
  /// Whether the text of the program sets it.
  bool given = false;

  /// "bool", "int", "float" or the words, `f64|f32|f16|bf16`.
  std::string getType() const;
  /// The accepted values, for diagnostics.
  std::string getExpected() const;
  /// The value as text.
  std::string getValue() const;
  /// Stores the value of `text`; returns false if its type does not match, or
  /// if it is out of the range.
  bool parse(llvm::StringRef text);
};

class OptionList {
public:
  template <typename T>
  void add(llvm::StringRef name, T &target, llvm::StringRef help,
           Range range = {}) {
    options.push_back({name.str(), &target, help.str(), range});
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

/// Ranges of hyperparameters.
inline constexpr Range kNotNegative{0}, kPositive{0, Range().most, false};
/// Decays of means: [0, 1).
inline constexpr Range kDecay{0, 1, true, false};

/// The names and element types of a program's lists.
struct ListOptions {
  Choices dtype{"f32", {"f64", "f32", "f16", "bf16"}};
  Names lists;

  /// One family: the suffix of its names, and its element type.
  struct FamilyName {
    std::string suffix, dtype;

    bool operator==(const FamilyName &) const = default;
  };
  /// The families of the other programs of a composition, if some name theirs.
  /// A program without `lists` that is no optimizer has them all.
  std::vector<FamilyName> others;

  void describe(OptionList &list);
  std::vector<FamilyName> families() const;
  bool hasType(llvm::StringRef type) const;
  /// The suffix of the names of scalars: `_muon` if `lists` names the lists.
  std::string scalarSuffix() const;
};

/// One family of lists: a list of parameters, and those beside it.
struct Family {
  /// The suffix of the names of its lists if they have names, or several
  /// types: `_muon`, `_bf16` or `_muon_bf16`.
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
