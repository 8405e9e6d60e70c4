//===- Dump.h - Every level of a compilation in a folder ------------------===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If HEDDLE_DUMP_DIR is set, each level of a compilation is written to
// HEDDLE_DUMP_DIR/<program>/<file>. The compiler writes its IR. The runtime
// writes plan.json, the source with its headers, NVRTC's log and the cubin.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_DUMP_H
#define HEDDLE_RUNTIME_SUPPORT_DUMP_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace heddle::runtime {

/// Whether HEDDLE_DUMP_DIR is set. Check it before preparing contents for
/// dump().
bool dumpEnabled();

/// Writes one file if HEDDLE_DUMP_DIR is set, with names made safe by
/// safeFileName(). The first failure is reported on standard error; it has no
/// other effect.
void dump(llvm::StringRef program, llvm::StringRef file,
          llvm::StringRef contents);

/// `name` as a file name: letters, digits, '.', '_' and '-' stay, any other
/// character becomes '_'.
std::string safeFileName(llvm::StringRef name);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_DUMP_H
