//===- ProgramChecks.cpp - checks around MLIR's parser --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An alias in the text stands for its definition, which may contain aliases. So
// thirty lines can stand for gigabytes of text. MLIR stores equal parts once,
// but prints each of them, also in its errors.
//
//===----------------------------------------------------------------------===//

#include "dialect/ProgramChecks.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"

#include <utility>

using namespace mlir;

namespace heddle {

static TextError errorAt(StringRef text, size_t offset, std::string message) {
  return {llvm::SMLoc::getFromPointer(text.data() + offset),
          std::move(message)};
}

size_t skipLiteral(StringRef text, size_t at) {
  if (text[at] == '"') {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      at += text[at] == '\\';
    return std::min(at + 1, text.size());
  }
  if (text.substr(at).starts_with("//"))
    return std::min(text.find('\n', at), text.size());
  return at;
}

namespace {
/// One scan over the text of a program, without recursion.
class TextScan {
public:
  explicit TextScan(StringRef text) : text(text) {}

  std::optional<TextError> run() {
    while (at < text.size()) {
      if (size_t after = skipLiteral(text, at); after != at) {
        if (text[at] == '"')
          add(after - at, /*levels=*/0);
        at = after;
      } else if (text[at] == '\n') {
        endLine();
        ++at;
      } else if (StringRef("#!").contains(text[at])) {
        scanName();
      } else if (StringRef("%^@").contains(text[at])) {
        scanReference();
      } else if (llvm::isDigit(text[at])) {
        scanNumber();
      } else if (llvm::isAlpha(text[at]) || text[at] == '_') {
        scanWord();
      } else {
        scanCharacter();
      }
      if (error)
        return error;
    }
    return std::nullopt;
  }

private:
  static bool isNameCharacter(char c) {
    return llvm::isAlnum(c) || StringRef("_$.-").contains(c);
  }

  /// A character of a name without a prefix, or of one after `@`.
  static bool isWordCharacter(char c) { return isNameCharacter(c) && c != '-'; }

  void fail(std::string message) { failAt(at, std::move(message)); }

  void failAt(size_t offset, std::string message) {
    if (!error)
      error = errorAt(text, offset, std::move(message));
  }

  /// Counts `characters`, in which brackets nest `levels` deeper than here.
  void add(uint64_t characters, unsigned levels) {
    size += characters;
    if (size > text.size() + kMaxExpandedText)
      fail(llvm::formatv("expected aliases that stand for at most {0} MiB of "
                         "text, found more",
                         kMaxExpandedText >> 20));
    deepest = std::max(deepest, depth + levels);
    if (depth + levels > kMaxNesting || signs > kMaxNesting)
      fail(llvm::formatv("expected at most {0} levels of nesting, found more",
                         kMaxNesting));
    if (characters)
      complete = true;
  }

  void scanCharacter() {
    char c = text[at];
    // MLIR allocates as a resource says: any size, at any alignment.
    if (text.substr(at).starts_with("{-#"))
      fail("expected no resources, found '{-#'");
    bool isArrow = c == '>' && at > 0 && text[at - 1] == '-';
    if (StringRef("([{<").contains(c))
      ++depth;
    else if (StringRef(")]}>").contains(c) && !isArrow && depth > 0)
      --depth;
    if (c == '-')
      ++signs;
    else if (!llvm::isSpace(c))
      signs = 0;
    if (!llvm::isSpace(c)) {
      add(1, 0);
      complete = !isArrow && !StringRef("=:,-").contains(c);
    }
    ++at;
  }

  void scanNumber() {
    StringRef digits = text.drop_front(at).take_while(llvm::isAlnum);
    if (digits.size() > kMaxDigits)
      fail(llvm::formatv("expected numbers of at most {0} digits, found {1}",
                         kMaxDigits, digits.size()));
    // Dimensions and a type can be one word, as in `tensor<4xi32>`.
    checkWord(digits);
    signs = 0;
    add(digits.size(), 0);
    at += digits.size();
  }

  void scanWord() {
    StringRef word = text.drop_front(at).take_while(isWordCharacter);
    checkWord(word);
    signs = 0;
    add(word.size(), 0);
    at += word.size();
    if (word == "array")
      checkArray();
  }

  /// Scans `%name`, `^name` or `@name`. A number or a string after the prefix
  /// is scanned as such.
  void scanReference() {
    bool isSymbol = text[at] == '@';
    scanCharacter();
    if (at == text.size() || llvm::isDigit(text[at]))
      return;
    StringRef name = text.drop_front(at).take_while(isSymbol ? isWordCharacter
                                                             : isNameCharacter);
    signs = 0;
    add(name.size(), 0);
    at += name.size();
  }

  /// Refuses affine maps and sets, and wide integer types. MLIR's parser
  /// recurses along an affine expression, and needs quadratic time for it. It
  /// stores each number in all bits of its type.
  void checkWord(StringRef word) {
    StringRef name =
        word.drop_while([](char c) { return llvm::isDigit(c) || c == 'x'; });
    size_t offset = name.data() - text.data();
    if (name == "affine_map" || name == "affine_set")
      failAt(offset,
             llvm::formatv("expected no affine maps or sets, found '{0}'", name)
                 .str());
    StringRef digits = name;
    if (!digits.consume_front("s"))
      digits.consume_front("u");
    if (!digits.consume_front("i") || digits.empty() ||
        !llvm::all_of(digits, llvm::isDigit))
      return;
    unsigned width;
    if (digits.getAsInteger(10, width) || width > kMaxIntegerBits)
      failAt(offset,
             llvm::formatv("expected integer types of at most {0} bits, found "
                           "'{1}'",
                           kMaxIntegerBits, name.take_front(16))
                 .str());
  }

