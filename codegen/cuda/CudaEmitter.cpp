//===- CudaEmitter.cpp - CUDA C++ source of a program ---------------------===//
//
// Prints the banner, the includes, the types of a sweep, the functions that
// process a tile, and the entries that a plan launches.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/EpilogueEmitter.h"
#include "codegen/cuda/LongLines.h"
#include "codegen/cuda/PanelEmitter.h"
#include "codegen/cuda/Precomputed.h"
#include "codegen/cuda/RowsEmitter.h"
#include "codegen/cuda/StreamEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::foreach::isList;

namespace heddle::cuda {

StringRef entrySuffix(fused::SweepOp sweep, fused::VariantAttr variant) {
  if (variant.isEvictFirst())
    return "_evict_first";
  bool inLoop = isa<fused::LoopOp>(sweep->getParentOp());
  return inLoop || variant.getScalars() == fused::ScalarPassing::value
             ? "_tiles"
             : "_tiles_by_address";
}

namespace {
class ProgramEmitter {
public:
  ProgramEmitter(fused::ProgramOp program, const Buffers &buffers)
      : os(stream), functions(text, os), program(program), buffers(buffers) {}
  LogicalResult emit();
  LogicalResult emitPanels();
  runtime::Source takeSource();

private:
  /// Ends the current section and begins one that `entries` need (all entries
  /// if empty).
  void beginSection(std::vector<std::string> entries);
  LogicalResult emitSweep(fused::SweepOp sweep);
  void emitBanner();
  void emitIncludes();
  SweepNames nameSweep(fused::SweepOp sweep, const SweepLayout &layout);
  void emitTileTypes(const SweepLayout &layout, const SweepNames &names);
  LogicalResult emitPrecomputed(const SweepLayout &layout,
                                const SweepNames &names);
  void emitParams(const SweepNames &names);
  void emitDispatch(const SweepLayout &layout, const SweepNames &names);
  LogicalResult emitLoop(fused::LoopOp loop);
  void emitBlockFunction(fused::SweepOp sweep, const SweepLayout &layout,
                         const SweepNames &names);
  void emitEntry(fused::SweepOp sweep, const SweepLayout &layout,
                 const SweepNames &names, fused::VariantAttr variant);

