//===- ResourceReport.cpp - Registers and spills, as ptxas reports them ---===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/nvrtc/ResourceReport.h"

#include "llvm/ADT/SmallVector.h"

using namespace llvm;

namespace heddle::runtime {

/// Matches "    8 bytes stack frame, 4 bytes spill stores, 8 bytes spill
/// loads".
static bool isSpillLine(StringRef line) {
  return line.contains("bytes spill stores");
}

bool reportsSpills(StringRef log) {
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines)
    if (isSpillLine(line) && !line.contains(" 0 bytes spill stores"))
      return true;
  return false;
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
