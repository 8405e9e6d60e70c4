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

using namespace mlir;

namespace heddle::cuda {

/// Prints the function that selects the segment of a tile, if there are
/// several.
void ProgramEmitter::emitDispatch(const SweepLayout &layout,
                                  const SweepNames &names) {
  std::string process = names.sweep + "_process";
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
    os << "  return "
       << functions.call(process + "_" + number, {{"tile", tile}}) << ";\n";
  }
  os << "}\n";
  functions.end("", "void", process,
                {{"const " + names.paramsType() + " &", "params"},
                 {"const " + names.sweep + "_tile &", "tile"},
                 {"int", "tile_index"}});
}

/// Prints an entry. Its arguments are separate parameters: with one structure,
/// the compiler keeps tile descriptors and addresses in other registers, and
/// needs up to ten more.
void ProgramEmitter::emitEntry(fused::SweepOp sweep, const SweepLayout &layout,
                               const SweepNames &names,
                               fused::VariantAttr variant) {
  bool isByValue = variant.getScalars() == fused::ScalarPassing::value;
  std::string byValue = isByValue ? "true" : "false";
  SmallVector<std::string> parameters, arguments;
  for (const SweepNames::Field &field : names.fields) {
    parameters.push_back(field.typeFor(byValue) + field.name);
    arguments.push_back(field.name);
  }
  os << "extern \"C\" __global__ void __launch_bounds__(" << layout.threads
     << ", HEDDLE_BLOCKS(" << variant.getBlocks() << "))\n"
     << DeviceFunctions::wrapped(names.sweep +
                                     entrySuffix(sweep, variant).str() + "(",
                                 parameters, ") {")
     << "\n";
  os.indent();
  std::string type =
      names.params + (names.isTemplate ? "<" + byValue + ">" : "");
  os << DeviceFunctions::wrapped("const " + type + " params = {", arguments,
                                 "};")
     << "\n"
     << functions.call(
            names.sweep + "_block",
            {{"EvictFirst", variant.isEvictFirst() ? "true" : "false"}})
     << ";\n";
  os.unindent() << "}\n\n";
}

/// Prints the function that processes the tile of a block.
void ProgramEmitter::emitBlockFunction(fused::SweepOp sweep,
                                       const SweepLayout &layout,
                                       const SweepNames &names) {
  std::string tile = names.sweep + "_tile";
  functions.begin();
  if (names.hasNext)
    os << "heddle::launch_dependents();\n";
  if (layout.whereScalar && names.hasPrevious)
    os << "heddle::wait_for_dependency();\n";
  if (layout.whereScalar)
    os << "if (!*" << names.scalars[*layout.whereScalar] << ")\n  return;\n";
  if (layout.endsList)
    os << "if (params.table.tile_count == 0)\n  return "
       << functions.call(names.sweep + "_epilogue") << ";\n";
  os << "const int tile_index = "
     << (sweep.getReversed() ? "params.table.tile_count - 1 - " : "")
     << (layout.columns ? "heddle::tile_of_block(params.table)" : "blockIdx.x")
     << ";\n"
     << "const auto tile = heddle::descriptor_at<" << tile
     << ">(params.table.tiles, tile_index);\n"
     << functions.call(names.sweep + "_process") << ";\n";
  functions.end("", "void", names.sweep + "_block",
                {{"const " + names.paramsType() + " &", "params"}});
}

} // namespace heddle::cuda
