//===- device_machine.h - interface of the emulated GPU for device code ---===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The structure that the compiled source and the emulated GPU share. It holds
// the index of the running thread and the operations at which a thread may
// switch to another thread.
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

  /// The shared memory of the running block, and its size.
  char *shared;
  unsigned long shared_bytes;

  /// Waits for every thread of the block. Returns whether `flag` was set in any
  /// thread.
  int (*barrier)(int flag);
  /// Waits until `threads` threads of the block have called this function for
  /// `group`. Returns whether `flag` was set in any of them.
  int (*group_barrier)(unsigned group, unsigned threads, int flag);
  /// Exchanges `value`, of `bytes` bytes, with the thread of the warp at lane ^
  /// `mask`.
  void (*shuffle_xor)(char *value, unsigned long bytes, int mask);
  /// Sometimes switches to another thread.
  void (*pause)();
  /// Often switches to another block.
  void (*give_way)();
  /// Programmatic dependent launch.
  void (*launch_dependents)();
  void (*wait_for_dependency)();
};

/// An entry of the source with a common signature. Each element of `slots` is
/// an argument: the address of a table or scalar, or the pointer itself.
struct heddle_entry {
  const char *name;
  void (*run)(void *const *slots);
  int parameters;
  /// Whether scalars are passed by value; true without scalars.
  bool by_value;
};

#endif // HEDDLE_TEST_SUPPORT_CUDA_ON_CPU_DEVICE_MACHINE_H