  std::string text; ///< of the current section
  llvm::raw_string_ostream stream{text};
  raw_indented_ostream os;
  DeviceFunctions functions;
  std::vector<std::string> entriesOfSection;
  runtime::Source source;
  fused::ProgramOp program;
  const Buffers &buffers;
  llvm::SmallVector<fused::SweepOp> sweeps;
};
} // namespace

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

void ProgramEmitter::beginSection(std::vector<std::string> entries) {
  if (!text.empty())
    source.sections.push_back({std::exchange(text, {}), entriesOfSection});
  entriesOfSection = std::move(entries);
}

runtime::Source ProgramEmitter::takeSource() {
  beginSection({});
  if (!source.empty()) {
    std::string &last = source.sections.back().text;
    while (StringRef(last).ends_with("\n\n"))
      last.pop_back();
  }
  for (runtime::SourceSection &section : source.sections)
    section.text = wrapLongLines(section.text);
  return std::move(source);
}

std::string oneLaunchEntry(fused::LoopOp loop) {
  return loop.getName().value_or("loop").str() + "_in_one_launch";
}

//===----------------------------------------------------------------------===//
// Banner and includes
//===----------------------------------------------------------------------===//

static std::string listNames(ArrayRef<std::string> names) {
  return names.empty() ? "nothing" : llvm::join(names, ", ");
}

void ProgramEmitter::emitBanner() {
  os << "// " << identifierFrom(program.getSymName()) << ": " << sweeps.size()
     << (sweeps.size() == 1 ? " sweep" : " sweeps") << "\n";
  for (fused::SweepOp sweep : sweeps) {
    auto layout = SweepLayout::compute(sweep, buffers);
    if (failed(layout))
      continue;
    os << "//\n// " << layout->name << ", "
       << fused::stringifyScheduleKind(sweep.getScheduleAttr().getKind())
       << ": a block of " << layout->threads << " threads processes a tile";
    for (auto [s, segment] : llvm::enumerate(layout->segments)) {
      int64_t bytes = 0;
      std::vector<std::string> read, written;
      for (const OperandSlot &slot : segment.operands) {
        std::string name = identifierFrom(buffers[slot.buffer].name);
        if (slot.read)
          read.push_back(name);
        if (slot.written)
          written.push_back(name);
        bool element = slot.index == (layout->rank == 2 ? kIJ : kI);
        if (element)
          bytes += storageBytes(slot.storage) * (slot.read + slot.written);
      }
      os << "\n//   " << segment.tile
         << (layout->rank == 2 ? " rows" : " elements")
         << (segment.columns ? ", shared by blocks, " : ", ") << bytes
         << " bytes per element: reads " << listNames(read) << "; writes "
         << listNames(written);
    }
    os << "\n";
  }
}

void ProgramEmitter::emitIncludes() {
  bool reduces = false, loops = false, shares = false, iterations = false;
  program.walk([&](Operation *op) {
    reduces |= isa<fused::ReduceOp, fused::PrecomputeOp>(op);
    loops |= isa<fused::LoopOp>(op);
  });
  for (fused::SweepOp sweep : sweeps)
    iterations |=
        sweep.usesIteration() || llvm::any_of(sweep.getIndices(), isEntryIndex);
  for (fused::SweepOp sweep : sweeps)
    if (auto layout = SweepLayout::compute(sweep, buffers); succeeded(layout)) {
      shares |= layout->columns > 0;
      reduces |=
          layout->endsList ||
          llvm::any_of(layout->segments, [](const SegmentLayout &segment) {
            return segment.endsMembers;
          });
    }
  os << "#include \"access.cuh\"\n";
  if (loops)
    os << "#include \"grid.cuh\"\n";
  if (iterations)
    os << "#include \"iterations.cuh\"\n";
  os << "#include \"math.cuh\"\n";
  if (reduces)
    os << "#include \"reduce.cuh\"\n";
  if (shares)
    os << "#include \"shares.cuh\"\n";
  os << "#include \"tables.cuh\"\n";
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Names and types of a sweep
//===----------------------------------------------------------------------===//

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
        type = isTicket ? "unsigned" : stateOf(reduce);
        StringRef own = nameOf(reduce.getResult(0));
        StringRef per = isTicket                         ? "_tickets"
                        : slot.per == ScratchPer::member ? "_of_members"
                        : slot.per == ScratchPer::tile   ? "_of_tiles"
                                                         : "_of_columns";
        wanted = ((own.empty() ? StringRef("sum") : own) + per).str();
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
  os << "// The arguments of the kernels.\n";
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

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

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

/// Whether the launch of `op` may begin before the previous launch has ended.
static bool isDependent(Operation *op) {
  auto sweep = dyn_cast_or_null<fused::SweepOp>(op);
  return sweep && sweep.getLaunchAttr() && sweep.getLaunchAttr().isDependent();
}

LogicalResult ProgramEmitter::emitSweep(fused::SweepOp sweep) {
  auto layout = SweepLayout::compute(sweep, buffers);
  if (failed(layout))
    return failure();
  if (!sweep.getLaunchAttr())
    return sweep.emitOpError("has no launch; run fused-configure-launches");
  SweepNames names = nameSweep(sweep, *layout);
  names.hasPrevious = isDependent(sweep);
  names.hasNext = isDependent(sweep->getNextNode());
  std::vector<std::string> entries;
  for (fused::VariantAttr variant : sweep.getLaunchAttr().getVariants())
    entries.push_back(names.sweep + entrySuffix(sweep, variant).str());
  if (auto loop = dyn_cast<fused::LoopOp>(sweep->getParentOp()))
    if (loop.getCooperativeAttr())
      entries.push_back(oneLaunchEntry(loop));
  beginSection(std::move(entries));
  emitTileTypes(*layout, names);
  if (failed(emitPrecomputed(*layout, names)))
    return failure();
  emitParams(names);
  if (layout->endsList &&
      failed(EpilogueEmitter(os, sweep, *layout, names).emit()))
    return failure();
  bool stream =
      sweep.getScheduleAttr().getKind() == fused::ScheduleKind::stream;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    LogicalResult done =
        stream ? StreamEmitter(os, sweep, *layout, names, buffers, s).emit()
               : RowsEmitter(os, sweep, *layout, names, buffers, s).emit();
    if (failed(done))
      return failure();
  }
  emitDispatch(*layout, names);
  emitBlockFunction(sweep, *layout, names);
  for (fused::VariantAttr variant : sweep.getLaunchAttr().getVariants()) {
    beginSection({names.sweep + entrySuffix(sweep, variant).str()});
    emitEntry(sweep, *layout, names, variant);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Prints the entry that runs the whole loop in one launch: all its blocks are
/// resident, and synchronize between sweeps.
LogicalResult ProgramEmitter::emitLoop(fused::LoopOp loop) {
  auto cooperative = loop.getCooperativeAttr();
  if (!cooperative)
    return success();
  std::string name = oneLaunchEntry(loop);
  beginSection({name});
  struct Call {
    SweepNames names;
    std::string params, arguments; // a structure, and the values of its fields
    bool endsList, reversed;
  };
  std::vector<Call> calls;
  std::vector<SweepLayout> layouts;
  Scope scope;
  const StringRef taken = "iterations_taken", limit = "iteration_limit",
                  condition = "condition", barrier = "barrier";
  for (StringRef own : {taken, limit, condition, barrier})
    scope.reserve(own);
  Value active = loop.getActive();
  std::string anyActive;
  for (auto sweep : loop.getBody().front().getOps<fused::SweepOp>()) {
    auto layout = SweepLayout::compute(sweep, buffers);
    if (failed(layout))
      return failure();
    Call &call = calls.emplace_back();
    call.names = nameSweep(sweep, *layout);
    call.params = scope.fresh(call.names.sweep);
    call.endsList = layout->endsList;
    call.reversed = sweep.getReversed();
    if (active && sweep.getWhere() == active)
      anyActive = llvm::formatv(
          "heddle::any_member<{0}, {1}>({2}.table.members, "
          "{2}.table.member_count)",
          call.names.memberType(*layout), layout->whereOperand[0], call.params);
    layouts.push_back(std::move(*layout));
  }
  SmallVector<std::string> parameters;
  auto declare = [&](StringRef type, const Twine &wanted) {
    std::string own = scope.fresh(wanted.str());
    parameters.push_back(type.str() + own);
    return own;
  };
  // The values of the fields of each structure, by position.
  std::vector<std::map<size_t, std::string>> values(calls.size());
  auto pass = [&](const KernelArgument &argument, size_t position,
                  StringRef wanted = "") {
    const SweepNames::Field &field =
        calls[argument.sweep].names.fields[position];
    values[argument.sweep][position] =
        declare(field.typeFor("false"),
                wanted.empty() ? StringRef(field.name) : wanted);
  };
  for (const KernelArgument &argument :
       KernelSignature::ofCooperative(loop, layouts, buffers).arguments) {
    size_t scalars = layouts[argument.sweep].scalars.size();
    switch (argument.kind) {
    case KernelArgumentKind::table:
      pass(argument, 0, "table_of_" + calls[argument.sweep].names.sweep);
      break;
    case KernelArgumentKind::scalar:
      pass(argument, 1 + argument.slot);
      break;
    case KernelArgumentKind::scratch:
      pass(argument, 1 + scalars + argument.slot);
      break;
    case KernelArgumentKind::iterations:
      parameters.push_back(("int *" + taken).str());
      break;
    case KernelArgumentKind::limit:
      parameters.push_back(("const int *" + limit).str());
      break;
    case KernelArgumentKind::condition:
      parameters.push_back(("const bool *" + condition).str());
      break;
    case KernelArgumentKind::barrier:
      parameters.push_back(("unsigned *" + barrier).str());
      break;
    case KernelArgumentKind::panelScratch:
      break;
    }
  }
  for (auto [call, own] : llvm::zip(calls, values))
    for (size_t k = 0; k < call.names.fields.size(); ++k)
      call.arguments +=
          (k ? ", " : "") + (own.count(k) ? own[k] : std::string("&iteration"));

  os << "// The whole loop in one launch, whose blocks synchronize between "
        "sweeps.\n"
     << "extern \"C\" __global__ void __launch_bounds__("
     << cooperative.getThreads() << ", " << cooperative.getBlocks() << ")\n"
     << DeviceFunctions::wrapped(name + "(", parameters, ") {") << "\n";
  os.indent();
  os << "const int limit = *" << limit << ";\n"
     << "int iteration = 0;\n";
  for (const Call &call : calls)
    os << "const " << call.names.params
       << (call.names.isTemplate ? "<false> " : " ") << call.params << " = {"
       << call.arguments << "};\n";
  os << "for (bool more = limit > 0; more;) {\n";
  os.indent();
  for (const Call &call : calls) {
    std::pair<StringRef, StringRef> arguments[] = {{"params", call.params},
                                                   {"EvictFirst", "false"}};
    std::string tile = call.names.sweep + "_tile",
                table = call.params + ".table";
    if (call.endsList)
      os << "if (" << table << ".tile_count == 0 && blockIdx.x == 0)\n  "
         << functions.call(call.names.sweep + "_epilogue", arguments) << ";\n";
    os << "for (int k = blockIdx.x; k < " << table
       << ".tile_count; k += gridDim.x) {\n";
    os.indent();
    os << "const int tile_index = "
       << (call.reversed ? table + ".tile_count - 1 - k" : "k") << ";\n"
       << "const auto tile = heddle::descriptor_at<" << tile << ">(" << table
       << ".tiles, tile_index);\n"
       << functions.call(call.names.sweep + "_process", arguments) << ";\n";
    os.unindent() << "}\n"
                  << "heddle::grid_barrier(" << barrier << ");\n";
  }
  os << "++iteration;\n"
     << "more = iteration < limit && "
     << (active
             ? anyActive
             : ("*static_cast<const volatile bool *>(" + condition + ")").str())
     << ";\n"
     << "heddle::grid_barrier(" << barrier
     << "); // no block writes the condition before all have read it\n";
  os.unindent() << "}\n"
                << "if (blockIdx.x == 0 && threadIdx.x == 0)\n  *" << taken
                << " = iteration;\n";
  os.unindent() << "}\n\n";
  return success();
}

LogicalResult ProgramEmitter::emit() {
  program.walk([&](fused::SweepOp sweep) { sweeps.push_back(sweep); });
  emitBanner();
  emitIncludes();
  for (fused::SweepOp sweep : sweeps)
    if (failed(emitSweep(sweep)))
      return failure();
  LogicalResult loops = success();
  program.walk([&](fused::LoopOp loop) {
    if (failed(emitLoop(loop)))
      loops = failure();
  });
  return loops;
}

/// Prints the panel source, which is compiled for each size class in use.
LogicalResult ProgramEmitter::emitPanels() {
  LogicalResult done = success();
  bool any = false;
  program.walk([&](fused::LoopOp loop) {
    auto panel = PanelLayout::compute(loop, buffers);
    if (!panel)
      return;
    auto sweep = cast<fused::SweepOp>(loop.getBody().front().front());
    auto layout = SweepLayout::compute(sweep, buffers);
    if (failed(layout)) {
      done = failure();
      return;
    }
    if (!any)
      os << "// " << identifierFrom(program.getSymName()) << ": panel loops\n"
         << "#include \"panel.cuh\"\n#include \"iterations.cuh\"\n\n";
    any = true;
    PanelEmitter emitter(sweep, *layout, buffers, *panel);
    if (failed(emitter.emitLoop(os)))
      done = failure();
  });
  return done;
}

FailureOr<runtime::Source> emitKernels(fused::ProgramOp program,
                                       const Buffers &buffers) {
  ProgramEmitter emitter(program, buffers);
  if (failed(emitter.emit()))
    return failure();
  return emitter.takeSource();
}

FailureOr<std::string> emitPanels(fused::ProgramOp program,
                                  const Buffers &buffers) {
  ProgramEmitter emitter(program, buffers);
  if (failed(emitter.emitPanels()))
    return failure();
  return emitter.takeSource().text();
}

} // namespace heddle::cuda
