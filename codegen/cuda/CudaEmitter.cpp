//===- CudaEmitter.cpp - CUDA C++ source of a program ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints the sections of the source, sweep by sweep.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/CudaEmitter.h"
#include "codegen/cuda/EpilogueEmitter.h"
#include "codegen/cuda/LongLines.h"
#include "codegen/cuda/PanelEmitter.h"
#include "codegen/cuda/ProgramEmitter.h"
#include "codegen/cuda/RowsEmitter.h"
#include "codegen/cuda/StreamEmitter.h"
#include "codegen/device/reduce_constants.h"
#include "codegen/layout/RowsForm.h"

using namespace mlir;

namespace heddle::cuda {

std::string entrySuffix(fused::SweepOp sweep, fused::VariantAttr variant) {
  if (variant.isEvictFirst())
    return "_evict_first";
  if (variant.takesDistances())
    return "_distances";
  if (variant.isForVectors())
    return "_vectors";
  if (variant.isForHeldRows())
    return variant.getMaxColumns() > kMostWarpColumns &&
                   variant.getMaxColumns() <= runtime::kPartColumns
               ? "_held_rows"
               : "_held_rows_" + std::to_string(variant.getMaxColumns());
  if (variant.isForClusters())
    return "_row_clusters";
  if (variant.isForParts())
    return "_row_parts";
  if (variant.isForLongParts())
    return "_long_parts";
  bool inLoop = isa<fused::LoopOp>(sweep->getParentOp());
  return inLoop || variant.getScalars() == fused::ScalarPassing::value
             ? "_tiles"
             : "_tiles_by_address";
}

bool hasHeldEntry(fused::SweepOp sweep) {
  return llvm::any_of(
      sweep.getLaunchAttr().getVariants(),
      [](fused::VariantAttr variant) { return variant.isForHeldRows(); });
}

bool hasVectorEntry(fused::SweepOp sweep) {
  return llvm::any_of(
      sweep.getLaunchAttr().getVariants(),
      [](fused::VariantAttr variant) { return variant.isForVectors(); });
}

bool hasClusterEntry(fused::SweepOp sweep) {
  return llvm::any_of(
      sweep.getLaunchAttr().getVariants(),
      [](fused::VariantAttr variant) { return variant.isForClusters(); });
}

bool takesDistances(fused::SweepOp sweep) {
  return llvm::any_of(
      sweep.getLaunchAttr().getVariants(),
      [](fused::VariantAttr variant) { return variant.takesDistances(); });
}

bool hasPartEntry(fused::SweepOp sweep) {
  return llvm::any_of(sweep.getLaunchAttr().getVariants(),
                      [](fused::VariantAttr variant) {
                        return variant.isForParts() && !variant.isForClusters();
                      });
}

SmallVector<EndsEntry, 2> endsEntries(fused::SweepOp sweep) {
  SmallVector<EndsEntry, 2> entries;
  if (!sweep.getLaunchAttr().endsInOwnLaunch())
    return entries;
  std::string name = sweep.getName()->str() + "_ends";
  for (auto [passing, suffix] :
       {std::pair(fused::ScalarPassing::value, ""),
        std::pair(fused::ScalarPassing::address, "_by_address")})
    if (llvm::any_of(sweep.getLaunchAttr().getVariants(),
                     [passing = passing](fused::VariantAttr variant) {
                       return variant.getScalars() == passing;
                     }))
      entries.push_back(
          {name + suffix, passing == fused::ScalarPassing::value});
  return entries;
}

bool endsListAlone(fused::SweepOp sweep, const SweepLayout &layout) {
  return layout.endsList && !layout.membersHaveEnds &&
         sweep.getLaunchAttr().endsInOwnLaunch();
}

int64_t threadsOfEnds(fused::SweepOp sweep, const SweepLayout &layout) {
  return endsListAlone(sweep, layout) ? list_threads : layout.threads;
}

std::string oneLaunchEntry(fused::LoopOp loop) {
  return loop.getName().value_or("loop").str() + "_in_one_launch";
}

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

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

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
  bool hasNext = isDependent(sweep->getNextNode());
  SmallVector<EndsEntry, 2> ends = endsEntries(sweep);
  names.hasNext = hasNext || !ends.empty();
  std::vector<std::string> entries;
  for (fused::VariantAttr variant : sweep.getLaunchAttr().getVariants())
    entries.push_back(names.sweep + entrySuffix(sweep, variant));
  if (auto loop = dyn_cast<fused::LoopOp>(sweep->getParentOp()))
    if (loop.getCooperativeAttr())
      entries.push_back(oneLaunchEntry(loop));
  std::vector<std::string> all = entries, ofEnds;
  for (const EndsEntry &entry : ends)
    ofEnds.push_back(entry.name);
  llvm::append_range(all, ofEnds);
  beginSection(std::move(all));
  emitTileTypes(*layout, names);
  if (failed(emitPrecomputed(*layout, names)))
    return failure();
  emitParams(names);
  if (!ends.empty())
    beginSection(std::move(entries));
  else if (failed(emitEpilogue(sweep, *layout, names)))
    return failure();
  std::vector<std::unique_ptr<SegmentEmitter>> segments;
  for (unsigned s = 0; s < sweep.getNumSegments(); ++s) {
    if (sweep.getScheduleAttr().getKind() == fused::ScheduleKind::stream)
      segments.push_back(std::make_unique<StreamEmitter>(os, sweep, *layout,
                                                         names, buffers, s));
    else
      segments.push_back(
          std::make_unique<RowsEmitter>(os, sweep, *layout, names, buffers, s));
    if (failed(segments.back()->emit()))
      return failure();
  }
  emitDispatch(*layout, names, "process");
  emitBlockFunction(sweep, *layout, names, /*takesDistances=*/false);
  if (takesDistances(sweep))
    emitBlockFunction(sweep, *layout, names, /*takesDistances=*/true);
  for (fused::VariantAttr variant : sweep.getLaunchAttr().getVariants()) {
    beginSection({names.sweep + entrySuffix(sweep, variant)});
    emitEntry(sweep, *layout, names, variant);
  }
  if (ends.empty())
    return success();
  beginSection(std::move(ofEnds));
  if (failed(emitEpilogue(sweep, *layout, names)))
    return failure();
  if (endsListAlone(sweep, *layout)) {
    emitListFunction(names, hasNext);
  } else {
    for (std::unique_ptr<SegmentEmitter> &segment : segments)
      if (failed(segment->emitEndOfOwnLaunch()))
        return failure();
    emitDispatch(*layout, names, "end");
    emitMemberFunction(*layout, names, hasNext);
  }
  for (const EndsEntry &entry : ends) {
    beginSection({entry.name});
    emitEndsEntry(sweep, *layout, names, entry);
  }
  return success();
}

LogicalResult ProgramEmitter::emitEpilogue(fused::SweepOp sweep,
                                           const SweepLayout &layout,
                                           const SweepNames &names) {
  return success(!layout.endsList ||
                 succeeded(EpilogueEmitter(os, sweep, layout, names,
                                           threadsOfEnds(sweep, layout))
                               .emit()));
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