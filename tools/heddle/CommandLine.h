//===- CommandLine.h - the words after 'heddle COMMAND' ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A command lists its options. The parser checks the words against that list;
// an error names the option, the expected value and the value found.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_COMMANDLINE_H
#define HEDDLE_TOOLS_HEDDLE_COMMANDLINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace heddle::cli {

struct OptionSpec {
  /// The name with its dashes: "--shapes", "-o".
  llvm::StringRef name;
  /// Placeholder of the value, "FILE"; empty for a flag, "[FILE]" for an
  /// optional value.
  llvm::StringRef value;
  llvm::StringRef help;
  /// Whether it may be given several times.
  bool repeatable = false;
};

struct CommandSpec {
  llvm::StringRef name;
  /// Placeholder of the operand, "PROGRAM"; empty if the command takes options
  /// only.
  llvm::StringRef operand;
  llvm::StringRef summary;
  llvm::ArrayRef<OptionSpec> options;
  /// Returns the help below the options: examples, tables.
  std::string (*details)();
  /// Placeholder of a second operand, which may be absent; empty if there is
  /// none.
  llvm::StringRef second = "";
};

/// The parsed words of a command line.
class Arguments {
public:
  static llvm::Expected<Arguments> parse(const CommandSpec &command,
                                         llvm::ArrayRef<llvm::StringRef> words);

  /// The word that is not an option; empty if there is none.
  llvm::StringRef operand() const { return word; }
  llvm::StringRef secondOperand() const { return secondWord; }
  bool has(llvm::StringRef option) const { return values.contains(option); }
  /// The value of an option; `otherwise` if the option is absent.
  llvm::StringRef get(llvm::StringRef option,
                      llvm::StringRef otherwise = "") const;
  /// All values of a repeatable option.
  llvm::ArrayRef<std::string> all(llvm::StringRef option) const;
  /// The value of an option as an integer from `least` to 2^63 - 1.
  llvm::Expected<int64_t> integer(llvm::StringRef option, int64_t otherwise,
                                  int64_t least) const;

private:
  std::string word, secondWord;
  llvm::StringMap<std::vector<std::string>> values;
};

void printHelp(const CommandSpec &command);

/// Returns "; did you mean 'x'?" for the word of `words` nearest to `word`;
/// empty if none is near.
std::string suggestion(llvm::StringRef word,
                       llvm::ArrayRef<llvm::StringRef> words);

/// An error with exit code 2.
llvm::Error usageError(const llvm::Twine &text);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_COMMANDLINE_H
