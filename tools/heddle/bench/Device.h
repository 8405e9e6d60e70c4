//===- Device.h - the GPU under test ----------------------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory, a stream, and the timing protocol of all candidates.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_BENCH_DEVICE_H
#define HEDDLE_TOOLS_HEDDLE_BENCH_DEVICE_H

#include "runtime/driver/CudaHandles.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace heddle::bench {

/// The timing protocol, for reports.
inline constexpr llvm::StringLiteral kProtocol =
    "20 back-to-back replays between two events; median of 9 samples after "
    "one warm-up; candidates alternate, best of two rounds";
/// The protocol of steps that may take long.
inline constexpr llvm::StringLiteral kAdaptiveProtocol =
    "back-to-back replays of about 30 ms, at most 20, between two events; "
    "median of 9 samples, of 3 if a replay takes over 0.1 s, after one "
    "warm-up; candidates alternate, best of two rounds";

class Device {
public:
  static llvm::Expected<std::unique_ptr<Device>> open();

  const runtime::ContextPtr &getContext() const { return context; }
  const runtime::Driver &getDriver() const { return context->driver(); }
  CUstream getStream() const { return stream.get(); }

  llvm::Expected<runtime::DeviceMemory> allocate(size_t bytes);
  llvm::Error upload(char *to, const void *from, size_t bytes);
  llvm::Error download(void *to, const char *from, size_t bytes);
  llvm::Error clear(char *at, size_t bytes);
  llvm::Error copy(char *to, const char *from, size_t bytes);
  llvm::Error synchronize();
  llvm::Expected<size_t> freeBytes();

  /// Returns the device time of `replay`, which submits one step to the stream.
  /// A sample has as many replays as take about 30 ms, at most kReplays. If one
  /// replay takes long, there are few samples.
  llvm::Expected<double> time(llvm::function_ref<llvm::Error()> replay);

  /// Returns the launches of `issue` as an instantiated graph.
  llvm::Expected<runtime::GraphExecHandle>
  capture(llvm::function_ref<llvm::Error(CUstream)> issue);

private:
  Device(runtime::ContextPtr context, runtime::StreamHandle stream)
      : context(std::move(context)), stream(std::move(stream)),
        scope(std::make_unique<runtime::Context::Scope>(*this->context)) {}

  static constexpr int kReplays = 20, kSamples = 9;
  llvm::Expected<double> timeReplays(llvm::function_ref<llvm::Error()> replay,
                                     int replays, int samples);

  runtime::ContextPtr context;
  runtime::StreamHandle stream;
  std::unique_ptr<runtime::Context::Scope> scope;
};

} // namespace heddle::bench

#endif // HEDDLE_TOOLS_HEDDLE_BENCH_DEVICE_H