  /// Refuses `array<index: 1>` and the like: MLIR's parser needs the width of
  /// the type, which only integers and floats have.
  void checkArray() {
    size_t next = skipBlank(at);
    if (next == text.size() || text[next] != '<')
      return;
    static const llvm::Regex number("^([su]?i|f|bf|tf)[0-9]");
    StringRef type = text.drop_front(skipBlank(next + 1));
    if (!number.match(type.take_front(8)))
      fail("expected an array of integers or floats, such as array<i32: 1>");
  }

  /// The position after spaces and comments at `from`.
  size_t skipBlank(size_t from) const {
    while (from < text.size())
      if (llvm::isSpace(text[from]))
        ++from;
      else if (text.substr(from).starts_with("//"))
        from = skipLiteral(text, from);
      else
        break;
    return from;
  }

  /// Scans `#name` or `!name`. Before `=`, it defines an alias; elsewhere, an
  /// alias stands for its definition.
  void scanName() {
    signs = 0;
    StringRef name = text.drop_front(at + 1);
    name = !name.empty() && llvm::isDigit(name[0])
               ? name.take_while(llvm::isDigit)
               : name.take_while(isNameCharacter);
    name = StringRef(name.data() - 1, name.size() + 1);
    StringRef rest = text.drop_front(at + name.size()).ltrim();
    bool defines = depth == 0 && rest.starts_with("=") && name.size() > 1;
    auto found = aliases.find(name);
    if (found != aliases.end() && !defines)
      add(found->second.size, found->second.depth);
    else
      add(name.size(), 0);
    at += name.size();
    if (defines) {
      endAlias();
      alias = name;
      outside = std::exchange(size, 0);
      deepest = 0;
      complete = false;
    }
  }

  /// Ends the definition of an alias, unless it continues in the next line.
  void endLine() {
    StringRef rest = text.drop_front(at).ltrim();
    bool goesOn = depth > 0 || !complete ||
                  (!rest.empty() && StringRef("-:<([{*+").contains(rest[0]));
    if (!goesOn)
      endAlias();
  }

  void endAlias() {
    if (alias.empty())
      return;
    aliases[alias] = {size, deepest};
    size = outside;
    alias = {};
  }

  struct Alias {
    uint64_t size;  ///< the number of characters after all replacements
    unsigned depth; ///< the levels of nesting
  };

  StringRef text, alias;
  llvm::StringMap<Alias> aliases;
  size_t at = 0;
  uint64_t size = 0, outside = 0;
  unsigned depth = 0, signs = 0, deepest = 0;
  /// Whether a definition may end here.
  bool complete = false;
  std::optional<TextError> error;
};
} // namespace

std::optional<TextError> checkText(StringRef text) {
  size_t offset = 0;
  if (!llvm::json::isUTF8(text, &offset))
    return errorAt(
        text, offset,
        llvm::formatv("expected UTF-8 text, found byte 0x{0}",
                      llvm::utohexstr(static_cast<uint8_t>(text[offset]))));
  if (text.starts_with("\xef\xbb\xbf"))
    return errorAt(text, 0, "expected text without a byte order mark");
  return TextScan(text).run();
}

static LogicalResult checkName(Operation *op, StringRef name) {
  if (llvm::json::isUTF8(name))
    return success();
  std::string printable;
  llvm::raw_string_ostream(printable).write_escaped(name);
  return op->emitError("expected names in UTF-8, found \"") << printable << '"';
}

LogicalResult checkNames(Operation *top) {
  SmallVector<std::pair<Operation *, unsigned>> open = {{top, 0}};
  while (!open.empty()) {
    auto [op, depth] = open.pop_back_val();
    if (depth > kMaxNesting)
      return op->emitError("expected at most ")
             << kMaxNesting << " levels of nesting, found more";
    auto symbol =
        op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    if (symbol && failed(checkName(op, symbol.getValue())))
      return failure();
    for (Value result : op->getResults())
      if (failed(checkName(op, nameOf(result))))
        return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        for (BlockArgument argument : block.getArguments())
          if (failed(checkName(op, nameOf(argument))))
            return failure();
        for (Operation &inner : block)
          open.emplace_back(&inner, depth + 1);
      }
  }
  return success();
}

/// MLIR's verifier finds the same errors, but prints the last operation in its
/// generic form.
static LogicalResult checkReturn(func::FuncOp function) {
  // The verifier, which has not run, finds a function without these.
  auto name =
      function->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
  if (!name || function->getNumRegions() != 1)
    return success();
  for (Block &block : function.getBody()) {
    if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
      continue;
    InFlightDiagnostic error = function.emitError("function '")
                               << name.getValue()
                               << "': expected 'return' as the last operation, "
                                  "found ";
    if (block.empty())
      return error << "none";
    return error << "'" << block.back().getName() << "'";
  }
  return success();
}

LogicalResult checkReturns(Operation *top) {
  // checkNames has checked the nesting, which bounds this recursion.
  WalkResult result = top->walk(
      [](func::FuncOp function) { return WalkResult(checkReturn(function)); });
  return failure(result.wasInterrupted());
}

} // namespace heddle
