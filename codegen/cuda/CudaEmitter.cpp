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

using namespace mlir;

namespace heddle::cuda {

StringRef entrySuffix(fused::SweepOp sweep, fused::VariantAttr variant) {
  if (variant.isEvictFirst())
    return "_evict_first";
  bool inLoop = isa<fused::LoopOp>(sweep->getParentOp());
  return inLoop || variant.getScalars() == fused::ScalarPassing::value
             ? "_tiles"
             : "_tiles_by_address";
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