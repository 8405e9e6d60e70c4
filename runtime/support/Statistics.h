//===- Statistics.h - Counters of the runtime -----------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One set of counters for the whole process. Tests check that a change of a
// hyperparameter, a pointer or the model does not raise `compilations` or
// `graph_instantiations`.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_STATISTICS_H
#define HEDDLE_RUNTIME_SUPPORT_STATISTICS_H

#include <atomic>
#include <cstdint>

namespace heddle::runtime {

// name, meaning
#define HEDDLE_STATISTICS(X)                                                   \
  X(compilations, "sources compiled by NVRTC")                                 \
  X(cache_hits, "compilations answered from the disk cache")                   \
  X(cache_misses, "look-ups in the disk cache that found nothing")             \
  X(cache_stores, "entries written to the disk cache")                         \
  X(cache_evictions, "entries removed to keep the disk cache within its size") \
  X(cache_damaged, "entries that failed their checksum and were removed")      \
  X(cache_failures,                                                            \
    "times the disk cache could not be used (see doctor for the reason)")      \
  X(module_loads, "modules loaded into a CUDA context")                        \
  X(graph_instantiations, "CUDA graphs instantiated")                          \
  X(graph_node_updates, "nodes of an instantiated graph changed in place")     \
  X(graph_updates, "instantiated graphs updated as a whole")                   \
  X(prepares, "times buffers were checked and tables rebuilt")                 \
  X(rebindings, "times only addresses in tables were replaced")                \
  X(table_copies, "copies of tables to the device")                            \
  X(table_expansions, "launches that wrote tile descriptors on the device")    \
  X(allocations, "allocations of device memory")                               \
  X(scalar_writes, "scalars set by set_scalar")                                \
  X(slot_writes, "scalars written to device memory")                           \
  X(scalar_updates,                                                            \
    "nodes given new values of their by-value scalars in place")               \
  X(programmatic_edges, "edges across which a kernel may start early")         \
  X(launches, "kernels launched one by one, into a capture by the caller")     \
  X(replays, "graph launches, and runs of the cpu target")                     \
  X(captured_replays, "steps added to a capture by the caller")                \
  X(destroy_failures, "CUDA handles whose destruction failed")

struct Statistics {
#define HEDDLE_DECLARE_COUNTER(name, meaning) std::atomic<uint64_t> name{0};
  HEDDLE_STATISTICS(HEDDLE_DECLARE_COUNTER)
#undef HEDDLE_DECLARE_COUNTER
};

/// The counters of this process.
inline Statistics &statistics() {
  static Statistics counters;
  return counters;
}

/// Adds `by` to a counter. Relaxed, because counters do not order other
/// accesses.
inline void count(std::atomic<uint64_t> &counter, uint64_t by = 1) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_STATISTICS_H
