//===- CudaEmitter.cpp - CUDA C++ text of a kernel ------------------------===//
//
// Banner, includes, row types, the function that computes a tile, and the
// entries through which a plan launches it.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/FinishEmitter.h"
#include "codegen/cuda/PanelEmitter.h"
#include "dialect/Bindings.h"
#include "dialect/Names.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using heddle::foreach::isList;

namespace heddle::cuda {

StringRef entrySuffix(fused::SweepOp sweep, fused::VariantAttr variant) {
  if (variant.getEvictFirst())
    return "_cached";
  bool inLoop = isa<fused::LoopOp>(sweep->getParentOp());
  return inLoop || variant.getScalars() == fused::ScalarPassing::value
             ? "_tiles"
             : "_tiles_by_address";
}

namespace {
class KernelEmitter {
public:
  KernelEmitter(fused::ProgramOp kernel, const Buffers &buffers)
      : os(stream), kernel(kernel), buffers(buffers) {}
  LogicalResult emit();
  LogicalResult emitPanels();
  /// What was emitted.
  runtime::Source takeSource();

private:
  /// Ends the section before; what follows is needed by `entries` (empty: by
  /// all).
  void beginSection(std::vector<std::string> entries);
  LogicalResult emitSweep(fused::SweepOp sweep);
  void emitBanner();
  void emitIncludes();
  SweepNames nameSweep(fused::SweepOp sweep, const SweepLayout &layout);
  void emitRowTypes(const SweepLayout &layout, const SweepNames &names);
  LogicalResult emitAheads(fused::SweepOp sweep, const SweepLayout &layout,
                           const SweepNames &names);
  void emitDispatch(const SweepLayout &layout, const SweepNames &names);
  LogicalResult emitLoop(fused::LoopOp loop);
  void emitEntry(fused::SweepOp sweep, const SweepLayout &layout,
                 const SweepNames &names, fused::VariantAttr variant);

