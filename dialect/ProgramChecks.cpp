//===- ProgramChecks.cpp - checks around MLIR's parser --------------------===//
//
// One scan of the text, without recursion.
//
//===----------------------------------------------------------------------===//

#include "dialect/ProgramChecks.h"
#include "dialect/Names.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;

namespace heddle {

static TextError errorAt(StringRef text, size_t offset, std::string message) {
  return {llvm::SMLoc::getFromPointer(text.data() + offset),
          std::move(message)};
}

/// The position after the string literal or comment that starts at `at`, or
/// `at` if none does.
static size_t skipLiteral(StringRef text, size_t at) {
  if (text[at] == '"') {
    for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
      at += text[at] == '\\';
    return std::min(at + 1, text.size());
  }
  if (text.substr(at).starts_with("//"))
    return std::min(text.find('\n', at), text.size());
  return at;
}

std::optional<TextError> checkText(StringRef text) {
  size_t offset = 0;
  if (!llvm::json::isUTF8(text, &offset))
    return errorAt(
        text, offset,
        llvm::formatv("expected UTF-8 text, found byte 0x{0}",
                      llvm::utohexstr(static_cast<uint8_t>(text[offset]))));
  unsigned depth = 0, signs = 0;
  for (size_t at = 0; at < text.size();) {
    if (size_t after = skipLiteral(text, at); after != at) {
      at = after;
      continue;
    }
    char c = text[at];
    bool isArrow = c == '>' && at > 0 && text[at - 1] == '-';
    if (StringRef("([{<").contains(c))
      ++depth;
    else if (StringRef(")]}>").contains(c) && !isArrow && depth > 0)
      --depth;
    if (c == '-')
      ++signs;
    else if (!llvm::isSpace(c))
      signs = 0;
    if (depth > kMaxNesting || signs > kMaxNesting)
      return errorAt(text, at,
                     llvm::formatv("expected at most {0} levels of nesting, "
                                   "found more",
                                   kMaxNesting));
    ++at;
  }
  return std::nullopt;
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
    auto symbol = op->getAttrOfType<StringAttr>(
        SymbolTable::getSymbolAttrName());
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

} // namespace heddle
