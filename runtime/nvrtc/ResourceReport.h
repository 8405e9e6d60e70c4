//===- ResourceReport.h - Registers and spills, as ptxas reports them -----===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launch bounds request many resident blocks. A kernel that then has too few
// registers spills, which costs more than the blocks gain. ptxas reports
// spills, so the runtime reads the report and compiles again for fewer blocks.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_NVRTC_RESOURCEREPORT_H
#define HEDDLE_RUNTIME_NVRTC_RESOURCEREPORT_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace heddle::runtime {

/// The NVRTC option that makes ptxas report registers and spills.
inline constexpr llvm::StringLiteral kReportOption = "--ptxas-options=-v";

/// The most bytes of registers that a kernel spills, in a log with the report
/// of ptxas.
int64_t spilledBytes(llvm::StringRef log);

/// Whether a kernel for `blocks` resident blocks that spills so many bytes is
/// faster than one for fewer blocks. Four registers cost less than a block; so
/// do sixteen if they are `aroundCalls` of functions that are not inlined,
/// which few steps need. Three blocks are slower than four that spill twenty:
/// softmax in f64 of 50000x768 takes 260 us instead of 227.
bool isWorthSpilling(int64_t spilled, int64_t blocks, bool aroundCalls);

/// The log without the lines of the report.
std::string withoutReport(llvm::StringRef log);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_NVRTC_RESOURCEREPORT_H
