//===- CommandLine.cpp - the words after 'heddle COMMAND' -----------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options can appear anywhere, as `--name value` or `--name=value`.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"

#include "runtime/support/Status.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::cli {

Error usageError(const Twine &text) {
  return make_error<StatusError>(StatusCode::BadInput, text.str());
}

std::string suggestion(StringRef word, ArrayRef<StringRef> words) {
  StringRef nearest;
  // Swapped letters are two edits. Among equal distances, prefer the same
  // length.
  auto distance = [&](StringRef candidate) {
    size_t longer = std::max(word.size(), candidate.size());
    size_t shorter = std::min(word.size(), candidate.size());
    return std::pair<size_t, size_t>(word.edit_distance(candidate),
                                     longer - shorter);
  };
  size_t allowed = std::max<size_t>(2, word.size() / 3);
  for (StringRef candidate : words)
    if (distance(candidate).first <= allowed &&
        (nearest.empty() || distance(candidate) < distance(nearest)))
      nearest = candidate;
  return nearest.empty() ? "" : ("; did you mean '" + nearest + "'?").str();
}

static std::string helpHint(const CommandSpec &command) {
  return ("\nTry 'heddle " + command.name + " --help'.").str();
}

/// Whether `word`, after an option with an optional value, is that value and
/// not the operand. Only names that end in .json are.
static bool isOptionalValue(StringRef word) {
  return !word.starts_with("-") && word.ends_with(".json");
}

Expected<Arguments> Arguments::parse(const CommandSpec &command,
                                     ArrayRef<StringRef> words) {
  Arguments result;
  std::string name = ("'heddle " + command.name + "'").str();
  auto error = [&](const Twine &text) {
    return usageError(text + helpHint(command));
  };
  bool hasOperand = false, optionsEnd = false;
  for (size_t k = 0; k < words.size(); ++k) {
    StringRef word = words[k];
    if (optionsEnd || !word.starts_with("-") || word == "-") {
      if (command.operand.empty())
        return error(name + " takes options only, found '" + word + "'");
      bool isSecond = hasOperand && !command.second.empty();
      if (hasOperand && (!isSecond || !result.secondWord.empty()))
        return error(name + " takes one " +
                     (isSecond ? command.second : command.operand) +
                     ", found '" +
                     (isSecond ? result.secondWord : result.word) + "' and '" +
                     word + "'");
      if (word.empty())
        return error(name + " expects " +
                     (isSecond ? command.second : command.operand) +
                     ", found an empty word");
      (isSecond ? result.secondWord : result.word) = word.str();
      hasOperand = true;
      continue;
    }
    if (word == "--") {
      optionsEnd = true;
      continue;
    }
    auto [key, value] = word.split('=');
    bool attached = key.size() != word.size();
    const OptionSpec *option = nullptr;
    SmallVector<StringRef> known;
    for (const OptionSpec &candidate : command.options) {
      known.push_back(candidate.name);
      if (candidate.name == key)
        option = &candidate;
    }
    if (!option)
      return error("unknown option '" + key + "' of " + name +
                   suggestion(key, known) + "\nOptions: " + join(known, ", ") +
                   ".");
    bool optional = option->value.starts_with("[");
    if (option->value.empty()) {
      if (attached)
        return error("option '" + key + "' takes no value, found '" + value +
                     "'");
    } else if (!attached) {
      bool next = k + 1 < words.size();
      if (optional ? next && isOptionalValue(words[k + 1])
                   : next && (!words[k + 1].starts_with("--") ||
                              words[k + 1] == "-"))
        value = words[++k];
      else if (!optional)
        return error("option '" + key + "' expects " + option->value +
                     ", found no value");
    } else if (value.empty()) {
      return error("option '" + key + "' expects " + option->value +
                   ", found no value after '='");
    }
    if (value.empty() && !option->value.empty() && !optional)
      return error("option '" + key + "' expects " + option->value +
                   ", found an empty word");
    std::vector<std::string> &given = result.values[key];
    if (!given.empty() && !option->repeatable)
      return error(
          "option '" + key + "' is given twice" +
          (option->value.empty() || given.front() == value
               ? Twine("")
               : ", found '" + Twine(given.front()) + "' and '" + value + "'"));
    given.push_back(value.str());
  }
  if (!command.operand.empty() && !hasOperand)
    return error(name + " expects " + command.operand + ", found none");
  return result;
}

StringRef Arguments::get(StringRef option, StringRef otherwise) const {
  auto found = values.find(option);
  return found == values.end() ? otherwise : StringRef(found->second.front());
}

ArrayRef<std::string> Arguments::all(StringRef option) const {
  auto found = values.find(option);
  return found == values.end() ? ArrayRef<std::string>()
                               : ArrayRef<std::string>(found->second);
}

Expected<int64_t> Arguments::integer(StringRef option, int64_t otherwise,
                                     int64_t least) const {
  if (!has(option))
    return otherwise;
  int64_t number = 0;
  StringRef text = get(option);
  if (!text.getAsInteger(10, number) && number >= least)
    return number;
  return usageError("option '" + option + "' expects an integer from " +
                    Twine(least) + " to 2^63 - 1, found '" + text + "'");
}

void printHelp(const CommandSpec &command) {
  raw_ostream &os = outs();
  os << "usage: heddle " << command.name << (command.operand.empty() ? "" : " ")
     << command.operand << (command.second.empty() ? "" : " ")
     << (command.second.empty() ? "" : ("[" + command.second + "]").str())
     << " [OPTIONS]\n\n"
     << command.summary << "\n\noptions:\n";
  auto spelled = [](const OptionSpec &option) {
    std::string text = option.name.str();
    if (option.value.starts_with("["))
      text += "[=" + option.value.drop_front().str();
    else if (!option.value.empty())
      text += " " + option.value.str();
    return text;
  };
  size_t width = 0;
  for (const OptionSpec &option : command.options)
    width = std::max(width, spelled(option).size());
  for (const OptionSpec &option : command.options) {
    std::string text = spelled(option);
    os << "  " << text << std::string(width + 2 - text.size(), ' ');
    // Further lines of a help text align with its first.
    SmallVector<StringRef> lines;
    option.help.split(lines, '\n');
    interleave(
        lines, [&](StringRef line) { os << line; },
        [&] { os << '\n'
                 << std::string(width + 4, ' '); });
    os << '\n';
  }
  if (command.details)
    os << '\n' << command.details();
}

} // namespace heddle::cli
