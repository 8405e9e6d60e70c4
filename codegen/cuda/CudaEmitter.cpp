//===- CudaEmitter.cpp - CUDA C++ source of a program ---------------------===//
//
// Banner, includes, the types of a sweep, the functions that process a tile,
// and the entries that a plan launches.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/EpilogueEmitter.h"
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

int minimumBlocks(fused::SweepOp sweep, const SweepLayout &layout) {
  if (sweep.getScheduleAttr().getKind() != fused::ScheduleKind::stream)
    return RowsEmitter::minimumBlocks(sweep, layout);
  // A sweep that streams needs loads in flight: as many blocks as leave every
  // thread registers for its elements, for addresses and what is computed from
  // them (about two thirds as many again, and a dozen), and for scalars that
  // are read rather than passed. Doubles take two registers, and their
  // divisions and square roots a few besides.
  int64_t registers = 0;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    const SegmentLayout &segment = layout.segments[s];
    int64_t words = 0, loaded = 0;
    // Of a sweep that only reads, the elements of all rounds are held at once.
    bool writes = llvm::any_of(segment.operands, [](const OperandSlot &slot) {
      return slot.written && slot.index == kI;
    });
    int64_t rounds =
        writes ? 1
               : std::max<int64_t>(1, segment.tile /
                                          (layout.threads * segment.vector));
    bool doubles = llvm::any_of(
        sweep.getSegmentBlock(s).getOps<fused::ReduceOp>(),
        [](fused::ReduceOp op) { return op.getValue().getType().isF64(); });
    for (auto [argument, slot] :
         llvm::zip(sweep.getSegmentBlock(s).getArguments(), segment.inputs)) {
      if (slot < 0 && !layout.scalars[-1 - slot].isNumber)
        loaded += 3;
      if (slot >= 0 && segment.operands[slot].index == kScalar &&
          storageBytes(segment.operands[slot].storage) == 8)
        loaded += 3;
      if (slot < 0 || segment.operands[slot].index != kI)
        continue;
      bool wide = storageBytes(segment.operands[slot].storage) == 8;
      doubles |= wide;
      words += segment.vector * rounds * (wide ? 2 : 1);
    }
    int64_t own = 12 + words + words * 2 / 3 + loaded + (doubles ? 24 : 0) +
                  (words > 16 ? 8 : 0) + (segment.endsAfterStores ? 8 : 0);
    // What is only read is on its way as a whole, and folded as it arrives;
    // where the member's own values lie is kept for the end.
    if (!writes)
      own = 8 + words + loaded + (doubles ? 24 : 0) +
            2 * llvm::count_if(segment.operands, [](const OperandSlot &slot) {
              return isMemberIndex(slot.index);
            });
    registers = std::max(registers, own);
  }
  registers = llvm::alignTo(registers, 8);
  return std::clamp<int64_t>(65536 / (layout.threads * registers), 1, 8);
}

SmallVector<Entry> entriesOf(const SweepLayout &layout, bool inLoop) {
  if (inLoop)
    return {{"_tiles", false, false}};
  bool numbers = llvm::any_of(
      layout.scalars, [](const ScalarSlot &slot) { return slot.isNumber; });
  bool replaces =
      llvm::any_of(layout.segments, [](const SegmentLayout &segment) {
        return llvm::any_of(segment.operands, [](const OperandSlot &slot) {
          return slot.written && slot.index == kI;
        });
      });
  SmallVector<Entry> entries;
  if (layout.rank != 2 && replaces)
    entries.push_back({"_evict_first", true, true});
  entries.push_back({"_tiles", true, false});
  if (numbers)
    entries.push_back({"_tiles_by_address", false, false});
  return entries;
}

namespace {
class KernelEmitter {
public:
  KernelEmitter(std::string &source, fused::KernelOp kernel,
                const Buffers &buffers)
      : stream(source), os(stream), functions(source, os), kernel(kernel),
        buffers(buffers) {}
  LogicalResult emit();
  LogicalResult emitPanels();

private:
  LogicalResult emitSweep(fused::SweepOp sweep);
  void emitBanner();
  void emitIncludes();
  SweepNames nameSweep(fused::SweepOp sweep, const SweepLayout &layout);
  SweepNames nameScalars(fused::SweepOp sweep, const SweepLayout &layout);
  void emitTileTypes(const SweepLayout &layout, const SweepNames &names);
  LogicalResult emitPrecomputed(const SweepLayout &layout,
                                const SweepNames &names);
  void emitParams(const SweepNames &names);
  void emitDispatch(const SweepLayout &layout, const SweepNames &names);
  LogicalResult emitLoop(fused::LoopOp loop);
  void emitBlockFunction(fused::SweepOp sweep, const SweepLayout &layout,
                         const SweepNames &names);
  void emitEntry(fused::SweepOp sweep, const SweepLayout &layout,
                 const SweepNames &names, const Entry &entry);

