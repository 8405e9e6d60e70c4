//===- SweepEntries.cpp - the entries of a sweep --------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the entries that a plan launches, and the functions between an entry
// and the segments.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/ProgramEmitter.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace heddle::cuda {

/// Prints the function that selects the segment of a tile, if there are
/// several. It calls the segment's function `part`: `process`, or `end` for the
/// segments whose members have an end.
void ProgramEmitter::emitDispatch(const SweepLayout &layout,
                                  const SweepNames &names, StringRef part) {
  std::string function = names.sweep + "_" + part.str();
  size_t count = layout.segments.size();
  if (count == 1)
    return;
  functions.begin();
  os << "switch (tile.segment) {\n";
  for (size_t s = 0; s < count; ++s) {
    std::string number = std::to_string(s), tile = "tile";
    if (s > 0)
      tile = "heddle::as_descriptor<" + names.sweep + "_tile_" + number +
             ">(tile)";
    if (s + 1 < count)
      os << "case " << s << ":\n";
    else
      os << "default:\n";
    if (part == "end" && !layout.segments[s].endsMembers)
      os << "  return;\n";
    else
      os << "  return "
         << functions.call(function + "_" + number, {{"tile", tile}}) << ";\n";
  }
  os << "}\n";
  functions.end("", "void", function,
                {{"const " + names.paramsType() + " &", "params"},
                 {"const " + names.sweep + "_tile &", "tile"},
                 {"int", "tile_index"},
                 {"int", "part_of_tile"}});
}

static std::string distancesType(size_t operands) {
  return "heddle::distances<" + std::to_string(operands) + ">";
}

/// Prints an entry. Its arguments are separate parameters: with one structure,
/// the compiler keeps tile descriptors and addresses in other registers, and
/// needs up to ten more.
void ProgramEmitter::emitEntry(const SweepNames &names, StringRef bounds,
                               StringRef entry, bool byValue, size_t distances,
                               StringRef call) {
  std::string flag = byValue ? "true" : "false";
  SmallVector<std::string> parameters, arguments;
  for (const SweepNames::Field &field : names.fields) {
    parameters.push_back(field.typeFor(flag) + field.name);
    arguments.push_back(field.name);
  }
  // In constant memory: a copy in local memory would be read for each tile.
  if (distances)
    parameters.push_back("const __grid_constant__ " + distancesType(distances) +
                         " distances");
  os << "extern \"C\" __global__ void __launch_bounds__(" << bounds << ")\n"
     << DeviceFunctions::wrapped((entry + "(").str(), parameters, ") {")
     << "\n";
  os.indent();
  std::string type = names.params + (names.isTemplate ? "<" + flag + ">" : "");
  os << DeviceFunctions::wrapped("const " + type + " params = {", arguments,
                                 "};")
     << "\n"
     << call << ";\n";
  os.unindent() << "}\n\n";
}

void ProgramEmitter::emitEntry(fused::SweepOp sweep, const SweepLayout &layout,
                               const SweepNames &names,
                               fused::VariantAttr variant) {
  // Blocks that divide rows must fit, also if registers are spilled.
  // Those of a cluster start together.
  bool mustFit =
      layout.rowParts && !variant.isForHeldRows() && !variant.isForClusters();
  int64_t heldColumns = variant.getMaxColumns();
  if (variant.isForLongParts())
    heldColumns = runtime::longPartColumns(layout.wholeColumns);
  if (variant.isForParts() && !variant.isForClusters())
    heldColumns = runtime::kHeldPartsColumns;
  emitEntry(names,
            llvm::formatv("{0}, {1}({2})", layout.threads,
                          mustFit ? "HEDDLE_WANTED_BLOCKS" : "HEDDLE_BLOCKS",
                          variant.getBlocks())
                .str(),
            names.sweep + entrySuffix(sweep, variant),
            variant.getScalars() == fused::ScalarPassing::value,
            variant.takesDistances() ? layout.distanceSlots.size() : 0,
            functions.call(
                names.sweep +
                    (variant.takesDistances() ? "_distances_block" : "_block"),
                {{"EvictFirst", variant.isEvictFirst() ? "true" : "false"},
                 {"Clusters", variant.isForClusters() ? "true" : "false"},
                 {"Vectors", variant.isForVectors() ? "true" : "false"},
                 {"Held", std::to_string(heldColumns)}}));
}

