//===- StepSpans.cpp - The spans of copies, fills and loops ---------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/GraphSteps.h"

#include "runtime/builtin/BuiltinKernels.h"
#include "runtime/plan/Scalar.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

namespace {

/// A span as heddle_copy and heddle_fill read it (builtin/device/copy.cu).
struct SpanDescriptor {
  const char *from;
  char *to;
  int64_t bytes;
  int64_t firstChunk;
};
constexpr int64_t chunkBytes = 16384;
int64_t chunksOf(const Span &span) {
  return (span.bytes + chunkBytes - 1) / chunkBytes;
}
/// With more chunks than this, a block copies several.
constexpr int64_t maxCopyBlocks = 16384;

} // namespace

/// Reserves the descriptors of a copy, a fill or a loop's flags. The size of a
/// descriptor is known before the addresses in it.
void StepBuilder::addSpans(const PlanNode &node, Choice &choice) {
  choice.spansOffset = alignUp(spanBytes.size());
  for (const Span &span : spansOf(node)) {
    choice.chunks += chunksOf(span);
    ++choice.spanCount;
  }
  spanBytes.resize(choice.spansOffset +
                   choice.spanCount * (node.kind == NodeKind::While
                                           ? sizeof(char *)
                                           : sizeof(SpanDescriptor)));
}

std::vector<Span> StepBuilder::spansOf(const PlanNode &node) const {
  return layout.spans(node.kind == NodeKind::Copy ? node.from : -1,
                      node.kind == NodeKind::While ? node.condition : node.to);
}

void StepBuilder::writeSpans(const PlanNode &node, const Choice &choice) {
  char *out = spanBytes.data() + choice.spansOffset;
  auto append = [&](const auto &descriptor) {
    std::memcpy(out, &descriptor, sizeof(descriptor));
    out += sizeof(descriptor);
  };
  int64_t chunk = 0;
  for (const Span &span : spansOf(node)) {
    if (node.kind == NodeKind::While)
      append(span.to);
    else
      append(SpanDescriptor{span.from, span.to, span.bytes, chunk});
    chunk += chunksOf(span);
  }
}

Expected<Launch> StepBuilder::copyOrFill(const PlanNode &node,
                                         const Choice &choice,
                                         const Addresses &addresses) {
  Launch launch;
  launch.name = node.name;
  bool copy = node.kind == NodeKind::Copy;
  Expected<CUfunction> function =
      builtinFunction(context, choice.chunks == 0 ? "heddle_nothing"
                               : copy             ? "heddle_copy"
                                                  : "heddle_fill");
  if (!function)
    return function.takeError();
  launch.function = *function;
  if (choice.chunks == 0) {
    launch.block = 32;
    return launch;
  }
  writeSpans(node, choice);
  if (copy)
    slotReads[node.from] = true;
  launch.grid = static_cast<unsigned>(std::min(choice.chunks, maxCopyBlocks));
  launch.block = 256;
  launch.add(addresses.spanDescriptors + choice.spansOffset);
  launch.add(choice.spanCount);
  launch.add(choice.chunks);
  if (!copy)
    launch.add(fillPattern(plan.buffers[node.to].dtype, node.value));
  return launch;
}

} // namespace heddle::runtime
