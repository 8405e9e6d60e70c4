//===- SourceBanner.cpp - the head of a source ----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Says which sweeps the source has, and includes the device headers that they
// need.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/ProgramEmitter.h"
#include "codegen/device/reduce_constants.h"
#include "codegen/layout/BranchlessMath.h"
#include "codegen/layout/RowsForm.h"
#include "dialect/Bindings.h"
#include "runtime/support/Text.h"

using namespace mlir;

namespace heddle::cuda {

static std::string listNames(ArrayRef<std::string> names) {
  return names.empty() ? "nothing" : llvm::join(names, ", ");
}

void ProgramEmitter::emitBanner() {
  os << "// " << identifierFrom(program.getSymName()) << ": "
     << counted(sweeps.size(), "sweep") << "\n";
  for (fused::SweepOp sweep : sweeps) {
    auto layout = SweepLayout::compute(sweep, buffers);
    if (failed(layout))
      continue;
    os << "//\n// " << layout->name << ", "
       << fused::stringifyScheduleKind(sweep.getScheduleAttr().getKind())
       << ": a block of " << layout->threads << " threads processes a tile";
    if (sweep.getLaunchAttr() && sweep.getLaunchAttr().endsInOwnLaunch()) {
      if (endsListAlone(sweep, *layout))
        os << ", then one of " << list_threads << " ends the list";
      else
        os << ", then another ends a member";
    }
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
      os << "\n//   "
         << counted(segment.tile, layout->rank == 2 ? "row" : "element")
         << (segment.columns ? ", shared by blocks, " : ", ") << bytes
         << " bytes per element: reads " << listNames(read) << "; writes "
         << listNames(written);
    }
    os << "\n";
  }
}

void ProgramEmitter::emitIncludes() {
  bool reduces = false, loops = false, shares = false, iterations = false;
  bool branchless = false, held = false, adjacent = false, parts = false,
       randoms = false;
  bool halves = false;
  program.walk([&](Operation *op) {
    halves |= isa<foreach::HighOp, foreach::LowOp, foreach::JoinOp>(op);
    randoms |= isa<foreach::RandomOp, foreach::RoundOp>(op);
    reduces |= isa<fused::ReduceOp, fused::PrecomputeOp>(op);
    loops |= isa<fused::LoopOp>(op);
  });
  for (fused::SweepOp sweep : sweeps)
    iterations |=
        sweep.usesIteration() || llvm::any_of(sweep.getIndices(), isEntryIndex);
  for (fused::SweepOp sweep : sweeps)
    if (auto layout = SweepLayout::compute(sweep, buffers); succeeded(layout)) {
      shares |= layout->columns > 0 || layout->columnRange > 0;
      parts |=
          layout->rank == 2 && sweep
                                   ->walk([](fused::ReduceOp op) {
                                     return op.getLevel() == fused::Level::row
                                                ? WalkResult::interrupt()
                                                : WalkResult::advance();
                                   })
                                   .wasInterrupted();
      for (auto [s, segment] : llvm::enumerate(layout->segments)) {
        held |= segment.held.columns > 0;
        adjacent |= hasAdjacentColumns(sweep, segment, s);
      }
      bool isStream =
          sweep.getScheduleAttr().getKind() == fused::ScheduleKind::stream;
      for (unsigned s = 0; s < sweep.getNumSegments(); ++s)
        branchless |= isStream ? usesBranchlessMath(sweep, s)
                               : usesBranchlessRows(sweep, s);
      reduces |=
          layout->endsList ||
          llvm::any_of(layout->segments, [](const SegmentLayout &segment) {
            return segment.endsMembers;
          });
    }
  os << "#include \"access.cuh\"\n";
  if (branchless)
    os << "#include \"branchless.cuh\"\n";
  if (adjacent)
    os << "#include \"columns.cuh\"\n";
  if (loops)
    os << "#include \"grid.cuh\"\n";
  if (halves)
    os << "#include \"halves.cuh\"\n";
  if (iterations)
    os << "#include \"iterations.cuh\"\n";
  os << "#include \"math.cuh\"\n";
  if (randoms)
    os << "#include \"random.cuh\"\n";
  if (reduces)
    os << "#include \"reduce.cuh\"\n";
  if (parts)
    os << "#include \"row_parts.cuh\"\n";
  if (held)
    os << "#include \"rows.cuh\"\n";
  if (shares)
    os << "#include \"shares.cuh\"\n";
  os << "#include \"tables.cuh\"\n";
  os << "\n";
}

} // namespace heddle::cuda