/// Prints the function that processes the tile of a block. With distances, it
/// moves operands to the addresses that they have now.
void ProgramEmitter::emitBlockFunction(fused::SweepOp sweep,
                                       const SweepLayout &layout,
                                       const SweepNames &names,
                                       bool takesDistances) {
  std::string tile = names.sweep + "_tile";
  functions.begin();
  if (names.hasNext)
    os << "heddle::launch_dependents();\n";
  if (layout.whereScalar && names.hasPrevious)
    os << "heddle::wait_for_dependency();\n";
  if (layout.whereScalar)
    os << "if (!*" << names.scalars[*layout.whereScalar] << ")\n  return;\n";
  if (layout.endsList && !sweep.getLaunchAttr().endsInOwnLaunch())
    os << "if (params.table.tile_count == 0)\n  return "
       << functions.call(names.sweep + "_epilogue") << ";\n";
  if (layout.rowParts) {
    std::string hasParts = "!Held";
    auto orEntry = [&](int64_t held) {
      hasParts += " || Held == " + std::to_string(held);
    };
    if (layout.longParts)
      orEntry(runtime::longPartColumns(layout.wholeColumns));
    if (hasPartEntry(sweep))
      orEntry(runtime::kHeldPartsColumns);
    if (StringRef(hasParts).contains("||"))
      hasParts = "(" + hasParts + ")";
    os << "int nth_tile = blockIdx.x, part_of_tile = 0;\n"
       << "if (" << (hasHeldEntry(sweep) ? hasParts + " && " : "")
       << "params.table.blocks_per_tile > 1) {\n";
    os.indent();
    os << "const int before = heddle::blocks_started"
       << (hasClusterEntry(sweep) ? "<Clusters>(" : "(")
       << names.scratch[layout.scratchOf(sweep, ScratchPer::once)] << ");\n"
       << "nth_tile = before / params.table.blocks_per_tile;\n"
       << "part_of_tile = before % params.table.blocks_per_tile;\n";
    os.unindent() << "}\n";
  }
  os << "const int tile_index = "
     << (sweep.getReversed() ? "params.table.tile_count - 1 - " : "")
     << (layout.rowParts ? "nth_tile"
         : layout.columns || layout.columnRange
             ? "heddle::tile_of_block(params.table)"
             : "blockIdx.x")
     << ";\n"
     << (takesDistances ? "" : "const ") << "auto tile = heddle::descriptor_at<"
     << tile << ">(params.table.tiles, tile_index);\n";
  if (takesDistances)
    for (auto [nth, slot] : llvm::enumerate(layout.distanceSlots))
      os << "heddle::move_operand<" << slot << ", " << nth
         << ">(tile, distances);\n";
  os << functions.call(names.sweep + "_process") << ";\n";
  functions.end("", "void",
                names.sweep + (takesDistances ? "_distances_block" : "_block"),
                {{"const " + names.paramsType() + " &", "params"},
                 {"const " + distancesType(layout.distanceSlots.size()) + " &",
                  "distances"}});
}

//===----------------------------------------------------------------------===//
// The launch that ends the members and the list
//===----------------------------------------------------------------------===//

/// Prints the function that ends the member of a block. It begins while blocks
/// of tiles still run, and reads the descriptors before it waits for them. The
/// first tile of the member stands for all: they have the same operands of the
/// member.
void ProgramEmitter::emitMemberFunction(const SweepLayout &layout,
                                        const SweepNames &names, bool hasNext) {
  functions.begin();
  if (hasNext)
    os << "heddle::launch_dependents();\n";
  if (layout.endsList) {
    os << "if (params.table.member_count == 0) {\n";
    os.indent() << "heddle::wait_for_dependency();\n"
                << "return " << functions.call(names.sweep + "_epilogue")
                << ";\n";
    os.unindent() << "}\n";
  }
  os << "const int tile_index = static_cast<const " << names.memberType(layout)
     << " *>(params.table.members)[blockIdx.x].first_tile;\n"
     << "const auto tile = heddle::descriptor_at<" << names.sweep
     << "_tile>(params.table.tiles, tile_index);\n"
     << "heddle::wait_for_dependency();\n"
     << functions.call(names.sweep + "_end") << ";\n";
  functions.end("Ends the member of a block.", "void", names.sweep + "_member",
                {{"const " + names.paramsType() + " &", "params"}});
}

/// Prints the function that ends the list, in a launch of one block.
void ProgramEmitter::emitListFunction(const SweepNames &names, bool hasNext) {
  functions.begin();
  if (hasNext)
    os << "heddle::launch_dependents();\n";
  os << "heddle::wait_for_dependency();\n"
     << functions.call(names.sweep + "_epilogue") << ";\n";
  functions.end("Ends the list.", "void", names.sweep + "_list",
                {{"const " + names.paramsType() + " &", "params"}});
}

/// Without a bound, the compiler spills registers if a member has many
/// reductions (ReduceMember in CudaNvrtcTest).
static constexpr int kBlocksOfEnds = 4;

void ProgramEmitter::emitEndsEntry(fused::SweepOp sweep,
                                   const SweepLayout &layout,
                                   const SweepNames &names,
                                   const EndsEntry &entry) {
  bool ofList = endsListAlone(sweep, layout);
  emitEntry(names,
            llvm::formatv("{0}, HEDDLE_BLOCKS({1})",
                          threadsOfEnds(sweep, layout),
                          ofList ? 1 : kBlocksOfEnds)
                .str(),
            entry.name, entry.byValue, /*distances=*/0,
            functions.call(names.sweep + (ofList ? "_list" : "_member")));
}

} // namespace heddle::cuda
