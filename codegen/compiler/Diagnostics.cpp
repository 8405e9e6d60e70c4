//===- Diagnostics.cpp - the errors of a compilation as text --------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/compiler/Diagnostics.h"
#include "codegen/compiler/SyntaxMessages.h"
#include "mlir/IR/Location.h"
#include "runtime/support/Text.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using heddle::runtime::shortened;

namespace heddle {

//===----------------------------------------------------------------------===//
// Places in the program
//===----------------------------------------------------------------------===//

static bool startsCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

/// The number of characters of UTF-8 text.
static size_t characters(StringRef text) {
  return llvm::count_if(text, startsCharacter);
}

/// `text` as one line of printable characters.
static std::string printable(StringRef text) {
  std::string result = text.str();
  for (char &c : result)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = c == '\t' ? ' ' : '?';
  return result;
}

/// A line, or its part around byte `column`, and a mark below that byte.
static std::string showPlace(StringRef line, size_t column) {
  constexpr size_t width = 120;
  size_t begin = 0, end = line.size();
  if (line.size() > width) {
    begin = column > width / 2 ? column - width / 2 : 0;
    begin = std::min(begin, line.size() - width);
    end = begin + width;
    while (begin > 0 && !startsCharacter(line[begin]))
      --begin;
    while (end < line.size() && !startsCharacter(line[end]))
      ++end;
  }
  std::string left = begin > 0 ? "… " : "",
              right = end < line.size() ? " …" : "";
  size_t marked = characters(left) + characters(line.slice(begin, column));
  return left + printable(line.slice(begin, end)) + right + '\n' +
         std::string(marked, ' ') + "^\n";
}

namespace {
/// The text around a place.
struct Place {
  StringRef line;
  size_t number; ///< of the line, from 1
  size_t column; ///< the byte in the line, from 0
  StringRef before, after;
};
} // namespace

/// The place of `message`, which MLIR reports at `location`.
static std::optional<Place> findPlace(const llvm::SourceMgr &sources,
                                      FileLineColLoc location,
                                      StringRef message) {
  if (sources.getNumBuffers() == 0)
    return std::nullopt;
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  if (buffer->getBufferIdentifier() != location.getFilename().getValue())
    return std::nullopt;
  llvm::SMLoc start =
      const_cast<llvm::SourceMgr &>(sources).FindLocForLineAndColumn(
          sources.getMainFileID(), location.getLine(), 1);
  if (!start.isValid())
    return std::nullopt;
  StringRef text = buffer->getBuffer();
  size_t offset = start.getPointer() - text.data();
  StringRef line = text.drop_front(offset).split('\n').first;
  line.consume_back("\r");
  offset +=
      std::min<size_t>(line.size(), std::max(1u, location.getColumn()) - 1);
  offset = placeOfMessage(message, text, offset);
  StringRef before = text.take_front(offset), after = text.drop_front(offset);
  size_t column = before.size() - (before.rfind('\n') + 1);
  line = text.drop_front(offset - column).split('\n').first;
  line.consume_back("\r");
  return Place{line, before.count('\n') + 1, column, before, after};
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

Diagnostics::Diagnostics(MLIRContext *context, const llvm::SourceMgr &sources)
    : sources(sources), context(context),
      handler(context, [this](Diagnostic &diagnostic) {
        bool isError = diagnostic.getSeverity() == DiagnosticSeverity::Error;
        add(diagnostic.getLocation(), isError ? "error" : "warning",
            diagnostic.str(), /*showLine=*/true);
        Location shown = diagnostic.getLocation();
        for (Diagnostic &note : diagnostic.getNotes()) {
          add(note.getLocation(), "note", note.str(),
              /*showLine=*/note.getLocation() != shown);
          shown = note.getLocation();
        }
      }) {}

void Diagnostics::add(Location location, StringRef severity, StringRef message,
                      bool showLine) {
  // The text of a failed compilation is bounded, also if each of its operations
  // has an error.
  if (StringRef(collected).count('\n') >= runtime::kMaxMessageLines)
    return;
  auto found = location->findInstanceOf<FileLineColLoc>();
  std::optional<Place> place;
  if (found)
    place = findPlace(sources, found, message);
  std::string text = translateMessage(runtime::shortMessage(message),
                                      place ? place->before : "",
                                      place ? place->after : "", context);
  if (text.empty())
    return;
  // MLIR reports an error in a parameter twice; the second message says more.
  if (LocationAttr(location) == last && severity == "error" &&
      message.contains("failed to parse "))
    collected.resize(lastBegin);
  last = location;
  lastBegin = collected.size();
  StringRef file = found ? found.getFilename().getValue() : "";
  if (found && !programName.empty() && file == programName) {
    collected += "program '" + printable(shortened(file)) + "', column " +
                 std::to_string(found.getColumn()) + ": " + text + '\n';
    return;
  }
  if (found)
    collected += printable(shortened(file)) + ":" +
                 std::to_string(place ? place->number : found.getLine()) + ":" +
                 std::to_string(place ? place->column + 1 : found.getColumn()) +
                 ": ";
  collected += severity.str() + ": " + text + '\n';
  if (place && showLine)
    collected += showPlace(place->line, place->column);
}

} // namespace heddle
