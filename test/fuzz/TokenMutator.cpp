//===- TokenMutator.cpp - Mutations of structured text --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenMutator.h"

#include "Fuzzer.h"

#include <algorithm>
#include <cctype>

namespace heddle::fuzz {

namespace {

enum class Kind { Space, Name, Number, String, Punctuation };

struct Token {
  Kind kind;
  std::string text;
  /// The first character, if it determines the kind of a name: % ! @ # ^.
  char sigil = 0;
};

bool isNameByte(unsigned char c) {
  return std::isalnum(c) || c == '_' || c == '.' || c == '$' || c >= 0x80;
}

/// The end of the token that starts at `at`.
size_t endOf(std::string_view text, size_t at, Kind &kind) {
  unsigned char first = text[at];
  size_t end = at + 1;
  auto skip = [&](auto belongs) {
    while (end < text.size() && belongs(static_cast<unsigned char>(text[end])))
      ++end;
  };
  if (std::isspace(first)) {
    kind = Kind::Space;
    skip([](unsigned char c) { return std::isspace(c) != 0; });
  } else if (first == '"') {
    kind = Kind::String;
    while (end < text.size() && text[end] != '"')
      end += text[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, text.size());
  } else if (std::isdigit(first)) {
    kind = Kind::Number;
    skip(isNameByte);
  } else if (isNameByte(first) ||
             std::string_view("%!@#^").find(first) != std::string_view::npos) {
    kind = Kind::Name;
    skip(isNameByte);
  } else {
    kind = Kind::Punctuation;
  }
  return end;
}

std::vector<Token> split(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    Kind kind;
    size_t end = endOf(text, at, kind);
    char sigil = kind == Kind::Name && !isNameByte(text[at]) ? text[at] : 0;
    tokens.push_back({kind, std::string(text.substr(at, end - at)), sigil});
    at = end;
  }
  return tokens;
}

class Mutation {
public:
  Mutation(std::vector<Token> tokens,
           const std::vector<std::string_view> &words, std::mt19937 &random)
      : tokens(std::move(tokens)), words(words), random(random) {}

  void apply() {
    if (tokens.empty())
      return insertWord();
    switch (pick(12)) {
    case 0:
    case 1:
    case 2:
      return replaceByLikeToken();
    case 3:
    case 4:
      return replaceByWord();
    case 5:
      return changeNumber();
    case 6:
      return removeGroup();
    case 7:
      return duplicateGroup();
    case 8:
      return replaceGroup();
    case 9:
      return changeLines();
    case 10:
      return insertWord();
    default:
      return changeToken();
    }
  }

  std::string text() const {
    std::string joined;
    for (const Token &token : tokens)
      joined += token.text;
    return joined;
  }

private:
  size_t pick(size_t count) {
    return count ? std::uniform_int_distribution<size_t>(0, count - 1)(random)
                 : 0;
  }

  /// A random token that is no space, or the number of tokens.
  size_t pickToken() {
    for (int tries = 0; tries < 20; ++tries)
      if (size_t at = pick(tokens.size()); tokens[at].kind != Kind::Space)
        return at;
    return tokens.size();
  }

  /// Exchanges one operand, type, number or string for another of the text.
  void replaceByLikeToken() {
    size_t at = pickToken();
    if (at == tokens.size())
      return;
    for (int tries = 0; tries < 50; ++tries) {
      const Token &other = tokens[pick(tokens.size())];
      if (other.kind == tokens[at].kind && other.sigil == tokens[at].sigil &&
          other.text != tokens[at].text) {
        tokens[at] = Token(other);
        return;
      }
    }
  }

  std::string_view pickWord() {
    return words.empty() ? std::string_view("0") : words[pick(words.size())];
  }

  void replaceByWord() {
    for (int tries = 0; tries < 20; ++tries)
      if (size_t at = pickToken(); at < tokens.size() &&
                                   tokens[at].kind != Kind::Punctuation &&
                                   tokens[at].sigil != '%') {
        tokens[at].text = pickWord();
        return;
      }
  }

  void insertWord() {
    tokens.insert(tokens.begin() + pick(tokens.size() + 1),
                  {Kind::Name, " " + std::string(pickWord()) + " "});
  }

  void changeNumber() {
    static constexpr std::string_view numbers[] = {"0",
                                                   "1",
                                                   "-1",
                                                   "2",
                                                   "3",
                                                   "7",
                                                   "16",
                                                   "255",
                                                   "1024",
                                                   "65536",
                                                   "2147483647",
                                                   "2147483648",
                                                   "-2147483648",
                                                   "4294967296",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "18446744073709551616",
                                                   "0.0",
                                                   "1.0e308",
                                                   "1.0e-320",
                                                   "0x7FC00000",
                                                   "1e999",
                                                   "0.5"};
    for (int tries = 0; tries < 50; ++tries)
      if (size_t at = pick(tokens.size()); tokens[at].kind == Kind::Number) {
        tokens[at].text = numbers[pick(std::size(numbers))];
        return;
      }
  }

