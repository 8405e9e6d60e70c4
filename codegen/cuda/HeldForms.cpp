//===- HeldForms.cpp - the forms of rows in each entry --------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses, in each entry, the form for the rows of a tile: how many columns a
// thread holds, of how many it is sure, and whether a warp has a row.
// HeldRows.cpp prints the forms themselves.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/SweepEmitter.h"
#include "codegen/layout/RowsForm.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace heddle::cuda {

/// The fewest columns of any part of a row of at least `fewest` columns, whose
/// 2 to `mostParts` parts have at most `ofPart` columns. All parts but the last
/// have ceil(columns / parts), rounded up to a multiple of kPartMultiple, so
/// the last has at least columns / parts - (parts - 1) kPartMultiple.
static int64_t fewestOfPart(int64_t fewest, int64_t ofPart, int64_t mostParts) {
  int64_t least = ofPart;
  for (int64_t parts = 2; parts <= mostParts; ++parts) {
    int64_t columns = std::max(fewest, (parts - 1) * ofPart + 1);
    if (columns <= parts * ofPart)
      least = std::min(least,
                       columns / parts - (parts - 1) * runtime::kPartMultiple);
  }
  return std::max<int64_t>(least, 0);
}

/// The columns that each thread has at least in any part of a row whose blocks
/// are a cluster. Fewer than half of the columns that a thread holds, which the
/// forms of whole rows have.
static int64_t sureItemsOfPart(int64_t wholeColumns, int64_t threads,
                               bool adjacent) {
  int64_t ofPart = runtime::partColumns(wholeColumns);
  int64_t sure = std::min(
      fewestOfPart(wholeColumns + 1, ofPart, runtime::kMostClusterParts) /
          threads,
      ofPart / threads / 2 - 1);
  return adjacent ? sure / kAdjacentInRow * kAdjacentInRow : sure;
}

/// The same for long parts.
static int64_t sureItemsOfLongPart(int64_t wholeColumns, int64_t threads) {
  int64_t ofPart = runtime::longPartColumns(wholeColumns),
          mostParts = (runtime::kHeldPartsColumns - 1) / ofPart + 1;
  return fewestOfPart(runtime::mostShortColumns(wholeColumns) + 1, ofPart,
                      mostParts) /
         threads;
}

/// Whether `condition` is a disjunction.
static bool isDisjunction(StringRef condition) {
  int open = 0;
  for (size_t at = 0; at < condition.size(); ++at) {
    open += (condition[at] == '(') - (condition[at] == ')');
    if (open == 0 && condition.substr(at).starts_with("||"))
      return true;
  }
  return false;
}

/// Prints a branch of the process function that calls a function of the segment
/// if `condition` holds, and no branch before was taken. There is one more
/// branch for adjacent columns, if the rows may have them and the function has
/// a form for them.
void SegmentEmitter::emitBranches(
    StringRef condition, StringRef part,
    ArrayRef<std::pair<StringRef, StringRef>> constants, bool mayBeAdjacent) {
  auto branch = [&](const Twine &when, StringRef adjacent) {
    SmallVector<std::pair<StringRef, StringRef>> all(constants);
    all.push_back({"Adjacent", adjacent});
    std::string text = when.str();
    os << "else" << (text.empty() ? "" : " if (" + text + ")") << "\n  "
       << callOf(part, all) << ";\n";
  };
  if (mayBeAdjacent && names.functions->takes(functionName(part), "Adjacent")) {
    if (condition.empty())
      branch("adjacent", "true");
    else if (isDisjunction(condition))
      branch("adjacent && (" + condition + ")", "true");
    else
      branch("adjacent && " + condition, "true");
  }
  branch(condition, "false");
}

/// The same for a tile of whole rows that threads hold, in the same forms in
/// every entry.
void SegmentEmitter::emitHeldBranches(const Twine &condition, int64_t items,
                                      int64_t sure, int64_t lanes) {
  std::string number[] = {std::to_string(items), std::to_string(sure),
                          std::to_string(lanes)};
  emitBranches(condition.str(), "held",
               {{"Clusters", "false"},
                {"Items", number[0]},
                {"Sure", number[1]},
                {"Lanes", number[2]}});
}

/// The call for a tile of narrow rows, which have one order in all forms. A
/// thread accesses kAdjacentInRow columns, or two doubles, as a vector.
std::string SegmentEmitter::callOfNarrow(int64_t items, int64_t sure) const {
  bool isVector =
      items == kAdjacentInRow || (items == 2 && accessesDoubles(slots));
  std::string number[] = {std::to_string(items), std::to_string(sure)};
  return callOf("held", {{"Clusters", "false"},
                         {"Items", number[0]},
                         {"Sure", number[1]},
                         {"Lanes", "0"},
                         {"Adjacent", isVector ? "true" : "false"}}) +
         ";\n";
}