  std::string text; ///< of the section under way
  llvm::raw_string_ostream stream{text};
  raw_indented_ostream os;
  std::vector<std::string> entriesOfSection;
  runtime::Source source;
  fused::ProgramOp kernel;
  const Buffers &buffers;
  llvm::SmallVector<fused::SweepOp> sweeps;
};
} // namespace

//===----------------------------------------------------------------------===//
// Sections
//===----------------------------------------------------------------------===//

void KernelEmitter::beginSection(std::vector<std::string> entries) {
  if (!text.empty())
    source.sections.push_back({std::exchange(text, {}), entriesOfSection});
  entriesOfSection = std::move(entries);
}

runtime::Source KernelEmitter::takeSource() {
  beginSection({});
  if (!source.empty()) {
    std::string &last = source.sections.back().text;
    while (StringRef(last).ends_with("\n\n"))
      last.pop_back();
  }
  return std::move(source);
}

/// The name of the entry that runs a loop in one launch.
static std::string oneLaunchEntry(fused::LoopOp loop) {
  return identifierFrom(loop.getName().value_or("loop")) + "_in_one_launch";
}

//===----------------------------------------------------------------------===//
// Banner and includes
//===----------------------------------------------------------------------===//

static std::string listNames(ArrayRef<std::string> names) {
  return names.empty() ? "nothing" : llvm::join(names, ", ");
}

void KernelEmitter::emitBanner() {
  os << "// " << identifierFrom(kernel.getSymName()) << ": " << sweeps.size()
     << (sweeps.size() == 1 ? " sweep" : " sweeps") << "\n";
  for (fused::SweepOp sweep : sweeps) {
    auto layout = SweepLayout::compute(sweep, buffers);
    if (failed(layout))
      continue;
    os << "//\n// " << layout->name << ", "
       << fused::stringifyScheduleKind(sweep.getScheduleAttr().getKind())
       << ": a block of " << layout->threads << " threads takes a tile";
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

void KernelEmitter::emitIncludes() {
  bool reduces = false, loops = false, shares = false, trips = false;
  kernel.walk([&](Operation *op) {
    reduces |= isa<fused::ReduceOp, fused::PrecomputeOp>(op);
    loops |= isa<fused::LoopOp>(op);
  });
  for (fused::SweepOp sweep : sweeps)
    trips |= sweep.usesTrip() || llvm::any_of(sweep.getIndices(), isEntryIndex);
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
  os << "#include \"math.cuh\"\n";
  if (reduces)
    os << "#include \"reduce.cuh\"\n";
  if (shares)
    os << "#include \"shares.cuh\"\n";
  os << "#include \"tables.cuh\"\n";
  if (trips)
    os << "#include \"trips.cuh\"\n";
  os << "\n";
}

//===----------------------------------------------------------------------===//
// Names and types of a sweep
//===----------------------------------------------------------------------===//

SweepNames KernelEmitter::nameSweep(fused::SweepOp sweep,
                                    const SweepLayout &layout) {
  SweepNames names;
  names.sweep = identifierFrom(layout.name);
  Scope scope;
  std::string parameters = "heddle_table table", arguments = "table";
  unsigned aheads = 0;
  for (const KernelArgument &argument : KernelSignature::of(layout).arguments) {
    if (argument.kind == KernelArgumentKind::scalar) {
      const ScalarSlot &slot = layout.scalars[argument.slot];
      bool isTrip = layout.trip == argument.slot;
      std::string name =
          scope.fresh(isTrip ? "trip_at" : buffers[slot.buffer].name + "_at");
      names.scalars.push_back(name);
      std::string type = storedType(slot.storage).str();
      if (argument.byValue)
        parameters += ", heddle::number<" + type + ", ByValue> " + name;
      else
        parameters += (slot.written ? ", " : ", const ") + type + " *" + name;
      arguments += ", " + name;
    }
    if (argument.kind != KernelArgumentKind::scratch)
      continue;
    const ScratchSlot &slot = layout.scratch[argument.slot];
    std::string type, name;
    if (auto reduce = dyn_cast<fused::ReduceOp>(slot.owner)) {
      bool isTicket = slot.per == ScratchPer::ticket;
      type = isTicket ? "unsigned" : stateOf(reduce);
      StringRef own = nameOf(reduce.getResult(0));
      StringRef per = isTicket                         ? "_tickets"
                      : slot.per == ScratchPer::member ? "_of_members"
                      : slot.per == ScratchPer::tile   ? "_of_tiles"
                                                       : "_of_columns";
      name = scope.fresh(((own.empty() ? StringRef("sum") : own) + per).str());
    } else {
      type = names.sweep + "_ahead" + (aheads ? std::to_string(aheads) : "");
      name = scope.fresh("ahead");
      ++aheads;
    }
    names.scratch.push_back(name);
    names.scratchTypes.push_back(type);
    parameters += ", " + type + " *" + name;
    arguments += ", " + name;
  }
  names.parameters = parameters;
  names.arguments = arguments;
  return names;
}

void KernelEmitter::emitRowTypes(const SweepLayout &layout,
                                 const SweepNames &names) {
  int64_t rank = layout.rank == 2 ? 2 : 1;
  for (StringRef kind : {"member_row", "tile_row"})
    os << "using " << names.sweep << "_" << kind << " = heddle::" << kind << "<"
       << std::max<int64_t>(1, layout.pointers) << ", " << rank << ">;\n";
  os << "\n";
}

LogicalResult KernelEmitter::emitAheads(fused::SweepOp sweep,
                                        const SweepLayout &layout,
                                        const SweepNames &names) {
  for (auto [slot, type] : llvm::zip(layout.scratch, names.scratchTypes)) {
    auto ahead = dyn_cast<fused::PrecomputeOp>(slot.owner);
    if (!ahead)
      continue;
    Block &body = ahead.getBody().front();
    os << "// Scalars of a member that are kept from step to step, and what "
          "they\n"
          "// were computed from.\n"
       << "struct " << type << " {\n";
    os.indent();
    os << "unsigned valid;\n";
    for (BlockArgument argument : body.getArguments())
      os << computedType(argument.getType()) << ' '
         << identifierFrom(nameOf(argument)) << "_was;\n";
    for (auto [k, result] : llvm::enumerate(ahead.getResultTypes()))
      os << computedType(result) << " value_" << k << ";\n";
    os.unindent() << "};\n\n";

    Scope scope;
    os << "__device__ __forceinline__ void " << type << "_of(";
    for (BlockArgument argument : body.getArguments())
      os << computedType(argument.getType()) << ' '
         << scope.declare(argument, "x") << ", ";
    SmallVector<std::string> results;
    for (auto [k, result] : llvm::enumerate(ahead.getResults())) {
      StringRef own = nameOf(result);
      results.push_back(scope.fresh(own.empty() ? StringRef("value") : own));
      os << (k ? ", " : "") << computedType(result.getType()) << " &"
         << results.back();
    }
    os << ") {\n";
    os.indent();
    std::function<Expression(Value)> expression = [&](Value value) {
      if (scope.knows(value))
        return Expression{scope[value], Expression::primary};
      return printScalar(value.getDefiningOp(), expression)
          .value_or(Expression{"0", Expression::primary});
    };
    for (Operation &op : body.without_terminator()) {
      if (isa<arith::ConstantOp>(op))
        continue;
      auto printed = printScalar(&op, expression);
      if (!printed)
        return op.emitOpError("has no CUDA text");
      Value value = op.getResult(0);
      os << "const " << computedType(value.getType()) << ' '
         << scope.declare(value) << " = " << printed->text << ";\n";
    }
    for (auto [name, value] : llvm::zip(results, ahead.getYield().getValues()))
      os << name << " = " << expression(value).text << ";\n";
    os.unindent() << "}\n\n";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// With several segments, the function that picks the one a tile belongs to.
void KernelEmitter::emitDispatch(const SweepLayout &layout,
                                 const SweepNames &names) {
  if (layout.segments.size() == 1)
    return;
  os << names.templateHead << "__device__ __forceinline__ void " << names.sweep
     << "_tile(const " << names.sweep << "_tile_row &tile, int tile_index, "
     << names.parameters << ") {\n";
  os.indent();
  os << "switch (tile.segment) {\n";
  for (size_t s = 0; s < layout.segments.size(); ++s) {
    if (s + 1 < layout.segments.size())
      os << "case " << s << ":\n";
    else
      os << "default:\n";
    os << "  return " << names.sweep << "_tile_" << s
       << "<ByValue, Passing>(tile, tile_index, " << names.arguments << ");\n";
  }
  os << "}\n";
  os.unindent() << "}\n\n";
}

void KernelEmitter::emitEntry(fused::SweepOp sweep, const SweepLayout &layout,
                              const SweepNames &names,
                              fused::VariantAttr variant) {
  bool isByValue = variant.getScalars() == fused::ScalarPassing::value;
  StringRef byValue = isByValue ? "true" : "false";
  std::string parameters = names.parameters;
  // The template argument; a name has neither commas nor brackets around it.
  for (size_t at; (at = parameters.find(", ByValue>")) != std::string::npos;)
    parameters.replace(at + 2, strlen("ByValue"), byValue);
  os << "extern \"C\" __global__ void __launch_bounds__(" << layout.threads
     << ", HEDDLE_BLOCKS(" << variant.getBlocks() << "))\n"
     << names.sweep << entrySuffix(sweep, variant) << "(" << parameters
     << ") {\n";
  os.indent();
  std::string values =
      ("<" + byValue + (variant.getEvictFirst() ? ", true>(" : ", false>("))
          .str();
  if (names.hasNext)
    os << "heddle::let_next_begin();\n";
  if (layout.whereScalar && names.hasPrevious)
    os << "heddle::wait_for_previous();\n";
  if (layout.whereScalar)
    os << "if (!*" << names.scalars[*layout.whereScalar] << ")\n  return;\n";
  if (layout.endsList)
    os << "if (table.tile_count == 0)\n  return " << names.sweep << "_finish"
       << values << names.arguments << ");\n";
  os << "const int tile_index = "
     << (sweep.getReversed() ? "table.tile_count - 1 - " : "")
     << (layout.columns ? "heddle::tile_of_block(table)" : "blockIdx.x")
     << ";\n";
  os << "const " << names.sweep << "_tile_row tile = heddle::row_at<"
     << names.sweep << "_tile_row>(table.tiles, tile_index);\n";
  os << names.sweep << "_tile" << values << "tile, tile_index, "
     << names.arguments << ");\n";
  os.unindent() << "}\n\n";
}

/// Whether the launch of `op` may begin before the one before it has ended.
static bool isDependent(Operation *op) {
  auto sweep = dyn_cast_or_null<fused::SweepOp>(op);
  return sweep && sweep.getLaunchAttr() && sweep.getLaunchAttr().isDependent();
}

LogicalResult KernelEmitter::emitSweep(fused::SweepOp sweep) {
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
  emitRowTypes(*layout, names);
  if (failed(emitAheads(sweep, *layout, names)))
    return failure();
  if (layout->endsList &&
      failed(FinishEmitter(os, sweep, *layout, names).emit()))
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
  for (fused::VariantAttr variant : sweep.getLaunchAttr().getVariants()) {
    beginSection({names.sweep + entrySuffix(sweep, variant).str()});
    emitEntry(sweep, *layout, names, variant);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// One launch for the whole loop: all its blocks are resident and meet between
/// sweeps.
LogicalResult KernelEmitter::emitLoop(fused::LoopOp loop) {
  auto cooperative = loop.getCooperativeAttr();
  if (!cooperative)
    return success();
  std::string name = oneLaunchEntry(loop);
  beginSection({name});
  Scope scope;
  std::string parameters;
  struct Call {
    std::string table, function, finish, row, arguments, scratch;
    std::map<int, std::string> scalars; // by their slots
    bool endsList, reversed;
  };
  SmallVector<Call> calls;
  std::vector<SweepLayout> layouts;
  std::vector<SweepNames> ownNames;
  for (auto sweep : loop.getBody().front().getOps<fused::SweepOp>()) {
    auto layout = SweepLayout::compute(sweep, buffers);
    if (failed(layout))
      return failure();
    SweepNames names = nameSweep(sweep, *layout);
    Call call;
    call.function = names.sweep + "_tile<false, false>";
    call.finish = names.sweep + "_finish<false, false>";
    call.row = names.sweep + "_tile_row";
    call.endsList = layout->endsList;
    call.reversed = sweep.getReversed();
    calls.push_back(std::move(call));
    layouts.push_back(std::move(*layout));
    ownNames.push_back(std::move(names));
  }
  std::string tripsAt, limitAt, moreAt, barrier;
  auto add = [&](const std::string &type, const std::string &parameter) {
    parameters += (parameters.empty() ? "" : ", ") + type + parameter;
    return parameter;
  };
  KernelSignature signature =
      KernelSignature::ofCooperative(loop, layouts, buffers);
  for (const KernelArgument &argument : signature.arguments) {
    const SweepNames &names = ownNames[argument.sweep];
    Call &call = calls[argument.sweep];
    switch (argument.kind) {
    case KernelArgumentKind::table:
      call.table = add("heddle_table ", scope.fresh("table_of_" + names.sweep));
      call.arguments = call.table;
      break;
    case KernelArgumentKind::scalar: {
      const ScalarSlot &slot = layouts[argument.sweep].scalars[argument.slot];
      std::string type = storedType(slot.storage).str();
      call.scalars[argument.slot] =
          add(argument.byValue ? "heddle::number<" + type + ", false> "
              : slot.written   ? type + " *"
                               : "const " + type + " *",
              scope.fresh(names.scalars[argument.slot]));
      break;
    }
    case KernelArgumentKind::scratch:
      call.scratch += ", " + add(names.scratchTypes[argument.slot] + " *",
                                 scope.fresh(names.scratch[argument.slot]));
      break;
    case KernelArgumentKind::trips:
      tripsAt = add("int *", scope.fresh("trips_at"));
      break;
    case KernelArgumentKind::limit:
      limitAt = add("const int *", scope.fresh("limit_at"));
      break;
    case KernelArgumentKind::condition:
      moreAt = add("const bool *", scope.fresh("more_at"));
      break;
    case KernelArgumentKind::barrier:
      barrier = add("unsigned *", scope.fresh("barrier"));
      break;
    case KernelArgumentKind::panelScratch:
      break;
    }
  }
  Value active = loop.getActive();
  std::string anyActive;
  for (auto [sweep, layout, names, call] :
       llvm::zip(loop.getBody().front().getOps<fused::SweepOp>(), layouts,
                 ownNames, calls)) {
    for (size_t k = 0; k < layout.scalars.size(); ++k)
      call.arguments +=
          ", " +
          (layout.trip == static_cast<int>(k) ? "&trips" : call.scalars[k]);
    call.arguments += call.scratch;
    if (active && sweep.getWhere() == active)
      anyActive =
          llvm::formatv("heddle::any_member<{0}_member_row, {1}>({2}.members, "
                        "{2}.member_count)",
                        names.sweep, layout.whereOperand[0], call.table);
  }
  os << "extern \"C\" __global__ void __launch_bounds__("
     << cooperative.getThreads() << ", " << cooperative.getBlocks() << ")\n"
     << name << "(" << parameters << ") {\n";
  os.indent();
  os << "const int limit = *" << limitAt << ";\n"
     << "int trips = 0;\n"
     << "for (bool more = limit > 0; more;) {\n";
  os.indent();
  for (const Call &call : calls) {
    if (call.endsList)
      os << "if (" << call.table << ".tile_count == 0 && blockIdx.x == 0)\n  "
         << call.finish << "(" << call.arguments << ");\n";
    os << "for (int k = blockIdx.x; k < " << call.table
       << ".tile_count; k += gridDim.x) {\n";
    os.indent();
    os << "const int tile_index = "
       << (call.reversed ? call.table + ".tile_count - 1 - k" : "k") << ";\n"
       << call.function << "(heddle::row_at<" << call.row << ">(" << call.table
       << ".tiles, tile_index), tile_index, " << call.arguments << ");\n";
    os.unindent() << "}\n"
                  << "heddle::grid_barrier(" << barrier << ");\n";
  }
  os << "++trips;\n"
     << "more = trips < limit && "
     << (active ? anyActive
                : "*static_cast<const volatile bool *>(" + moreAt + ")")
     << ";\n"
     << "heddle::grid_barrier(" << barrier
     << "); // nobody writes the flag anew before all "
        "have read it\n";
  os.unindent() << "}\n"
                << "if (blockIdx.x == 0 && threadIdx.x == 0)\n  *" << tripsAt
                << " = trips;\n";
  os.unindent() << "}\n\n";
  return success();
}

LogicalResult KernelEmitter::emit() {
  kernel.walk([&](fused::SweepOp sweep) { sweeps.push_back(sweep); });
  emitBanner();
  emitIncludes();
  for (fused::SweepOp sweep : sweeps)
    if (failed(emitSweep(sweep)))
      return failure();
  LogicalResult loops = success();
  kernel.walk([&](fused::LoopOp loop) {
    if (failed(emitLoop(loop)))
      loops = failure();
  });
  return loops;
}

/// A text of its own, compiled once for every class of widths that is met.
LogicalResult KernelEmitter::emitPanels() {
  LogicalResult done = success();
  bool any = false;
  kernel.walk([&](fused::LoopOp loop) {
    if (!loop.getPanels())
      return;
    auto panel = PanelLayout::compute(loop, buffers);
    if (!panel) {
      done = loop.emitOpError("cannot run in panels; run "
                              "fused-configure-launches");
      return;
    }
    auto sweep = cast<fused::SweepOp>(loop.getBody().front().front());
    auto layout = SweepLayout::compute(sweep, buffers);
    if (failed(layout)) {
      done = failure();
      return;
    }
    SweepNames names = nameSweep(sweep, *layout);
    if (!any)
      os << "// " << identifierFrom(kernel.getSymName())
         << ": loops by the panel schedule\n"
         << "#include \"panel.cuh\"\n#include \"trips.cuh\"\n\n";
    any = true;
    PanelEmitter emitter(sweep, *layout, names, buffers, *panel);
    if (failed(emitter.emitLoop(os)))
      done = failure();
  });
  return done;
}

FailureOr<runtime::Source> emitKernel(fused::ProgramOp kernel,
                                      const Buffers &buffers) {
  KernelEmitter emitter(kernel, buffers);
  if (failed(emitter.emit()))
    return failure();
  return emitter.takeSource();
}

FailureOr<std::string> emitPanels(fused::ProgramOp kernel,
                                  const Buffers &buffers) {
  KernelEmitter emitter(kernel, buffers);
  if (failed(emitter.emitPanels()))
    return failure();
  return emitter.takeSource().text();
}

} // namespace heddle::cuda
