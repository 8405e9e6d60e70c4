//===- MemoryApi.cpp - Memory through the C interface ---------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/CApi.h"
#include "runtime/support/Text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace llvm;
using namespace heddle::runtime;
using heddle::counted;

namespace {

/// Checks the process and a range of `memory`, and runs `body` if the range is
/// not empty.
template <typename Body>
Error withRange(const char *function, const heddle_memory *memory,
                size_t offset, size_t bytes, Body body) {
  if (offset > memory->bytes || bytes > memory->bytes - offset)
    return badInput(Twine(function) + ": expected a range within " +
                    counted(memory->bytes, "byte") + ", found " +
                    Twine(offset) + " + " + Twine(bytes));
  if (memory->context)
    if (Error error = memory->context->creator().check(function))
      return error;
  return bytes ? body() : Error::success();
}

} // namespace

extern "C" {

heddle_status heddle_memory_create(heddle_executable *executable, size_t bytes,
                                   heddle_memory **memory) {
  return callGuarded([&]() -> Error {
    ForkDelay delay;
    if (Error error =
            HEDDLE_REQUIRE("heddle_memory_create", executable, memory))
      return error;
    // More than any machine can address. A smaller size can be rounded up
    // without overflow.
    constexpr size_t maxBytes = size_t(1) << 48;
    if (bytes > maxBytes)
      return badInput("bytes: expected at most 2^48, found " + Twine(bytes));
    auto created = std::make_unique<heddle_memory>();
    created->bytes = bytes;
    if (executable->executable->target() == Target::Cpu) {
      created->host = static_cast<char *>(std::aligned_alloc(
          Layout::alignment, alignUp(std::max<size_t>(bytes, 1))));
      if (!created->host)
        return makeError(StatusCode::Failed,
                         "allocating {0} of host memory failed",
                         counted(bytes, "byte"));
    } else {
      Expected<ContextPtr> context = Context::current();
      if (!context)
        return context.takeError();
      Expected<DeviceMemory> device = DeviceMemory::allocate(*context, bytes);
      if (!device)
        return device.takeError();
      created->context = *context;
      created->device = std::move(*device);
    }
    *memory = created.release();
    return Error::success();
  });
}

void heddle_memory_free(heddle_memory *memory) {
  freeGuarded([&] {
    if (memory)
      std::free(memory->host);
    delete memory;
  });
}

void *heddle_memory_address(const heddle_memory *memory) {
  if (!memory)
    return nullptr;
  return memory->host ? memory->host : memory->device.address();
}

heddle_status heddle_memory_write(heddle_memory *memory, size_t offset,
                                  const void *from, size_t bytes) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_memory_write", memory, from))
      return error;
    return withRange(
        "heddle_memory_write", memory, offset, bytes, [&]() -> Error {
          if (memory->host) {
            std::memcpy(memory->host + offset, from, bytes);
            return Error::success();
          }
          Context::Scope scope(*memory->context);
          const Driver &driver = memory->context->driver();
          HEDDLE_DRIVER_CALL(driver, cuCtxSynchronize);
          HEDDLE_DRIVER_CALL(
              driver, cuMemcpyHtoD,
              reinterpret_cast<CUdeviceptr>(memory->device.address() + offset),
              from, bytes);
          // The copy may have reached a staging buffer only, which a stream of
          // the caller does not wait for.
          HEDDLE_DRIVER_CALL(driver, cuCtxSynchronize);
          return Error::success();
        });
  });
}

heddle_status heddle_memory_read(const heddle_memory *memory, size_t offset,
                                 void *to, size_t bytes) {
  return callGuarded([&]() -> Error {
    if (Error error = HEDDLE_REQUIRE("heddle_memory_read", memory, to))
      return error;
    return withRange(
        "heddle_memory_read", memory, offset, bytes, [&]() -> Error {
          if (memory->host) {
            std::memcpy(to, memory->host + offset, bytes);
            return Error::success();
          }
          Context::Scope scope(*memory->context);
          const Driver &driver = memory->context->driver();
          HEDDLE_DRIVER_CALL(driver, cuCtxSynchronize);
          HEDDLE_DRIVER_CALL(
              driver, cuMemcpyDtoH, to,
              reinterpret_cast<CUdeviceptr>(memory->device.address() + offset),
              bytes);
          return Error::success();
        });
  });
}

} // extern "C"
