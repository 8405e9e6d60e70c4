//===- CommandLine.h - the words after 'heddle COMMAND' ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A command lists its options; what was given is read against that list, and
// what does not fit is an error that says what was expected.
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
  /// With its dashes: "--shapes", "-o".
  llvm::StringRef name;
  /// What its value is called, "FILE"; empty for a flag, "[FILE]" where the
  /// value may be left out.
  llvm::StringRef value;
  llvm::StringRef help;
};

struct CommandSpec {
  llvm::StringRef name;
  /// What stands before the options in the usage line, "PROGRAM"; empty if the
  /// command takes no word but options.
  llvm::StringRef operand;
  llvm::StringRef summary;
  llvm::ArrayRef<OptionSpec> options;
  /// Below the options in the help: examples, tables.
  std::string (*details)();
};

/// The words of a command line, by what they mean.
class Arguments {
public:
  static llvm::Expected<Arguments> parse(const CommandSpec &command,
                                         llvm::ArrayRef<llvm::StringRef> words);

  /// The word that is no option; empty if there is none.
  llvm::StringRef operand() const { return word; }
  bool has(llvm::StringRef option) const { return values.contains(option); }
  /// The value of an option; `otherwise` if it was not given.
  llvm::StringRef get(llvm::StringRef option,
                      llvm::StringRef otherwise = "") const;
  /// Every value of an option that may be repeated.
  llvm::ArrayRef<std::string> all(llvm::StringRef option) const;
  /// An integer of at least `least`.
  llvm::Expected<int64_t> integer(llvm::StringRef option, int64_t otherwise,
                                  int64_t least) const;

private:
  std::string word;
  llvm::StringMap<std::vector<std::string>> values;
};

void printHelp(const CommandSpec &command);

/// "; did you mean 'x'?" for the word of `words` that is nearest to `word`, or
/// an empty text.
std::string suggestion(llvm::StringRef word,
                       llvm::ArrayRef<llvm::StringRef> words);

/// An error of exit code 2.
llvm::Error usageError(const llvm::Twine &text);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_COMMANDLINE_H
