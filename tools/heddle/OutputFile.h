//===- OutputFile.h - files written whole or not at all ---------*- C++ -*-===//
//
// Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Commands open the file before long work, so that they fail early if it cannot
// be written. The contents go to a temporary file in the same folder, which is
// created when they are known and renamed once it is complete.
//
//===----------------------------------------------------------------------===//

#ifndef HEDDLE_TOOLS_HEDDLE_OUTPUTFILE_H
#define HEDDLE_TOOLS_HEDDLE_OUTPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace heddle::cli {

class OutputFile {
public:
  /// A `path` of "" or "-" means standard output.
  static llvm::Expected<OutputFile> open(llvm::StringRef path);
  llvm::Error write(llvm::StringRef contents);
  bool isStandardOutput() const { return path.empty(); }

private:
  OutputFile() = default;

  std::string path;      ///< empty: standard output
  int descriptor = -1;   ///< if `path` denotes one that is open, as /dev/fd/3
  bool replaces = false; ///< by a temporary file; else written directly
  unsigned mode = 0;     ///< permissions of the temporary file
};

} // namespace heddle::cli

#endif // HEDDLE_TOOLS_HEDDLE_OUTPUTFILE_H
