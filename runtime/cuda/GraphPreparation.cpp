//===- GraphPreparation.cpp - Memory and tables of a CUDA graph -----------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory is in five allocations: scalar slots, owned lists, data copied
// from the host, data cleared to zero, and other scratch areas.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/Graph.h"

#include "runtime/builtin/BuiltinKernels.h"
#include "runtime/support/Statistics.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace heddle::runtime {

static CUdeviceptr devicePointer(const void *address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

/// Grows `memory` to at least `bytes` bytes. Does not keep the contents.
Error Graph::reserve(DeviceMemory &memory, size_t bytes, CUstream stream) {
  if (bytes <= memory.size())
    return Error::success();
  // Submitted replays may still use the old memory.
  HEDDLE_DRIVER_CALL(device->driver(), cuStreamSynchronize, stream);
  Expected<DeviceMemory> grown = DeviceMemory::allocate(device, bytes);
  if (!grown)
    return grown.takeError();
  memory = std::move(*grown);
  return Error::success();
}

Error Graph::update(Layout &next, void *streamHandle) {
  CUstream stream = static_cast<CUstream>(streamHandle);
  Context::Scope scope(*device);
  const Driver &driver = device->driver();
  if (Error error = refuseInCapture(stream, "prepare"))
    return error;
  const Plan &plan = this->plan();
  StepBuilder builder(next, device, *executable()->kernels());
  if (Error error = builder.choose())
    return error;

  // Offsets in the allocations.
  struct TableOffsets {
    size_t members, steps, tickets, tiles;
    std::vector<int64_t> stepValues;
    bool expand;
  };
  std::vector<TableOffsets> tableOffsets(plan.tables.size());
  size_t uploadedBytes = 0, clearedBytes = 0, workBytes = 0;
  auto take = [](size_t &total, size_t bytes) {
    return std::exchange(total, total + alignUp(bytes));
  };
  for (auto [index, offsets] : enumerate(tableOffsets)) {
    const PlanTable &table = plan.tables[index];
    const TableView &view = next.tables()[index];
    size_t descriptorBytes = DescriptorLayout(table).bytes();
    offsets.expand = builder.needsTileDescriptors(index) && view.tileCount > 0;
    offsets.members = take(uploadedBytes, descriptorBytes * view.memberCount);
    offsets.stepValues = segmentSteps(plan, table);
    offsets.steps =
        take(uploadedBytes, offsets.stepValues.size() * sizeof(int64_t));
    offsets.tickets =
        take(clearedBytes, (view.memberCount + 1) * sizeof(unsigned));
    offsets.tiles =
        take(workBytes, offsets.expand ? descriptorBytes * view.tileCount : 0);
  }
  size_t spansOffset = take(uploadedBytes, builder.spanDescriptors().size());
  std::vector<size_t> scratchOffsets;
  for (auto [planned, bytes] : zip(plan.scratch, next.scratchBytes()))
    scratchOffsets.push_back(
        take(planned.zero ? clearedBytes : workBytes, bytes));

  // The addresses of results in the previous layout go with the memory.
  if (next.arenaBytes() > arena.size())
    layout.reset();
  if (Error error = reserve(arena, next.arenaBytes(), stream))
    return error;
  if (Error error = reserve(uploaded, uploadedBytes, stream))
    return error;
  if (Error error = reserve(cleared, clearedBytes, stream))
    return error;
  if (Error error = reserve(work, workBytes, stream))
    return error;
  std::vector<char> values = slotValues();
  if (!slots) {
    if (Error error = reserve(slotMemory, values.size(), stream))
      return error;
    if (!values.empty())
      HEDDLE_DRIVER_CALL(driver, cuMemcpyHtoDAsync,
                         devicePointer(slotMemory.address()), values.data(),
                         values.size(), stream);
    slotRead.assign(plan.buffers.size(), false);
    slotStale.assign(plan.buffers.size(), false);
    slots = slotMemory.address();
  }
  next.place(arena.address(), slots);

  StepBuilder::Addresses addresses;
  std::vector<char> upload(uploadedBytes);
  auto put = [&](size_t offset, const void *bytes, size_t size) {
    if (size)
      std::memcpy(upload.data() + offset, bytes, size);
  };
  for (auto [index, offsets] : enumerate(tableOffsets)) {
    const TableView &view = next.tables()[index];
    std::vector<char> descriptors = next.memberDescriptors(index);
    put(offsets.members, descriptors.data(), descriptors.size());
    put(offsets.steps, offsets.stepValues.data(),
        offsets.stepValues.size() * sizeof(int64_t));
    addresses.tables.push_back(
        {offsets.expand ? work.address() + offsets.tiles : nullptr,
         uploaded.address() + offsets.members,
         reinterpret_cast<unsigned *>(cleared.address() + offsets.tickets),
         view.tileCount, view.memberCount, builder.blocksPerTile(index),
         builder.blocksPerTile(index) > 1 ? view.partsPerTile : 1});
  }
  for (auto [planned, offset] : zip(plan.scratch, scratchOffsets))
    addresses.scratch.push_back((planned.zero ? cleared : work).address() +
                                offset);
  addresses.spanDescriptors = uploaded.address() + spansOffset;
  addresses.slotValues = values.data();
  Expected<std::vector<Step>> built = builder.build(addresses);
  if (!built)
    return built.takeError();
  put(spansOffset, builder.spanDescriptors().data(),
      builder.spanDescriptors().size());

  // Host memory is pageable, so the driver copies it before the call returns.
  if (!upload.empty()) {
    count(statistics().table_copies);
    HEDDLE_DRIVER_CALL(driver, cuMemcpyHtoDAsync,
                       devicePointer(uploaded.address()), upload.data(),
                       upload.size(), stream);
  }
  if (clearedBytes)
    HEDDLE_DRIVER_CALL(driver, cuMemsetD8Async,
                       devicePointer(cleared.address()), 0, clearedBytes,
                       stream);
  descriptors.assign(plan.tables.size(), {});
  for (auto [index, offsets] : enumerate(tableOffsets)) {
    const DeviceTable &table = addresses.tables[index];
    DescriptorLayout descriptor(plan.tables[index]);
    TableDescriptors &known = descriptors[index];
    known.members = uploaded.address() + offsets.members;
    known.firstTiles = firstTilesOf(descriptor, upload.data() + offsets.members,
                                    table.memberCount);
    known.firstTiles.push_back(table.tileCount);
    if (!offsets.expand)
      continue;
    known.tiles = work.address() + offsets.tiles;
    Expected<CUfunction> function =
        builtinFunction(device, "heddle_expand_tiles");
    if (!function)
      return function.takeError();
    Launch launch;
    launch.function = *function;
    launch.grid = (int64_t(table.tileCount) + 255) / 256;
    launch.block = 256;
    launch.add(table.members);
    launch.add(table.tiles);
    launch.add(uploaded.address() + offsets.steps);
    launch.add(plan.tables[index].pointers);
    launch.add(plan.tables[index].rank);
    launch.add(table.memberCount);
    launch.add(table.tileCount);
    count(statistics().table_expansions);
    if (Error error = launchKernel(launch, stream))
      return error;
  }

  bool released = false;
  for (size_t buffer = 0; buffer < slotRead.size(); ++buffer) {
    bool reads = builder.readsSlot()[buffer];
    if (reads && slotStale[buffer])
      if (Error error = writeSlot(
              buffer, values.data() + buffer * sizeof(double), stream))
        return error;
    released |= slotRead[buffer] && !reads;
  }
  // From now on, these slots may be written at any time. Wait for the submitted
  // replays that read them.
  if (released)
    HEDDLE_DRIVER_CALL(driver, cuStreamSynchronize, stream);

  if (Error error = adopt(index(std::move(*built))))
    return error;
  slotRead = builder.readsSlot();
  return Error::success();
}

} // namespace heddle::runtime