/// Prints the branches for tiles of narrow rows. One thread has a row, so it
/// computes no element that is not there, except of rows of two columns or
/// none.
void SegmentEmitter::emitNarrowForms() {
  static_assert(kNarrowItems == 4 && kAdjacentInRow == 4);
  os << "if (tile.columns == 1)\n  " << callOfNarrow(1, 1)
     << "else if (tile.columns == 3)\n  " << callOfNarrow(3, 3)
     << "else if (tile.columns == 4)\n  " << callOfNarrow(4, 4)
     << "else if (tile.columns <= 2)\n  " << callOfNarrow(2, 0);
}

/// Prints the forms of the entry for pairs of rows, and of those in which a
/// warp has each row. They have no other forms of rows that are not narrow.
void SegmentEmitter::emitWarpForms() {
  constexpr int64_t lanes = 32;
  // Whether the entry is one of those for rows of at least so many columns.
  auto isEntryFrom = [&](int64_t columns) {
    SmallVector<std::string> entries;
    for (int64_t entry : layout.warpEntries)
      if (entry >= columns)
        entries.push_back("Held == " + std::to_string(entry));
    std::string any = llvm::join(entries, " || ");
    return entries.size() > 1 ? "(" + any + ")" : any;
  };
  if (layout.warpEntries.empty())
    return;
  if (hasPairedEntry(sweep, layout))
    emitHeldBranches("Held == " + Twine(kPairedColumns), kHeldItems,
                     kHeldItems / 2, kPairedLanes);
  emitHeldBranches(isEntryFrom(kWarpColumns) +
                       " && tile.columns <= " + Twine(kWarpColumns),
                   kHeldItems, kHeldItems / 2, lanes);
  for (int64_t columns : layout.warpEntries) {
    std::string wider = isEntryFrom(columns + 1),
                number = std::to_string(columns), which = "Held == " + number;
    if (!wider.empty())
      which += " || (" + wider + " && tile.columns <= " + number + ")";
    emitHeldBranches(which, columns / lanes, columns / lanes / 2, lanes);
  }
}

/// Prints the call of a walk, in the form that the alignment of the tile
/// allows.
void SegmentEmitter::emitWalkCall() {
  if (whenAdjacent.empty())
    os << callOf("walk") << ";\n";
  else
    os << "if (" << whenAdjacent << ")\n  "
       << callOf("walk", {{"Adjacent", "true"}}) << ";\n"
       << "else\n  " << callOf("walk", {{"Adjacent", "false"}}) << ";\n";
}

/// The same, if the entry for vectors has another traversal.
void SegmentEmitter::emitVectorCall() {
  os << "if constexpr (Vectors) {\n";
  os.indent();
  os << "if (" << whenVectors << ")\n  "
     << callOf("mapped", {{"Adjacent", "true"}}) << ";\nelse\n  "
     << callOf("mapped", {{"Adjacent", "false"}}) << ";\n";
  os.unindent() << "} else {\n";
  os.indent();
  emitWalkCall();
  os.unindent() << "}\n";
}

/// Prints the processing of a tile of rows that are wider than those before.
void SegmentEmitter::emitWideTile() {
  if (!whenAdjacent.empty()) {
    os << "else ";
    emitWalkCall();
    return;
  }
  if (across.empty())
    return emitBranches("", "walk", {{"Clusters", "false"}});
  auto walk = [&](StringRef condition, const DownBatch &batch) {
    std::string columns = std::to_string(batch.columns),
                rows = std::to_string(batch.rows);
    emitBranches(condition, "walk", {{"Items", columns}, {"Rows", rows}});
  };
  walk("tile.count > " + std::to_string(kFewRows), across.front());
  walk("", across.back());
}

/// Prints the processing of a tile of held rows, if blocks share tiles of wider
/// ones. Then one of them processes it.
void SegmentEmitter::emitHeldOfShared() {
  os << "if (tile.columns <= " << slots.held.columns << ") {\n";
  os.indent();
  os << "if (" << blockOfTile() << " > 0)\n  return;\n"
     << "if (tile.columns == 1)\n  " << callOfNarrow(1, 1);
  emitHeldBranches("", kHeldItems, 0);
  if (slots.endsMembers)
    os << "if (heddle::arrives_last(&params.table.tickets[tile.member], "
          "tile.tiles))\n  "
       << callOf("end") << ";\n";
  os << "return;\n";
  os.unindent() << "}\n";
}

/// Prints the form of an entry in which all rows have parts: blocks hold a part
/// each, or reduce several. If the blocks of a row are a cluster, every part
/// has many columns.
void SegmentEmitter::emitFormOfPartsAlone(StringRef condition, bool clusters,
                                          bool adjacentParts) {
  int64_t ofThread = runtime::partColumns(layout.wholeColumns) / layout.threads;
  int64_t sureItems = clusters ? sureItemsOfPart(layout.wholeColumns,
                                                 layout.threads, adjacentParts)
                               : 0;
  std::string items = std::to_string(ofThread),
              sure = std::to_string(sureItems);
  auto call = [&](StringRef adjacent) {
    if (layout.severalParts)
      return callOf("walk", {{"Adjacent", adjacent}}) + ";\n";
    SmallVector<std::pair<StringRef, StringRef>> constants = {
        {"Items", items},
        {"Sure", sure},
        {"Lanes", "0"},
        {"Adjacent", adjacent}};
    if (!clusters)
      constants.push_back({"Clusters", "false"});
    return callOf("held", constants) + ";\n";
  };
  os << "if constexpr (" << condition << ") {\n";
  os.indent();
  if (adjacentParts)
    os << "if (adjacent)\n  " << call("true") << "else\n  ";
  os << call("false");
  os.unindent() << "} else ";
}

