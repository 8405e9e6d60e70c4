//===- ResourceReport.h - Registers and spills, as ptxas reports them -----===//
//
// Launch bounds ask for many resident blocks. If that leaves a kernel too few
// registers, it spills, which costs more than the blocks gain. Only ptxas
// knows, so the runtime reads its report and compiles again for fewer blocks.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_NVRTC_RESOURCEREPORT_H
#define HEDDLE_RUNTIME_NVRTC_RESOURCEREPORT_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace heddle::runtime {

/// The NVRTC option that makes ptxas report.
inline constexpr llvm::StringLiteral kReportOption = "--ptxas-options=-v";

/// Whether a log with ptxas's report names a kernel that spills registers.
bool reportsSpills(llvm::StringRef log);

/// The log without the lines of the report.
std::string withoutReport(llvm::StringRef log);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_NVRTC_RESOURCEREPORT_H
