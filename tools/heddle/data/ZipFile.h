//===- ZipFile.h - the members of a zip archive -----------------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads archives as numpy.savez writes them: members are stored, not
// compressed, so no member is larger than the file.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_DATA_ZIPFILE_H
#define HEDDLE_TOOLS_HEDDLE_DATA_ZIPFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace heddle::cli {

struct ZipMember {
  llvm::StringRef name, contents;
};

/// The members of the archive `bytes`, in the order of its directory. Names and
/// contents refer to `bytes`. Refuses compressed and encrypted members, and
/// members whose bytes overlap or have changed (by their checksums). Errors
/// begin with `where`.
llvm::Expected<std::vector<ZipMember>> readZip(llvm::StringRef bytes,
                                               llvm::StringRef where);

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_DATA_ZIPFILE_H
