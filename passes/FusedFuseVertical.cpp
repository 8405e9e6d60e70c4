//===- FusedFuseVertical.cpp - sweeps over one domain become one ----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Visits pairs of sweeps in the order of the bytes that a merge saves, largest
// first. A merge is legal if the second sweep does not depend on the first
// through a third operation, and uses no value before it is complete. Bodies
// are copied when all decisions are made.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion.h"
#include "passes/Passes.h"
#include "passes/Scalars.h"
#include "passes/SweepBuilder.h"
#include "passes/VerticalFusion.h"

namespace heddle {
#define GEN_PASS_DEF_FUSEDFUSEVERTICAL
#include "passes/Passes.h.inc"
} // namespace heddle

using namespace mlir;
using namespace heddle;
using namespace heddle::fused;

VerticalFusion::VerticalFusion(Block &block, ProgramOp program,
                               const Domains &domains, bool remarks,
                               Pass::Statistic &merged,
                               Pass::Statistic &refused)
    : block(block), program(program), domains(domains), remarks(remarks),
      numMerged(merged), numRefused(refused),
      perIteration(isa<LoopOp>(block.getParentOp())), graph(block),
      groups(graph.size()) {}

void VerticalFusion::run() {
  for (int number = 0; number < graph.size(); ++number)
    addGroup(number);
  addPairs();
  bool changed = false;
  while (auto choice = next())
    changed |= tryMerge(*choice);
  if (changed)
    build();
}

bool VerticalFusion::tryMerge(const Choice &choice) {
  auto [first, second, firstIsLarger, fits, saved] = choice;
  std::string why;
  Verdict verdict = Verdict::illegal;
  for (Fit fit : fits)
    if ((verdict = tryFit(choice, fit, why)) == Verdict::legal)
      break;
  Location loc = graph.lastOf(second)->getLoc();
  if (verdict == Verdict::legal) {
    ++numMerged;
    if (remarks)
      mlir::emitRemark(loc)
          << nameFor(first) << " merged into " << nameFor(second) << ": saves "
          << (weigh(saved) > 0 ? describe(saved, program)
                               : "no bytes, but one sweep");
    join(first, second, firstIsLarger);
    return true;
  }
  pairs[keyOf(first, second)].illegal = verdict == Verdict::illegal;
  ++numRefused;
  if (remarks)
    mlir::emitRemark(loc) << nameFor(second) << " is not merged with "
                          << nameFor(first) << ": "
                          << reasonAgainst(choice, why);
  return false;
}

/// The sweeps of a group in order.
SmallVector<SweepPart> VerticalFusion::partsOf(int group) const {
  SmallVector<SweepPart> parts;
  llvm::DenseMap<Operation *, size_t> numbers;
  for (Operation *member : graph.membersOf(group)) {
    auto sweep = cast<SweepOp>(member);
    numbers[member] = parts.size();
    parts.push_back({sweep, fits.lookup(sweep), {}});
    for (BlockArgument argument : sweep.getSegmentBlock(0).getArguments())
      if (Operation *body = firstReplacingSweep.lookup(argument);
          body && body != member)
        parts[numbers.lookup(body)].roundedHere.push_back(argument);
  }
  return parts;
}

/// Makes the sweep of each group, in the order of the groups.
void VerticalFusion::build() {
  Operation *end = block.getTerminator();
  OpBuilder builder(end);
  for (int group : graph.inOrder())
    if (graph.firstOf(group) != graph.lastOf(group))
      mergeSweeps(builder, partsOf(group));
    else if (graph.lastOf(group) != end)
      graph.lastOf(group)->moveBefore(end);
}

namespace {
struct FusedFuseVertical
    : heddle::impl::FusedFuseVerticalBase<FusedFuseVertical> {
  using FusedFuseVerticalBase::FusedFuseVerticalBase;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    Domains domains(program);
    forEachBlock(program, [&](Block &block) {
      VerticalFusion(block, program, domains, remarks, numMerged, numRefused)
          .run();
    });
    cleanBodies(program);
    program.walk([](SweepOp sweep) { dropUnused(sweep); });
  }
};
} // namespace