  /// A bracketed group as a range of tokens; empty if none was found.
  std::pair<size_t, size_t> pickGroup() {
    for (int tries = 0; tries < 50; ++tries) {
      size_t begin = pick(tokens.size());
      if (begin == tokens.size() || tokens[begin].text.size() != 1)
        continue;
      char open = tokens[begin].text[0];
      char close = open == '('   ? ')'
                   : open == '[' ? ']'
                   : open == '{' ? '}'
                   : open == '<' ? '>'
                                 : 0;
      if (!close)
        continue;
      int depth = 0;
      for (size_t end = begin; end < tokens.size(); ++end) {
        depth += tokens[end].text[0] == open;
        depth -= tokens[end].text[0] == close;
        if (depth == 0)
          return {begin, end + 1};
      }
    }
    return {0, 0};
  }

  void removeGroup() {
    auto [begin, end] = pickGroup();
    bool keepBrackets = end - begin > 2 && pick(2);
    tokens.erase(tokens.begin() + begin + keepBrackets,
                 tokens.begin() + end - keepBrackets);
  }

  std::vector<Token> copyOf(std::pair<size_t, size_t> range) {
    return {tokens.begin() + range.first, tokens.begin() + range.second};
  }

  void duplicateGroup() {
    std::vector<Token> group = copyOf(pickGroup());
    if (group.size() < 1000)
      tokens.insert(tokens.begin() + pick(tokens.size() + 1), group.begin(),
                    group.end());
  }

  void replaceGroup() {
    std::vector<Token> group = copyOf(pickGroup());
    auto [begin, end] = pickGroup();
    if (end == begin || group.empty() || group.size() > 1000 ||
        group.front().text != tokens[begin].text)
      return;
    tokens.erase(tokens.begin() + begin, tokens.begin() + end);
    tokens.insert(tokens.begin() + begin, group.begin(), group.end());
  }

  /// The line that contains token `at`.
  std::pair<size_t, size_t> lineOf(size_t at) {
    auto endsLine = [](const Token &token) {
      return token.kind == Kind::Space &&
             token.text.find('\n') != std::string::npos;
    };
    size_t begin = at, end = at;
    while (begin > 0 && !endsLine(tokens[begin - 1]))
      --begin;
    while (end < tokens.size() && !endsLine(tokens[end]))
      ++end;
    return {begin, std::min(end + 1, tokens.size())};
  }

  /// Removes a line, or copies it to the start of another line.
  void changeLines() {
    std::pair<size_t, size_t> line = lineOf(pick(tokens.size()));
    std::vector<Token> copy = copyOf(line);
    if (pick(3) != 0)
      tokens.erase(tokens.begin() + line.first, tokens.begin() + line.second);
    if (pick(2) && !tokens.empty()) {
      size_t target = lineOf(pick(tokens.size())).first;
      tokens.insert(tokens.begin() + target, copy.begin(), copy.end());
    }
  }

  /// Removes, repeats or splits one token.
  void changeToken() {
    size_t at = pickToken();
    if (at == tokens.size())
      return;
    switch (pick(4)) {
    case 0:
      tokens.erase(tokens.begin() + at);
      return;
    case 1:
      tokens.insert(tokens.begin() + at, Token(tokens[at]));
      return;
    case 2:
      tokens[at].text.resize(tokens[at].text.size() / 2);
      return;
    default:
      tokens[at].text.insert(pick(tokens[at].text.size() + 1), 1,
                             static_cast<char>(pick(256)));
    }
  }

  std::vector<Token> tokens;
  const std::vector<std::string_view> &words;
  std::mt19937 &random;
};

} // namespace

std::string mutateTokens(std::string_view text,
                         const std::vector<std::string_view> &words,
                         std::mt19937 &random) {
  Mutation mutation(split(text), words, random);
  for (unsigned count = 1 + random() % 4; count > 0; --count)
    mutation.apply();
  return mutation.text();
}

std::vector<std::string_view> splitWords(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    Kind kind;
    size_t end = endOf(text, at, kind);
    while (kind != Kind::Space && end < text.size() &&
           !std::isspace(static_cast<unsigned char>(text[end])))
      ++end;
    if (kind != Kind::Space)
      words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

size_t storeText(std::string_view text, uint8_t *data, size_t size,
                 size_t maxSize) {
  if (text.empty() || text.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

size_t mutateText(uint8_t *data, size_t size, size_t maxSize, unsigned seed,
                  const std::vector<std::string_view> &words) {
  std::mt19937 random(seed);
  if (random() % 16 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  return storeText(mutateTokens(textOf(data, size), words, random), data, size,
                   maxSize);
}

} // namespace heddle::fuzz
