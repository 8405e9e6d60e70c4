//===- KernelSignature.cpp - the arguments of a kernel, in order ----------===//

#include "codegen/layout/KernelSignature.h"

namespace heddle {

using Kind = KernelArgumentKind;

/// The size of the barrier of a cooperative launch (device/grid.cuh).
static constexpr int64_t kGridBarrierBytes = 8;

static KernelArgument argumentOf(Kind kind, int sweep = 0) {
  KernelArgument argument;
  argument.kind = kind;
  argument.sweep = sweep;
  return argument;
}

static KernelArgument loopScalar(Kind kind, int buffer) {
  KernelArgument argument = argumentOf(kind);
  argument.buffer = buffer;
  return argument;
}

static KernelArgument barrierOf(int64_t bytes) {
  KernelArgument argument = argumentOf(Kind::barrier);
  argument.bytes = bytes;
  return argument;
}

void KernelSignature::addScalars(const SweepLayout &sweep, int number,
                                 bool withIteration) {
  for (auto [k, slot] : llvm::enumerate(sweep.scalars)) {
    if (!withIteration && sweep.iteration == static_cast<int>(k))
      continue;
    KernelArgument &argument =
        arguments.emplace_back(argumentOf(Kind::scalar, number));
    argument.slot = k;
    argument.buffer = slot.buffer;
    argument.byValue = slot.isByValue;
  }
}

void KernelSignature::addScratch(const SweepLayout &sweep, int number) {
  for (size_t k = 0; k < sweep.scratch.size(); ++k)
    arguments.emplace_back(argumentOf(Kind::scratch, number)).slot = k;
}

KernelSignature KernelSignature::of(const SweepLayout &sweep) {
  KernelSignature signature;
  signature.arguments.push_back(argumentOf(Kind::table));
  signature.addScalars(sweep, 0, /*withIteration=*/true);
  signature.addScratch(sweep, 0);
  return signature;
}

KernelSignature
KernelSignature::ofCooperative(fused::LoopOp loop,
                               llvm::ArrayRef<SweepLayout> sweeps,
                               const Buffers &buffers) {
  KernelSignature signature;
  for (auto [number, sweep] : llvm::enumerate(sweeps)) {
    signature.arguments.push_back(argumentOf(Kind::table, number));
    signature.addScalars(sweep, number, /*withIteration=*/false);
    signature.addScratch(sweep, number);
  }
  signature.arguments.push_back(
      loopScalar(Kind::iterations, buffers.of(loop.getIterations())));
  signature.arguments.push_back(
      loopScalar(Kind::limit, buffers.of(loop.getLimit())));
  if (!loop.getActive())
    signature.arguments.push_back(
        loopScalar(Kind::condition, buffers.of(loop.getYield().getMore())));
  signature.arguments.push_back(barrierOf(kGridBarrierBytes));
  return signature;
}

KernelSignature KernelSignature::ofPanels(const SweepLayout &sweep,
                                          const PanelLayout &panels) {
  KernelSignature signature;
  signature.arguments.push_back(argumentOf(Kind::table));
  signature.addScalars(sweep, 0, /*withIteration=*/false);
  signature.arguments.push_back(loopScalar(Kind::limit, panels.limit));
  for (size_t k = 0; k < panels.scratch.size(); ++k)
    signature.arguments.emplace_back(argumentOf(Kind::panelScratch)).slot = k;
  signature.arguments.push_back(barrierOf(panel_barrier_bytes));
  return signature;
}

int KernelSignature::positionOf(Kind kind, int slot) const {
  for (auto [k, argument] : llvm::enumerate(arguments))
    if (argument.kind == kind && argument.slot == slot)
      return k;
  return -1;
}

} // namespace heddle