  llvm::raw_string_ostream stream;
  raw_indented_ostream os;
  DeviceFunctions functions;
  fused::KernelOp kernel;
  const Buffers &buffers;
  llvm::SmallVector<fused::SweepOp> sweeps;
};
} // namespace

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

void KernelEmitter::emitIncludes() {
  bool reduces = false, loops = false, shares = false, trips = false;
  kernel.walk([&](Operation *op) {
    reduces |= isa<fused::ReduceOp, fused::AheadOp>(op);
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
  if (trips)
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

/// The type of a scalar as an argument of a kernel; `ByValue` stands for how
/// one is passed that nothing in the program writes.
static std::string argumentType(const ScalarSlot &slot) {
  StringRef type = storedType(slot.storage);
  if (slot.isNumber)
    return ("heddle::scalar_argument<" + type + ", ByValue> ").str();
  return ((slot.written ? "" : "const ") + type + " *").str();
}

std::string SweepNames::Field::typeFor(StringRef byValue) const {
  auto [before, after] = StringRef(type).split("ByValue");
  return after.empty() ? type : (before + byValue + after).str();
}

SweepNames KernelEmitter::nameSweep(fused::SweepOp sweep,
                                    const SweepLayout &layout) {
  SweepNames names;
  names.sweep = identifierFrom(layout.name);
  names.params = names.sweep + "_params";
  names.functions = &functions;
  Scope scope;
  auto field = [&](std::string type, StringRef name) {
    names.fields.push_back({std::move(type), name.str()});
    return ("p." + name).str();
  };
  field("heddle::table ", "table");
  for (auto [k, slot] : llvm::enumerate(layout.scalars)) {
    names.isTemplate |= slot.isNumber;
    bool isTrip = layout.trip == static_cast<int>(k);
    names.scalars.push_back(
        field(argumentType(slot),
              isTrip ? "iteration" : scope.fresh(buffers[slot.buffer].name)));
  }
  unsigned precomputed = 0;
  for (const ScratchSlot &slot : layout.scratch) {
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
      std::string number = precomputed ? std::to_string(precomputed) : "";
      type = names.sweep + "_precomputed" + number;
      function = names.sweep + "_precompute" + number;
      wanted = "precomputed";
      ++precomputed;
    }
    names.scratch.push_back(field(type + " *", scope.fresh(wanted)));
    names.scratchTypes.push_back(type);
    names.precompute.push_back(function);
  }
  return names;
}

/// The same for a kernel that takes its arguments one by one.
SweepNames KernelEmitter::nameScalars(fused::SweepOp sweep,
                                      const SweepLayout &layout) {
  SweepNames names;
  names.sweep = identifierFrom(layout.name);
  Scope scope;
  for (const ScalarSlot &slot : layout.scalars) {
    names.scalars.push_back(scope.fresh(buffers[slot.buffer].name + "_at"));
    names.taken.push_back(names.scalars.back());
  }
  return names;
}

void KernelEmitter::emitParams(const SweepNames &names) {
  os << "// The arguments of the kernels.\n";
  if (names.isTemplate)
    os << "template <bool ByValue> ";
  os << "struct " << names.params << " {\n";
  os.indent();
  for (const SweepNames::Field &field : names.fields)
    os << field.type << field.name << ";\n";
  os.unindent() << "};\n\n";
}

/// The descriptor of a tile, for each segment with the names and types of its
/// operands.
void KernelEmitter::emitTileTypes(const SweepLayout &layout,
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

LogicalResult KernelEmitter::emitPrecomputed(const SweepLayout &layout,
                                             const SweepNames &names) {
  for (auto [slot, type, function] :
       llvm::zip(layout.scratch, names.scratchTypes, names.precompute))
    if (auto ahead = dyn_cast<fused::AheadOp>(slot.owner))
      if (failed(cuda::emitPrecomputed(os, ahead, type, function)))
        return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// With several segments, the function that selects that of a tile.
void KernelEmitter::emitDispatch(const SweepLayout &layout,
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
                {{"const " + names.paramsType() + " &", "p"},
                 {"const " + names.sweep + "_tile &", "tile"},
                 {"int", "tile_index"}});
}

/// Arguments are separate parameters of an entry: the compiler keeps tile
/// descriptors and addresses in other registers, and up to ten more of them,
/// where it reads the same bytes from one structure.
void KernelEmitter::emitEntry(fused::SweepOp sweep, const SweepLayout &layout,
                              const SweepNames &names, const Entry &entry) {
  // Reading scalars costs registers that having them does not.
  int blocks = std::max(1, minimumBlocks(sweep, layout) - !entry.byValue);
  std::string byValue = entry.byValue ? "true" : "false";
  SmallVector<std::string> parameters, arguments;
  for (const SweepNames::Field &field : names.fields) {
    parameters.push_back(field.typeFor(byValue) + field.name);
    arguments.push_back(field.name);
  }
  os << "extern \"C\" __global__ void __launch_bounds__(" << layout.threads
     << ", HEDDLE_BLOCKS(" << blocks << "))\n"
     << DeviceFunctions::wrapped(names.sweep + entry.suffix.str() + "(",
                                 parameters, ") {")
     << "\n";
  os.indent();
  os << "const " << names.params
     << (names.isTemplate ? "<" + byValue + ">" : "") << " p = {"
     << llvm::join(arguments, ", ") << "};\n"
     << functions.call(names.sweep + "_block",
                       {{"EvictFirst", entry.passing ? "true" : "false"}})
     << ";\n";
  os.unindent() << "}\n\n";
}

/// The function that processes the tile of a block.
void KernelEmitter::emitBlockFunction(fused::SweepOp sweep,
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
    os << "if (p.table.tile_count == 0)\n  return "
       << functions.call(names.sweep + "_epilogue") << ";\n";
  os << "const int tile_index = "
     << (sweep.getReversed() ? "p.table.tile_count - 1 - " : "")
     << (layout.columns ? "heddle::tile_of_block(p.table)" : "blockIdx.x")
     << ";\n"
     << "const auto tile = heddle::descriptor_at<" << tile
     << ">(p.table.tiles, tile_index);\n"
     << functions.call(names.sweep + "_process") << ";\n";
  functions.end("", "void", names.sweep + "_block",
                {{"const " + names.paramsType() + " &", "p"}});
}

static bool isSweep(Operation *op) {
  return isa_and_nonnull<fused::SweepOp>(op);
}

LogicalResult KernelEmitter::emitSweep(fused::SweepOp sweep) {
  auto layout = SweepLayout::compute(sweep, buffers);
  if (failed(layout))
    return failure();
  SweepNames names = nameSweep(sweep, *layout);
  names.hasPrevious = isSweep(sweep->getPrevNode());
  names.hasNext = isSweep(sweep->getNextNode());
  if (isa<fused::LoopOp>(sweep->getParentOp()))
    names.hasPrevious = names.hasNext = false;
  for (Operation *op = sweep->getPrevNode(); op; op = op->getPrevNode())
    for (Value result : op->getResults())
      names.writtenBefore.insert(buffers.of(result));
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
  bool inLoop = isa<fused::LoopOp>(sweep->getParentOp());
  for (const Entry &entry : entriesOf(*layout, inLoop))
    emitEntry(sweep, *layout, names, entry);
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// A sweep that runs where the flag of its member holds, or null.
static fused::SweepOp sweepUnder(Value active) {
  for (OpOperand &use : active.getUses())
    if (auto sweep = dyn_cast<fused::SweepOp>(use.getOwner()))
      if (sweep.getWhere() == active)
        return sweep;
  return {};
}

bool runsInOneLaunch(fused::LoopOp loop, const Buffers &buffers) {
  for (Operation &op : loop.getBody().front().without_terminator())
    if (!isa<fused::SweepOp>(op))
      return false;
  // The flags of members are found in the rows of a sweep, in the place where
  // the next trip looks for them.
  if (Value active = loop.getActive())
    if (!sweepUnder(active) ||
        buffers.of(active) != buffers.of(loop.getYield().getMore()))
      return false;
  // Values that are carried elsewhere than they are yielded are copied between
  // trips, by nodes of their own.
  return llvm::all_of(llvm::zip(loop.getYield().getValues(), loop.getResults()),
                      [&](auto pair) {
                        int to = buffers.of(std::get<1>(pair));
                        return to < 0 || to == buffers.of(std::get<0>(pair));
                      });
}

/// One launch for the whole loop: all its blocks are resident, and synchronize
/// between sweeps.
LogicalResult KernelEmitter::emitLoop(fused::LoopOp loop) {
  if (!runsInOneLaunch(loop, buffers))
    return success();
  std::string name =
      identifierFrom(loop->getAttrOfType<StringAttr>(kNameAttr).getValue());
  struct Call {
    SweepNames names;
    std::string params, arguments; // a structure, and its fields' values
    bool endsList, reversed;
  };
  std::vector<Call> calls;
  Scope scope;
  SmallVector<std::string> parameters;
  auto declare = [&](StringRef type, const Twine &wanted) {
    std::string name = scope.fresh(wanted.str());
    parameters.push_back(type.str() + name);
    return name;
  };
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
    for (const SweepNames::Field &field : call.names.fields)
      call.arguments +=
          (call.arguments.empty() ? "" : ", ") +
          (field.name == "iteration" ? "&iteration"
           : field.name == "table"
               ? declare(field.type, "table_of_" + call.names.sweep)
               : declare(field.typeFor("false"), field.name));
    if (active && sweep.getWhere() == active)
      anyActive = llvm::formatv(
          "heddle::any_member<{0}, {1}>({2}.table.members, "
          "{2}.table.member_count)",
          call.names.memberType(*layout), layout->whereOperand[0], call.params);
  }
  std::string taken = declare("int *", "iterations_taken"),
              limit = declare("const int *", "iteration_limit"), condition;
  if (!active)
    condition = declare("const bool *", "condition");
  std::string barrier = declare("unsigned *", "barrier");

  os << "// The whole loop in one launch, whose blocks synchronize between "
        "sweeps.\n"
     << "extern \"C\" __global__ void __launch_bounds__(" << kLoopThreads
     << ", 2)\n"
     << DeviceFunctions::wrapped(name + "_in_one_launch(", parameters, ") {")
     << "\n";
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
    std::pair<StringRef, StringRef> arguments[] = {{"p", call.params},
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
     << (active ? anyActive
                : "*static_cast<const volatile bool *>(" + condition + ")")
     << ";\n"
     << "heddle::grid_barrier(" << barrier
     << "); // no block writes the condition before all have read it\n";
  os.unindent() << "}\n"
                << "if (blockIdx.x == 0 && threadIdx.x == 0)\n  *" << taken
                << " = iteration;\n";
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

/// A source of its own, compiled once for every class of widths that occurs.
LogicalResult KernelEmitter::emitPanels() {
  LogicalResult done = success();
  bool any = false;
  kernel.walk([&](fused::LoopOp loop) {
    auto panel = PanelLayout::compute(loop, buffers);
    if (!panel)
      return;
    auto sweep = cast<fused::SweepOp>(loop.getBody().front().front());
    auto layout = SweepLayout::compute(sweep, buffers);
    if (failed(layout)) {
      done = failure();
      return;
    }
    SweepNames names = nameScalars(sweep, *layout);
    if (!any)
      os << "// " << identifierFrom(kernel.getSymName())
         << ": loops whose blocks keep panels of rows\n"
         << "#include \"panel.cuh\"\n#include \"iterations.cuh\"\n\n";
    any = true;
    os << "using " << names.sweep
       << "_member_descriptor = " << names.memberType(*layout) << ";\n\n";
    if (failed(PanelEmitter(os, sweep, *layout, names, buffers, *panel)
                   .emitLoop()))
      done = failure();
  });
  return done;
}

/// `source`, ended by one line break.
static std::string trimmed(std::string source) {
  while (StringRef(source).ends_with("\n\n"))
    source.pop_back();
  return source;
}

FailureOr<std::string> emitKernel(fused::KernelOp kernel,
                                  const Buffers &buffers) {
  std::string source;
  if (failed(KernelEmitter(source, kernel, buffers).emit()))
    return failure();
  return trimmed(std::move(source));
}

FailureOr<std::string> emitPanels(fused::KernelOp kernel,
                                  const Buffers &buffers) {
  std::string source;
  if (failed(KernelEmitter(source, kernel, buffers).emitPanels()))
    return failure();
  return trimmed(std::move(source));
}

} // namespace heddle::cuda
