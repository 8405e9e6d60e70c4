//===- SweepTypes.cpp - names and types of a sweep ------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names the arguments of a sweep's kernels, and prints their structure, the
// tile descriptors and the precomputed scalars.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Precomputed.h"
#include "codegen/cuda/ProgramEmitter.h"
#include "dialect/Names.h"

using namespace mlir;

namespace heddle::cuda {

/// The type of a scalar as an argument of a kernel; `ByValue` in it is a
/// placeholder for true or false.
static std::string argumentType(const ScalarSlot &slot, bool byValue) {
  StringRef type = storedType(slot.storage);
  if (byValue)
    return ("heddle::scalar_argument<" + type + ", ByValue> ").str();
  return ((slot.written ? "" : "const ") + type + " *").str();
}

std::string SweepNames::Field::typeFor(StringRef byValue) const {
  auto [before, after] = StringRef(type).split("ByValue");
  return after.empty() ? type : (before + byValue + after).str();
}

SweepNames ProgramEmitter::nameSweep(fused::SweepOp sweep,
                                     const SweepLayout &layout) {
  SweepNames names;
  names.sweep = layout.name; // a unique C identifier, as the verifier ensures
  names.params = names.sweep + "_params";
  names.functions = &functions;
  Scope scope;
  auto field = [&](std::string type, StringRef name) {
    names.fields.push_back({std::move(type), name.str()});
    return ("params." + name).str();
  };
  unsigned precomputed = 0;
  for (const KernelArgument &argument : KernelSignature::of(layout).arguments) {
    if (argument.kind == KernelArgumentKind::table) {
      field("heddle::table ", "table");
    } else if (argument.kind == KernelArgumentKind::scalar) {
      const ScalarSlot &slot = layout.scalars[argument.slot];
      names.isTemplate |= argument.byValue;
      names.scalars.push_back(
          field(argumentType(slot, argument.byValue),
                layout.iteration == argument.slot
                    ? "iteration"
                    : scope.fresh(buffers[slot.buffer].name)));
    } else {
      const ScratchSlot &slot = layout.scratch[argument.slot];
      std::string type, wanted, function;
      if (auto reduce = dyn_cast<fused::ReduceOp>(slot.owner)) {
        bool isTicket = slot.per == ScratchPer::ticket;
        type = isTicket                          ? "unsigned"
               : slot.per == ScratchPer::rowPart ? "heddle::numbered"
                                                 : stateOf(reduce);
        StringRef own = nameOf(reduce.getResult(0));
        StringRef per = isTicket                          ? "_tickets"
                        : slot.per == ScratchPer::member  ? "_of_members"
                        : slot.per == ScratchPer::tile    ? "_of_tiles"
                        : slot.per == ScratchPer::rowPart ? "_of_parts"
                                                          : "_of_columns";
        wanted = ((own.empty() ? StringRef("sum") : own) + per).str();
      } else if (isa<fused::SweepOp>(slot.owner)) {
        type = "unsigned";
        wanted = "started_blocks";
      } else {
        std::string number =
            precomputed ? "_" + std::to_string(precomputed + 1) : "";
        type = names.sweep + "_precomputed" + number;
        function = names.sweep + "_precompute" + number;
        wanted = "precomputed";
        ++precomputed;
      }
      names.scratch.push_back(field(type + " *", scope.fresh(wanted)));
      names.scratchTypes.push_back(type);
      names.precompute.push_back(function);
    }
  }
  return names;
}

void ProgramEmitter::emitParams(const SweepNames &names) {
  os << "// The arguments of the kernels of the sweep.\n";
  if (names.isTemplate)
    os << "template <bool ByValue> ";
  os << "struct " << names.params << " {\n";
  os.indent();
  for (const SweepNames::Field &field : names.fields)
    os << field.type << field.name << ";\n";
  os.unindent() << "};\n\n";
}

/// Prints the tile descriptor of each segment, with the names and types of its
/// operands.
void ProgramEmitter::emitTileTypes(const SweepLayout &layout,
                                   const SweepNames &names) {
  std::string type = names.sweep + "_tile";
  bool isSingle = layout.segments.size() == 1;
  int64_t pointers = std::max<int64_t>(1, layout.pointers);
  os << "// The descriptor of a tile.\n";
  for (auto [s, segment] : llvm::enumerate(layout.segments)) {
    os << "struct alignas(16) " << type
       << (isSingle ? "" : "_" + std::to_string(s)) << " {\n";
    os.indent();
    for (auto [slot, name] :
         llvm::zip(segment.operands, fieldNames(segment, buffers)))
      if (slot.index == kLength || slot.index == kStride)
        os << "long long " << name << ";\n";
      else
        os << (slot.written ? "" : "const ") << storedType(slot.storage) << " *"
           << name << ";\n";
    if (int64_t rest = pointers - segment.operands.size())
      os << "void *unused[" << rest << "];\n";
    os << "long long " << (layout.rank == 2 ? "columns, column_base, " : "")
       << "first;\n"
       << "int count, member, segment, tiles;\n";
    os.unindent() << "};\n\n";
  }
  if (isSingle)
    return;
  os << "using " << type << " = " << type
     << "_0; // all segments have one layout\n\n";
}

LogicalResult ProgramEmitter::emitPrecomputed(const SweepLayout &layout,
                                              const SweepNames &names) {
  for (auto [slot, type, function] :
       llvm::zip(layout.scratch, names.scratchTypes, names.precompute))
    if (auto precompute = dyn_cast<fused::PrecomputeOp>(slot.owner))
      if (failed(cuda::emitPrecomputed(os, precompute, type, function)))
        return failure();
  return success();
}

} // namespace heddle::cuda
