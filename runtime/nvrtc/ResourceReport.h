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

/// The log without the lines of the report.
std::string withoutReport(llvm::StringRef log);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_NVRTC_RESOURCEREPORT_H
