//===- ResourceReport.cpp - Registers and spills, as ptxas reports them ---===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/nvrtc/ResourceReport.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>

using namespace llvm;

namespace heddle::runtime {

/// Matches "    8 bytes stack frame, 4 bytes spill stores, 8 bytes spill
/// loads".
static bool isSpillLine(StringRef line) {
  return line.contains("bytes spill stores");
}

int64_t spilledBytes(StringRef log) {
  int64_t most = 0;
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines) {
    auto [before, after] = line.split(" bytes spill stores");
    int64_t bytes = 0;
    if (isSpillLine(line) && !before.rsplit(' ').second.getAsInteger(10, bytes))
      most = std::max(most, bytes);
  }
  return most;
}

bool isWorthSpilling(int64_t spilled, int64_t blocks, bool aroundCalls) {
  constexpr int64_t fourRegisters = 16, sixteenRegisters = 64,
                    twentyRegisters = 80;
  if (blocks == 4)
    return spilled <= twentyRegisters;
  return spilled <= (aroundCalls ? sixteenRegisters : fourRegisters);
}

std::string withoutReport(StringRef log) {
  SmallVector<StringRef> lines;
  log.split(lines, '\n', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::string rest;
  for (StringRef line : lines)
    if (!line.trim().empty() && !isSpillLine(line) &&
        !line.starts_with("ptxas info"))
      rest += line.str() + "\n";
  return rest;
}

} // namespace heddle::runtime
