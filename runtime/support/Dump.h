//===- Dump.h - Every level of a compilation in a folder ------------------===//
//
// With HEDDLE_DUMP_DIR set, each level of a compilation is written to
// HEDDLE_DUMP_DIR/<program>/<file>: the compiler writes its IR, the runtime
// plan.json, the source with its headers, the log of NVRTC and the cubin.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_RUNTIME_SUPPORT_DUMP_H
#define HEDDLE_RUNTIME_SUPPORT_DUMP_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace heddle::runtime {

/// Whether HEDDLE_DUMP_DIR is set: whether preparing a text for dump() is worth
/// it.
bool dumpEnabled();

/// Writes one file if HEDDLE_DUMP_DIR is set. Names are reduced to letters,
/// digits, '.', '_' and '-'. A dump that cannot be written is reported once on
/// standard error and changes nothing else.
void dump(llvm::StringRef program, llvm::StringRef file,
          llvm::StringRef contents);

/// `name` reduced to what is safe as a file name.
std::string safeFileName(llvm::StringRef name);

} // namespace heddle::runtime

#endif // HEDDLE_RUNTIME_SUPPORT_DUMP_H