/// Prints the forms of rows that have several parts.
void SegmentEmitter::emitPartForms(bool adjacentParts) {
  auto holdsParts = [&](int64_t items) {
    return "heddle::holds_parts(params.table, tile.columns, " +
           std::to_string(layout.wholeColumns) + ", " + std::to_string(items) +
           (layout.longParts ? ", true)" : ")");
  };
  auto form = [&](const Twine &condition, int64_t items, int64_t sure,
                  bool mayBeAdjacent) {
    std::string number[] = {std::to_string(items), std::to_string(sure)};
    emitBranches((condition + holdsParts(items)).str(), "held",
                 {{"Clusters", "false"},
                  {"Items", number[0]},
                  {"Sure", number[1]},
                  {"Lanes", "0"}},
                 mayBeAdjacent);
  };
  // The entry for long parts traverses rows that have others.
  int64_t longColumns = runtime::longPartColumns(layout.wholeColumns);
  if (layout.longParts)
    form("Held == " + Twine(longColumns) + " && tile.columns > " +
             Twine(runtime::mostShortColumns(layout.wholeColumns)) + " && ",
         longColumns / layout.threads,
         sureItemsOfLongPart(layout.wholeColumns, layout.threads),
         /*mayBeAdjacent=*/false);
  std::string notLong = "Held != " + std::to_string(longColumns) + " && ";
  if (layout.heldParts && !layout.severalParts)
    form(layout.longParts ? notLong : "",
         runtime::partColumns(layout.wholeColumns) / layout.threads, 0,
         adjacentParts);
}

/// Prints the processing of a tile whose rows are held, or are not. An entry
/// for held rows, which have at most `Held` columns, has no form of wider rows.
void SegmentEmitter::emitHeldTile() {
  auto upTo = [](int64_t columns) {
    return "tile.columns <= " + std::to_string(columns);
  };
  if (slots.columns)
    return emitHeldOfShared();
  int64_t mostAdjacent = mostAdjacentColumns(sweep, layout, segment);
  bool adjacentParts = mostAdjacent > layout.wholeColumns;
  if (names.functions->takes(functionName("held"), "Adjacent") ||
      names.functions->takes(functionName("walk"), "Adjacent"))
    os << "const bool adjacent = heddle::has_adjacent(tile.columns)"
       << (adjacentParts ? "" : " && " + upTo(mostAdjacent)) << ";\n";
  if (hasClusterEntry(sweep))
    emitFormOfPartsAlone("Clusters", /*clusters=*/true, adjacentParts);
  if (hasPartEntry(sweep))
    emitFormOfPartsAlone("Held == " +
                             std::to_string(runtime::kHeldPartsColumns),
                         /*clusters=*/false, adjacentParts);
  emitNarrowForms();
  int64_t most = mostHeldColumns(sweep, layout, segment);
  int64_t mostShort = std::min(slots.held.columns, kBlockColumns);
  bool holdsWide = most > mostShort;
  ArrayRef<int64_t> entries;
  if (hasHeldEntry(sweep))
    entries = layout.heldEntries;
  std::string orFirst =
      entries.empty() ? ""
                      : "Held == " + std::to_string(entries.front()) + " || ";
  if (!entries.empty())
    emitWarpForms();
  emitHeldBranches((holdsWide ? "" : orFirst) + upTo(mostShort), kHeldItems,
                   kHeldItems / 2);
  if (holdsWide)
    emitHeldBranches(orFirst + upTo(most), kPartItems, kPartItems / 2);
  std::string longEntry =
      std::to_string(runtime::longPartColumns(layout.wholeColumns));
  for (int64_t columns : llvm::drop_begin(entries, !entries.empty())) {
    std::string which = "Held == " + std::to_string(columns);
    if (holdsInEveryEntry(layout, columns))
      which += " || " + upTo(columns);
    if (holdsInEveryEntry(layout, columns) && layout.longParts)
      which = "Held != " + longEntry + " && (" + which + ")";
    int64_t items = columns / layout.threads;
    emitHeldBranches(which, items, items / 2);
  }
  // Rows of one part, which may have adjacent columns, have taken a branch.
  assert(!layout.heldParts ||
         most >= runtime::partColumns(layout.wholeColumns) ||
         holdsInEveryEntry(layout, runtime::partColumns(layout.wholeColumns)));
  emitPartForms(adjacentParts);
  emitWideTile();
}

} // namespace heddle::cuda
