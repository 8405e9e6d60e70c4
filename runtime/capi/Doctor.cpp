//===- Doctor.cpp - A report on this machine ------------------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/capi/Doctor.h"

#include "runtime/driver/CudaHandles.h"
#include "runtime/nvrtc/Cache.h"
#include "runtime/nvrtc/Nvrtc.h"
#include "runtime/program/Compiler.h"
#include "runtime/support/Environment.h"

#include "heddle-version.h"

#include <cstdlib>

using namespace llvm;

namespace heddle::runtime {

/// {"ok": false, "problem": text}.
static json::Object problem(Error error) {
  return json::Object{
      {"ok", false},
      {"problem", json::fixUTF8(takeError(std::move(error)).second)}};
}

static json::Object inspectDriver(json::Array &devices) {
  Expected<const Driver *> driver = Driver::get();
  if (!driver)
    return problem(driver.takeError());
  const Driver &api = **driver;
  for (int ordinal = 0; ordinal < api.deviceCount; ++ordinal) {
    // Attributes need no context, so doctor allocates no device memory.
    CUdevice device = 0;
    char name[256] = {};
    int major = 0, minor = 0, multiprocessors = 0;
    size_t memory = 0;
    if (api.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS)
      continue;
    api.cuDeviceGetName(name, sizeof(name) - 1, device);
    api.cuDeviceGetAttribute(
        &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    api.cuDeviceGetAttribute(
        &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    api.cuDeviceGetAttribute(&multiprocessors,
                             CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    api.cuDeviceTotalMem(&memory, device);
    devices.push_back(
        json::Object{{"ordinal", ordinal},
                     {"name", json::fixUTF8(name)},
                     {"arch", formatv("sm_{0}{1}", major, minor).str()},
                     {"memory_bytes", static_cast<int64_t>(memory)},
                     {"multiprocessors", multiprocessors}});
  }
  return json::Object{
      {"ok", true},
      {"path", json::fixUTF8(api.library.path())},
      {"version",
       formatv("{0}.{1}", api.version / 1000, api.version % 1000 / 10).str()}};
}

static json::Object inspectNvrtc() {
  Expected<const Nvrtc *> nvrtc = Nvrtc::get();
  if (!nvrtc)
    return problem(nvrtc.takeError());
  json::Array architectures;
  for (int number : (*nvrtc)->architectures())
    architectures.push_back(formatv("sm_{0}", number).str());
  return json::Object{
      {"ok", true},
      {"path", json::fixUTF8((*nvrtc)->path())},
      {"version",
       formatv("{0}.{1}", (*nvrtc)->major(), (*nvrtc)->minor()).str()},
      {"architectures", std::move(architectures)}};
}

static json::Object inspectCache() {
  Cache cache;
  std::string problem = cache.problem();
  json::Object object{
      {"ok", cache.usable() && problem.empty()},
      {"directory", json::fixUTF8(cache.settings().directory)},
      {"max_bytes", static_cast<int64_t>(cache.settings().maxBytes)},
      {"bytes", static_cast<int64_t>(cache.size())}};
  if (!problem.empty())
    object["problem"] = json::fixUTF8(problem);
  else if (!cache.usable())
    object["problem"] = "turned off by HEDDLE_CACHE_SIZE";
  return object;
}

json::Object inspectMachine() {
  json::Array devices;
  json::Object driver = inspectDriver(devices);
  json::Object environment;
  for (const char *name :
       {"HEDDLE_CACHE_DIR", "HEDDLE_CACHE_SIZE", "HEDDLE_CUDA_DRIVER",
        "HEDDLE_DUMP_DIR", "HEDDLE_NVRTC", "HEDDLE_THREADS", "CUDA_HOME",
        "CUDA_PATH"})
    if (const char *value = std::getenv(name))
      environment[name] = json::fixUTF8(value);
  json::Object mistakes;
  for (const NumberVariable &variable : {kThreadsVariable, kCacheSizeVariable})
    if (Error error = variable.check())
      mistakes[variable.name] =
          json::fixUTF8(takeError(std::move(error)).second);
  json::Object compiler{{"ok", true}};
  if (Expected<Compiler *> installed = Compiler::get(); !installed)
    compiler = problem(installed.takeError());
  return json::Object{{"version", HEDDLE_VERSION},
                      {"driver", std::move(driver)},
                      {"devices", std::move(devices)},
                      {"nvrtc", inspectNvrtc()},
                      {"cache", inspectCache()},
                      {"compiler", std::move(compiler)},
                      {"environment", std::move(environment)},
                      {"environment_errors", std::move(mistakes)}};
}

} // namespace heddle::runtime
