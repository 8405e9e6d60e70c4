//===- device_machine.h - what emitted text sees of the machine -----------===//
//
// The one structure that the compiled text and the machine that runs it share.
// It holds the position of the thread that runs now and the operations at which
// a thread gives way to others.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_DEVICE_MACHINE_H
#define HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_DEVICE_MACHINE_H

struct heddle_machine {
  struct index {
    unsigned x, y, z;
  };
  index thread_index, block_index, block_extent, grid_extent;
  /// Blocks of a cluster.
  unsigned cluster;

  /// Shared memory of the block that runs now, and its size.
  char *shared;
  unsigned long shared_bytes;

  /// Waits for every thread of the block; whether `flag` was set in any.
  int (*barrier)(int flag);
  /// Waits for `threads` threads of the block that name the same crew; whether
  /// `flag` was set in any.
  int (*crew_barrier)(unsigned crew, unsigned threads, int flag);
  /// What the thread of the warp at this lane ^ `mask` gives.
  unsigned (*shuffle_xor)(unsigned value, int mask);
  /// A place where other threads may come in between.
  void (*pause)();
  /// One where other blocks are likely to.
  void (*give_way)();
  /// Programmatic launches.
  void (*launch_dependents)();
  void (*wait_for_dependency)();
};

/// An entry of the text with a signature that fits all of them. Each argument
/// is in a slot: the address of a table or number, or the pointer itself.
struct heddle_entry {
  const char *name;
  void (*run)(void *const *slots);
  int parameters;
  /// Whether numbers are taken by value, when there are any.
  bool by_value;
};

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_DEVICE_MACHINE_H
