//===- Conditions.cpp - the conditions of a measurement -------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditions that cannot be determined are "unknown" or empty.
//
//===----------------------------------------------------------------------===//

#include "Conditions.h"

#include "runtime/nvrtc/Nvrtc.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace heddle::runtime;

namespace heddle::bench {

/// Returns the version of the kernel driver; empty if /proc does not have it.
static std::string kernelDriver() {
  auto file = MemoryBuffer::getFileAsStream("/proc/driver/nvidia/version");
  SmallVector<StringRef> found;
  if (file && Regex("[^0-9.]([0-9]+\\.[0-9]+(\\.[0-9]+)?) ")
                  .match((*file)->getBuffer(), &found))
    return found[1].str();
  return "";
}

json::Object conditionsOf(const Device &device, double copyBandwidth) {
  const Driver &driver = device.getDriver();
  std::string nvrtc = "unknown";
  if (auto library = Nvrtc::get())
    nvrtc = formatv("{0}.{1}", (*library)->major(), (*library)->minor());
  else
    consumeError(library.takeError());
  return json::Object{
      {"gpu", json::fixUTF8(device.getContext()->name())},
      {"arch", device.getContext()->arch()},
      {"multiprocessors", device.getContext()->multiprocessors()},
      {"driver", kernelDriver()},
      {"cuda",
       formatv("{0}.{1}", driver.version / 1000, driver.version % 1000 / 10)
           .str()},
      {"nvrtc", nvrtc},
      {"copy_bytes_per_second", copyBandwidth},
      {"copy_protocol",
       "2 GiB within device memory, bytes read plus written, best of 8"}};
}

void printConditions(const Device &device, double copyBandwidth) {
  json::Object where = conditionsOf(device, copyBandwidth);
  auto text = [&](StringRef key) {
    return where.getString(key).value_or("").str();
  };
  StringRef version = where.getString("driver").value_or("");
  outs() << text("gpu") << ", driver "
         << (version.empty() ? "unknown" : version) << ", CUDA " << text("cuda")
         << ", NVRTC " << text("nvrtc") << ", copy bandwidth "
         << formatv("{0:f3}", copyBandwidth * 1e-12) << " TB/s\n";
}

} // namespace heddle::bench
