//===- KernelSignature.cpp - the arguments of a kernel, in order ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "codegen/layout/KernelSignature.h"

namespace heddle {

using Kind = KernelArgumentKind;

/// The size of the barrier of a cooperative launch (device/grid.cuh).
static constexpr int64_t kGridBarrierBytes = 8;

static KernelArgument argumentOf(Kind kind, int sweep = 0, int slot = -1) {
  KernelArgument argument;
  argument.kind = kind;
  argument.sweep = sweep;
  argument.slot = slot;
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

KernelArgument &KernelSignature::add(KernelArgument argument) {
  positions.try_emplace({static_cast<int>(argument.kind), argument.slot},
                        arguments.size());
  return arguments.emplace_back(argument);
}

void KernelSignature::addScalars(const SweepLayout &sweep, int number,
                                 bool withIteration) {
  for (auto [k, slot] : llvm::enumerate(sweep.scalars)) {
    if (!withIteration && sweep.iteration == static_cast<int>(k))
      continue;
    KernelArgument &argument = add(argumentOf(Kind::scalar, number, k));
    argument.buffer = slot.buffer;
    argument.byValue = slot.isByValue;
  }
}

void KernelSignature::addScratch(const SweepLayout &sweep, int number) {
  for (size_t k = 0; k < sweep.scratch.size(); ++k)
    add(argumentOf(Kind::scratch, number, k));
}

KernelSignature KernelSignature::of(const SweepLayout &sweep) {
  KernelSignature signature;
  signature.add(argumentOf(Kind::table));
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
    signature.add(argumentOf(Kind::table, number));
    signature.addScalars(sweep, number, /*withIteration=*/false);
    signature.addScratch(sweep, number);
  }
  signature.add(loopScalar(Kind::iterations, buffers.of(loop.getIterations())));
  signature.add(loopScalar(Kind::limit, buffers.of(loop.getLimit())));
  if (!loop.getActive())
    signature.add(
        loopScalar(Kind::condition, buffers.of(loop.getYield().getMore())));
  signature.add(barrierOf(kGridBarrierBytes));
  return signature;
}

KernelSignature KernelSignature::ofPanels(const SweepLayout &sweep,
                                          const PanelLayout &panels) {
  KernelSignature signature;
  signature.add(argumentOf(Kind::table));
  signature.addScalars(sweep, 0, /*withIteration=*/false);
  signature.add(loopScalar(Kind::limit, panels.limit));
  for (size_t k = 0; k < panels.scratch.size(); ++k)
    signature.add(argumentOf(Kind::panelScratch, /*sweep=*/0, k));
  signature.add(barrierOf(panel_barrier_bytes));
  return signature;
}

int KernelSignature::positionOf(Kind kind, int slot) const {
  auto found = positions.find({static_cast<int>(kind), slot});
  return found == positions.end() ? -1 : found->second;
}

} // namespace heddle
