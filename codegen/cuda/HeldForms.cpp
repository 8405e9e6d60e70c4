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
static int64_t sureItemsOfPart(int64_t wholeColumns, int64_t threads) {
  int64_t ofPart = runtime::partColumns(wholeColumns);
  return std::min(
      fewestOfPart(wholeColumns + 1, ofPart, runtime::kMostClusterParts) /
          threads,
      ofPart / threads / 2 - 1);
}

/// The same for long parts.
static int64_t sureItemsOfLongPart(int64_t wholeColumns, int64_t threads) {
  int64_t ofPart = runtime::longPartColumns(wholeColumns),
          mostParts = (runtime::kHeldPartsColumns - 1) / ofPart + 1;
  return fewestOfPart(runtime::mostShortColumns(wholeColumns) + 1, ofPart,
                      mostParts) /
         threads;
}

/// Prints the forms of the entry for pairs of rows, and of those in which a
/// warp has each row. They have no other forms of rows that are not narrow.
void SegmentEmitter::emitWarpForms(
    llvm::function_ref<std::string(int64_t, int64_t, int64_t)> held) {
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
  auto form = [&](int64_t items, int64_t columns) {
    std::string which = isEntryFrom(columns), wider = isEntryFrom(columns + 1),
                number = std::to_string(columns),
                fits = " && tile.columns <= " + number;
    // The narrowest form has rows of any power of two, and no entry of its own.
    bool isNarrowest = items == kHeldItems;
    std::string isWhole =
        isNarrowest ? fits + " && heddle::is_power_of_two(tile.columns)"
                    : " && tile.columns == " + number;
    os << "else if (" << which << isWhole << ")\n  "
       << held(items, items, lanes) << "else if (";
    if (isNarrowest)
      os << which << fits;
    else if (wider.empty())
      os << which;
    else
      os << "Held == " << number << " || (" << wider << fits << ")";
    os << ")\n  " << held(items, items / 2, lanes);
  };
  if (layout.warpEntries.empty())
    return;
  if (hasPairedEntry(sweep, layout)) {
    std::string isPaired = "Held == " + std::to_string(kPairedColumns);
    os << "else if (" << isPaired
       << " && heddle::is_power_of_two(tile.columns))\n  "
       << held(kHeldItems, kHeldItems, kPairedLanes) << "else if (" << isPaired
       << ")\n  " << held(kHeldItems, kHeldItems / 2, kPairedLanes);
  }
  form(kHeldItems, kWarpColumns);
  for (int64_t columns : layout.warpEntries)
    form(columns / lanes, columns);
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

/// Prints the processing of a tile of rows that are wider than those before.
void SegmentEmitter::emitWideTile() {
  os << "else";
  if (across.empty()) {
    os << (whenAdjacent.empty() ? "\n  " : " ");
    emitWalkCall();
    return;
  }
  auto walk = [&](const DownBatch &batch) {
    return callOf("walk", {{"Items", std::to_string(batch.columns)},
                           {"Rows", std::to_string(batch.rows)}}) +
           ";\n";
  };
  os << " if (tile.count > " << kFewRows << ")\n  " << walk(across.front())
     << "else\n  " << walk(across.back());
}

/// Prints the processing of a tile whose rows are held, or are not. An entry
/// for held rows, which have at most `Held` columns, has no form of wider rows.
/// The first of these entries has further forms for whole rows, in which no
/// column has to be compared. If blocks would divide a tile of wider rows, one
/// of them processes a tile of held rows.
void SegmentEmitter::emitHeldTile() {
  // Blocks exchange states of parts alone, so the other forms are the same in
  // every entry.
  auto held = [&](int64_t items, int64_t sure, int64_t lanes = 0) {
    return callOf("held", {{"Clusters", "false"},
                           {"Items", std::to_string(items)},
                           {"Sure", std::to_string(sure)},
                           {"Lanes", std::to_string(lanes)}}) +
           ";\n";
  };
  auto upTo = [](int64_t columns) {
    return "tile.columns <= " + std::to_string(columns);
  };
  std::string fits = upTo(slots.held.columns),
              single = "if (tile.columns == 1)\n  " + held(1, 1) + "else";
  if (!slots.columns) {
    int64_t most = mostHeldColumns(sweep, layout, segment);
    bool holdsWide = most > slots.held.columns;
    ArrayRef<int64_t> entries;
    if (hasHeldEntry(sweep))
      entries = layout.heldEntries;
    std::string whole = "heddle::is_power_of_two(tile.columns)",
                isFirst = entries.empty()
                              ? ""
                              : "Held == " + std::to_string(entries.front()),
                orFirst = entries.empty() ? "" : isFirst + " || ";
    os << single << " if (tile.columns == " << kNarrowItems - 1 << ")\n  "
       << held(kNarrowItems - 1, kNarrowItems - 1)
       << "else if (tile.columns <= " << kNarrowItems << ")\n  "
       << held(kNarrowItems, 0);
    if (!entries.empty()) {
      emitWarpForms(held);
      os << "else if (" << isFirst << " && " << fits << " && " << whole
         << ")\n  " << held(kHeldItems, kHeldItems);
    }
    os << "else if (" << (holdsWide ? "" : orFirst) << fits << ")\n  "
       << held(kHeldItems, kHeldItems / 2);
    if (holdsWide && !entries.empty())
      os << "else if (" << isFirst << " && " << whole << ")\n  "
         << held(kPartItems, kPartItems);
    if (holdsWide)
      os << "else if (" << orFirst << upTo(most) << ")\n  "
         << held(kPartItems, kPartItems / 2);
    // The entry for long parts traverses wide rows that have others.
    int64_t longColumns = runtime::longPartColumns(layout.wholeColumns);
    std::string isLong = "Held == " + std::to_string(longColumns),
                notLong =
                    layout.longParts
                        ? "Held != " + std::to_string(longColumns) + " && "
                        : "";
    for (int64_t columns : llvm::drop_begin(entries, !entries.empty())) {
      int64_t items = columns / layout.threads;
      os << "else if (";
      if (!holdsInEveryEntry(layout, columns))
        os << "Held == " << columns;
      else if (layout.longParts)
        os << notLong << "(Held == " << columns << " || " << upTo(columns)
           << ")";
      else
        os << "Held == " << columns << " || " << upTo(columns);
      os << ")\n  " << held(items, items / 2);
    }
    std::string longParts = layout.longParts ? ", true" : "";
    if (layout.longParts)
      os << "else if (" << isLong << " && tile.columns > "
         << runtime::mostShortColumns(layout.wholeColumns)
         << " && heddle::holds_parts(params.table, tile.columns, "
         << layout.wholeColumns << ", " << longColumns / layout.threads
         << longParts << "))\n  "
         << held(longColumns / layout.threads,
                 sureItemsOfLongPart(layout.wholeColumns, layout.threads));
    int64_t ofPart = runtime::partColumns(layout.wholeColumns) / layout.threads;
    std::string sureOfPart =
        hasClusterEntry(sweep) ? "Clusters ? " +
                                     std::to_string(sureItemsOfPart(
                                         layout.wholeColumns, layout.threads)) +
                                     " : 0"
                               : "0";
    if (layout.heldParts)
      os << "else if (" << notLong
         << "heddle::holds_parts(params.table, tile.columns, "
         << layout.wholeColumns << ", " << ofPart << longParts << "))\n  "
         << callOf("held", {{"Items", std::to_string(ofPart)},
                            {"Sure", sureOfPart},
                            {"Lanes", "0"}})
         << ";\n";
    emitWideTile();
    return;
  }
  fits = "if (" + fits + ")";
  os << fits << " {\n";
  os.indent();
  os << "if (" << blockOfTile() << " > 0)\n  return;\n"
     << single << "\n  " << held(kHeldItems, 0);
  if (slots.endsMembers)
    os << "if (heddle::arrives_last(&params.table.tickets[tile.member], "
          "tile.tiles))\n  "
       << callOf("end") << ";\n";
  os << "return;\n";
  os.unindent() << "}\n";
}

} // namespace heddle::cuda
